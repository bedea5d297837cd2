// key_scan.hpp - what one read of sorted or unsorted keys in memory tells: order, extremes, changes.
#pragma once

#include "core/key_type.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sweepsort {

/// The rank of a key among all keys of its type in this order (core/key_bits.hpp), widened to 64 bits.
uint64_t ordered_key(const std::byte* key, KeyType type, Order order);

/// No key comes before its predecessor. Vectorised; any alignment.
bool is_ordered(std::span<const std::byte> keys, KeyType type, Order order);

struct KeyStatistics {
  uint64_t changes = 0;     // keys that differ from the one before
  uint64_t descents = 0;    // keys that should stand before the one before
  uint64_t min = 0;         // ordered_key() of the smallest and largest for Order::ascending
  uint64_t max = 0;         // NaNs do not count, unless there is nothing else
  bool has_values = false;  // a key that is not NaN
};

/// Of at least one key; `order` matters for the descents alone.
KeyStatistics key_statistics(std::span<const std::byte> keys, KeyType type, Order order);

/// The index of the first key that should stand before its predecessor; the number of keys if there is none.
uint64_t first_descent(std::span<const std::byte> keys, KeyType type, Order order);

}  // namespace sweepsort
