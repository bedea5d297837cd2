// library_scan_test.cpp - the public library's scans and searches of spans, and user-defined operators.
#include "catch.hpp"
#include "scan_oracle.hpp"
#include "sweepsort.hpp"

#include <array>
#include <atomic>
#include <string>

using namespace sweepsort;
using namespace sweepsort::test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// x -> a x + b modulo 2^32. The product is "first left, then right", which is associative but not
/// commutative.
struct Affine {
  uint32_t a, b;
  friend bool operator==(Affine, Affine) = default;
};
Affine compose(Affine left, Affine right) { return {right.a * left.a, right.a * left.b + right.b}; }

using Matrix = std::array<uint64_t, 4>;
Matrix product(const Matrix& x, const Matrix& y) {
  return {x[0] * y[0] + x[1] * y[2], x[0] * y[1] + x[1] * y[3], x[2] * y[0] + x[3] * y[2],
          x[2] * y[1] + x[3] * y[3]};
}

/// Lengths around the borders of blocks of 128 KiB.
template <class T>
std::vector<size_t> lengths() {
  constexpr size_t block = (128u << 10) / sizeof(T);
  return {0, 1, 2, 100, block - 1, block, block + 1, 5 * block + 3};
}

template <class T, class Op>
void check_operator(const std::vector<T>& in, T initial, Op op) {
  for (const uint32_t threads : {1u, 2u, 7u}) {
    std::vector<T> out = in;
    sweepsort::inclusive_scan(in, out, op, threads);
    for (size_t i = 0; i < in.size(); ++i)
      if (out[i] != (i == 0 ? in[0] : op(out[i - 1], in[i]))) FAIL("inclusive, element " << i);
    out = in;
    sweepsort::exclusive_scan(out, out, initial, op, threads);  // in place
    for (size_t i = 0; i < in.size(); ++i)
      if (out[i] != (i == 0 ? initial : op(out[i - 1], in[i - 1]))) FAIL("exclusive, element " << i);
  }
}

}  // namespace

TEST_CASE("affine maps are composed in their order by any number of threads") {
  std::mt19937 random(static_cast<uint32_t>(test_seed()));
  for (const size_t count : lengths<Affine>()) {
    std::vector<Affine> maps(count);
    for (Affine& map : maps) map = {static_cast<uint32_t>(random()), static_cast<uint32_t>(random())};
    check_operator<Affine>(maps, {3, 5}, compose);
  }
}

TEST_CASE("matrices are multiplied in their order by any number of threads") {
  std::mt19937_64 random(test_seed());
  for (const size_t count : lengths<Matrix>()) {
    std::vector<Matrix> matrices(count);
    for (Matrix& matrix : matrices) matrix = {random(), random(), random(), random()};
    check_operator<Matrix>(matrices, {1, 2, 3, 4}, product);
  }
}

