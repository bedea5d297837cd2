// bucket_map.cuh - which bucket a key belongs to: a function that is linear in the key. So keys which lie
// close together (identifiers, time stamps) spread over all buckets, not only over those that their leading
// bits name. Interpolation as in Neubert, "The Flashsort1 Algorithm", 1998. If keys are uneven (normally
// distributed ones, for example), the function is linear in each of 1,024 or 4,096 pieces of the range. For
// floats, it may be linear in their value, or in the value within each piece, rather than in their bits.
//
//     lowest                                        lowest + range
//     |-------|-------|-------|-------|-------|-------|
//       0       1       2       3       4       5         keys outside belong to the first or the last bucket
//
// A sort needs only that the function never falls. Then any `lowest`, `range` and pieces, guessed from a few
// keys, give right results. A bad guess only costs time.
#pragma once

#include "core/key_bits.hpp"
#include "core/rounding.hpp"

#include <cuda_runtime.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sweepsort {

template <class Bits>
__device__ __forceinline__ uint32_t leading_zeros(Bits bits) {
  return static_cast<uint32_t>(sizeof(Bits) == 4 ? __clz(static_cast<int>(bits))
                                                 : __clzll(static_cast<long long>(bits)));
}

/// A bucket map leaves this part of its sample's spread as room on both sides, or less where that reaches the
/// ends of a block (BucketMap::filling). The probability that 1,024 independent samples miss more than 1/64
/// of the keys is below 10^-6.
inline constexpr uint32_t sample_slack_part = 64;

/// Where in a map's range a key lies, as a word: the 32 bits from the highest bit of `range` on.
template <class Bits>
struct BucketMap {
  static_assert(sizeof(Bits) == 4 || sizeof(Bits) == 8);
  Bits lowest;
  Bits range;      // 1 or more
  uint32_t left;   // leading zeros of range
  uint32_t scale;  // buckets * 2^32 / (the last word + 1)

  /// `buckets`: at most 2^16.
  static __device__ __forceinline__ BucketMap over(Bits lowest, Bits range, uint32_t buckets) {
    BucketMap map{.lowest = lowest, .range = max(range, Bits{1}), .left = 0, .scale = 0};
    map.left = leading_zeros(map.range);
    map.scale = static_cast<uint32_t>((uint64_t{buckets} << 32) / (uint64_t{map.last_word()} + 1));
    return map;
  }

  /// Over [least, most] and `slack` more on both sides, within the range of the type.
  static __device__ __forceinline__ BucketMap around(Bits least, Bits most, Bits slack, uint32_t buckets) {
    constexpr Bits all = static_cast<Bits>(~Bits{0});
    const Bits lowest = least > slack ? static_cast<Bits>(least - slack) : Bits{0};
    const Bits highest = most < all - slack ? static_cast<Bits>(most + slack) : all;
    return over(lowest, static_cast<Bits>(highest - lowest), buckets);
  }
  /// The same, but over a block of 2^k values that begins at a multiple of 2^k, if its ends are within the
  /// slack. Keys often fill such a block, and intervals of 2^i values are divided into parts that use all
  /// words (BucketParts). The first and the last bucket, which are open, then have as many keys as others.
  /// Keys beyond the block, which the samples missed, come on top, whereas slack would give them buckets of
  /// their own.
  static __device__ __forceinline__ BucketMap filling(Bits least, Bits most, Bits slack, uint32_t buckets) {
    constexpr Bits all = static_cast<Bits>(~Bits{0});
    const Bits inside = least == most ? Bits{0} : static_cast<Bits>(all >> leading_zeros(least ^ most));
    const Bits begin = least & ~inside;
    if (least - begin <= slack && begin + inside - most <= slack) return over(begin, inside, buckets);
    return around(least, most, slack, buckets);
  }

