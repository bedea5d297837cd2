// pipeline_sort_file_test.cpp - files sorted by sort_file: every type, format, order, size and way to name
// them.
#include "catch.hpp"
#include "io/byte_swap.hpp"
#include "io/layout.hpp"
#include "oracle.hpp"
#include "sort_file_fixture.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

using namespace sweepsort;
using namespace sweepsort::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// Sorts `keys` through a raw file and returns what came out.
template <class Key>
std::vector<Key> sorted_by_file(const std::vector<Key>& keys, size_t chunk_bytes, SortFileOptions options) {
  const TemporaryFolder folder;
  write_keys(folder / "in", keys);
  options.file.type = key_type_of<Key>();
  const SortReport report =
      sort_file_with(plain_environment(chunk_bytes), folder / "in", folder / "out", options);
  CHECK(report.count == keys.size());
  CHECK(report.verified);
  CHECK(folder.names() == std::vector<std::string>{"in", "out"});
  CHECK(read_keys<Key>(folder / "in").size() == keys.size());
  return read_keys<Key>(folder / "out");
}

}  // namespace

TEMPLATE_TEST_CASE("a raw file of every type sorts in both orders, whatever the size of the chunks", "",
                   uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float, double) {
  for (const size_t chunk_bytes : {size_t{8}, size_t{64}, size_t{4096}, size_t{3} << 20})
    for (const size_t count : {0, 1, 2, 7, 8, 9, 511, 512, 513, 5000}) {
      const auto keys = random_keys<TestType>(count);
      for (const Order order : {Order::ascending, Order::descending}) {
        const auto sorted = sorted_by_file(keys, chunk_bytes, {.where = {.threads = 3}, .order = order});
        oracle::require_sorted<TestType>(keys, sorted, order);
      }
    }
}

TEST_CASE("a big-endian file sorts by value and stays big-endian") {
  const TemporaryFolder folder;
  auto keys = random_keys<uint32_t>(1000);
  const auto expected = keys;
  swap_key_bytes(std::as_writable_bytes(std::span(keys)), 4);
  write_keys(folder / "in.u32", keys);
  sort_file_with(plain_environment(), folder / "in.u32", folder / "out", {.file = {.endian = Endian::big}});
  auto sorted = read_keys<uint32_t>(folder / "out");
  swap_key_bytes(std::as_writable_bytes(std::span(sorted)), 4);
  oracle::require_sorted<uint32_t>(expected, sorted);
}

