// cpu_scan_test.cpp - checks the CPU backend's scans and searches, of arrays and in chunks, against plain
// loops.
#include "backend/backend.hpp"
#include "catch.hpp"
#include "core/error.hpp"
#include "scan_by_session.hpp"
#include "scan_oracle.hpp"

#include <atomic>
#include <initializer_list>
#include <thread>
#include <utility>

using namespace sweepsort;
using namespace sweepsort::test;

namespace {

constexpr ScanOp all_ops[] = {ScanOp::sum, ScanOp::min, ScanOp::max, ScanOp::bit_xor};
constexpr ScanKind both_kinds[] = {ScanKind::inclusive, ScanKind::exclusive};
constexpr ScanAlgorithm cpu_algorithms[] = {ScanAlgorithm::automatic, ScanAlgorithm::sequential};

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& elements) {
  return std::as_bytes(std::span(elements));
}

/// For scan_by_session.
auto sessions_of(Backend& backend) {
  return [&backend](const ScanJob& job) { return backend.begin_scan(job); };
}

template <class T>
void check_array(uint32_t threads, const std::vector<T>& in, const ScanJob& job) {
  INFO(name(job.type) << " " << name(job.op) << " " << name(job.kind) << " " << name(job.algorithm)
                      << " n=" << in.size() << " threads=" << threads);
  std::vector<T> out(in.size());
  const auto summary =
      make_cpu_backend(threads)->scan(bytes_of(in), std::as_writable_bytes(std::span(out)), job);
  const std::vector<T> expected = expected_scan<T>(in, job.op, job.kind);
  REQUIRE(first_difference(out, expected) == in.size());
  REQUIRE_FALSE(summary.overflow);
}

}  // namespace

TEMPLATE_TEST_CASE("an array of every type is scanned by every operator, whatever its length", "", uint8_t,
                   int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float, double) {
  constexpr size_t block = (256u << 10) / sizeof(TestType);
  for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{7}, size_t{64}, size_t{65}, size_t{1000},
                             block - 1, block, block + 1, 3 * block + 5}) {
    for (const ScanOp op : all_ops) {
      if (op == ScanOp::bit_xor && std::is_floating_point_v<TestType>) continue;
      const auto in = scan_input<TestType>(count, op != ScanOp::sum);
      for (const ScanKind kind : both_kinds)
        for (const ScanAlgorithm algorithm : cpu_algorithms)
          check_array(3, in,
                      {.type = key_type_of<TestType>(),
                       .output_type = key_type_of<TestType>(),
                       .op = op,
                       .kind = kind,
                       .algorithm = algorithm,
                       .wrap = true});
    }
  }
}

TEMPLATE_TEST_CASE("chunks of any size and number of workers give the scan of the whole", "", uint8_t,
                   int16_t, uint32_t, int64_t, float, double) {
  const auto backend = make_cpu_backend(2);
  const auto in = scan_input<TestType>(4321);
  ScanSummary summary;
  for (const size_t chunk : {size_t{8}, size_t{64}, size_t{1000}, size_t{4321}, size_t{9000}})
    for (const uint32_t workers : {1u, 2u, 5u})
      for (const ScanOp op : {ScanOp::sum, ScanOp::max})
        for (const ScanKind kind : both_kinds) {
          INFO(name(op) << " " << name(kind) << " chunk=" << chunk << " workers=" << workers);
          const ScanJob job{.op = op, .kind = kind, .wrap = true, .workers = workers};
          const auto out = scan_by_session<TestType>(sessions_of(*backend), in, job, chunk, summary);
          REQUIRE(first_difference(out, expected_scan<TestType>(in, op, kind)) == in.size());
          const TestType total = expected_scan<TestType>(in, op, ScanKind::inclusive).back();
          REQUIRE(std::memcmp(&summary.total, &total, sizeof total) == 0);
        }
}

TEST_CASE("elements are widened before they are added") {
  const auto backend = make_cpu_backend(2);
  ScanSummary summary;
  const auto check = [&]<class In, class Out>(In, Out) {
    const auto in = scan_input<In>(3000);
    const auto out = scan_by_session<Out>(sessions_of(*backend), in, {.workers = 2}, 256, summary);
    CHECK(first_difference(out, expected_scan<Out>(in, ScanOp::sum, ScanKind::inclusive)) == in.size());
    CHECK_FALSE(summary.overflow);
    std::vector<Out> whole(in.size());
    backend->scan(bytes_of(in), std::as_writable_bytes(std::span(whole)),
                  {.type = key_type_of<In>(), .output_type = key_type_of<Out>()});
    CHECK(whole == out);
  };
  check(uint8_t{}, uint32_t{});
  check(int8_t{}, int64_t{});
  check(uint16_t{}, int32_t{});
  check(int16_t{}, float{});
  check(uint32_t{}, uint64_t{});
  check(int32_t{}, int64_t{});
  check(uint32_t{}, double{});
  check(float{}, double{});
}

