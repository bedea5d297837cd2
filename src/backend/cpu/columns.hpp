// columns.hpp - what the CPU sorts work on: a key array with its values, and keys as distances from the
// smallest one.
#pragma once

#include "core/key_bits.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace sweepsort {

/// The value type of a sort of keys alone.
struct NoValue {};

template <class Value>
inline constexpr bool has_values = !std::is_same_v<Value, NoValue>;

/// Bytes of a value in memory: none for NoValue, although sizeof says 1.
template <class Value>
inline constexpr size_t value_size = has_values<Value> ? sizeof(Value) : 0;

/// Keys and the values that travel with them (null for NoValue). Does not own.
template <class Bits, class Value>
struct Columns {
  Bits* keys = nullptr;
  Value* values = nullptr;

  Columns operator+(uint64_t offset) const {
    if constexpr (has_values<Value>) return {keys + offset, values + offset};
    return {keys + offset, nullptr};
  }
  void copy_from(Columns from, uint64_t to_index, uint64_t from_index) const {
    keys[to_index] = from.keys[from_index];
    if constexpr (has_values<Value>) values[to_index] = from.values[from_index];
  }
};

/// A sort works on distances: ordered bits minus those of the smallest key. That drops a common prefix, also
/// where it straddles a power of two, as time stamps do. The map is applied by the first pass and undone by
/// the last. `floats`: whether the key map does more than flip bits; the compiler then knows that it does
/// not.
template <class Bits, bool floats>
class Distance {
 public:
  /// The identity, from 0.
  Distance() = default;
  /// `smallest`: the smallest key's ordered bits.
  Distance(const KeyMap<Bits>& map, Bits smallest)
      : flip_positive_(map.flip_positive),
        flip_change_(static_cast<Bits>(map.flip_positive ^ map.flip_negative)),
        rotate_(map.rotate),
        invert_(map.invert),
        smallest_(smallest) {
    if (!floats) flip_positive_ ^= std::exchange(invert_, Bits{0});
  }

  Bits encode(Bits raw) const {
    if constexpr (!floats) return static_cast<Bits>(static_cast<Bits>(raw ^ flip_positive_) - smallest_);
    const auto flipped = static_cast<Bits>(raw ^ flip_positive_ ^ (sign_mask(raw) & flip_change_));
    return static_cast<Bits>(static_cast<Bits>(static_cast<Bits>(flipped - rotate_) ^ invert_) - smallest_);
  }
  Bits decode(Bits distance) const {
    const auto ordered = static_cast<Bits>(distance + smallest_);
    if constexpr (!floats) return static_cast<Bits>(ordered ^ flip_positive_);
    const auto flipped = static_cast<Bits>(static_cast<Bits>(ordered ^ invert_) + rotate_);
    // The map sets the sign of what was positive: the masks are chosen the other way round.
    return static_cast<Bits>(flipped ^ flip_positive_ ^
                             (static_cast<Bits>(~sign_mask(flipped)) & flip_change_));
  }

 private:
  /// All ones if the sign bit is set. With random signs KeyMap's choice would be a branch that nobody
  /// predicts.
  static Bits sign_mask(Bits bits) {
    return static_cast<Bits>(Bits{0} - static_cast<Bits>(bits >> KeyMap<Bits>::sign_shift));
  }

  Bits flip_positive_ = 0;
  Bits flip_change_ = 0;
  Bits rotate_ = 0;
  Bits invert_ = 0;
  Bits smallest_ = 0;
};

/// Bits needed for values up to `largest`.
template <class Bits>
constexpr uint32_t bit_count(Bits largest) {
  return static_cast<uint32_t>(std::bit_width(largest));
}

/// The lowest `bits` bits set; bits may be the whole width.
template <class Bits>
constexpr Bits low_mask(uint32_t bits) {
  return bits >= static_cast<uint32_t>(std::numeric_limits<Bits>::digits)
             ? std::numeric_limits<Bits>::max()
             : static_cast<Bits>((Bits{1} << bits) - 1);
}

}  // namespace sweepsort
