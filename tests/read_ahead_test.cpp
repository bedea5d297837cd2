// read_ahead_test.cpp - keys that are read while a GPU's context is being created.
#include "pipeline/read_ahead.hpp"

#include "catch.hpp"
#include "core/error.hpp"
#include "io/input_file.hpp"
#include "oracle.hpp"
#include "sort_file_fixture.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace sweepsort;
using namespace sweepsort::test;

namespace {

/// Bytes in memory as a source. It counts what is read, and may have a place that cannot be read.
class CountedSource : public KeySource {
 public:
  static constexpr uint64_t nowhere = ~uint64_t{0};

  CountedSource(std::vector<std::byte> bytes, std::atomic<uint64_t>& read, uint64_t damaged)
      : bytes_(std::move(bytes)), read_(read), damaged_(damaged) {}
  void read(uint64_t first_byte, std::span<std::byte> to) override {
    if (damaged_ >= first_byte && damaged_ - first_byte < to.size()) throw Error("damaged");
    std::ranges::copy(std::span(bytes_).subspan(first_byte, to.size()), to.begin());
    read_ += to.size();
  }

 private:
  std::vector<std::byte> bytes_;
  std::atomic<uint64_t>& read_;
  uint64_t damaged_;
};

/// Waits until `done` returns true. Returns false if that took too long.
template <class Done>
bool waits_for(Done done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::vector<std::byte> random_bytes(size_t count) {
  const auto keys = random_keys<uint8_t>(count);
  const auto bytes = std::as_bytes(std::span(keys));
  return {bytes.begin(), bytes.end()};
}

/// Reads all of `source` in pieces of `piece` bytes.
std::vector<std::byte> read_in_pieces(KeySource& source, size_t bytes, size_t piece) {
  std::vector<std::byte> all(bytes);
  for (size_t at = 0; at < bytes; at += piece)
    source.read(at, std::span(all).subspan(at, std::min(piece, bytes - at)));
  return all;
}

/// How many bytes this process has read from files so far.
uint64_t bytes_read() {
  std::ifstream file("/proc/self/io");
  std::string name;
  uint64_t bytes = 0;
  file >> name >> bytes;
  REQUIRE(name == "rchar:");
  return bytes;
}

/// Whether the file will be read from the disk.
bool leaves_page_cache(const std::string& path, uint64_t bytes) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::fsync(file.get()) == 0);
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  return InputFile(path).reads_past_cache(0, bytes);
}

/// A GPU whose context only comes up when the process has read `wanted` bytes in all.
class LateGpu : public PlainBackend {
 public:
  explicit LateGpu(uint64_t wanted) : PlainBackend(Fault::none, "cuda"), wanted_(wanted) {
    limit_device(Bytes{uint64_t{1} << 40});
  }
  Bytes device_memory() const override {
    CHECK(waits_for([&] { return bytes_read() >= wanted_; }));
    return PlainBackend::device_memory();
  }

 private:
  uint64_t wanted_;
};

}  // namespace

