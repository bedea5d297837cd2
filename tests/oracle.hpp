// oracle.hpp - what a sorted output must be: the one judge for every sort in the tests.
//
// Below 2^22 keys, the standard library sorts too, and every bit must be the same. Above that, the output
// must be in order AND hold the same multiset, because an output of all zeros is in order, too. Floats are
// judged by their ordered bits (core/key_bits.hpp), so that NaN payloads and the sign of zero count.
#pragma once

#include "core/key_bits.hpp"
#include "core/key_type.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace sweepsort::oracle {

inline constexpr uint64_t exact_below = uint64_t{1} << 22;

template <class Key>
struct Ordered {
  using Bits = BitsOf<Key>;
  KeyMap<Bits> map;
  explicit Ordered(Order order) : map(key_map<Bits>(key_type_of<Key>(), order)) {}
  Bits operator()(const Key& key) const { return map.to_ordered(std::bit_cast<Bits>(key)); }
};

/// The bytes of elements of any key type. What judges them is compiled once per width and not in each test.
struct Elements {
  KeyType type;
  std::span<const std::byte> bytes;

  template <class T>
  Elements(std::span<const T> elements)  // implicit: the judges take spans
      : Elements(key_type_of<T>(), std::as_bytes(elements)) {}
  Elements(KeyType key_type, std::span<const std::byte> memory) : type(key_type), bytes(memory) {}
  uint64_t count() const { return bytes.size() / key_bytes(type); }
};

/// Empty if all is well; otherwise one line about the first fault.
using Verdict = std::optional<std::string>;

Verdict compare_elements(const Elements& expected, const Elements& got);
Verdict judge_element_order(const Elements& keys, Order order);
Verdict judge_sorted_elements(const Elements& input, const Elements& output, Order order);
Verdict judge_sorted_element_pairs(const Elements& input, const Elements& input_values,
                                   const Elements& output, const Elements& output_values, Order order);

/// Makes the judgement an assertion of the running test case.
void require(const Verdict& verdict);

/// The first index at which `got` differs from `expected`, bit by bit.
template <class T>
Verdict compare(std::span<const T> expected, std::span<const T> got) {
  return compare_elements(expected, got);
}

template <class Key>
Verdict judge_order(std::span<const Key> keys, Order order) {
  return judge_element_order(keys, order);
}

template <class Key>
Verdict judge_sorted(std::span<const Key> input, std::span<const Key> output, Order order) {
  return judge_sorted_elements(input, output, order);
}

/// Keys must be sorted, values must have moved with them, and equal keys must be in their old order.
template <class Key, class Value>
Verdict judge_sorted_pairs(std::span<const Key> input, std::span<const Value> input_values,
                           std::span<const Key> output, std::span<const Value> output_values, Order order) {
  return judge_sorted_element_pairs(input, input_values, output, output_values, order);
}

template <class Key>
void require_sorted(std::span<const Key> input, std::span<const Key> output, Order order = Order::ascending) {
  require(judge_sorted_elements(input, output, order));
}

template <class Key, class Value>
void require_sorted_pairs(std::span<const Key> input, std::span<const Value> input_values,
                          std::span<const Key> output, std::span<const Value> output_values,
                          Order order = Order::ascending) {
  require(judge_sorted_element_pairs(input, input_values, output, output_values, order));
}

}  // namespace sweepsort::oracle
