// block.cuh - collectives of one block.
#pragma once

#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// Exclusive sum over the block's threads in thread order; `total` gets the sum of all. `warp_sums` is shared
/// memory of one element a warp; it may be reused after the next barrier. Every thread of the block calls it.
template <uint32_t threads, class T>
__device__ __forceinline__ T block_exclusive_sum(T value, T* warp_sums, T& total) {
  constexpr uint32_t warps = threads / warp_threads;
  static_assert(threads % warp_threads == 0 && warps <= warp_threads);
  const uint32_t warp = threadIdx.x / warp_threads;
  const uint32_t lane = ptx::lane_id();
  const T inclusive = warp_inclusive_sum(value);
  if (lane == warp_threads - 1) warp_sums[warp] = inclusive;
  __syncthreads();
  // Every warp scans the sums for itself: cheaper than a second barrier.
  const T sum = lane < warps ? warp_sums[lane] : T{};
  const T up_to_lane = warp_inclusive_sum<warps>(sum);
  total = __shfl_sync(full_warp, up_to_lane, warps - 1);
  return __shfl_sync(full_warp, static_cast<T>(up_to_lane - sum), warp) + inclusive - value;
}

/// Combines one value a thread into one for the block of 32 warps; every thread gets it. `combine` is
/// associative and commutative. `warp_values` is shared memory of one element a warp; it may be reused after
/// the next barrier. Every thread of the block calls it.
template <uint32_t threads, class T, class Combine>
__device__ __forceinline__ T block_reduce(T value, T* warp_values, const Combine& combine) {
  static_assert(threads == warp_threads * warp_threads);
  const T of_warp = warp_reduce(value, combine);
  if (ptx::lane_id() == 0) warp_values[threadIdx.x / warp_threads] = of_warp;
  __syncthreads();
  return warp_reduce(warp_values[ptx::lane_id()], combine);
}

}  // namespace sweepsort
