// rearrange.cuh - arrays that need no sort: copied, reversed or left as they are. Moves 0 to 2n keys.
#pragma once

#include "core/rounding.hpp"
#include "kernels/launch.cuh"
#include "kernels/ptx.cuh"
#include "kernels/sort_plan.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace sweepsort {

namespace rearrange_detail {

inline constexpr uint32_t threads = 256;

__device__ __forceinline__ uint64_t first_index() { return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ __forceinline__ uint64_t grid_threads() { return uint64_t{gridDim.x} * blockDim.x; }

/// Moves 16 bytes at a time if the arrays' alignment allows it; that of arrays from cudaMalloc or a workspace
/// does.
template <class T>
__device__ void copy(const T* from, T* to, uint64_t count) {
  constexpr uint64_t width = sizeof(uint4) / sizeof(T);
  const uint64_t vectors = count / width;
  for (uint64_t i = first_index(); i < vectors; i += grid_threads())
    reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
  for (uint64_t i = vectors * width + first_index(); i < count; i += grid_threads()) to[i] = from[i];
}

/// Also works in place: each thread swaps the two elements that it owns.
template <class T>
__device__ void reverse(const T* from, T* to, uint64_t count) {
  for (uint64_t i = first_index(); i < (count + 1) / 2; i += grid_threads()) {
    const T front = from[i];
    const T back = from[count - 1 - i];
    to[i] = back;
    to[count - 1 - i] = front;
  }
}

template <class Bits, class T>
__global__ __launch_bounds__(threads) void rearrange_kernel(const T* in, T* out, uint64_t count,
                                                            const SortPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  if (plan->method == Method::copy) copy(in, out, count);
  if (plan->method == Method::reverse) reverse(in, out, count);
}

template <class Bits, class T>
__global__ __launch_bounds__(threads) void copy_back_kernel(const T* scratch, T* out, uint64_t count,
                                                            const SortPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  if (plan->copy_back) copy(scratch, out, count);
}

template <class Kernel>
uint32_t blocks_for(Kernel kernel, uint64_t count) {
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(ceil_divide(count, threads), 1, resident_blocks(kernel, threads, 0)));
}

}  // namespace rearrange_detail

/// Copies or reverses if plan->method says so; otherwise does nothing. `out` may be `in`.
template <class Bits, class T>
void rearrange(const T* in, T* out, uint64_t count, const SortPlan<Bits>* plan, cudaStream_t stream) {
  const auto kernel = rearrange_detail::rearrange_kernel<Bits, T>;
  launch_chained(kernel, {rearrange_detail::blocks_for(kernel, count), rearrange_detail::threads}, stream, in,
                 out, count, plan);
}

/// Copies the result of an in-place sort with an odd number of passes back to `out`.
template <class Bits, class T>
void copy_back(const T* scratch, T* out, uint64_t count, const SortPlan<Bits>* plan, cudaStream_t stream) {
  const auto kernel = rearrange_detail::copy_back_kernel<Bits, T>;
  launch_chained(kernel, {rearrange_detail::blocks_for(kernel, count), rearrange_detail::threads}, stream,
                 scratch, out, count, plan);
}

}  // namespace sweepsort
