// scan_hillis_steele.cuh - the scan in log2(n) steps, each over all elements.
// Hillis & Steele, "Data Parallel Algorithms", 1986. Work O(n log n), depth O(log n); moves 2n elements per
// step.
//
//     distance:      a   b   c   d   e            two buffers swap their roles at every step, so that nobody
//        1           a  ab  bc  cd  de            overwrites what another still has to read
//        2           a  ab abc abcd bcde
//        4           a  ab abc abcd abcde
//
// Up to 1024 elements, one block does all steps in shared memory. With more, each step is a launch of its
// own.
#pragma once

#include "core/rounding.hpp"
#include "kernels/launch.cuh"
#include "kernels/scan_lookback.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

template <class T>
inline constexpr uint32_t hillis_steele_block = sizeof(T) <= 16 ? 1024 : 256;

/// Device memory: the second buffer, and a copy of the last element for the total of an exclusive scan.
template <class T>
struct HillisSteeleMemory {
  T* buffer;
  T* last;

  HillisSteeleMemory(Workspace& workspace, uint64_t size)
      : buffer(workspace.take<T>(size > hillis_steele_block<T> ? size : 0).data()),
        last(workspace.take<T>(1).data()) {}
};

namespace scan_hillis_steele_detail {

/// The value at place i before the first step: the input, with `initial` combined into its first element. For
/// an exclusive scan: `initial`, then the input one place later.
template <class T, class Op>
__device__ __forceinline__ T first_value(const ScanArrays<T>& arrays, uint64_t i, const Op& op) {
  const T before = arrays.initial != nullptr ? *arrays.initial : static_cast<T>(op.identity());
  if (arrays.exclusive) return i == 0 ? before : arrays.in[i - 1];
  return i == 0 ? op(before, arrays.in[0]) : arrays.in[i];
}

template <class T, class Op>
static __global__ __launch_bounds__(hillis_steele_block<T>) void scan_block_kernel(ScanArrays<T> arrays,
                                                                                   Op op) {
  T* source = &shared_memory<T>();
  T* target = source + hillis_steele_block<T>;
  const uint32_t i = threadIdx.x;
  const auto size = static_cast<uint32_t>(arrays.size);
  T last = op.identity();
  if (i < size) {
    source[i] = first_value(arrays, i, op);
    last = arrays.in[size - 1];
  }
  for (uint32_t distance = 1; distance < size; distance *= 2) {
    __syncthreads();  // the previous step is over
    if (i < size) target[i] = i >= distance ? op(source[i - distance], source[i]) : source[i];
    T* const swapped = source;
    source = target;
    target = swapped;
  }
  __syncthreads();  // all threads have read the input, which may be the output
  if (i < size) arrays.out[i] = source[i];
  if (arrays.total == nullptr || i != 0) return;
  if (size == 0)
    *arrays.total = arrays.initial != nullptr ? *arrays.initial : static_cast<T>(op.identity());
  else
    *arrays.total = arrays.exclusive ? op(source[size - 1], last) : source[size - 1];
}

/// Prepares the input for the steps. Saves the last element, which the steps may overwrite.
template <class T, class Op>
static __global__ __launch_bounds__(256) void start_kernel(ScanArrays<T> arrays, T* to, T* last, Op op) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= arrays.size) return;
  to[i] = first_value(arrays, i, op);
  if (i == arrays.size - 1) *last = arrays.in[i];
}

template <class T, class Op>
static __global__ __launch_bounds__(256) void step_kernel(const T* from, T* to, uint64_t size,
                                                          uint64_t distance, Op op) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < size) to[i] = i >= distance ? op(from[i - distance], from[i]) : from[i];
}

template <class T, class Op>
static __global__ void total_kernel(ScanArrays<T> arrays, const T* last, Op op) {
  const T end = arrays.out[arrays.size - 1];
  *arrays.total = arrays.exclusive ? op(end, *last) : end;
}

}  // namespace scan_hillis_steele_detail

/// Scans arrays of fewer than 2^39 elements. Neither allocates nor synchronises.
template <class T, class Op>
void scan_hillis_steele(const ScanArrays<T>& arrays, const Op& op, const HillisSteeleMemory<T>& memory,
                        cudaStream_t stream) {
  using namespace scan_hillis_steele_detail;
  if (arrays.size <= hillis_steele_block<T>) {
    launch(scan_block_kernel<T, Op>, {1, hillis_steele_block<T>, 2 * hillis_steele_block<T> * sizeof(T)},
           stream, arrays, op);
    return;
  }
  uint32_t steps = 0;
  while ((uint64_t{1} << steps) < arrays.size) ++steps;
  constexpr uint32_t threads = 256;
  const LaunchShape shape{static_cast<uint32_t>(ceil_divide(arrays.size, threads)), threads};

  // The last step writes `out`. The start reads neighbours, so it cannot write to the array that it reads.
  T* buffers[2] = {memory.buffer, arrays.out};
  uint32_t at = (steps + 1) % 2;
  const bool overwrites = arrays.in == arrays.out && at == 1;
  if (overwrites) at = 0;
  launch(start_kernel<T, Op>, shape, stream, arrays, buffers[at], memory.last, op);
  if (overwrites) {  // a step with distance `size` is a copy
    launch(step_kernel<T, Op>, shape, stream, static_cast<const T*>(buffers[0]), buffers[1], arrays.size,
           arrays.size, op);
    at = 1;
  }
  for (uint32_t step = 0; step < steps; ++step, at ^= 1)
    launch(step_kernel<T, Op>, shape, stream, static_cast<const T*>(buffers[at]), buffers[at ^ 1],
           arrays.size, uint64_t{1} << step, op);
  if (arrays.total != nullptr)
    launch(total_kernel<T, Op>, {1, 1}, stream, arrays, static_cast<const T*>(memory.last), op);
}

}  // namespace sweepsort
