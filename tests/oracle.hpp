// oracle.hpp - what a sorted output must be: the one judge that every sort in the tests faces.
//
// Below 2^22 keys the standard library sorts too, and every bit must be the same. Above, the output must be
// in order AND hold the same multiset: order alone lets all zeros pass. Floats are judged by their ordered
// bits (core/key_bits.hpp), so that NaN payloads and the sign of zero count.
#pragma once

#include "catch.hpp"
#include "core/fingerprint.hpp"
#include "core/key_bits.hpp"
#include "core/key_type.hpp"
#include "seed.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace sweepsort::oracle {

inline constexpr uint64_t exact_below = uint64_t{1} << 22;

template <class Key>
struct Ordered {
  using Bits = BitsOf<Key>;
  KeyMap<Bits> map;
  explicit Ordered(Order order) : map(key_map<Bits>(key_type_of<Key>(), order)) {}
  Bits operator()(const Key& key) const { return map.to_ordered(std::bit_cast<Bits>(key)); }
};

template <class T>
UnsignedOf<sizeof(T)> raw_bits(const T& value) {
  return std::bit_cast<UnsignedOf<sizeof(T)>>(value);
}

/// Order-independent sum of a mix of each element; a plain loop, so that a fault of the product's
/// vectorised fingerprint cannot hide itself.
template <class T>
uint64_t multiset_sum(std::span<const T> values) {
  uint64_t sum = 0;
  for (const T& value : values) sum += fingerprint_mix(raw_bits(value) + 0x9e3779b97f4a7c15ull);
  return sum;
}

/// Empty if all is well, else one line about the first fault.
using Verdict = std::optional<std::string>;

template <class Key>
std::string describe(uint64_t index, const Key& got) {
  std::ostringstream text;
  text << "index " << index << ": got " << +got << " (bits 0x" << std::hex << +raw_bits(got) << ")";
  return text.str();
}

/// The first index at which `got` differs from `expected`, bit by bit.
template <class T>
Verdict compare(std::span<const T> expected, std::span<const T> got) {
  if (expected.size() != got.size())
    return "expected " + std::to_string(expected.size()) + " elements, got " + std::to_string(got.size());
  if (got.empty() || std::memcmp(expected.data(), got.data(), got.size_bytes()) == 0) return {};
  for (uint64_t i = 0; i < got.size(); ++i)
    if (raw_bits(expected[i]) != raw_bits(got[i]))
      return describe(i, got[i]) + ", expected " + describe(i, expected[i]);
  return {};
}

template <class Key>
Verdict judge_order(std::span<const Key> keys, Order order) {
  const Ordered<Key> ordered(order);
  for (uint64_t i = 1; i < keys.size(); ++i)
    if (ordered(keys[i]) < ordered(keys[i - 1]))
      return "out of order: " + describe(i, keys[i]) + " behind " + describe(i - 1, keys[i - 1]);
  return {};
}

template <class Key>
Verdict judge_sorted(std::span<const Key> input, std::span<const Key> output, Order order) {
  if (input.size() != output.size()) return compare(input, output);
  if (input.size() < exact_below) {
    const Ordered<Key> ordered(order);
    std::vector<Key> expected(input.begin(), input.end());
    std::sort(expected.begin(), expected.end(), [&](Key a, Key b) { return ordered(a) < ordered(b); });
    return compare<Key>(expected, output);
  }
  if (Verdict fault = judge_order(output, order)) return fault;
  if (multiset_sum(input) != multiset_sum(output)) return "in order, but not the keys that went in";
  return {};
}

/// Keys sorted, and values moved with them, equal keys in their old order.
template <class Key, class Value>
Verdict judge_sorted_pairs(std::span<const Key> input, std::span<const Value> input_values,
                           std::span<const Key> output, std::span<const Value> output_values, Order order) {
  const Ordered<Key> ordered(order);
  std::vector<uint64_t> positions(input.size());
  for (uint64_t i = 0; i < positions.size(); ++i) positions[i] = i;
  std::stable_sort(positions.begin(), positions.end(),
                   [&](uint64_t a, uint64_t b) { return ordered(input[a]) < ordered(input[b]); });
  std::vector<Key> keys(input.size());
  std::vector<Value> values(input.size());
  for (uint64_t i = 0; i < positions.size(); ++i) {
    keys[i] = input[positions[i]];
    values[i] = input_values[positions[i]];
  }
  if (Verdict fault = compare<Key>(keys, output)) return "keys: " + *fault;
  if (Verdict fault = compare<Value>(values, output_values)) return "values: " + *fault;
  return {};
}

/// The judgement as an assertion of the running test case.
inline void require(const Verdict& verdict) {
  INFO(replay_text());
  INFO(verdict.value_or("sorted"));
  REQUIRE_FALSE(verdict.has_value());
}

template <class Key>
void require_sorted(std::span<const Key> input, std::span<const Key> output, Order order = Order::ascending) {
  require(judge_sorted(input, output, order));
}

template <class Key, class Value>
void require_sorted_pairs(std::span<const Key> input, std::span<const Value> input_values,
                          std::span<const Key> output, std::span<const Value> output_values,
                          Order order = Order::ascending) {
  require(judge_sorted_pairs(input, input_values, output, output_values, order));
}

}  // namespace sweepsort::oracle
