// oracle.cpp - the judge's loops, over the unsigned bits of four widths.
#include "oracle.hpp"

#include "catch.hpp"
#include "core/fingerprint.hpp"
#include "core/key_text.hpp"
#include "seed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

namespace sweepsort::oracle {
namespace {

// Elements may be floats, at any address.
template <class Bits>
Bits bits_at(const Elements& elements, uint64_t index) {
  Bits bits;
  std::memcpy(&bits, elements.bytes.data() + index * sizeof(Bits), sizeof(Bits));
  return bits;
}

template <class Bits>
std::vector<Bits> bits_of(const Elements& elements) {
  std::vector<Bits> bits(elements.count());
  std::ranges::copy(elements.bytes, std::as_writable_bytes(std::span(bits)).begin());
  return bits;
}

template <class Bits>
Elements elements_of(KeyType type, const std::vector<Bits>& bits) {
  return {type, std::as_bytes(std::span(bits))};
}

std::string describe(const Elements& elements, uint64_t index) {
  uint64_t bits = 0;
  dispatch_bits(elements.type,
                [&]<class Bits>(std::type_identity<Bits>) { bits = bits_at<Bits>(elements, index); });
  return fmt::format("index {}: got {} (bits 0x{:x})", index, key_text(elements.type, bits), bits);
}

/// Order-independent sum of a mix of each element. A plain loop, so that it does not share a fault with the
/// product's vectorised fingerprint.
template <class Bits>
uint64_t multiset_sum(const Elements& elements) {
  uint64_t sum = 0;
  for (uint64_t i = 0, count = elements.count(); i < count; ++i)
    sum += fingerprint_mix(bits_at<Bits>(elements, i) + 0x9e3779b97f4a7c15ull);
  return sum;
}

template <class Bits>
Verdict judge_bits_order(const Elements& keys, KeyMap<Bits> map) {
  for (uint64_t i = 1, count = keys.count(); i < count; ++i)
    if (map.to_ordered(bits_at<Bits>(keys, i)) < map.to_ordered(bits_at<Bits>(keys, i - 1)))
      return "out of order: " + describe(keys, i) + " behind " + describe(keys, i - 1);
  return {};
}

template <class Bits>
Verdict judge_sorted_bits(const Elements& input, const Elements& output, KeyMap<Bits> map) {
  if (input.count() < exact_below) {
    std::vector<Bits> expected = bits_of<Bits>(input);
    std::sort(expected.begin(), expected.end(),
              [map](Bits a, Bits b) { return map.to_ordered(a) < map.to_ordered(b); });
    return compare_elements(elements_of(input.type, expected), output);
  }
  if (Verdict fault = judge_bits_order(output, map)) return fault;
  if (multiset_sum<Bits>(input) != multiset_sum<Bits>(output))
    return "in order, but not the keys that went in";
  return {};
}

/// Checks that element i of `got` is element positions[i] of `from`.
Verdict compare_moved(const Elements& from, const std::vector<uint64_t>& positions, const Elements& got) {
  Verdict verdict;
  dispatch_bits(from.type, [&]<class Bits>(std::type_identity<Bits>) {
    std::vector<Bits> moved(positions.size());
    for (uint64_t i = 0; i < positions.size(); ++i) moved[i] = bits_at<Bits>(from, positions[i]);
    verdict = compare_elements(elements_of(from.type, moved), got);
  });
  return verdict;
}

}  // namespace

Verdict compare_elements(const Elements& expected, const Elements& got) {
  if (expected.count() != got.count())
    return fmt::format("expected {} elements, got {}", expected.count(), got.count());
  if (got.bytes.empty() || std::memcmp(expected.bytes.data(), got.bytes.data(), got.bytes.size()) == 0)
    return {};
  const auto differing = std::ranges::mismatch(expected.bytes, got.bytes).in2;
  const uint64_t index = static_cast<uint64_t>(differing - got.bytes.begin()) / key_bytes(got.type);
  return describe(got, index) + ", expected " + describe(expected, index);
}

Verdict judge_element_order(const Elements& keys, Order order) {
  Verdict verdict;
  dispatch_bits(keys.type, [&]<class Bits>(std::type_identity<Bits>) {
    verdict = judge_bits_order(keys, key_map<Bits>(keys.type, order));
  });
  return verdict;
}

Verdict judge_sorted_elements(const Elements& input, const Elements& output, Order order) {
  if (input.count() != output.count()) return compare_elements(input, output);
  Verdict verdict;
  dispatch_bits(input.type, [&]<class Bits>(std::type_identity<Bits>) {
    verdict = judge_sorted_bits(input, output, key_map<Bits>(input.type, order));
  });
  return verdict;
}

Verdict judge_sorted_element_pairs(const Elements& input, const Elements& input_values,
                                   const Elements& output, const Elements& output_values, Order order) {
  std::vector<uint64_t> positions(input.count());
  std::iota(positions.begin(), positions.end(), uint64_t{0});
  dispatch_bits(input.type, [&]<class Bits>(std::type_identity<Bits>) {
    const auto map = key_map<Bits>(input.type, order);
    std::stable_sort(positions.begin(), positions.end(), [&](uint64_t a, uint64_t b) {
      return map.to_ordered(bits_at<Bits>(input, a)) < map.to_ordered(bits_at<Bits>(input, b));
    });
  });
  if (Verdict fault = compare_moved(input, positions, output)) return "keys: " + *fault;
  if (Verdict fault = compare_moved(input_values, positions, output_values)) return "values: " + *fault;
  return {};
}

void require(const Verdict& verdict) {
  INFO(replay_text());
  INFO(verdict.value_or("sorted"));
  REQUIRE_FALSE(verdict.has_value());
}

}  // namespace sweepsort::oracle
