// cuda_scan_file_test.cpp - scans and searches of files and spans give the same results on the GPU and on the
// CPU. Compiled twice: for a GPU, and, with small files, for the emulator.
#include "catch.hpp"
#include "on_device.hpp"
#include "pipeline/scan_file.hpp"
#include "scan_oracle.hpp"
#include "sweepsort.hpp"
#include "temporary_folder.hpp"

#include <string>

using namespace sweepsort;
using namespace sweepsort::test;

namespace {

/// Several chunks, the last one odd. On a GPU, of the usual size, which is 4 MiB and, for wider sums, less.
constexpr size_t bytes = on_gpu ? 20u << 20 : 20u << 10;
const StreamEnvironment environment{.chunk_bytes = on_gpu ? 0 : 4096};
template <class T>
std::vector<T> several_chunks(bool specials = false) {
  return scan_input<T>(bytes / sizeof(T) + 13, specials);
}
/// On the emulator, nothing is measured.
constexpr uint32_t repeat = on_gpu ? 2 : 0;
const OnDevice schedule;

std::string message_of(const std::string& input, const std::string& output, const ScanFileOptions& options) {
  try {
    scan_file_with(environment, input, output, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEMPLATE_TEST_CASE("a file is scanned on the GPU as on the CPU, by any number of threads", "[gpu]", uint8_t,
                   int16_t, uint32_t, int64_t, float, double) {
  const TemporaryFolder folder;
  for (const ScanOp op : {ScanOp::sum, ScanOp::min, ScanOp::max}) {
    write_keys(folder / "in", several_chunks<TestType>(op != ScanOp::sum));
    for (const ScanKind kind : {ScanKind::inclusive, ScanKind::exclusive}) {
      ScanFileOptions options{.file = {.type = key_type_of<TestType>()},
                              .where = {.backend = BackendChoice::cpu},
                              .op = op,
                              .kind = kind,
                              .wrap = true,
                              .overwrite = true};
      scan_file(folder / "in", folder / "by_cpu", options);
      for (const uint32_t threads : {1u, 6u}) {
        INFO(name(op) << " " << name(kind) << " threads=" << threads);
        options.where = {.backend = BackendChoice::cuda, .threads = threads};
        const ScanReport report = scan_file_with(environment, folder / "in", folder / "by_gpu", options);
        REQUIRE(report.backend == "cuda");
        REQUIRE(report.algorithm == "lookback");
        const auto by_cpu = read_keys<TestType>(folder / "by_cpu");
        REQUIRE(first_difference(by_cpu, read_keys<TestType>(folder / "by_gpu")) == by_cpu.size());
      }
    }
  }
}

TEST_CASE("sums get wider on the GPU, by every algorithm", "[gpu]") {
  const TemporaryFolder folder;
  write_keys(folder / "in.u32", several_chunks<uint32_t>());
  scan_file(folder / "in.u32", folder / "by_cpu",
            {.where = {.backend = BackendChoice::cpu}, .output_type = KeyType::u64});
  const auto by_cpu = read_file(folder / "by_cpu");
  for (const ScanAlgorithm algorithm :
       {ScanAlgorithm::lookback, ScanAlgorithm::shuffle, ScanAlgorithm::blelloch,
        ScanAlgorithm::blelloch_padded, ScanAlgorithm::hillis_steele}) {
    const ScanReport report = scan_file_with(
        environment, folder / "in.u32", folder / "by_gpu",
        {.algorithm = algorithm, .output_type = KeyType::u64, .overwrite = true, .repeat = repeat});
    INFO(name(algorithm));
    CHECK(report.algorithm == name(algorithm));
    CHECK(report.repeat_s.size() == repeat);
    if (on_gpu) CHECK(report.copy_bandwidth_bytes_s > 1e11);
    CHECK(read_file(folder / "by_gpu") == by_cpu);
  }
}

TEST_CASE("an overflow on the GPU names the same element, and leaves the output alone", "[gpu]") {
  const TemporaryFolder folder;
  auto keys = several_chunks<uint32_t>();
  for (uint32_t& key : keys) key %= 512;
  keys[keys.size() * 3 / 4] = 0xffff'ffff;
  write_keys(folder / "in.u32", keys);
  for (const ScanKind kind : {ScanKind::inclusive, ScanKind::exclusive}) {
    const ScanFileOptions on_cpu{.where = {.backend = BackendChoice::cpu}, .kind = kind};
    const ScanFileOptions on_gpu{.where = {.backend = BackendChoice::cuda}, .kind = kind};
    const std::string expected = message_of(folder / "in.u32", folder / "out", on_cpu);
    CHECK(expected.find("at element ") != std::string::npos);
    CHECK(message_of(folder / "in.u32", folder / "out", on_gpu) == expected);
  }
  CHECK(folder.names() == std::vector<std::string>{"in.u32"});
}

TEMPLATE_TEST_CASE("the extremes of a file are the same on the GPU", "[gpu]", uint8_t, int32_t, uint64_t,
                   float, double) {
  const TemporaryFolder folder;
  write_keys(folder / "in", several_chunks<TestType>(true));
  for (const Extreme extreme : {Extreme::min, Extreme::max}) {
    MinFileOptions options{.file = {.type = key_type_of<TestType>()},
                           .where = {.backend = BackendChoice::cpu},
                           .extreme = extreme,
                           .wants_index = true};
    const MinReport by_cpu = min_file(folder / "in", options);
    options.where.backend = BackendChoice::cuda;
    options.repeat = repeat;
    const MinReport by_gpu = min_file_with(environment, folder / "in", options);
    CHECK(by_gpu.backend == "cuda");
    CHECK(by_gpu.value == by_cpu.value);
    CHECK(by_gpu.index == by_cpu.index);
    CHECK(by_gpu.repeat_s.size() == repeat);
    if (on_gpu) CHECK(by_gpu.read_bandwidth_bytes_s > 1e11);
  }
}

TEST_CASE("spans go through the GPU where that is asked for", "[gpu]") {
  const auto in = several_chunks<uint32_t>();
  const WhereOptions gpu{.backend = BackendChoice::cuda};
  std::vector<uint64_t> sums(in.size());
  scan(std::span<const uint32_t>(in), std::span(sums), {.where = gpu});
  CHECK(sums == expected_scan<uint64_t>(in, ScanOp::sum, ScanKind::inclusive));
  const auto found = min_element(std::span<const uint32_t>(in), gpu);
  CHECK(found.value == *std::ranges::min_element(in));
  CHECK(found.index == static_cast<uint64_t>(std::ranges::min_element(in) - in.begin()));
}