  __device__ __forceinline__ uint32_t word_of(Bits ordered) const {
    return leading(min(static_cast<Bits>(max(ordered, lowest) - lowest), range));
  }
  __device__ __forceinline__ uint32_t last_word() const { return leading(range); }
  __device__ __forceinline__ bool contains(Bits ordered) const {
    return static_cast<Bits>(ordered - lowest) <= range;
  }

  /// The smallest key within the range that has this word or a higher one.
  __device__ __forceinline__ Bits first_key(uint32_t word) const {
    const Bits shifted = static_cast<Bits>(word) << (sizeof(Bits) * 8 - 32);
    const Bits rounding = static_cast<Bits>((Bits{1} << left) - 1);
    return static_cast<Bits>(lowest + (shifted >> left) + ((shifted & rounding) != 0));
  }

  /// Whether a linear bucket is simply the leading bits of the key.
  __device__ __forceinline__ bool is_leading_bits() const {
    return lowest == 0 && range == static_cast<Bits>(~Bits{0});
  }

  /// Whether each linear bucket holds at most one value, so that bucket b holds the value lowest + b.
  /// `buckets` is the number that the map was made for, a power of two.
  SWEEPSORT_HOST_DEVICE bool is_exact(uint32_t buckets) const { return range == buckets - 1; }

 private:
  __device__ __forceinline__ uint32_t leading(Bits above) const {
    return static_cast<uint32_t>(static_cast<Bits>(above << left) >> (sizeof(Bits) * 8 - 32));
  }
};

/// Buckets of equal width.
template <class Bits>
struct LinearBuckets {
  using Key = Bits;
  BucketMap<Bits> map;

  /// The map for keys whose samples span [least, most]. It extends by sample_slack_part of that span on both
  /// sides, or to the ends of a block that lie within this room.
  static __device__ __forceinline__ LinearBuckets around(Bits least, Bits most, uint32_t buckets,
                                                         const KeyMap<Bits>& /*map*/) {
    const Bits slack = static_cast<Bits>(most - least) / sample_slack_part;
    return {BucketMap<Bits>::filling(least, most, slack, buckets)};
  }
  __device__ __forceinline__ bool is_usable() const { return true; }
  /// Whether the range has at least this many values.
  __device__ __forceinline__ bool may_hold(uint64_t values) const { return map.range >= values - 1; }
  __device__ __forceinline__ uint32_t of_word(uint32_t word) const { return __umulhi(word, map.scale); }
  /// The number of a part, if each bucket has 2^14 parts.
  __device__ __forceinline__ uint32_t part_of_word(uint32_t word) const {
    return of_word(word) << 14 | word * map.scale >> 18;
  }
  /// The first word of this bucket or a higher one; if there is none, the word behind the last.
  __device__ __forceinline__ uint64_t first_word(uint32_t bucket) const {
    const uint64_t word = ceil_divide(uint64_t{bucket} << 32, map.scale);
    return min(word, uint64_t{map.last_word()} + 1);
  }
  __device__ __forceinline__ uint32_t operator()(Bits ordered) const { return of_word(map.word_of(ordered)); }
};

/// The number of a piece's first bucket is in the low half of the word. The high half has the number of
/// buckets before the next piece's first one. Zero: the piece shares a bucket with its neighbours.
using MapPiece = uint32_t;

/// How finely a range is divided: into 2^this pieces. The 2,046 exponents of doubles are as many pieces of
/// their range.
inline constexpr uint32_t coarse_piece_bits = 10;
inline constexpr uint32_t fine_piece_bits = 12;
inline constexpr uint32_t max_map_pieces = 1u << fine_piece_bits;

/// `Map`: BucketMap, or RealMap for floats.
template <class Bits, class Map = BucketMap<Bits>>
struct PiecedBuckets {
  using Key = Bits;
  Map map;
  const MapPiece* pieces;  // indexed by the leading bits of a word
  uint32_t piece_bits;     // the number of these bits

