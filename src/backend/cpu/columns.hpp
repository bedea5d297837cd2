// columns.hpp - the data of the CPU sorts: a key array with its values, and keys as distances from the
// smallest key.
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

namespace sweepsort {

template <class Value>
inline constexpr bool has_values = !std::is_same_v<Value, NoValue>;

/// Bytes of a value in memory: 0 for NoValue, although sizeof says 1.
template <class Value>
inline constexpr size_t value_size = has_values<Value> ? sizeof(Value) : 0;

/// Keys and the values that move with them (null for NoValue). Does not own them.
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

/// A sort works on distances: ordered bits minus those of the smallest key. This removes a common prefix,
/// even if the range straddles a power of two, as with time stamps. The first pass applies the map and the
/// last one reverts it. `floats` is false if the key map only flips bits; then the compiler can use that.
template <class Bits, bool floats>
class Distance {
 public:
  /// The identity, with distances from 0.
  Distance() = default;
  /// `smallest`: the smallest key's ordered bits.
  Distance(const KeyMap<Bits>& map, Bits smallest) : map_(map) {
    map_.add = static_cast<Bits>(map.add - smallest);
  }

  Bits encode(Bits raw) const {
    if constexpr (!floats) return static_cast<Bits>((raw ^ map_.flip) + map_.add);
    return map_.to_ordered(raw);
  }
  Bits decode(Bits distance) const {
    if constexpr (!floats) return static_cast<Bits>(static_cast<Bits>(distance - map_.add) ^ map_.flip);
    return map_.from_ordered(distance);
  }

 private:
  KeyMap<Bits> map_;  // from keys to distances
};

/// The number of bits needed for values up to `largest`.
template <class Bits>
constexpr uint32_t bit_count(Bits largest) {
  return static_cast<uint32_t>(std::bit_width(largest));
}

/// A mask of the lowest `bits` bits; `bits` may be the whole width.
template <class Bits>
constexpr Bits low_mask(uint32_t bits) {
  return bits >= static_cast<uint32_t>(std::numeric_limits<Bits>::digits)
             ? std::numeric_limits<Bits>::max()
             : static_cast<Bits>((Bits{1} << bits) - 1);
}

}  // namespace sweepsort
