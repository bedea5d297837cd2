// fingerprint_test.cpp - the fingerprint is the sum that it claims to be, with all vectors, and sees what an
// order check cannot see.
#include "core/fingerprint.hpp"

#include "catch.hpp"
#include "core/error.hpp"
#include "datasets/distributions.hpp"
#include "seed.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

namespace sweepsort {
namespace {

constexpr uint64_t secret = 0x0123456789abcdefull;

template <class Bits>
Fingerprint of(const std::vector<Bits>& keys, uint64_t with = secret) {
  return fingerprint(std::as_bytes(std::span(keys)), sizeof(Bits), with);
}

TEMPLATE_TEST_CASE("a fingerprint is the count and the sum of mixed keys, at any length and address", "",
                   uint8_t, uint16_t, uint32_t, uint64_t) {
  INFO(replay_text());
  const auto keys = make_keys<TestType>("uniform", 300, test_seed());
  std::vector<std::byte> memory(keys.size() * sizeof(TestType) + 64);
  for (size_t offset : {0, 1, 3, 8, 13}) {
    uint64_t sum = 0;
    std::memcpy(memory.data() + offset, keys.data(), keys.size() * sizeof(TestType));
    for (size_t count = 0; count <= keys.size(); ++count) {
      const std::span bytes(memory.data() + offset, count * sizeof(TestType));
      REQUIRE(fingerprint(bytes, sizeof(TestType), secret) == Fingerprint{count, sum});
      if (count < keys.size()) sum += fingerprint_mix(uint64_t{keys[count]} ^ secret);
    }
  }
}

TEMPLATE_TEST_CASE("fingerprints of parts add up, and order does not matter", "", uint8_t, uint16_t, uint32_t,
                   uint64_t) {
  auto keys = make_keys<TestType>("uniform", 10'001, test_seed());
  const Fingerprint whole = of(keys);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(keys));
  Fingerprint parts = fingerprint(bytes.first(777 * sizeof(TestType)), sizeof(TestType), secret);
  parts += fingerprint(bytes.subspan(777 * sizeof(TestType)), sizeof(TestType), secret);
  REQUIRE(parts == whole);
  std::shuffle(keys.begin(), keys.end(), std::mt19937(7));
  REQUIRE(of(keys) == whole);
}

TEMPLATE_TEST_CASE(
    "a fingerprint finds a flipped bit, a lost key, a doubled key and a pair that became another", "",
    uint8_t, uint16_t, uint32_t, uint64_t) {
  const auto keys = make_keys<TestType>("uniform", 1000, test_seed());
  const Fingerprint whole = of(keys);
  for (size_t bit = 0; bit < 8 * sizeof(TestType); ++bit) {
    auto flipped = keys;
    flipped[bit] = static_cast<TestType>(flipped[bit] ^ (TestType{1} << bit));
    REQUIRE(of(flipped) != whole);
  }
  auto shorter = keys;
  shorter.pop_back();
  REQUIRE(of(shorter) != whole);
  auto doubled = keys;
  const auto other = std::adjacent_find(doubled.begin(), doubled.end(), std::not_equal_to{});
  other[1] = other[0];
  REQUIRE(of(doubled) != whole);
  REQUIRE(of(std::vector<TestType>{5, 5}) != of(std::vector<TestType>{9, 9}));  // an XOR cannot tell these
}

TEMPLATE_TEST_CASE("keys that stand for several have the fingerprint of all of these", "", uint8_t, uint16_t,
                   uint32_t, uint64_t) {
  std::mt19937_64 random(test_seed());
  std::vector<TestType> unique;
  std::vector<uint32_t> ends;
  std::vector<TestType> all;
  std::vector<uint32_t> counts;
  const auto is_equal = [&] {
    return unique_fingerprint(std::as_bytes(std::span(unique)), sizeof(TestType), ends, secret) == of(all);
  };
  const auto is_counted = [&] {
    return counted_fingerprint(std::as_bytes(std::span(unique)), sizeof(TestType),
                               std::as_bytes(std::span(counts)), secret) == of(all);
  };
  REQUIRE(is_equal());
  while (unique.size() < 300) {
    unique.push_back(static_cast<TestType>(unique.empty() ? random() : unique.back() + 1 + random() % 3));
    counts.push_back(static_cast<uint32_t>(1 + random() % 5));
    all.insert(all.end(), counts.back(), unique.back());
    ends.push_back(static_cast<uint32_t>(all.size()));
    REQUIRE(is_equal());
    REQUIRE(is_counted());
  }
  --ends[100];
  REQUIRE_FALSE(is_equal());
  --counts[100];
  REQUIRE_FALSE(is_counted());
}

TEST_CASE("another secret gives another fingerprint") {
  const std::vector<uint32_t> keys{1, 2, 3};
  REQUIRE(of(keys, 1) != of(keys, 2));
}

TEST_CASE("part of a key and widths that no key has are refused") {
  const std::vector<std::byte> bytes(24);
  REQUIRE_THROWS_AS(fingerprint(std::span(bytes).first(7), 4, secret), Error);
  REQUIRE_THROWS_AS(fingerprint(bytes, 3, secret), Error);
  REQUIRE_THROWS_AS(fingerprint(bytes, 0, secret), Error);
}

TEST_CASE("secrets differ from draw to draw") {
  std::set<uint64_t> drawn;
  for (int i = 0; i < 100; ++i) drawn.insert(random_secret());
  REQUIRE(drawn.size() == 100);
}

}  // namespace
}  // namespace sweepsort
