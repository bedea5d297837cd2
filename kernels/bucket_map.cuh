// bucket_map.cuh - which bucket a key belongs to: a function that is linear in the key, so that keys which
// lie close together (identifiers, time stamps) spread over all buckets, not only over those that their
// leading bits name. Interpolation as in Neubert, "The Flashsort1 Algorithm", 1998.
//
//     lowest                                        lowest + range
//     |-------|-------|-------|-------|-------|-------|
//       0       1       2       3       4       5         keys outside belong to the first or the last bucket
//
// All that a sort needs is that the function never falls: then any `lowest` and `range`, guessed from a few
// keys, gives right results, and a bad guess costs time alone.
#pragma once

#include "core/key_bits.hpp"

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>

namespace sweepsort {

template <class Bits>
struct BucketMap {
  static_assert(sizeof(Bits) == 4 || sizeof(Bits) == 8);
  Bits lowest;
  Bits range;      // 1 or more
  uint32_t left;   // leading zeros of range
  uint32_t scale;  // buckets * 2^32 / (leading word of range + 1)

  /// `buckets`: at most 2^16.
  static __device__ __forceinline__ BucketMap over(Bits lowest, Bits range, uint32_t buckets) {
    BucketMap map{.lowest = lowest, .range = max(range, Bits{1}), .left = 0, .scale = 0};
    map.left = static_cast<uint32_t>(sizeof(Bits) == 4 ? __clz(static_cast<int>(map.range))
                                                       : __clzll(static_cast<long long>(map.range)));
    map.scale = static_cast<uint32_t>((uint64_t{buckets} << 32) / (uint64_t{map.leading(map.range)} + 1));
    return map;
  }

  __device__ __forceinline__ uint32_t operator()(Bits ordered) const {
    const Bits above = min(static_cast<Bits>(max(ordered, lowest) - lowest), range);
    return __umulhi(leading(above), scale);
  }

  /// Whether the bucket is simply the leading bits of the key.
  __device__ __forceinline__ bool is_leading_bits() const {
    return lowest == 0 && range == static_cast<Bits>(~Bits{0});
  }

  /// Whether each bucket holds one value at most, and bucket b the value lowest + b. `buckets` is the number
  /// it was made for, a power of two.
  SWEEPSORT_HOST_DEVICE bool is_exact(uint32_t buckets) const { return range == buckets - 1; }

  /// The keys that a bucket may hold; `buckets` is the number of all.
  struct Interval {
    Bits first;
    Bits last;
  };
  __device__ __forceinline__ Interval interval(uint32_t bucket, uint32_t buckets) const {
    constexpr Bits all = static_cast<Bits>(~Bits{0});
    if (is_leading_bits()) {
      const uint32_t shift = sizeof(Bits) * 8 - static_cast<uint32_t>(__ffs(static_cast<int>(buckets)) - 1);
      const Bits first = static_cast<Bits>(bucket) << shift;
      return {first, static_cast<Bits>(first | (all >> (sizeof(Bits) * 8 - shift)))};
    }
    // Whatever lies outside of the range is in the first or the last bucket.
    const Bits first = bucket == 0 ? Bits{0} : static_cast<Bits>(lowest + first_above(bucket));
    const bool is_last = leading_of(bucket + 1) > leading(range);
    return {first, is_last ? all : static_cast<Bits>(lowest + first_above(bucket + 1) - 1)};
  }

 private:
  /// The 32 bits from the highest bit of `range` on.
  __device__ __forceinline__ uint32_t leading(Bits above) const {
    return static_cast<uint32_t>(static_cast<Bits>(above << left) >> (sizeof(Bits) * 8 - 32));
  }
  /// The smallest leading word of `bucket`.
  __device__ __forceinline__ uint64_t leading_of(uint32_t bucket) const {
    return ((uint64_t{bucket} << 32) + scale - 1) / scale;
  }
  /// The distance from `lowest` of the smallest key of `bucket`.
  __device__ __forceinline__ Bits first_above(uint32_t bucket) const {
    const Bits word = static_cast<Bits>(leading_of(bucket)) << (sizeof(Bits) * 8 - 32);
    const Bits rounding = static_cast<Bits>((Bits{1} << left) - 1);
    return static_cast<Bits>((word >> left) + ((word & rounding) != 0));
  }
};

}  // namespace sweepsort
