// block.cuh - collectives of one block.
#pragma once

#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// Exclusive sum over the block's threads in thread order; `total` gets the sum of all. `warp_sums` is shared
/// memory, one element per warp; it may be reused after the next barrier. Every thread of the block calls it.
template <uint32_t threads, class T>
__device__ __forceinline__ T block_exclusive_sum(T value, T* warp_sums, T& total) {
  constexpr uint32_t warps = threads / warp_threads;
  static_assert(threads % warp_threads == 0 && warps <= warp_threads);
  const uint32_t warp = threadIdx.x / warp_threads;
  const uint32_t lane = ptx::lane_id();
  const T inclusive = warp_inclusive_sum(value);
  if (lane == warp_threads - 1) warp_sums[warp] = inclusive;
  __syncthreads();
  // Every warp scans the sums by itself: this is cheaper than a second barrier.
  const T sum = lane < warps ? warp_sums[lane] : T{};
  const T up_to_lane = warp_inclusive_sum<warps>(sum);
  total = __shfl_sync(full_warp, up_to_lane, warps - 1);
  return __shfl_sync(full_warp, static_cast<T>(up_to_lane - sum), warp) + inclusive - value;
}

namespace block_detail {

/// Does for a block of 32 warps what of_warp(value) does for a warp.
template <uint32_t threads, class T, class OfWarp>
__device__ __forceinline__ T reduce(T value, T* warp_values, OfWarp of_warp) {
  static_assert(threads == warp_threads * warp_threads);
  value = of_warp(value);
  if (ptx::lane_id() == 0) warp_values[threadIdx.x / warp_threads] = value;
  __syncthreads();
  return of_warp(warp_values[ptx::lane_id()]);
}

}  // namespace block_detail

/// The sum (it wraps), the maximum, the minimum, or the bitwise or of one value per thread, for a block of 32
/// warps. Every thread of the block calls them, and gets the result. `warp_values` is shared memory, one
/// element per warp; it may be reused after the next barrier.
template <uint32_t threads>
__device__ __forceinline__ uint32_t block_sum(uint32_t value, uint32_t* warp_values) {
  return block_detail::reduce<threads>(value, warp_values, [](uint32_t v) { return ptx::warp_sum(v); });
}
template <uint32_t threads, class T>
__device__ __forceinline__ T block_max(T value, T* warp_values) {
  return block_detail::reduce<threads>(value, warp_values, [](T v) { return warp_max(v); });
}
template <uint32_t threads, class T>
__device__ __forceinline__ T block_min(T value, T* warp_values) {
  return block_detail::reduce<threads>(value, warp_values, [](T v) { return warp_min(v); });
}
template <uint32_t threads, class T>
__device__ __forceinline__ T block_or(T value, T* warp_values) {
  return block_detail::reduce<threads>(value, warp_values, [](T v) { return warp_or(v); });
}

}  // namespace sweepsort