  __device__ __forceinline__ uint32_t of_word(uint32_t word) const {
    const MapPiece piece = pieces[piece_of(word)];
    return (piece & 0xffff) + __umulhi(word << piece_bits, piece >> 16);
  }
  /// The number of a part, if each bucket has 2^14 parts.
  __device__ __forceinline__ uint32_t part_of_word(uint32_t word) const {
    const uint32_t buckets = max(pieces[piece_of(word)] >> 16, 1u);
    return of_word(word) << 14 | (word << piece_bits) * buckets >> 18;
  }
  __device__ __forceinline__ uint32_t piece_of(uint32_t word) const {
    return __funnelshift_l(word, 0, piece_bits);
  }
  __device__ __forceinline__ uint64_t first_word(uint32_t bucket) const {
    const uint64_t end = uint64_t{map.last_word()} + 1;
    const uint32_t word_bits = 32 - piece_bits;
    // Finds the first piece with a word of this bucket or a higher one,
    uint32_t low = 0;
    uint32_t high = piece_of(map.last_word()) + 1;
    while (low < high) {
      const uint32_t middle = (low + high) / 2;
      const MapPiece piece = pieces[middle];
      if ((piece & 0xffff) + max(piece >> 16, 1u) - 1 < bucket)
        low = middle + 1;
      else
        high = middle;
    }
    const uint64_t first = uint64_t{low} << word_bits;
    if (first >= end) return end;
    // and then that word in it.
    const MapPiece piece = pieces[low];
    if (bucket <= (piece & 0xffff)) return first;
    const uint64_t higher = uint64_t{bucket - (piece & 0xffff)} << word_bits;
    return min(first + (higher + (piece >> 16) - 1) / (piece >> 16), end);
  }
  __device__ __forceinline__ uint32_t operator()(Bits ordered) const { return of_word(map.word_of(ordered)); }
};

/// The buckets of the map, and one parent more for a value that stands apart. All keys of the value are in
/// the first bucket of that parent. The buckets of higher keys are moved up so far that they begin behind
/// that parent.
template <class Bits>
struct BucketsBeside {
  PiecedBuckets<Bits> pieced;
  Bits value;
  uint32_t further;

  /// For a key that is not the value.
  __device__ __forceinline__ uint32_t operator()(Bits ordered) const {
    return pieced(ordered) + (ordered > value ? further : 0);
  }
};

/// Buckets of equal width in the values of floating-point keys. `map` gives the keys' ordered bits.
template <class Bits>
struct RealBuckets {
  using Key = Bits;
  using Real = std::conditional_t<sizeof(Bits) == 4, float, double>;
  Real lowest;
  Real highest;
  Real scale;
  uint32_t buckets;
  KeyMap<Bits> map;

  /// `least` and `most` are ordered bits. `slack` times their spread is room at either end.
  static __device__ __forceinline__ RealBuckets over(Bits least, Bits most, Real slack, uint32_t buckets,
                                                     const KeyMap<Bits>& map) {
    using std::fmax;
    using std::fmin;
    const Real one = value_of(map.from_ordered(least));
    const Real other = value_of(map.from_ordered(most));
    const Real spread = fmax(one, other) - fmin(one, other);
    RealBuckets made{.lowest = fmin(one, other) - slack * spread,
                     .highest = fmax(one, other) + slack * spread,
                     .scale = 0,
                     .buckets = buckets,
                     .map = map};
    made.scale = static_cast<Real>(buckets) / (made.highest - made.lowest);
    return made;
  }
  static __device__ __forceinline__ RealBuckets around(Bits least, Bits most, uint32_t buckets,
                                                       const KeyMap<Bits>& map) {
    return over(least, most, 1 / static_cast<Real>(sample_slack_part), buckets, map);
  }
  /// False if the least or the most key is not a finite number, or too close to the limits of its type. Then
  /// nothing else may be called.
  __device__ __forceinline__ bool is_usable() const {
    constexpr Real most = std::numeric_limits<Real>::max();
    return lowest >= -most && highest <= most && scale > 0 && scale <= most;
  }

