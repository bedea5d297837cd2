// rearrange.cuh - arrays that need no sort: copied, reversed or left as they are. Moves 0 to 2n keys.
// A guess that the keys are in order is checked while they are moved.
#pragma once

#include "kernels/launch.cuh"
#include "kernels/lookback.cuh"
#include "kernels/msd_plan.cuh"
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

/// By 16 bytes where the arrays allow it; arrays from cudaMalloc or a workspace do.
template <class T>
__device__ void copy(const T* from, T* to, uint64_t count) {
  constexpr uint64_t width = sizeof(uint4) / sizeof(T);
  const uint64_t vectors = count / width;
  for (uint64_t i = first_index(); i < vectors; i += grid_threads())
    reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
  for (uint64_t i = vectors * width + first_index(); i < count; i += grid_threads()) to[i] = from[i];
}

/// In place, too: each thread swaps the two ends it owns.
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
  if (plan->road == Road::copy) copy(in, out, count);
  if (plan->road == Road::reverse) reverse(in, out, count);
}

template <class Bits, class T>
__global__ __launch_bounds__(threads) void copy_back_kernel(const T* scratch, T* out, uint64_t count,
                                                            const SortPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  if (plan->copy_back) copy(scratch, out, count);
}

/// What two neighbours say of a guess.
template <class Bits>
__device__ __forceinline__ bool contradicts(Guess guess, bool is_stable, Bits left, Bits right) {
  return guess == Guess::ascending ? left > right : left < right || (is_stable && left == right);
}

/// Moves the keys where the guess sends them and sets plan->guess_failed if two neighbours contradict it; a
/// block that sees the flag leaves.
template <class Bits>
__global__ __launch_bounds__(threads) void check_guess_kernel(const Bits* in, Bits* out, uint64_t count,
                                                              KeyMap<Bits> map, MsdPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  const Guess guess = plan->guess;
  if (guess == Guess::unordered) return;
  using Vector = digest_detail::Vector<Bits>;
  constexpr uint32_t width = sizeof(uint4) / sizeof(Bits);
  constexpr uint32_t in_flight = 4;
  const DeviceAtomic<uint32_t> failed(plan->guess_failed);
  const bool moves = in != out;
  const bool is_stable = plan->with_values != 0;
  const uint64_t step = grid_threads() * width * in_flight;
  for (uint64_t row = uint64_t{blockIdx.x} * blockDim.x * width * in_flight; row < count; row += step) {
    const bool has_failed = failed.load(cuda::memory_order_relaxed) != 0;  // on its way with the keys
    bool is_wrong = false;
    Vector vector[in_flight] = {};
    Bits behind[in_flight] = {};
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u) {
      const uint64_t first = row + (u * blockDim.x + threadIdx.x) * width;
      if (first + width <= count) {
        vector[u].whole = ptx::load_streaming(reinterpret_cast<const uint4*>(in + first));
      } else {
#pragma unroll
        for (uint32_t k = 0; k < width; ++k)
          if (first + k < count) vector[u].keys[k] = in[first + k];
      }
      // The key behind a vector is the next lane's first; the last lane reads it.
      if (ptx::lane_id() == warp_threads - 1 && first + width < count) behind[u] = in[first + width];
    }
    if (__any_sync(full_warp, has_failed)) return;
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u) {
      const uint64_t first = row + (u * blockDim.x + threadIdx.x) * width;
      const Bits next_first = shuffle_down(vector[u].keys[0], 1);
      if (ptx::lane_id() != warp_threads - 1) behind[u] = next_first;
#pragma unroll
      for (uint32_t k = 0; k < width; ++k)
        if (first + k + 1 < count)
          is_wrong |=
              contradicts(guess, is_stable, map.to_ordered(vector[u].keys[k]),
                          map.to_ordered(k + 1 < width ? vector[u].keys[(k + 1) % width] : behind[u]));
      if (!moves) continue;
      const bool is_whole = first + width <= count;
      if (guess == Guess::ascending && is_whole) {
        __stcs(reinterpret_cast<uint4*>(out + first), vector[u].whole);
      } else if (is_whole && count % width == 0) {
        Vector reversed;
#pragma unroll
        for (uint32_t k = 0; k < width; ++k) reversed.keys[k] = vector[u].keys[width - 1 - k];
        __stcs(reinterpret_cast<uint4*>(out + (count - width - first)), reversed.whole);
      } else {
#pragma unroll
        for (uint32_t k = 0; k < width; ++k)
          if (first + k < count)
            out[guess == Guess::ascending ? first + k : count - 1 - first - k] = vector[u].keys[k];
      }
    }
    if (__any_sync(full_warp, is_wrong) && ptx::lane_id() == 0) failed.store(1, cuda::memory_order_relaxed);
  }
}

/// After the check: the values, and keys that are reversed where they stand.
template <class Bits, class T>
__global__ __launch_bounds__(threads) void follow_guess_kernel(const T* in, T* out, uint64_t count,
                                                               const MsdPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  if (!plan->is_in_order()) return;
  if (plan->guess == Guess::descending)
    reverse(in, out, count);
  else if (in != out)
    copy(in, out, count);
}

template <class Kernel>
uint32_t blocks_for(Kernel kernel, uint64_t count) {
  return static_cast<uint32_t>(
      std::clamp<uint64_t>((count + threads - 1) / threads, 1, resident_blocks(kernel, threads, 0)));
}

}  // namespace rearrange_detail

/// Does what plan->road says if that is copy or reverse; `out` may be `in`.
template <class Bits, class T>
void rearrange(const T* in, T* out, uint64_t count, const SortPlan<Bits>* plan, cudaStream_t stream) {
  const auto kernel = rearrange_detail::rearrange_kernel<Bits, T>;
  launch_chained(kernel, {rearrange_detail::blocks_for(kernel, count), rearrange_detail::threads}, stream, in,
                 out, count, plan);
}

/// Moves the records to where plan->guess wants them, if it is right; else sets plan->guess_failed. `out` may
/// be `in`, then nothing moves until the guess was found right.
template <class Bits, class Value>
void rearrange_as_guessed(const Bits* keys_in, Bits* keys_out, const Value* values_in, Value* values_out,
                          uint64_t count, KeyMap<Bits> map, MsdPlan<Bits>* plan, cudaStream_t stream) {
  using namespace rearrange_detail;
  const auto check_guess = check_guess_kernel<Bits>;
  launch_chained(check_guess, {blocks_for(check_guess, count), threads}, stream, keys_in, keys_out, count,
                 map, plan);
  const auto follow_keys = follow_guess_kernel<Bits, Bits>;
  if (keys_in == keys_out)
    launch_chained(follow_keys, {blocks_for(follow_keys, count), threads}, stream, keys_in, keys_out, count,
                   plan);
  if constexpr (value_bytes<Value> != 0) {
    const auto follow_values = follow_guess_kernel<Bits, Value>;
    launch_chained(follow_values, {blocks_for(follow_values, count), threads}, stream, values_in, values_out,
                   count, plan);
  }
}

/// Brings the result of an in-place sort with an odd number of passes home.
template <class Bits, class T>
void copy_back(const T* scratch, T* out, uint64_t count, const SortPlan<Bits>* plan, cudaStream_t stream) {
  const auto kernel = rearrange_detail::copy_back_kernel<Bits, T>;
  launch_chained(kernel, {rearrange_detail::blocks_for(kernel, count), rearrange_detail::threads}, stream,
                 scratch, out, count, plan);
}

}  // namespace sweepsort
