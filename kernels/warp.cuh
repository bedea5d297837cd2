// warp.cuh - collectives of one full warp.
#pragma once

#include "kernels/ptx.cuh"

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace sweepsort {

inline constexpr uint32_t warp_threads = 32;
inline constexpr uint32_t full_warp = 0xffffffffu;

/// Shuffles move words of 4 or 8 bytes: the type a smaller T travels as.
template <class T>
using Shuffled = std::conditional_t<(sizeof(T) < 4), uint32_t, T>;

/// Sum of `value` over this lane and all lower ones (Hillis & Steele, 1986: log2(32) steps).
template <class T>
__device__ __forceinline__ T warp_inclusive_sum(T value) {
  const uint32_t lane = ptx::lane_id();
#pragma unroll
  for (uint32_t distance = 1; distance < warp_threads; distance *= 2) {
    const T below = __shfl_up_sync(full_warp, value, distance);
    if (lane >= distance) value += below;
  }
  return value;
}

/// Combines one value a lane into one for the warp; every lane gets it. `combine` is associative and
/// commutative.
template <class T, class Combine>
__device__ __forceinline__ T warp_reduce(T value, Combine combine) {
#pragma unroll
  for (uint32_t distance = warp_threads / 2; distance > 0; distance /= 2)
    value = combine(value, static_cast<T>(__shfl_xor_sync(full_warp, Shuffled<T>{value}, distance)));
  return value;
}

/// The lanes whose `digit` (of `bits` bits) equals this lane's: one ballot a bit.
template <uint32_t bits>
__device__ __forceinline__ uint32_t warp_match(uint32_t digit) {
  uint32_t peers = full_warp;
#pragma unroll
  for (uint32_t bit = 0; bit < bits; ++bit) {
    const bool mine = (digit >> bit) & 1;
    const uint32_t set = __ballot_sync(full_warp, mine);
    peers &= mine ? set : ~set;
  }
  return peers;
}

}  // namespace sweepsort
