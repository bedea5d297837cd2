// bucket_parts.cuh - which keys a bucket may hold, and how its interval is divided into parts, many more than
// it has keys (bucket_sort.cuh): linear in the key's bits or, for floats, in its value.
#pragma once

#include "core/key_bits.hpp"
#include "kernels/bucket_map.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

template <class Bits>
struct KeyInterval {
  Bits first;
  Bits last;
  bool is_open;  // the interval goes on beyond the map's range, where few keys are
};

/// The interval if no keys are beyond the map's range.
template <class Bits>
__device__ __forceinline__ KeyInterval<Bits> closed(const KeyInterval<Bits>& interval,
                                                    const BucketMap<Bits>& map) {
  return {max(interval.first, map.lowest), min(interval.last, static_cast<Bits>(map.lowest + map.range)),
          false};
}

/// The keys that a bucket may hold, if there are any.
template <class Buckets>
__device__ __forceinline__ KeyInterval<typename Buckets::Key> interval_of(const Buckets& buckets,
                                                                          uint32_t bucket) {
  using Bits = typename Buckets::Key;
  const BucketMap<Bits>& map = buckets.map;
  const uint64_t end = uint64_t{map.last_word()} + 1;
  // Keys outside of the range are in the first or the last bucket.
  const uint64_t first = buckets.first_word(bucket);
  const uint64_t behind = buckets.first_word(bucket + 1);
  constexpr Bits all = static_cast<Bits>(~Bits{0});
  return {
      first == 0 ? Bits{0} : map.first_key(static_cast<uint32_t>(first)),
      behind == end ? all : static_cast<Bits>(map.first_key(static_cast<uint32_t>(behind)) - 1),
      (first == 0 && map.lowest != 0) || (behind == end && static_cast<Bits>(map.lowest + map.range) != all)};
}

/// A little more than the exact interval.
template <class Bits>
__device__ __forceinline__ KeyInterval<Bits> interval_of(const RealBuckets<Bits>& buckets, uint32_t bucket) {
  const bool is_open = bucket == 0 || bucket + 1 >= buckets.buckets;
  return {buckets.begin_of(bucket), buckets.end_of(bucket), is_open};
}

template <class Bits>
__device__ __forceinline__ KeyInterval<Bits> interval_of(const PiecedBuckets<Bits, RealMap<Bits>>& buckets,
                                                         uint32_t bucket) {
  const RealMap<Bits>& map = buckets.map;
  const auto first_key = [&](uint32_t of_bucket, bool& none) {
    const uint64_t word = buckets.first_word(of_bucket);
    none = word > map.last_word();
    return none ? Bits{0} : map.by_word.first_key(static_cast<uint32_t>(word), none);
  };
  bool none = false;
  const Bits first = first_key(bucket, none);
  const Bits behind = first_key(bucket + 1, none);
  return {first, none ? static_cast<Bits>(~Bits{0}) : static_cast<Bits>(behind - 1), first == 0 || none};
}

/// Divides a bucket's interval into at most 2^bits parts of 2^shift values each. A word (bucket_sort.cuh)
/// stands for several parts, a power of two. For pairs, there may be several parts for each value instead
/// (PlacedParts).
struct BucketParts {
  static constexpr uint32_t max_in_word = 16;
  static constexpr uint16_t unknown = 0xffff;
  static constexpr uint16_t placed = 0x100;  // added to the shift of PlacedParts

  uint16_t shift;        // placed: each value has 2^(shift - placed) parts
  uint16_t word_shift;   // a word stands for 2^word_shift values: at least one; placed: 2^word_shift
                         // neighbouring places may share a part
  uint32_t lowest_word;  // a key of the first word, shifted by word_shift, modulo 2^32; placed: the first key

  /// Parts of a bucket that may hold the keys of `interval`.
  template <class Bits>
  static __device__ __forceinline__ BucketParts of(const KeyInterval<Bits>& interval, uint32_t bits) {
    return interval.is_open ? not_known() : over(interval.first, interval.last, bits);
  }
  /// Parts that are still to be found in another way, usually from the keys that the bucket has, because most
  /// of the interval has none.
  static __device__ __forceinline__ BucketParts not_known() { return {unknown, unknown, 0}; }
  __device__ __forceinline__ bool are_known() const { return shift != unknown; }

  /// Each of 2^bits / max_in_word words has as few values as there is room for.
  template <class Bits>
  static __device__ __forceinline__ BucketParts over(Bits first, Bits last, uint32_t bits) {
    constexpr uint32_t word_bits = 4;
    static_assert(max_in_word == 1u << word_bits);
    const Bits range = static_cast<Bits>(last - first);
    const uint32_t used = sizeof(Bits) * 8 - leading_zeros(range);
    const uint32_t words = bits - word_bits;
    uint32_t word_shift = used > words ? used - words : 0;
    // An interval that begins in the middle of a word may touch one word more.
    if (static_cast<Bits>((last >> word_shift) - (first >> word_shift)) >> words != 0) ++word_shift;
    return {static_cast<uint16_t>(max(word_shift, word_bits) - word_bits), static_cast<uint16_t>(word_shift),
            static_cast<uint32_t>(first >> word_shift)};
  }

  template <class Bits>
  static __device__ __forceinline__ BucketParts over(Bits first, Bits last, uint32_t bits,
                                                     const KeyMap<Bits>& /*map*/) {
    return over(first, last, bits);
  }