TEST_CASE("can_widen says exactly which types hold every value of another") {
  const auto holds = [](KeyType from, KeyType to) {
    return dispatch(from, [&](auto from_identity) {
      return dispatch(to, [&](auto to_identity) {
        using From = std::numeric_limits<typename decltype(from_identity)::type>;
        using To = std::numeric_limits<typename decltype(to_identity)::type>;
        if (From::is_iec559 && !To::is_iec559) return false;
        return From::digits <= To::digits && (To::is_signed || !From::is_signed);
      });
    });
  };
  for (const KeyType from : all_key_types)
    for (const KeyType to : all_key_types) {
      INFO(name(from) << " to " << name(to));
      // A type of the same width is no widening: the kernels' scans would have to run in place.
      CHECK(can_widen(from, to) == (from == to || (holds(from, to) && key_bytes(to) > key_bytes(from))));
    }
}

TEMPLATE_TEST_CASE("an overflow is found at its exact place, also at the borders of chunks", "", uint8_t,
                   int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t) {
  using Limits = std::numeric_limits<TestType>;
  constexpr size_t chunk = 64;  // the first one has 32 elements
  const auto backend = make_cpu_backend(2);
  for (const size_t place : {1u, 2u, 31u, 32u, 33u, 95u, 96u, 97u, 250u, 299u})
    for (const bool downwards : {false, true}) {
      if (downwards && !Limits::is_signed) continue;
      std::vector<TestType> in(300, TestType{0});
      in[0] = downwards ? Limits::min() : Limits::max();
      in[place] = downwards ? static_cast<TestType>(-1) : TestType{1};
      if (place + 1 < in.size() && Limits::is_signed)
        in[place + 1] = downwards ? TestType{1} : static_cast<TestType>(-1);
      for (const ScanKind kind : both_kinds)
        for (const ScanAlgorithm algorithm : cpu_algorithms) {
          INFO("at " << place << (downwards ? " down " : " up ") << name(kind) << " " << name(algorithm));
          const auto expected = expected_overflow(in, kind);
          REQUIRE(expected.has_value() == (place != 299 || kind == ScanKind::inclusive));
          ScanSummary summary;
          scan_by_session<TestType>(sessions_of(*backend), in,
                                    {.kind = kind, .algorithm = algorithm, .workers = 3}, chunk, summary);
          REQUIRE(summary.overflow == expected);
          CHECK(summary.total_overflows == !expected.has_value());
          std::vector<TestType> out(in.size());
          const ScanJob job{.type = key_type_of<TestType>(),
                            .output_type = key_type_of<TestType>(),
                            .kind = kind,
                            .algorithm = algorithm};
          REQUIRE(backend->scan(bytes_of(in), std::as_writable_bytes(std::span(out)), job).overflow ==
                  expected);
        }
    }
}

TEMPLATE_TEST_CASE("random sums overflow where exact ones do", "", uint8_t, int8_t, int32_t, uint64_t,
                   int64_t) {
  const auto backend = make_cpu_backend(2);
  ScanSummary summary;
  for (size_t count = 1; count < 400; count += 7) {
    auto in = scan_input<TestType>(count);
    for (TestType& element : in) element = static_cast<TestType>(element / 7);
    scan_by_session<TestType>(sessions_of(*backend), in, {.workers = 2}, 16, summary);
    REQUIRE(summary.overflow == expected_overflow(in, ScanKind::inclusive));
  }
}

TEST_CASE("the sums of extreme elements are exact") {
  const auto backend = make_cpu_backend(2);
  // The sum goes up by 2^63 and down again many times. The bounds are far beyond 64 bits, but nothing
  // overflows.
  std::vector<int64_t> in;
  for (int i = 0; i < 50'000; ++i) {
    in.push_back(std::numeric_limits<int64_t>::max());
    in.push_back(-std::numeric_limits<int64_t>::max());
  }
  std::vector<int64_t> out(in.size());
  const ScanJob job{.type = KeyType::i64, .output_type = KeyType::i64};
  const auto summary = backend->scan(bytes_of(in), std::as_writable_bytes(std::span(out)), job);
  CHECK_FALSE(summary.overflow);
  CHECK(out == expected_scan<int64_t>(in, ScanOp::sum, ScanKind::inclusive));
}

