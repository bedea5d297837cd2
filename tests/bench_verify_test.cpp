// bench_verify_test.cpp - the benchmark's verification accepts what is right and nothing else.
#include "bench/verify.hpp"
#include "catch.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

using namespace sweepsort;
using bench::FloatOrder;
using bench::SortCase;

namespace {

template <class Key>
std::span<const std::byte> bytes_of(const std::vector<Key>& keys) {
  return std::as_bytes(std::span(keys));
}

template <class Key>
bool accepts(const std::vector<Key>& in, const std::vector<Key>& out, Order order = Order::ascending,
             FloatOrder float_order = FloatOrder::total) {
  const SortCase what{.type = key_type_of<Key>(), .order = order, .count = in.size()};
  return is_right(what, float_order, {.keys_in = bytes_of(in), .keys_out = bytes_of(out), .values_out = {}});
}

bool accepts_pairs(const std::vector<uint32_t>& in, const std::vector<uint32_t>& out,
                   const std::vector<uint32_t>& from) {
  const SortCase what{.type = KeyType::u32, .count = in.size(), .value_bytes = 4};
  return is_right(what, FloatOrder::total,
                  {.keys_in = bytes_of(in), .keys_out = bytes_of(out), .values_out = bytes_of(from)});
}

}  // namespace

TEST_CASE("verification of keys accepts the sorted input") {
  CHECK(accepts<uint32_t>({5, 3, 9, 3}, {3, 3, 5, 9}));
  CHECK(accepts<int8_t>({5, -3, 0}, {-3, 0, 5}));
  CHECK(accepts<uint64_t>({5, 3, 9}, {9, 5, 3}, Order::descending));
  CHECK(accepts<uint16_t>({}, {}));
}

TEST_CASE("verification of keys refuses a wrong order, a lost key, a doubled key and a short output") {
  const std::vector<uint32_t> in{5, 3, 9, 3};
  CHECK_FALSE(accepts<uint32_t>(in, {3, 5, 3, 9}));
  CHECK_FALSE(accepts<uint32_t>(in, {3, 3, 5, 8}));
  CHECK_FALSE(accepts<uint32_t>(in, {3, 5, 5, 9}));
  CHECK_FALSE(accepts<uint32_t>(in, {0, 0, 0, 0}));
  CHECK_FALSE(accepts<uint32_t>(in, {3, 3, 5}));
  CHECK_FALSE(accepts<uint32_t>(in, {3, 3, 5, 9}, Order::descending));
}

TEST_CASE("verification of pairs accepts a stable sort alone") {
  const std::vector<uint32_t> in{5, 3, 9, 3};
  CHECK(accepts_pairs(in, {3, 3, 5, 9}, {1, 3, 0, 2}));
  CHECK_FALSE(accepts_pairs(in, {3, 3, 5, 9}, {3, 1, 0, 2}));
  CHECK_FALSE(accepts_pairs(in, {3, 3, 5, 9}, {1, 1, 0, 2}));
  CHECK_FALSE(accepts_pairs(in, {3, 3, 5, 9}, {1, 3, 2, 0}));
  CHECK_FALSE(accepts_pairs(in, {3, 3, 5, 9}, {1, 3, 0, 4}));
  CHECK_FALSE(accepts_pairs(in, {5, 3, 3, 9}, {0, 1, 3, 2}));
}

TEST_CASE("each order of NaN and zeros is held to its own promise") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> in{nan, 0.0f, -nan, 1.0f, -0.0f};
  const std::vector<float> total{-0.0f, 0.0f, 1.0f, nan, -nan};
  const std::vector<float> by_value{0.0f, -0.0f, 1.0f, nan, -nan};
  const std::vector<float> by_bits{-nan, 0.0f, -0.0f, 1.0f, nan};
  const auto accepted = [&](const std::vector<float>& out, FloatOrder order) {
    return accepts(in, out, Order::ascending, order);
  };
  // sweepsort rotates the negative NaNs, the smallest patterns, to behind the positive ones
  // (core/key_bits.hpp).
  CHECK(accepted(total, FloatOrder::total));
  CHECK(accepted(total, FloatOrder::by_value));
  CHECK(accepted(by_value, FloatOrder::by_value));
  CHECK(accepted(by_bits, FloatOrder::by_bits));
  CHECK_FALSE(accepted(total, FloatOrder::by_bits));
  CHECK_FALSE(accepted(by_value, FloatOrder::total));
  CHECK_FALSE(accepted(by_bits, FloatOrder::by_value));
}