TEST_CASE("what was read ahead is read once, and anything may be asked for in any pieces") {
  for (const uint64_t data_offset : {uint64_t{0}, uint64_t{128}})
    for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{100'000}})
      for (const uint64_t most : {uint64_t{0}, uint64_t{8191}, uint64_t{40'000}, uint64_t{100'000}})
        for (const uint32_t threads : {0, 1, 3}) {
          const std::vector<std::byte> expected = random_bytes(bytes);
          const ChunkGrid grid = make_grid(data_offset, bytes, 1, 8192);
          std::atomic<uint64_t> read = 0;
          ReadAhead ahead(std::make_unique<CountedSource>(expected, read, CountedSource::nowhere), grid, most,
                          threads);
          const uint64_t chunks =
              most >= bytes ? grid.count() : std::min<uint64_t>(most / 8192, grid.count());
          uint64_t within = 0;
          for (uint64_t chunk = 0; threads != 0 && chunk < chunks; ++chunk) within += grid.chunk(chunk).bytes;
          INFO(bytes << " bytes behind " << data_offset << ", " << most << " ahead, " << threads
                     << " threads");
          REQUIRE(waits_for([&] { return read == within; }));
          ahead.stop();
          const auto keys = ahead.keys();
          for (const size_t piece : {size_t{30'001}, size_t{777}}) {
            CHECK(read_in_pieces(*keys, bytes, piece) == expected);
            // Everything is read once. The second time it is no longer in memory.
            CHECK(read == (piece == 777 ? 2 * bytes : bytes));
          }
        }
}

TEST_CASE("keys that are wanted before they were read ahead are right") {
  const std::vector<std::byte> expected = random_bytes(1 << 20);
  for (int round = 0; round < 50; ++round) {
    std::atomic<uint64_t> read = 0;
    ReadAhead ahead(std::make_unique<CountedSource>(expected, read, CountedSource::nowhere),
                    make_grid(0, expected.size(), 1, 4096), expected.size(), 3);
    std::this_thread::sleep_for(std::chrono::microseconds(10 * round));
    ahead.stop();
    CHECK(read_in_pieces(*ahead.keys(), expected.size(), 10'000) == expected);
    CHECK(read == expected.size());
  }
}

TEST_CASE("an error in what is read ahead meets whoever wants that") {
  const std::vector<std::byte> expected = random_bytes(100'000);
  std::atomic<uint64_t> read = 0;
  ReadAhead ahead(std::make_unique<CountedSource>(expected, read, 20'000),
                  make_grid(0, expected.size(), 1, 8192), expected.size(), 2);
  CHECK(waits_for([&] { return read >= 8192 * 2; }));
  ahead.stop();
  const auto keys = ahead.keys();
  std::vector<std::byte> got(20'000);
  keys->read(0, got);
  CHECK(std::ranges::equal(got, std::span(expected).first(20'000)));
  CHECK_THROWS_AS(keys->read(20'000, got), Error);
}

TEST_CASE("a file is read while the context comes up, and no part of it twice") {
  const TemporaryFolder folder(Medium::disk);
  const std::string input = folder / "keys.u32";
  const std::string output = folder / "sorted";
  auto keys = random_keys<uint32_t>(1'700'000);
  const uint64_t bytes = keys.size() * sizeof(uint32_t);
  std::string backend = "cuda";
  SortFileOptions options;
  write_file(input, std::as_bytes(std::span(keys)));
  if (!leaves_page_cache(input, bytes)) {
    WARN("not tested: no file in " << folder.path() << " is read past the page cache");
    return;
  }
  SortEnvironment environment = with_gpu(plain_environment(1 << 20), Fault::none);
  const uint64_t before = bytes_read();
  environment.make_cuda = [&](int) { return std::make_unique<LateGpu>(before + bytes); };
  SECTION("in memory") {}
  SECTION("in runs") { environment.min_runs = 3; }
  SECTION("big-endian keys") { options.file.endian = Endian::big; }
  SECTION("and while the driver wakes") {
    environment.has_driver = [] { return true; };
    environment.status = [&, status = environment.status] {
      CHECK(waits_for([&] { return bytes_read() >= before + bytes; }));
      return status();
    };
  }
  SECTION("and by the CPU, where the GPU that was asked for by nobody cannot be used") {
    environment.has_driver = [] { return true; };
    environment.status = plain_environment().status;
    environment.choose = [](const KeysToSort&, const AskStatus& ask, uint32_t, const WhereOptions&) {
      return BackendDecision{BackendChoice::cpu, ask().reason};
    };
    backend = "cpu";
  }
  if (backend == "cuda") options.where.backend = BackendChoice::cuda;
  const SortReport report = sort_file_with(environment, input, output, options);
  const uint64_t read = bytes_read() - before;
  CHECK(report.backend == backend);
  const uint64_t of_runs = environment.min_runs > 1 ? bytes : 0;
  if (backend == "cuda") CHECK(read < bytes * 5 / 4 + of_runs);
  const bool is_swapped = options.file.endian == Endian::big;
  const auto value = [=](uint32_t key) { return is_swapped ? __builtin_bswap32(key) : key; };
  std::ranges::sort(keys, {}, value);
  CHECK(std::ranges::equal(read_file(output), std::as_bytes(std::span(keys))));
}