  struct Ends {
    Real low;
    Real high;
  };
  /// The ends of a bucket's values, except for rounding.
  __device__ __forceinline__ Ends ends_of(uint32_t bucket) const {
    const uint32_t from_lowest = map.descends ? buckets - 1 - bucket : bucket;
    const Real low = lowest + static_cast<Real>(from_lowest) / scale;
    return {low, low + 1 / scale};
  }
  static __device__ __forceinline__ Real value_of(Bits raw) {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(Bits) == 4)
      return __uint_as_float(raw);
    else
      return __longlong_as_double(static_cast<long long>(raw));
#else
    return std::bit_cast<Real>(raw);
#endif
  }
  __device__ __forceinline__ Bits ordered_of(Real value) const { return map.to_ordered(bits_of(value)); }
  /// Not known: the smaller numbers are, the closer they lie.
  __device__ __forceinline__ bool may_hold(uint64_t /*values*/) const { return true; }

  /// Whether a finite value is a whole number.
  __device__ __forceinline__ bool is_whole(Bits ordered) const {
    const Real value = value_of(map.from_ordered(ordered));
    return std::trunc(value) == value;
  }
  __device__ __forceinline__ uint32_t operator()(Bits ordered) const {
    return of_raw(map.from_ordered(ordered));
  }
  /// NaN is above all numbers, as in the sort order. A rounded difference and a rounded product never fall as
  /// a key rises.
  __device__ __forceinline__ uint32_t of_raw(Bits raw) const {
    const Real value = value_of(raw);
    const Real inside = value < highest ? max(value, lowest) : highest;
    const uint32_t bucket = min(static_cast<uint32_t>((inside - lowest) * scale), buckets - 1);
    return map.descends ? buckets - 1 - bucket : bucket;
  }

  /// The last key of a lower bucket, or one close to it. Finding that key exactly takes many steps, around
  /// zero a hundred.
  __device__ __forceinline__ Bits begin_of(uint32_t bucket) const {
    if (bucket == 0) return 0;
    return beside(edge_below(bucket), -1, [=, this](Bits ordered) { return (*this)(ordered) < bucket; });
  }
  /// The first key of a higher bucket, or one close to it.
  __device__ __forceinline__ Bits end_of(uint32_t bucket) const {
    if (bucket + 1 >= buckets) return static_cast<Bits>(~Bits{0});
    return beside(edge_below(bucket + 1), 1, [=, this](Bits ordered) { return (*this)(ordered) > bucket; });
  }

  /// The smallest ordered bits of this bucket or a higher one. `behind`: there are none.
  __device__ __forceinline__ Bits first_key(uint32_t bucket, bool& behind) const {
    constexpr Bits all = static_cast<Bits>(~Bits{0});
    Bits low = 0;
    Bits high = all;
    behind = (*this)(all) < bucket;
    if (behind || (*this)(0) >= bucket) return 0;
    // Starts where the edge would be without rounding, in steps that double. Then bisects the last step.
    const Bits guess = ordered_of(edge_below(bucket));
    Bits step = 1;
    const auto grow = [&] { step = min(static_cast<Bits>(2 * step), static_cast<Bits>(all / 4)); };
    if ((*this)(guess) < bucket) {
      low = guess;
      for (; high - low > step && (*this)(low + step) < bucket; grow()) low += step;
      if (high - low > step) high = low + step;
    } else {
      high = guess;
      for (; high - low > step && (*this)(high - step) >= bucket; grow()) high -= step;
      if (high - low > step) low = high - step;
    }
#pragma unroll 1
    while (high - low > 1) {
      const Bits middle = low + (high - low) / 2;
      if ((*this)(middle) < bucket)
        low = middle;
      else
        high = middle;
    }
    return high;
  }

 private:
  /// Where a bucket begins in the keys' order, except for rounding.
  __device__ __forceinline__ Real edge_below(uint32_t bucket) const {
    const uint32_t from_lowest = map.descends ? buckets - bucket : bucket;
    return lowest + static_cast<Real>(from_lowest) / scale;
  }
  /// Goes from `edge` down (-1) or up in the keys' order until is_beyond(ordered bits). Each step is sixteen
  /// times as long as the one before. The first step is as long as a rounding error may be.
  template <class IsBeyond>
  __device__ __forceinline__ Bits beside(Real edge, int direction, IsBeyond is_beyond) const {
    constexpr Real rounding = 4 * std::numeric_limits<Real>::epsilon();
    Real step = max(rounding * max(std::fabs(lowest), std::fabs(highest)), std::numeric_limits<Real>::min());
    if (map.descends == (direction > 0)) step = -step;
    while (true) {
      const Bits ordered = ordered_of(edge + step);
      if (is_beyond(ordered)) return ordered;
      step *= 16;
    }
  }
  static __device__ __forceinline__ Bits bits_of(Real value) {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(Bits) == 4)
      return __float_as_uint(value);
    else
      return static_cast<Bits>(__double_as_longlong(value));