TEST_CASE("an array may be scanned where it is, at any alignment, and nothing beside it is touched") {
  // Large enough to be streamed past the caches where the alignment allows that: 0 and 100.
  for (const auto& [shift, wraps] : std::initializer_list<std::pair<size_t, bool>>{
           {0, false}, {1, true}, {3, false}, {13, true}, {100, true}}) {
    std::vector<uint32_t> memory((5u << 20) + 164, 7);
    const std::span<uint32_t> place = std::span(memory).subspan(16 + shift, 5u << 20);
    const ScanJob job{.type = KeyType::u32, .output_type = KeyType::u32, .wrap = wraps};
    make_cpu_backend(2)->scan(std::as_bytes(place), std::as_writable_bytes(place), job);
    for (size_t i = 0; i < place.size(); ++i)
      if (place[i] != 7 * (i + 1)) FAIL("element " << i << " is " << place[i]);
    CHECK(std::ranges::count(memory, 7u) == 164 + 1);
  }
}

TEMPLATE_TEST_CASE("sums of floats do not depend on the number of threads nor on alignment", "", float,
                   double) {
  std::mt19937_64 random(test_seed());
  std::uniform_real_distribution<TestType> uniform(-1, 1);
  std::vector<TestType> in(4'300'001);  // enough to be streamed past the caches
  for (TestType& element : in) element = uniform(random);
  const ScanJob job{.type = key_type_of<TestType>(), .output_type = key_type_of<TestType>()};
  std::vector<TestType> first(in.size());
  make_cpu_backend(1)->scan(bytes_of(in), std::as_writable_bytes(std::span(first)), job);
  for (const uint32_t threads : {2u, 5u}) {
    for (const size_t offset : {0, 1, 16 / int{sizeof(TestType)}}) {
      std::vector<TestType> other(in.size() + offset);
      make_cpu_backend(threads)->scan(bytes_of(in), std::as_writable_bytes(std::span(other).subspan(offset)),
                                      job);
      other.erase(other.begin(), other.begin() + static_cast<ptrdiff_t>(offset));
      CHECK(first_difference(first, other) == in.size());
    }
  }
  double exact = 0;
  double farthest = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    exact += double{in[i]};
    farthest = std::max(farthest, std::abs(exact - double{first[i]}));
  }
  CHECK(farthest < (sizeof(TestType) == 4 ? 0.1 : 1e-9));
}

/// Adds in the order of scan_kernel.hpp, one addition after the other. `block`: elements.
template <class T>
std::vector<T> sums_in_blocks(const std::vector<T>& in, size_t block) {
  constexpr size_t line = 64 / sizeof(T), part = 16 / sizeof(T);
  std::vector<T> out;
  T carry = T(-0.0);
  for (size_t begin = 0; begin < in.size(); begin += block) {
    const std::span<const T> rest = std::span(in).subspan(begin, std::min(block, in.size() - begin));
    const size_t whole = rest.size() / line * line;
    T before = carry;
    T columns[line];
    std::ranges::fill(columns, T(-0.0));
    for (size_t at = 0; at < whole; at += line) {
      T sums[line];
      std::ranges::copy(rest.subspan(at, line), sums);
      for (size_t i = 0; i < line; ++i) columns[i] += sums[i];
      for (size_t distance = 1; distance < line; distance *= 2)
        for (size_t i = line; i-- > distance;) sums[i] = sums[i - distance] + sums[i];
      for (const T sum : sums) out.push_back(before + sum);
      before += sums[line - 1];
    }
    T total = (columns[0] + columns[part]) + (columns[2 * part] + columns[3 * part]);
    for (size_t i = 1; i < part; ++i)
      total += (columns[i] + columns[part + i]) + (columns[2 * part + i] + columns[3 * part + i]);
    for (const T element : rest.subspan(whole)) {
      out.push_back(before += element);
      total += element;
    }
    carry += total;
  }
  return out;
}

TEMPLATE_TEST_CASE("floats are added in one order, whatever vectors the processor has", "", float, double) {
  std::mt19937_64 random(test_seed());
  std::uniform_real_distribution<TestType> uniform(-1, 1);
  constexpr size_t block = (256u << 10) / sizeof(TestType);
  for (const size_t count : {size_t{5}, size_t{1000}, 3 * block + 77}) {
    std::vector<TestType> in(count);
    for (TestType& element : in) element = uniform(random);
    std::vector<TestType> out(count);
    const ScanJob job{.type = key_type_of<TestType>(), .output_type = key_type_of<TestType>()};
    make_cpu_backend(2)->scan(bytes_of(in), std::as_writable_bytes(std::span(out)), job);
    CHECK(first_difference(out, sums_in_blocks(in, block)) == count);
  }
}

TEST_CASE("a sequential sum of floats is rounded after every element, front to back") {
  const std::vector<float> in{16777216.f, 1.f, 1.f, 1.f, -16777216.f};
  std::vector<float> out(in.size());
  const ScanJob job{
      .type = KeyType::f32, .output_type = KeyType::f32, .algorithm = ScanAlgorithm::sequential};
  make_cpu_backend(2)->scan(bytes_of(in), std::as_writable_bytes(std::span(out)), job);
  CHECK(out == std::vector<float>{16777216.f, 16777216.f, 16777216.f, 16777216.f, 0.f});
}

