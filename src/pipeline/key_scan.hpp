// key_scan.hpp - what one read of keys in memory shows: order, extremes, changes.
#pragma once

#include "core/key_type.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sweepsort {

/// The rank of a key among all keys of its type in the given order (core/key_bits.hpp), widened to 64 bits.
uint64_t ordered_key(const std::byte* key, KeyType type, Order order);

/// Whether no key sorts before its predecessor. Vectorised; any alignment.
bool is_ordered(std::span<const std::byte> keys, KeyType type, Order order);

struct KeyStatistics {
  uint64_t changes = 0;     // keys that differ from their predecessor
  uint64_t descents = 0;    // keys that should come before their predecessor
  uint64_t min = 0;         // ordered_key() of the smallest and largest for Order::ascending
  uint64_t max = 0;         // NaNs do not count, unless there are only NaNs
  bool has_values = false;  // whether there is a key that is not NaN
};

/// Statistics of at least one key. `order` affects only `descents`.
KeyStatistics key_statistics(std::span<const std::byte> keys, KeyType type, Order order);

/// The index of the first key that should come before its predecessor; the number of keys if there is none.
uint64_t first_descent(std::span<const std::byte> keys, KeyType type, Order order);

}  // namespace sweepsort
