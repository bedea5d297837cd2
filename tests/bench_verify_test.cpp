// bench_verify_test.cpp - the benchmark's verification accepts what is right and nothing else.
#include "bench/host_pass.hpp"
#include "bench/verify.hpp"
#include "catch.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
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

template <class Key>
bool accepts_scan(const std::vector<Key>& in, const std::vector<Key>& out, ScanOp op,
                  ScanKind kind = ScanKind::inclusive) {
  const bench::PassCase what{.type = key_type_of<Key>(), .count = in.size(), .op = op, .kind = kind};
  return scan_is_right(what, bytes_of(in).data(), bytes_of(out).data(), 2);
}

template <class Key>
bool accepts_search(const std::vector<Key>& in, const std::pair<Key, uint64_t>& found, Extreme extreme,
                    bool wants_index) {
  const bench::PassCase what{.pass = bench::Pass::search,
                             .type = key_type_of<Key>(),
                             .count = in.size(),
                             .extreme = extreme,
                             .wants_index = wants_index};
  bench::PassFound bits{.index = found.second};
  std::memcpy(&bits.bits, &found.first, sizeof(Key));
  return search_is_right(what, bytes_of(in).data(), bits, 2);
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
  // sweepsort rotates the negative NaNs, which are the smallest patterns, behind the positive ones
  // (core/key_bits.hpp).
  CHECK(accepted(total, FloatOrder::total));
  CHECK(accepted(total, FloatOrder::by_value));
  CHECK(accepted(by_value, FloatOrder::by_value));
  CHECK(accepted(by_bits, FloatOrder::by_bits));
  CHECK_FALSE(accepted(total, FloatOrder::by_bits));
  CHECK_FALSE(accepted(by_value, FloatOrder::total));
  CHECK_FALSE(accepted(by_bits, FloatOrder::by_value));
}

TEST_CASE("verification of a scan accepts the one right result") {
  CHECK(accepts_scan<uint8_t>({200, 100, 3}, {200, 44, 47}, ScanOp::sum));
  CHECK(accepts_scan<int32_t>({-5, 3, 9}, {0, -5, -2}, ScanOp::sum, ScanKind::exclusive));
  CHECK(accepts_scan<int16_t>({3, -1, 2}, {3, -1, -1}, ScanOp::min));
  CHECK(accepts_scan<uint64_t>({3, 9, 2}, {0, 3, 9}, ScanOp::max, ScanKind::exclusive));
  CHECK(accepts_scan<uint32_t>({6, 3, 5}, {6, 5, 0}, ScanOp::bit_xor));
  CHECK(accepts_scan<float>({1, -1, 1}, {1, 0, 1}, ScanOp::sum));
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(accepts_scan<double>({4, -2, 7}, {infinity, 4, -2}, ScanOp::min, ScanKind::exclusive));
}

TEST_CASE("verification of a scan rejects one wrong element, wherever it is") {
  const std::vector<uint32_t> in{7, 1, 4, 1, 5};
  for (const ScanKind kind : {ScanKind::inclusive, ScanKind::exclusive}) {
    std::vector<uint32_t> out(in.size());
    const bench::PassCase what{.type = KeyType::u32, .count = in.size(), .kind = kind};
    std_scan(what, bytes_of(in).data(), reinterpret_cast<std::byte*>(out.data()));
    REQUIRE(accepts_scan(in, out, ScanOp::sum, kind));
    for (uint32_t& element : out) {
      ++element;
      CHECK_FALSE(accepts_scan(in, out, ScanOp::sum, kind));
      --element;
    }
  }
  CHECK_FALSE(accepts_scan<uint32_t>({7, 1, 4}, {8, 9, 13}, ScanOp::sum));  // every sum is too large by 1
}

TEST_CASE("verification of a search accepts the first of the smallest and nothing else") {
  const std::vector<int32_t> in{4, -3, 8, -3};
  CHECK(accepts_search(in, {-3, 1}, Extreme::min, true));
  CHECK_FALSE(accepts_search(in, {-3, 3}, Extreme::min, true));   // not the first
  CHECK_FALSE(accepts_search(in, {4, 0}, Extreme::min, true));    // not the smallest
  CHECK_FALSE(accepts_search(in, {-9, 0}, Extreme::min, false));  // not among them
  CHECK(accepts_search(in, {8, 0}, Extreme::max, false));
  CHECK_FALSE(accepts_search(in, {8, 0}, Extreme::max, true));    // not there
  CHECK_FALSE(accepts_search(in, {-3, 77}, Extreme::min, true));  // beyond the end
}
