// cuda_scan_session_test.cpp - the CUDA backend's scans and searches of data that passes through in chunks.
// Compiled twice: for the emulator and for a GPU.
#include "backend/cuda_scan_session.hpp"

#include "catch.hpp"
#include "core/error.hpp"
#include "on_device.hpp"
#include "scan_by_session.hpp"
#include "scan_oracle.hpp"

using namespace sweepsort;
using namespace sweepsort::test;

namespace {

constexpr Players players = on_gpu ? Players::one_each : Players::one_for_all;
constexpr ScanKind both_kinds[] = {ScanKind::inclusive, ScanKind::exclusive};
/// Several chunks; the GPU gets more of them.
constexpr size_t elements = on_gpu ? 1'000'003 : 3'001;
constexpr size_t chunk = on_gpu ? 65'537 : 1'001;

std::unique_ptr<ScanSession> scan_session(const ScanJob& job) {
  return make_cuda_scan_session(DeviceId{0}, job);
}
std::unique_ptr<ReduceSession> reduce_session(const ReduceJob& job) {
  return make_cuda_reduce_session(DeviceId{0}, job);
}

template <class Out, class In>
void check_scan(const std::vector<In>& in, const ScanJob& job) {
  const OnDevice session;
  INFO(name(key_type_of<In>()) << " to " << name(key_type_of<Out>()) << " " << name(job.op) << " "
                               << name(job.kind) << " " << name(job.algorithm) << " workers=" << job.workers);
  ScanSummary summary;
  const auto out = scan_by_session<Out>(scan_session, in, job, chunk, summary, players);
  REQUIRE(first_difference(out, expected_scan<Out>(in, job.op, job.kind)) == in.size());
  if (job.op != ScanOp::sum) return;
  const Out total = expected_scan<Out>(in, job.op, ScanKind::inclusive).back();
  REQUIRE(std::memcmp(&summary.total, &total, sizeof total) == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("chunks that pass through are scanned as a whole would be", "", uint8_t, int16_t, uint32_t,
                   int64_t, float, double) {
  for (const ScanOp op : {ScanOp::sum, ScanOp::min, ScanOp::max}) {
    const auto in = scan_input<TestType>(elements, op != ScanOp::sum);
    for (const ScanKind kind : both_kinds)
      for (const uint32_t workers : {1u, 3u})
        check_scan<TestType>(in, {.op = op, .kind = kind, .wrap = true, .workers = workers});
  }
}

TEST_CASE("every algorithm of the GPU carries from chunk to chunk") {
  const auto in = scan_input<uint32_t>(elements);
  for (const ScanAlgorithm algorithm :
       {ScanAlgorithm::lookback, ScanAlgorithm::shuffle, ScanAlgorithm::blelloch,
        ScanAlgorithm::blelloch_padded, ScanAlgorithm::hillis_steele})
    for (const ScanKind kind : both_kinds)
      check_scan<uint32_t>(in, {.op = ScanOp::bit_xor, .kind = kind, .algorithm = algorithm, .workers = 2});
}

TEST_CASE("elements are widened on their way") {
  check_scan<uint64_t>(scan_input<uint8_t>(elements), {.workers = 2});
  check_scan<int64_t>(scan_input<int32_t>(elements), {.workers = 2});
  check_scan<double>(scan_input<uint16_t>(elements), {.kind = ScanKind::exclusive, .workers = 2});
}

TEST_CASE("NaN in front stays NaN in an inclusive scan, and an infinity in an exclusive one") {
  std::vector<float> in(elements, std::numeric_limits<float>::quiet_NaN());
  in[elements - 2] = 5;
  for (const ScanOp op : {ScanOp::min, ScanOp::max})
    for (const ScanKind kind : both_kinds) check_scan<float>(in, {.op = op, .kind = kind, .workers = 2});
}

TEMPLATE_TEST_CASE("an overflow is found at its exact place, also at the borders of chunks", "", uint8_t,
                   int32_t, uint64_t) {
  using Limits = std::numeric_limits<TestType>;
  const size_t first_chunk = (chunk + 1) / 2;
  for (const size_t place : {size_t{1}, first_chunk - 1, first_chunk, first_chunk + 1, first_chunk + chunk,
                             elements - 2, elements - 1})
    for (const ScanKind kind : both_kinds) {
      const OnDevice session;
      std::vector<TestType> in(elements, TestType{0});
      in[0] = Limits::max();
      in[place] = 1;
      INFO(name(key_type_of<TestType>()) << " at " << place << " " << name(kind));
      ScanSummary summary;
      scan_by_session<TestType>(scan_session, in, {.kind = kind, .workers = 3}, chunk, summary, players);
      REQUIRE(summary.overflow == expected_overflow(in, kind));
      CHECK(summary.total_overflows == (kind == ScanKind::exclusive && place == elements - 1));
    }
}

TEMPLATE_TEST_CASE("the extremes of chunks that pass through are found, and their first places", "", uint8_t,
                   int16_t, uint32_t, int64_t, float, double) {
  const OnDevice session;
  const auto in = scan_input<TestType>(elements, true);
  for (const Extreme extreme : {Extreme::min, Extreme::max})
    for (const bool wants_index : {false, true}) {
      const auto op = extreme == Extreme::min ? ScanOp::min : ScanOp::max;
      size_t best = 0;
      for (size_t i = 1; i < in.size(); ++i) {
        const TestType winner = combine(op, in[best], in[i]);
        if (std::memcmp(&winner, &in[best], sizeof winner) != 0) best = i;
      }
      const ReduceJob job{.extreme = extreme, .wants_index = wants_index, .workers = 3};
      const ReduceResult found = reduce_by_session(reduce_session, in, job, chunk, players);
      REQUIRE(found.found);
      CHECK(std::memcmp(&found.bits, &in[best], sizeof(TestType)) == 0);
      if (wants_index) CHECK(found.index == best);
    }
}

TEST_CASE("sessions without data have nothing to tell") {
  const OnDevice session;
  ScanSummary summary;
  CHECK(scan_by_session<uint32_t>(scan_session, std::vector<uint32_t>{}, {}, 64, summary, players).empty());
  CHECK_FALSE(summary.overflow);
  CHECK_FALSE(reduce_by_session(reduce_session, std::vector<uint32_t>{}, {}, 64, players).found);
}

TEST_CASE("algorithms of the CPU are refused") {
  const OnDevice session;
  CHECK_THROWS_AS(scan_session({.algorithm = ScanAlgorithm::threads}), Error);
}

TEST_CASE("measurements time as many runs as asked for") {
  const OnDevice session;
  const auto fill = [](uint64_t, std::span<std::byte> to) { std::ranges::fill(to, std::byte{1}); };
  CHECK(measure_cuda_scan(DeviceId{0}, {.output_type = KeyType::u64}, elements, fill, 3).times_s.size() == 3);
  CHECK(measure_cuda_reduce(DeviceId{0}, {}, elements, fill, 2).times_s.size() == 2);
}