TEST_CASE("a sum of negative zeros is a negative zero") {
  const std::vector<double> in(9, -0.0);
  std::vector<double> out(in.size(), 1);
  const ScanJob job{.type = KeyType::f64, .output_type = KeyType::f64};
  make_cpu_backend(1)->scan(bytes_of(in), std::as_writable_bytes(std::span(out)), job);
  CHECK(std::ranges::all_of(out, [](double x) { return x == 0 && std::signbit(x); }));
}

TEST_CASE("an algorithm of the GPU is refused, and so is an exclusive or of floats") {
  const auto backend = make_cpu_backend(1);
  CHECK_THROWS_AS(backend->begin_scan({.algorithm = ScanAlgorithm::lookback}), Error);
  CHECK_THROWS_AS(
      backend->begin_scan({.type = KeyType::f32, .output_type = KeyType::f32, .op = ScanOp::bit_xor}), Error);
}

TEST_CASE("those that wait for a chunk which never comes are woken") {
  const auto session = make_cpu_backend(1)->begin_scan({.workers = 2, .chunk_bytes = 64});
  session->begin_chunk(1, 0);
  std::jthread failing([&] { session->cancel(); });
  CHECK_THROWS_AS(session->scan(1, 1, 16, 16), Error);
}

TEMPLATE_TEST_CASE("the smallest and the largest element and their first places are found", "", uint8_t,
                   int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float, double) {
  const auto backend = make_cpu_backend(3);
  constexpr size_t block = (256u << 10) / sizeof(TestType);
  for (const size_t count : {size_t{1}, size_t{2}, size_t{63}, size_t{5000}, block, 2 * block + 1})
    for (const Extreme extreme : {Extreme::min, Extreme::max}) {
      auto in = scan_input<TestType>(count, true);
      size_t best = 0;
      for (size_t i = 1; i < count; ++i) {
        const auto op = extreme == Extreme::min ? ScanOp::min : ScanOp::max;
        const TestType winner = combine(op, in[best], in[i]);
        if (std::memcmp(&winner, &in[best], sizeof winner) != 0) best = i;
      }
      if (is_nan(in[best])) continue;  // all NaN has a test of its own
      const ReduceJob job{.type = key_type_of<TestType>(), .extreme = extreme, .wants_index = true};
      const ReduceResult found = backend->reduce(bytes_of(in), job);
      INFO(name(job.type) << " " << name(extreme) << " n=" << count);
      REQUIRE(found.found);
      CHECK(std::memcmp(&found.bits, &in[best], sizeof(TestType)) == 0);
      CHECK(found.index == best);
      CHECK(backend->Backend::reduce(bytes_of(in), job).index == best);
    }
}

TEST_CASE("the first of equal minima wins, whichever worker finds it") {
  const auto session =
      make_cpu_backend(1)->begin_reduce({.wants_index = true, .workers = 3, .chunk_bytes = 4096});
  for (const uint32_t worker : {2u, 0u, 1u}) {
    const auto place = session->begin_chunk(worker, 0);
    std::vector<uint32_t> keys(1000, 9);
    keys[500] = keys[700] = 4;
    std::memcpy(place.data(), keys.data(), 4000);
    session->end_chunk(worker, 1000 * (worker + 1), 1000);
  }
  const ReduceResult found = session->finish();
  CHECK(found.bits == 4);
  CHECK(found.index == 1500);
}

TEST_CASE("of NaN alone the smallest and the largest are NaN, and of nothing there is none") {
  const auto backend = make_cpu_backend(2);
  const std::vector<float> in(100, std::numeric_limits<float>::quiet_NaN());
  for (const Extreme extreme : {Extreme::min, Extreme::max}) {
    const ReduceJob job{.type = KeyType::f32, .extreme = extreme};
    const ReduceResult found = backend->reduce(bytes_of(in), job);
    CHECK(found.found);
    CHECK((found.bits & 0x7fff'ffff) > 0x7f80'0000);
    CHECK_FALSE(backend->reduce({}, job).found);
  }
}

TEST_CASE("measurements load the data once and time as many runs as asked for") {
  const auto backend = make_cpu_backend(2);
  const uint64_t count = 600'000;
  std::atomic<uint64_t> filled = 0;
  const auto fill = [&](uint64_t, std::span<std::byte> to) { filled += to.size(); };
  const Measurement scans = backend->measure_scan({}, count, fill, 3);
  CHECK(filled == count * 4);
  CHECK(scans.times_s.size() == 3);
  CHECK(scans.bandwidth_bytes_s > 1e8);
  const Measurement searches = backend->measure_reduce({}, count, fill, 2);
  CHECK(searches.times_s.size() == 2);
  CHECK(searches.bandwidth_bytes_s > 1e8);
}