  /// PlacedParts of a bucket of `size` pairs, at least two. The interval has at most 2^bits values.
  template <class Bits>
  static __device__ __forceinline__ BucketParts over_places(Bits first, Bits last, uint32_t size,
                                                            uint32_t bits) {
    const auto range = static_cast<Bits>(last - first);
    const uint32_t each = bits + leading_zeros(range) - static_cast<uint32_t>(sizeof(Bits) * 8);
    const uint32_t places = 32 - leading_zeros(size - 1);
    return {static_cast<uint16_t>(placed + each), static_cast<uint16_t>(places > each ? places - each : 0),
            static_cast<uint32_t>(first)};
  }
  __device__ __forceinline__ bool are_placed() const { return shift / placed == 1; }

  template <class Bits>
  __device__ __forceinline__ uint32_t word_of(Bits ordered) const {
    return static_cast<uint32_t>(ordered >> word_shift) - lowest_word;
  }
  /// The low bits say which of its word's parts the key is in. Never lower for a higher key.
  template <class Bits>
  __device__ __forceinline__ uint32_t in_word(Bits ordered) const {
    return static_cast<uint32_t>(ordered >> shift);
  }
  __device__ __forceinline__ bool words_have_one_value() const { return word_shift == 0; }
  /// Calls body(parts). The parts may be of one kind or another. A bucket is asked once which kind it is, not
  /// once for each of its keys. `bits`: the number that the parts were made with.
  template <class Bits, class Body>
  __device__ __forceinline__ auto as_one_kind(uint32_t /*bits*/, const KeyMap<Bits>& /*map*/,
                                              Body body) const {
    return body(*this);
  }
};

/// Parts of pairs whose keys have few values: each value has several parts, and the place of a pair in the
/// bucket says which of them is its own. A higher key, or an equal one at a higher place, never has a lower
/// part.
struct PlacedParts {
  BucketParts parts;  // are_placed()

  template <class Bits>
  __device__ __forceinline__ uint32_t number(Bits ordered, uint32_t place) const {
    const uint32_t value = static_cast<uint32_t>(ordered) - parts.lowest_word;
    return (value << parts.shift % BucketParts::placed) + (place >> parts.word_shift);
  }
};

/// Parts that are linear in the values of floats. They suit buckets around zero. If parts were linear in the
/// bits there, half of the keys would have one exponent, and the other half all lower exponents.
template <class Bits>
struct RealParts {
  RealBuckets<Bits> parts;

  /// 2^bits parts of keys whose ordered bits span [least, most]. If these values make no usable parts, makes
  /// some other parts.
  static __device__ __forceinline__ RealParts over(Bits least, Bits most, uint32_t bits,
                                                   const KeyMap<Bits>& map) {
    auto parts = RealBuckets<Bits>::over(least, most, 0, 1u << bits, map);
    if (!parts.is_usable()) {
      parts.lowest = 0;
      parts.highest = 1;
      parts.scale = static_cast<typename RealBuckets<Bits>::Real>(parts.buckets);
    }
    return {parts};
  }

  __device__ __forceinline__ uint32_t word_of(Bits ordered) const {
    return parts(ordered) / BucketParts::max_in_word;
  }
  __device__ __forceinline__ uint32_t in_word(Bits ordered) const { return parts(ordered); }
  __device__ __forceinline__ bool words_have_one_value() const { return false; }
  template <class Body>
  __device__ __forceinline__ auto as_one_kind(uint32_t /*bits*/, const KeyMap<Bits>& /*map*/,
                                              Body body) const {
    return body(*this);
  }
};

/// Whether a bucket is so close to zero that its values have many exponents. Parts by their bits would be
/// crowded.
template <class Real>
__device__ __forceinline__ bool are_around_zero(Real low, Real high) {
  constexpr int ratio = 16;
  return low < 0 ? high > low / ratio : low < high / ratio;
}

/// Parts of a bucket that is linear in the values of floats. As a rule they are linear in the bits, which
/// takes least time. They are linear in the values around zero, and in a bucket whose interval is open.
/// `is_bounded`: if the parts are linear in the bits, too, keys below `first` or above `last` belong to the
/// first or the last part.
template <class Bits, bool is_bounded>
struct FloatParts {
  BucketParts by_bits;  // not known: the parts are linear in values, from `first` to `last`
  Bits first;           // ordered bits
  Bits last;

  /// 2^bits parts of keys whose ordered bits span [least, most].
  static __device__ __forceinline__ FloatParts over(Bits least, Bits most, uint32_t bits,
                                                    const KeyMap<Bits>& map) {
    const auto one = RealBuckets<Bits>::value_of(map.from_ordered(least));
    const auto other = RealBuckets<Bits>::value_of(map.from_ordered(most));
    const bool is_by_value = are_around_zero(min(one, other), max(one, other));
    return {is_by_value ? BucketParts::not_known() : BucketParts::over(least, most, bits), least, most};
  }
  __device__ __forceinline__ bool words_have_one_value() const { return false; }
  /// Calls body(parts by bits) or body(RealParts), of which there are 2^bits.
  template <class Body>
  __device__ __forceinline__ auto as_one_kind(uint32_t bits, const KeyMap<Bits>& map, Body body) const {
    if (!by_bits.are_known()) return body(RealParts<Bits>::over(first, last, bits, map));
    if constexpr (is_bounded)
      return body(Bounded{by_bits, first, last});
    else
      return body(by_bits);
  }

 private:
  struct Bounded {
    BucketParts parts;
    Bits first;
    Bits last;

    __device__ __forceinline__ uint32_t word_of(Bits ordered) const { return parts.word_of(inside(ordered)); }
    __device__ __forceinline__ uint32_t in_word(Bits ordered) const { return parts.in_word(inside(ordered)); }
    __device__ __forceinline__ Bits inside(Bits ordered) const { return min(max(ordered, first), last); }
  };
};

}  // namespace sweepsort