TEST_CASE("a .npy file keeps its header byte for byte, whatever its length does to the alignment") {
  const TemporaryFolder folder;
  const auto keys = random_keys<double>(3000);
  for (const size_t padding : {0, 1, 3, 54, 4000}) {
    std::string text =
        "{'shape': (3000,), 'descr': '<f8', 'fortran_order': True}" + std::string(padding, ' ') + "\n";
    std::string file = std::string("\x93NUMPY\x01\x00", 8);
    file += {static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
    file += text;
    const size_t header_bytes = file.size();
    file.append(reinterpret_cast<const char*>(keys.data()), keys.size() * sizeof(double));
    write_file(folder / "in.npy", std::as_bytes(std::span(file)));
    for (const size_t chunk_bytes : {64u, 8192u, 1u << 20}) {
      const SortReport report = sort_file_with(plain_environment(chunk_bytes), folder / "in.npy",
                                               folder / "out.npy", {.overwrite = true});
      CHECK(report.format == FileFormat::npy);
      const auto out = read_file(folder / "out.npy");
      CHECK(std::equal(out.begin(), out.begin() + static_cast<ptrdiff_t>(header_bytes),
                       std::as_bytes(std::span(file)).begin()));
      oracle::require_sorted<double>(keys, read_keys<double>(folder / "out.npy", header_bytes));
    }
  }
}

TEST_CASE("a SOSD file keeps its count in front") {
  const TemporaryFolder folder;
  std::vector<uint64_t> file = random_keys<uint64_t>(2001);
  file[0] = 2000;
  write_keys(folder / "keys_uint64", file);
  sort_file_with(plain_environment(), folder / "keys_uint64", folder / "out", {});
  const auto out = read_keys<uint64_t>(folder / "out");
  REQUIRE(out.size() == 2001);
  CHECK(out[0] == 2000);
  oracle::require_sorted<uint64_t>(std::span(file).subspan(1), std::span(out).subspan(1));
}

TEST_CASE("a window of a raw file is sorted alone") {
  const TemporaryFolder folder;
  const auto keys = random_keys<uint32_t>(100);
  write_keys(folder / "in", keys);
  const FileOptions window{.type = KeyType::u32, .skip_bytes = 40, .read_bytes = 200};
  sort_file_with(plain_environment(), folder / "in", folder / "out", {.file = window});
  oracle::require_sorted<uint32_t>(std::span(keys).subspan(10, 50), read_keys<uint32_t>(folder / "out"));
  SortFileOptions in_place{.file = window, .in_place = true};
  CHECK_THROWS_AS(sort_file_with(plain_environment(), folder / "in", "", in_place), UsageError);
  // In place, there must be no other output; otherwise, there must be one.
  CHECK_THROWS_AS(sort_file_with(plain_environment(), folder / "in", folder / "other", {.in_place = true}),
                  UsageError);
  CHECK_THROWS_AS(sort_file_with(plain_environment(), folder / "in", "", {}), UsageError);
  CHECK(read_keys<uint32_t>(folder / "in") == keys);
}

TEST_CASE("an in-place sort replaces the file and keeps its mode, also through links") {
  const bool anonymous = GENERATE(true, false);
  const TemporaryFolder folder;
  const auto keys = random_keys<uint32_t>(1000);
  write_keys(folder / "in.u32", keys);
  ::chmod((folder / "in.u32").c_str(), 0640);
  fs::create_symlink("in.u32", folder / "link.u32");
  SortEnvironment environment = plain_environment();
  environment.allow_anonymous = anonymous;
  SECTION("by its name") { sort_file_with(environment, folder / "in.u32", "", {.in_place = true}); }
  SECTION("by its name twice") {
    sort_file_with(environment, folder / "in.u32", folder / "in.u32", {.in_place = true});
  }
  SECTION("by a symbolic link") { sort_file_with(environment, folder / "link.u32", "", {.in_place = true}); }
  oracle::require_sorted<uint32_t>(keys, read_keys<uint32_t>(folder / "in.u32"));
  CHECK(fs::is_symlink(folder / "link.u32"));
  CHECK((fs::status(folder / "in.u32").permissions() & fs::perms::mask) == fs::perms(0640));
  CHECK(folder.names() == std::vector<std::string>{"in.u32", "link.u32"});
}

TEST_CASE(
    "a new output has the input's mode as the umask allows, and is writable; a replaced one keeps its own") {
  const TemporaryFolder folder;
  write_keys(folder / "in.u32", random_keys<uint32_t>(10));
  write_keys(folder / "old", random_keys<uint32_t>(3));
  ::chmod((folder / "in.u32").c_str(), 0466);
  ::chmod((folder / "old").c_str(), 0604);
  const mode_t umask = ::umask(0022);
  sort_file_with(plain_environment(), folder / "in.u32", folder / "new", {});
  sort_file_with(plain_environment(), folder / "in.u32", folder / "old", {.overwrite = true});
  ::umask(umask);
  CHECK((fs::status(folder / "new").permissions() & fs::perms::mask) == fs::perms(0644));
  CHECK((fs::status(folder / "old").permissions() & fs::perms::mask) == fs::perms(0604));
}

TEST_CASE("an output that is a symbolic link has its target replaced, also one that dangles") {
  const TemporaryFolder folder;
  const auto keys = random_keys<uint32_t>(100);
  write_keys(folder / "in.u32", keys);
  write_keys(folder / "target", std::vector<uint32_t>{1});
  fs::create_symlink("target", folder / "link");
  fs::create_symlink("link", folder / "link_to_link");
  fs::create_symlink("not_yet", folder / "dangling");
  sort_file_with(plain_environment(), folder / "in.u32", folder / "link_to_link", {.overwrite = true});
  sort_file_with(plain_environment(), folder / "in.u32", folder / "dangling", {});
  for (const char* link : {"link", "link_to_link", "dangling"}) CHECK(fs::is_symlink(folder / link));
  for (const char* file : {"target", "not_yet"}) {
    CHECK_FALSE(fs::is_symlink(folder / file));
    oracle::require_sorted<uint32_t>(keys, read_keys<uint32_t>(folder / file));
  }
}

TEST_CASE("a FIFO is sorted into a FIFO") {
  const TemporaryFolder folder;
  const auto keys = random_keys<uint32_t>(300'000);  // more than a pipe or one block of the reader holds
  REQUIRE(::mkfifo((folder / "in.u32").c_str(), 0600) == 0);
  REQUIRE(::mkfifo((folder / "out").c_str(), 0600) == 0);
  std::thread writer([&] { write_keys(folder / "in.u32", keys); });
  std::vector<uint32_t> sorted;
  std::thread reader([&] { sorted = read_keys<uint32_t>(folder / "out"); });
  const SortReport report = sort_file_with(plain_environment(4096), folder / "in.u32", folder / "out", {});
  writer.join();
  reader.join();
  CHECK(report.input_bytes == keys.size() * 4);
  oracle::require_sorted<uint32_t>(keys, sorted);
  CHECK(folder.names() == std::vector<std::string>{"in.u32", "out"});
}

TEST_CASE("a stream that ends inside a key is refused") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "in.u32").c_str(), 0600) == 0);
  std::thread writer([&] { write_file(folder / "in.u32", std::vector<std::byte>(4'000'003)); });
  CHECK_THROWS_WITH(sort_file_with(plain_environment(4096), folder / "in.u32", folder / "out", {}),
                    ContainsSubstring("3 left over"));
  writer.join();
  CHECK(folder.names() == std::vector<std::string>{"in.u32"});
}

