// oracle_test.cpp - tests the judge of the other tests: it accepts what is right and finds every planted
// fault.
#include "oracle.hpp"

#include "catch.hpp"
#include "datasets/distributions.hpp"
#include "red_zone.hpp"
#include "seed.hpp"

#include <limits>
#include <vector>

namespace sweepsort {
namespace {

template <class Key>
std::vector<Key> sorted_copy(std::vector<Key> keys, Order order) {
  const oracle::Ordered<Key> ordered(order);
  std::ranges::sort(keys, {}, ordered);
  return keys;
}

template <class Key>
bool accepts(const std::vector<Key>& input, const std::vector<Key>& output, Order order = Order::ascending) {
  return !oracle::judge_sorted<Key>(input, output, order).has_value();
}

TEMPLATE_TEST_CASE("the oracle accepts a sorted file and refuses its faults", "", uint8_t, int16_t, uint32_t,
                   int64_t, float, double) {
  const Order order = GENERATE(Order::ascending, Order::descending);
  const auto input = make_keys<TestType>("uniform", 5000, test_seed());
  const auto output = sorted_copy(input, order);
  REQUIRE(accepts(input, output, order));
  REQUIRE_FALSE(accepts(input, input, order));
  REQUIRE_FALSE(accepts(
      input, sorted_copy(input, order == Order::ascending ? Order::descending : Order::ascending), order));

  auto doubled = output;  // one key twice and its neighbour gone: still in order
  const auto other = std::ranges::adjacent_find(doubled, std::not_equal_to{});
  other[1] = other[0];
  REQUIRE_FALSE(accepts(input, doubled, order));

  auto shorter = output;
  shorter.pop_back();
  REQUIRE_FALSE(accepts(input, shorter, order));
  REQUIRE_FALSE(accepts(input, std::vector<TestType>(input.size()), order));
}

TEST_CASE(
    "above 2^22 keys the oracle still finds a lost key, a doubled key, all zeros and two swapped keys") {
  const auto input = make_keys<uint32_t>("uniform", oracle::exact_below + 1, test_seed());
  const auto output = sorted_copy(input, Order::ascending);
  REQUIRE(accepts(input, output));
  auto doubled = output;
  const auto at = std::ranges::adjacent_find(doubled, std::not_equal_to{});
  at[1] = at[0];
  REQUIRE_FALSE(accepts(input, doubled));
  REQUIRE_FALSE(accepts(input, std::vector<uint32_t>(input.size())));
  auto swapped = output;
  std::swap(swapped.front(), swapped.back());
  REQUIRE_FALSE(accepts(input, swapped));
}

TEST_CASE("the oracle tells NaN payloads and the signs of zeros and NaNs apart, and wants NaNs last") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const float payload = std::bit_cast<float>(0x7fc12345u);
  const std::vector<float> input{-nan, 0.0f, payload, -0.0f, 1.0f};
  CHECK(accepts(input, {-0.0f, 0.0f, 1.0f, payload, -nan}) !=
        accepts(input, {-0.0f, 0.0f, 1.0f, -nan, payload}));
  CHECK_FALSE(accepts(input, {0.0f, -0.0f, 1.0f, payload, -nan}));
  CHECK_FALSE(accepts(input, {-nan, -0.0f, 0.0f, 1.0f, payload}));
  CHECK_FALSE(accepts(input, {-0.0f, 0.0f, 1.0f, nan, -nan}));
}

TEST_CASE("the oracle wants pairs together and equal keys in their old order") {
  const std::vector<uint32_t> keys{2, 1, 2, 1};
  const std::vector<uint64_t> values{10, 20, 30, 40};
  const auto judge = [&](std::vector<uint32_t> out_keys, std::vector<uint64_t> out_values) {
    return !oracle::judge_sorted_pairs<uint32_t, uint64_t>(keys, values, out_keys, out_values,
                                                           Order::ascending);
  };
  CHECK(judge({1, 1, 2, 2}, {20, 40, 10, 30}));
  CHECK_FALSE(judge({1, 1, 2, 2}, {40, 20, 10, 30}));
  CHECK_FALSE(judge({1, 1, 2, 2}, {10, 20, 30, 40}));
  CHECK_FALSE(judge({1, 2, 2, 2}, {20, 40, 10, 30}));
}

TEST_CASE("the oracle names the first index that differs") {
  std::vector<uint32_t> output{1, 2, 3, 5, 6};
  const auto verdict =
      oracle::judge_sorted<uint32_t>(std::vector<uint32_t>{5, 4, 3, 2, 1}, output, Order::ascending);
  REQUIRE(verdict.has_value());
  CHECK(verdict->find("index 3: got 5") != std::string::npos);
}

TEST_CASE("a red zone notices one byte before and one byte behind, at any alignment") {
  const size_t misalignment = GENERATE(size_t{0}, size_t{1}, size_t{7}, size_t{63});
  RedZoneBuffer<uint16_t> buffer(100, misalignment);
  const auto bytes = buffer.bytes();
  CHECK(reinterpret_cast<uintptr_t>(bytes.data()) % 64 == misalignment);
  std::ranges::fill(bytes, std::byte{1});
  CHECK(buffer.intact());
  for (std::byte* const outside : {bytes.data() - 1, bytes.data() + bytes.size()}) {
    *outside = std::byte{1};
    CHECK_FALSE(buffer.intact());
    buffer.poison_again();
    CHECK(buffer.intact());
  }
}

}  // namespace
}  // namespace sweepsort