#else
    return std::bit_cast<Bits>(value);
#endif
  }
};

/// Whether buckets are linear in the values of floats.
template <class Buckets>
inline constexpr bool divides_reals = std::is_same_v<Buckets, RealBuckets<typename Buckets::Key>>;

/// As BucketMap, for floating-point keys: where the value of a key lies in the map's range.
template <class Bits>
struct RealMap {
  /// Low enough that a rounded product of floats stays below 2^32.
  static constexpr uint32_t words = 0xff000000;
  RealBuckets<Bits> by_word;

  /// `slack` times the spread is room at either end.
  static __device__ __forceinline__ RealMap over(Bits least, Bits most,
                                                 typename RealBuckets<Bits>::Real slack,
                                                 const KeyMap<Bits>& map) {
    return {RealBuckets<Bits>::over(least, most, slack, words, map)};
  }
  __device__ __forceinline__ bool is_usable() const { return by_word.is_usable(); }
  __device__ __forceinline__ uint32_t word_of(Bits ordered) const { return by_word(ordered); }
  __device__ __forceinline__ uint32_t last_word() const { return words - 1; }
};

/// Splitters (splitters.cuh) of 2^bits buckets in shared memory, as a tree in level order: Sanders & Winkel,
/// "Super Scalar Sample Sort", 2004. In a sorted array, the first steps of all lanes would access one bank.
template <class Bits>
struct SplitterTree {
  Bits* nodes;  // 2^bits; the first one is not used
  uint32_t bits;

  /// Fills the tree with every 2^shift-th splitter of `splitters`, the first of which is not used. Called by
  /// the whole block.
  __device__ __forceinline__ void plant(const Bits* splitters, uint32_t shift) const {
    for (uint32_t i = threadIdx.x; i < 1u << bits; i += blockDim.x) {
      const uint32_t level = 31 - static_cast<uint32_t>(__clz(static_cast<int>(max(i, 1u))));
      if (i > 0) nodes[i] = splitters[(2 * (i - (1u << level)) + 1) << (bits - level - 1) << shift];
    }
  }
  /// Finds the buckets of several ordered keys. Their paths down the tree are followed side by side.
  template <uint32_t keys>
  __device__ __forceinline__ void find(const Bits (&key)[keys], uint32_t (&bucket)[keys]) const {
#pragma unroll
    for (uint32_t k = 0; k < keys; ++k) bucket[k] = 1;
#pragma unroll 1
    for (uint32_t level = 0; level < bits; ++level)
#pragma unroll
      for (uint32_t k = 0; k < keys; ++k) bucket[k] = 2 * bucket[k] + (nodes[bucket[k]] <= key[k] ? 1 : 0);
#pragma unroll
    for (uint32_t k = 0; k < keys; ++k) bucket[k] -= 1u << bits;
  }
};

/// A tag for digits that a SplitterTree finds.
template <class Bits>
struct SplitDigits {};

}  // namespace sweepsort