TEST_CASE("a part of a stream without an end is sorted") {
  const TemporaryFolder folder;
  constexpr size_t part_keys = (3u << 20) / 8;
  const auto keys = random_keys<uint64_t>(1 + part_keys + 100);  // those behind the part stay in the pipe
  REQUIRE(::mkfifo((folder / "in").c_str(), 0600) == 0);
  const int held = ::open((folder / "in").c_str(), O_RDWR);  // so the pipe does not end, and has a reader
  REQUIRE(held >= 0);
  std::thread writer([&] { write_keys(folder / "in", keys); });
  const FileOptions part{.type = KeyType::u64, .skip_bytes = 8, .read_bytes = part_keys * 8};
  const SortReport report =
      sort_file_with(plain_environment(1u << 16), folder / "in", folder / "out", {.file = part});
  writer.join();
  ::close(held);
  CHECK(report.count == part_keys);
  oracle::require_sorted<uint64_t>(std::span(keys).subspan(1, part_keys),
                                   read_keys<uint64_t>(folder / "out"));
}

TEST_CASE("inputs that hold more keys than can be counted are refused") {
  const TemporaryFolder folder;
  write_keys(folder / "few.u8", std::vector<uint8_t>{3, 1, 2});
  for (const char* const huge : {"a.u8", "b.u8"}) {
    write_file(folder / huge, {});
    std::error_code error;
    std::filesystem::resize_file(folder / huge, std::numeric_limits<int64_t>::max(), error);
    if (error) {  // many file systems allow no such files; tmpfs does
      WARN("skipped: the file system allows no file of that size");
      return;
    }
  }
  for (const bool is_merge : {false, true}) {
    SortFileOptions options{.inputs_are_sorted = is_merge};
    CHECK_THROWS_WITH(
        sort_files_with(plain_environment(), {folder / "a.u8", folder / "b.u8", folder / "few.u8"},
                        folder / "out", options),
        ContainsSubstring("few.u8: too many keys"));
  }
  CHECK(folder.names() == std::vector<std::string>{"a.u8", "b.u8", "few.u8"});
}

TEST_CASE("repeats are timed and leave the same output") {
  const TemporaryFolder folder;
  const auto keys = random_keys<uint32_t>(1000);
  write_keys(folder / "in.u32", keys);
  const SortReport report =
      sort_file_with(plain_environment(), folder / "in.u32", folder / "out", {.repeat = 3});
  CHECK(report.repeat_s.size() == 3);
  CHECK(report.copy_bandwidth_bytes_s == 1e9);
  oracle::require_sorted<uint32_t>(keys, read_keys<uint32_t>(folder / "out"));
}

TEST_CASE("the report names phases, sizes and the backend, and the log says what was inferred") {
  const TemporaryFolder folder;
  write_keys(folder / "in.u32", random_keys<uint32_t>(1000));
  std::vector<std::string> lines;
  std::vector<std::pair<Phase, uint64_t>> progress;
  const SortFileOptions options{
      .progress = [&](Phase phase, uint64_t done, uint64_t) { progress.emplace_back(phase, done); },
      .log = [&](const std::string& line) { lines.push_back(line); }};
  const SortReport report = sort_file_with(plain_environment(), folder / "in.u32", folder / "out", options);
  std::vector<Phase> phases;
  for (const PhaseTime& time : report.phases) phases.push_back(time.phase);
  CHECK(phases == std::vector{Phase::prepare, Phase::read, Phase::sort, Phase::write, Phase::sync});
  CHECK(report.backend == "cpu");
  CHECK(report.algorithm == "std::sort");
  CHECK(report.input_bytes == 4000);
  CHECK(report.output_bytes == 4000);
  CHECK(report.fingerprint.count == 1000);
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], ContainsSubstring("in.u32: type u32, by its name"));
  CHECK_THAT(lines[1], ContainsSubstring("backend cpu: for 1000 u32 keys about"));
  CHECK(std::ranges::is_sorted(progress));
  CHECK(std::ranges::count(progress, std::pair{Phase::read, uint64_t{4000}}) == 1);
  CHECK(std::ranges::count(progress, std::pair{Phase::write, uint64_t{4000}}) == 1);
}
