// key_scan.cpp - loops over keys without branches, which the compiler turns into vector code.
#include "pipeline/key_scan.hpp"

#include "core/key_bits.hpp"
#include "core/vector_dispatch.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#define SWEEPSORT_INLINE inline __attribute__((always_inline))

namespace sweepsort {
namespace {

template <class Bits>
SWEEPSORT_INLINE Bits load(const std::byte* keys, size_t index) {
  Bits bits;
  std::memcpy(&bits, keys + index * sizeof(Bits), sizeof bits);
  return bits;
}

template <class Bits>
SWEEPSORT_INLINE bool is_ordered_run(const std::byte* keys, size_t count, KeyMap<Bits> map) {
  Bits wrong = 0;
  if (map.is_identity()) {
    for (size_t i = 1; i < count; ++i)
      wrong = static_cast<Bits>(wrong | Bits(load<Bits>(keys, i) < load<Bits>(keys, i - 1)));
  } else {
    for (size_t i = 1; i < count; ++i)
      wrong = static_cast<Bits>(
          wrong | Bits(map.to_ordered(load<Bits>(keys, i)) < map.to_ordered(load<Bits>(keys, i - 1))));
  }
  return wrong == 0;
}

/// The largest ordered value that is not a NaN.
template <class Bits>
constexpr Bits largest_value(KeyType type) {
  if (!is_floating(type)) return std::numeric_limits<Bits>::max();
  constexpr Bits infinity = static_cast<Bits>(sizeof(Bits) == 8 ? 0x7ff0'0000'0000'0000 : 0x7f80'0000);
  return key_map<Bits>(type, Order::ascending).to_ordered(infinity);
}

template <class Bits>
SWEEPSORT_INLINE KeyStatistics statistics_run(const std::byte* keys, size_t count, KeyType type,
                                              Order order) {
  const KeyMap<Bits> map = key_map<Bits>(type, Order::ascending);
  // Descending is the exact reverse, so it is the same comparison of complements.
  const Bits flip = order == Order::descending ? std::numeric_limits<Bits>::max() : Bits{0};
  // NaNs have the highest ordered bits. Adding their number rotates them to the lowest, so that a plain
  // maximum ignores them.
  const Bits nans = static_cast<Bits>(std::numeric_limits<Bits>::max() - largest_value<Bits>(type));
  Bits min = map.to_ordered(load<Bits>(keys, 0));
  Bits rotated_max = static_cast<Bits>(min + nans);
  KeyStatistics statistics;
  // Short loops over a block that stays in the first-level cache, each of which the compiler turns into
  // vector code. Counters as wide as the keys keep every lane busy, so a block must be short enough for 8-bit
  // counters.
  constexpr size_t block = 128;
  std::array<Bits, block + 1> ordered;
  for (size_t start = 1; start < count; start += block) {
    const size_t length = std::min(block, count - start);
    for (size_t i = 0; i <= length; ++i) ordered[i] = map.to_ordered(load<Bits>(keys, start - 1 + i));
    Bits changes = 0;
    Bits descents = 0;
    for (size_t i = 1; i <= length; ++i)
      changes = static_cast<Bits>(changes + Bits(ordered[i] != ordered[i - 1]));
    for (size_t i = 1; i <= length; ++i)
      descents = static_cast<Bits>(descents + Bits(Bits(ordered[i] ^ flip) < Bits(ordered[i - 1] ^ flip)));
    for (size_t i = 1; i <= length; ++i) min = std::min(min, ordered[i]);
    for (size_t i = 1; i <= length; ++i) rotated_max = std::max(rotated_max, Bits(ordered[i] + nans));
    statistics.changes += changes;
    statistics.descents += descents;
  }
  statistics.has_values = rotated_max >= nans;
  statistics.min = min;
  statistics.max = static_cast<Bits>(rotated_max - nans);
  return statistics;
}

}  // namespace

uint64_t ordered_key(const std::byte* key, KeyType type, Order order) {
  return dispatch_bits(type, [&]<class Bits>(std::type_identity<Bits>) -> uint64_t {
    return key_map<Bits>(type, order).to_ordered(load<Bits>(key, 0));
  });
}

bool is_ordered(std::span<const std::byte> keys, KeyType type, Order order) {
  return dispatch_bits(type, [&]<class Bits>(std::type_identity<Bits>) {
    const KeyMap<Bits> map = key_map<Bits>(type, order);
    return with_best_vectors([&]() __attribute__((always_inline)) {
      return is_ordered_run<Bits>(keys.data(), keys.size() / sizeof(Bits), map);
    });
  });
}

KeyStatistics key_statistics(std::span<const std::byte> keys, KeyType type, Order order) {
  return dispatch_bits(type, [&]<class Bits>(std::type_identity<Bits>) {
    return with_best_vectors([&]() __attribute__((always_inline)) {
      return statistics_run<Bits>(keys.data(), keys.size() / sizeof(Bits), type, order);
    });
  });
}

uint64_t first_descent(std::span<const std::byte> keys, KeyType type, Order order) {
  const size_t width = key_bytes(type);
  for (size_t at = width; at < keys.size(); at += width)
    if (ordered_key(keys.data() + at, type, order) < ordered_key(keys.data() + at - width, type, order))
      return at / width;
  return keys.size() / width;
}

}  // namespace sweepsort
