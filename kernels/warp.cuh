// warp.cuh - collectives of one full warp.
#pragma once

#include "kernels/ptx.cuh"

#include <cuda_runtime.h>

#include <concepts>
#include <cstdint>
#include <cstring>

namespace sweepsort {

inline constexpr uint32_t warp_threads = 32;
inline constexpr uint32_t full_warp = 0xffffffffu;

/// Sum of `value` over this lane and all lower ones (Hillis & Steele, 1986: log2(32) steps). Only the first
/// `lanes` lanes get it; the result in the others is unspecified.
template <uint32_t lanes = warp_threads, class T>
__device__ __forceinline__ T warp_inclusive_sum(T value) {
  const uint32_t lane = ptx::lane_id();
#pragma unroll
  for (uint32_t distance = 1; distance < lanes; distance *= 2) {
    const T below = __shfl_up_sync(full_warp, value, distance);
    if (lane >= distance) value += below;
  }
  return value;
}

/// Does for any trivially copyable T what shuffle(word) does for a word: small values travel as one word,
/// large ones word by word.
template <class T, class Shuffle>
__device__ __forceinline__ T shuffle_words(const T& value, Shuffle shuffle) {
  if constexpr (sizeof(T) < 4) {
    uint32_t word = 0;
    memcpy(&word, &value, sizeof(T));
    word = shuffle(word);
    T result;
    memcpy(&result, &word, sizeof(T));
    return result;
  } else {
    static_assert(sizeof(T) % 4 == 0);
    uint32_t words[sizeof(T) / 4];
    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (uint32_t& word : words) word = shuffle(word);
    T result;
    memcpy(&result, words, sizeof(T));
    return result;
  }
}

/// The value of the lane `distance` below, or this lane's own value if there is none. The whole warp calls
/// it.
template <class T>
__device__ __forceinline__ T shuffle_up(const T& value, uint32_t distance) {
  return shuffle_words(value, [=](uint32_t word) { return __shfl_up_sync(full_warp, word, distance); });
}

/// The value of the lane `distance` above, or this lane's own value if there is none. The whole warp calls
/// it.
template <class T>
__device__ __forceinline__ T shuffle_down(const T& value, uint32_t distance) {
  return shuffle_words(value, [=](uint32_t word) { return __shfl_down_sync(full_warp, word, distance); });
}

/// The value of lane `source`. The whole warp calls it.
template <class T>
__device__ __forceinline__ T shuffle_from(const T& value, uint32_t source) {
  return shuffle_words(value, [=](uint32_t word) { return __shfl_sync(full_warp, word, source); });
}

/// `value` combined with those of all lower lanes, in lane order, so `op` need not commute. The whole warp
/// calls it.
template <class T, class Op>
__device__ __forceinline__ T warp_inclusive_scan(T value, const Op& op) {
  const uint32_t lane = ptx::lane_id();
#pragma unroll
  for (uint32_t distance = 1; distance < warp_threads; distance *= 2) {
    const T below = shuffle_up(value, distance);
    if (lane >= distance) value = op(below, value);
  }
  return value;
}

/// The values of all lower lanes combined, from what warp_inclusive_scan returned. Lane 0 gets the identity.
template <class T, class Op>
__device__ __forceinline__ T warp_exclusive_from_inclusive(const T& inclusive, const Op& op) {
  const T below = shuffle_up(inclusive, 1);
  return ptx::lane_id() == 0 ? static_cast<T>(op.identity()) : below;
}

/// Combines one value per lane into one for the warp; every lane gets it. `combine` is associative and
/// commutative.
template <class T, class Combine>
__device__ __forceinline__ T warp_reduce(T value, const Combine& combine) {
#pragma unroll
  for (uint32_t distance = warp_threads / 2; distance > 0; distance /= 2)
    value = combine(value, shuffle_words(value, [=](uint32_t word) {
                      return __shfl_xor_sync(full_warp, word, static_cast<int>(distance));
                    }));
  return value;
}

/// The largest of the warp's values; every lane gets it. The whole warp calls it. It takes one instruction
/// for up to four bytes, whereas warp_reduce takes ten.
template <std::unsigned_integral T>
__device__ __forceinline__ T warp_max(T value) {
  if constexpr (sizeof(T) <= 4) {
    return static_cast<T>(ptx::warp_max(value));
  } else {
    const auto upper = static_cast<uint32_t>(value >> 32);
    const uint32_t most = ptx::warp_max(upper);
    return T{most} << 32 | ptx::warp_max(upper == most ? static_cast<uint32_t>(value) : 0);
  }
}

/// The smallest of the warp's values, in the same way.
template <std::unsigned_integral T>
__device__ __forceinline__ T warp_min(T value) {
  return static_cast<T>(~warp_max(static_cast<T>(~value)));
}

/// The bitwise or of the lanes' values. The whole warp calls it, and every lane gets the result.
template <class T>
__device__ __forceinline__ T warp_or(const T& value) {
  return shuffle_words(value, [](uint32_t word) { return ptx::warp_or(word); });
}

/// Sums of 16 values over the warp at once: lane l gets that of values[l / 2]. Takes 16 shuffles, whereas one
/// sum after the other takes 80: each lane keeps half of its values and gives the other half away.
__device__ __forceinline__ uint32_t warp_sums_of_16(uint32_t (&values)[16]) {
#pragma unroll
  for (uint32_t half = 8; half > 0; half /= 2) {
    const bool keeps_upper = (ptx::lane_id() & (2 * half)) != 0;
#pragma unroll
    for (uint32_t i = 0; i < 8; ++i) {
      if (i >= half) break;  // not the loop's condition: nvcc would not unroll the loop
      const uint32_t lower = values[i];
      const uint32_t upper = values[i + half];
      const uint32_t given = keeps_upper ? lower : upper;
      values[i] =
          (keeps_upper ? upper : lower) + __shfl_xor_sync(full_warp, given, static_cast<int>(2 * half));
    }
  }
  return values[0] + __shfl_xor_sync(full_warp, values[0], 1);
}

/// The lanes whose `digit` (of `bits` bits) equals this lane's: one ballot per bit.
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