TEST_CASE("elements of one byte have an operator, too") {
  const auto in = scan_input<uint8_t>(300'000);
  check_operator<uint8_t>(in, 200, [](uint8_t a, uint8_t b) { return std::max(a, b); });
}

TEST_CASE("what an operator throws arrives, and nobody waits for ever") {
  std::vector<uint32_t> in(500'000, 1);
  in[400'000] = 2;
  std::vector<uint32_t> out(in.size());
  const auto picky = [](uint32_t a, uint32_t b) {
    if (b == 2) throw std::runtime_error("two");
    return a + b;
  };
  for (const uint32_t threads : {1u, 4u})
    CHECK_THROWS_WITH(sweepsort::inclusive_scan(in, out, picky, threads), "two");
}

TEST_CASE("spans of different lengths are refused") {
  const std::vector<uint32_t> in(3);
  std::vector<uint32_t> out(2);
  CHECK_THROWS_AS(sweepsort::scan(in, out), Error);
  CHECK_THROWS_AS(sweepsort::inclusive_scan(in, out, std::plus<>()), Error);
}

TEST_CASE("a span is scanned by every operator, and into a wider type") {
  const auto in = scan_input<uint16_t>(100'001);
  std::vector<uint16_t> out(in.size());
  for (const ScanOp op : {ScanOp::min, ScanOp::max, ScanOp::bit_xor})
    for (const ScanKind kind : {ScanKind::inclusive, ScanKind::exclusive}) {
      scan(in, out, {.op = op, .kind = kind});
      CHECK(out == expected_scan<uint16_t>(in, op, kind));
    }
  std::vector<uint64_t> sums(in.size());
  scan(in, sums);
  CHECK(sums == expected_scan<uint64_t>(in, ScanOp::sum, ScanKind::inclusive));
}

TEST_CASE("an overflow of a span names the place, unless it may wrap") {
  const std::vector<uint8_t> in{100, 100, 100};
  std::vector<uint8_t> out(3);
  CHECK_THROWS_WITH(scan(in, out), ContainsSubstring("overflows u8 at element 2"));
  scan(in, out, {.wrap = true});
  CHECK(out == std::vector<uint8_t>{100, 200, 44});
  scan(in, out, {.kind = ScanKind::exclusive});
  CHECK(out == std::vector<uint8_t>{0, 100, 200});
}

TEST_CASE("spans that overlap without being the same are refused") {
  std::vector<uint32_t> memory(10, 1);
  const std::span all(memory);
  CHECK_THROWS_WITH(scan(std::span(all.first(9)), all.last(9)), ContainsSubstring("overlap"));
  CHECK_THROWS_WITH(scan(std::span<const uint8_t>(reinterpret_cast<uint8_t*>(memory.data()), 10), all),
                    ContainsSubstring("overlap"));
  scan(all, all);
  CHECK(memory.back() == 10);
}

TEST_CASE("an algorithm and a backend that contradict each other are refused") {
  const std::vector<uint32_t> in(3, 1);
  std::vector<uint32_t> out(3);
  CHECK_THROWS_AS(
      scan(in, out, {.where = {.backend = BackendChoice::cpu}, .algorithm = ScanAlgorithm::lookback}),
      UsageError);
  CHECK_THROWS_AS(
      scan(in, out, {.where = {.backend = BackendChoice::cuda}, .algorithm = ScanAlgorithm::sequential}),
      UsageError);
}

TEST_CASE("the extremes of a span come with their first places") {
  const std::vector<double> in{3, std::nan(""), -1, 7, -1, 7};
  CHECK(min_element(in).value == -1);
  CHECK(min_element(in).index == 2);
  CHECK(max_element(in).value == 7);
  CHECK(max_element(in).index == 3);
  CHECK_THROWS_AS(min_element(std::span<const double>()), Error);
}

TEST_CASE("the smallest value of a function is found at its lowest index, each index being asked once") {
  for (const uint32_t threads : {1u, 2u, 8u})
    for (const uint64_t count : {1u, 2u, 100u, 100'000u}) {
      const uint64_t first = 1'000'000'007;
      std::vector<std::atomic<uint8_t>> asked(count);
      const auto f = [&](uint64_t i) {
        ++asked[i - first];
        return (i * 2654435761u) % 1000 / 2;
      };
      const auto found = transform_argmin(first, first + count, f, threads);
      CHECK(std::ranges::all_of(asked, [](const auto& times) { return times == 1; }));
      uint64_t best = first;
      for (uint64_t i = first; i < first + count; ++i)
        if (f(i) < f(best)) best = i;
      CHECK(found.index == best);
      CHECK(found.value == f(best));
    }
}

TEST_CASE("what a function throws ends the search for its smallest value on all threads") {
  std::atomic<uint64_t> calls = 0;
  const auto f = [&](uint64_t i) {
    if (i == 0) throw std::runtime_error("the first");
    ++calls;
    return i;
  };
  CHECK_THROWS_AS(transform_argmin(0, uint64_t{1} << 40, f, 2), std::runtime_error);
  CHECK(calls <= uint64_t{1} << 22);  // the other thread ends a block of 2^20, and may have begun some before
}

TEST_CASE("argmin passes over NaN, reaches the last index there is, and refuses an empty range") {
  const auto f = [](uint64_t i) { return i % 3 == 0 ? std::nan("") : 1.0 / double(i); };
  CHECK(transform_argmin(0, 1000, f).index == 998);
  CHECK(is_nan(transform_argmin(3, 4, f).value));
  const uint64_t end = std::numeric_limits<uint64_t>::max();
  CHECK(transform_argmin(
            end - 5000, end, [](uint64_t i) { return ~i; }, 3)
            .index == end - 1);
  CHECK_THROWS_AS(transform_argmin(5, 5, f), Error);
}
