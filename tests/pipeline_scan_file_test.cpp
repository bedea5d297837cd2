// pipeline_scan_file_test.cpp - files and pipes through scan_file and min_file: formats, chunks, overflows,
// faults.
#include "catch.hpp"
#include "core/key_text.hpp"
#include "io/byte_swap.hpp"
#include "io/layout.hpp"
#include "pipeline/scan_check.hpp"
#include "pipeline/scan_file.hpp"
#include "plain_backend.hpp"
#include "scan_oracle.hpp"
#include "temporary_folder.hpp"

#include <sys/stat.h>

#include <cstring>
#include <random>
#include <thread>

using namespace sweepsort;
using namespace sweepsort::test;
using Catch::Matchers::ContainsSubstring;

namespace {

StreamEnvironment scan_environment(size_t chunk_bytes = 64, Fault fault = Fault::none) {
  StreamEnvironment environment;
  environment.make_cpu = [fault](uint32_t) { return std::make_unique<PlainBackend>(fault, "cpu"); };
  environment.make_cuda = [](int) -> std::unique_ptr<Backend> { throw Error("there is no GPU here"); };
  environment.status = [] { return CudaStatus{.reason = "no NVIDIA driver", .hint = "install one"}; };
  environment.chunk_bytes = chunk_bytes;
  return environment;
}

std::vector<uint32_t> small_keys(size_t count) {
  auto keys = scan_input<uint32_t>(count);
  for (uint32_t& key : keys) key %= 1000;
  return keys;
}

/// The names in the folder after a scan has failed and left nothing behind.
using Names = std::vector<std::string>;

}  // namespace

TEMPLATE_TEST_CASE("a raw file of every type is scanned, whatever the size of the chunks", "", uint8_t,
                   int16_t, uint32_t, int64_t, float, double) {
  for (const size_t chunk_bytes : {size_t{8}, size_t{64}, size_t{4096}, size_t{1} << 20})
    for (const size_t count : {0, 1, 7, 8, 9, 511, 513, 3000})
      for (const ScanKind kind : {ScanKind::inclusive, ScanKind::exclusive}) {
        const TemporaryFolder folder;
        const auto in = scan_input<TestType>(count);
        write_keys(folder / "in", in);
        const ScanFileOptions options{
            .file = {.type = key_type_of<TestType>()}, .where = {.threads = 3}, .kind = kind, .wrap = true};
        const ScanReport report =
            scan_file_with(scan_environment(chunk_bytes), folder / "in", folder / "out", options);
        INFO("chunk " << chunk_bytes << " n=" << count << " " << name(kind));
        const auto out = read_keys<TestType>(folder / "out");
        REQUIRE(out.size() == count);
        REQUIRE(first_difference(out, expected_scan<TestType>(in, ScanOp::sum, kind)) == count);
        REQUIRE(report.count == count);
        REQUIRE(report.verified == std::is_integral_v<TestType>);
        REQUIRE(folder.names() == Names{"in", "out"});
      }
}

TEST_CASE("the total of an inclusive scan of floats is its last element, to the bit") {
  const TemporaryFolder folder;
  std::mt19937_64 random(test_seed());
  std::vector<float> in(5'000);
  for (float& element : in) element = std::normal_distribution<float>()(random);
  write_keys(folder / "in.f32", in);
  for (const size_t chunk_bytes : {size_t{4096}, size_t{1} << 20}) {
    StreamEnvironment environment = scan_environment(chunk_bytes);
    environment.make_cpu = make_cpu_backend;
    const ScanReport report = scan_file_with(environment, folder / "in.f32", folder / "out",
                                             {.where = {.threads = 2}, .overwrite = true});
    const float last = read_keys<float>(folder / "out").back();
    uint32_t bits = 0;
    std::memcpy(&bits, &last, sizeof bits);
    CHECK(report.total == key_text(KeyType::f32, bits));
    CHECK(std::stof(report.total) == last);
  }
}

TEST_CASE("a big-endian file is scanned by value and stays big-endian, also when it gets wider") {
  const TemporaryFolder folder;
  auto keys = small_keys(1000);
  const auto sums = expected_scan<uint64_t>(keys, ScanOp::sum, ScanKind::inclusive);
  swap_key_bytes(std::as_writable_bytes(std::span(keys)), 4);
  write_keys(folder / "in.u32", keys);
  scan_file_with(scan_environment(), folder / "in.u32", folder / "out",
                 {.file = {.endian = Endian::big}, .output_type = KeyType::u64});
  auto out = read_keys<uint64_t>(folder / "out");
  swap_key_bytes(std::as_writable_bytes(std::span(out)), 8);
  CHECK(out == sums);
}

TEST_CASE("a .npy file keeps its header byte for byte if the type stays, else it gets that of the new type") {
  const TemporaryFolder folder;
  const auto keys = small_keys(3000);
  const std::string text = "{'shape': (3000,), 'descr': '<u4', 'fortran_order': True}      \n";
  std::string file = std::string("\x93NUMPY\x01\x00", 8);
  file += {static_cast<char>(text.size()), 0};
  file += text;
  const size_t header_bytes = file.size();
  file.append(reinterpret_cast<const char*>(keys.data()), keys.size() * 4);
  write_file(folder / "in.npy", std::as_bytes(std::span(file)));
  for (const size_t chunk_bytes : {64u, 8192u, 1u << 20}) {
    scan_file_with(scan_environment(chunk_bytes), folder / "in.npy", folder / "same.npy",
                   {.overwrite = true});
    const auto same = read_file(folder / "same.npy");
    CHECK(std::equal(same.begin(), same.begin() + static_cast<ptrdiff_t>(header_bytes),
                     std::as_bytes(std::span(file)).begin()));
    CHECK(read_keys<uint32_t>(folder / "same.npy", header_bytes) ==
          expected_scan<uint32_t>(keys, ScanOp::sum, ScanKind::inclusive));
    scan_file_with(scan_environment(chunk_bytes), folder / "in.npy", folder / "wide.npy",
                   {.output_type = KeyType::i64, .overwrite = true});
    const auto wide = read_file(folder / "wide.npy");
    const Layout layout = find_layout(std::span(wide).first(1000), wide.size(), "wide.npy", {});
    CHECK(layout.type == KeyType::i64);
    CHECK(layout.count == 3000);
    CHECK(read_keys<int64_t>(folder / "wide.npy", layout.data_offset) ==
          expected_scan<int64_t>(keys, ScanOp::sum, ScanKind::inclusive));
  }
}

TEST_CASE("a SOSD file keeps its count in front, also in a wider type") {
  const TemporaryFolder folder;
  const std::vector<uint32_t> file{3, 0, 10, 20, 30};
  write_keys(folder / "keys_uint32", file);
  scan_file_with(scan_environment(), folder / "keys_uint32", folder / "same", {});
  CHECK(read_keys<uint32_t>(folder / "same") == std::vector<uint32_t>{3, 0, 10, 30, 60});
  scan_file_with(scan_environment(), folder / "keys_uint32", folder / "wide", {.output_type = KeyType::u64});
  CHECK(read_keys<uint64_t>(folder / "wide") == std::vector<uint64_t>{3, 10, 30, 60});
}

TEST_CASE("a window of a raw file is scanned alone") {
  const TemporaryFolder folder;
  const auto keys = small_keys(100);
  write_keys(folder / "in", keys);
  const FileOptions window{.type = KeyType::u32, .skip_bytes = 40, .read_bytes = 200};
  scan_file_with(scan_environment(), folder / "in", folder / "out", {.file = window});
  const std::vector<uint32_t> part(keys.begin() + 10, keys.begin() + 60);
  CHECK(read_keys<uint32_t>(folder / "out") ==
        expected_scan<uint32_t>(part, ScanOp::sum, ScanKind::inclusive));
  CHECK_THROWS_AS(scan_file_with(scan_environment(), folder / "in", "", {.file = window, .in_place = true}),
                  UsageError);
}

TEST_CASE("a window that begins where no element could is scanned alone, too") {
  const TemporaryFolder folder;
  std::vector<uint8_t> bytes(3);
  const auto keys = small_keys(100'000);
  const auto of_keys = std::as_bytes(std::span(keys));
  for (const std::byte byte : of_keys) bytes.push_back(static_cast<uint8_t>(byte));
  write_keys(folder / "in", bytes);
  const FileOptions window{.type = KeyType::u32, .skip_bytes = 3};
  scan_file(folder / "in", folder / "out", {.file = window, .where = {.backend = BackendChoice::cpu}});
  CHECK(read_keys<uint32_t>(folder / "out") ==
        expected_scan<uint32_t>(keys, ScanOp::sum, ScanKind::inclusive));
}

TEST_CASE("an in-place scan replaces the file") {
  const TemporaryFolder folder;
  const auto keys = small_keys(1000);
  write_keys(folder / "in.u32", keys);
  CHECK_THROWS_AS(scan_file_with(scan_environment(), folder / "in.u32", folder / "other", {.in_place = true}),
                  UsageError);
  CHECK_THROWS_AS(scan_file_with(scan_environment(), folder / "in.u32", "", {}), UsageError);
  scan_file_with(scan_environment(), folder / "in.u32", "", {.in_place = true});
  CHECK(read_keys<uint32_t>(folder / "in.u32") ==
        expected_scan<uint32_t>(keys, ScanOp::sum, ScanKind::inclusive));
  CHECK_THROWS_AS(scan_file_with(scan_environment(), folder / "in.u32", "",
                                 {.output_type = KeyType::u64, .in_place = true}),
                  UsageError);
  CHECK(folder.names() == Names{"in.u32"});
}

TEST_CASE("a FIFO is scanned into a FIFO, in order, by several threads") {
  const TemporaryFolder folder;
  const auto keys = small_keys(300'000);  // more than a pipe holds
  REQUIRE(::mkfifo((folder / "in.u32").c_str(), 0600) == 0);
  REQUIRE(::mkfifo((folder / "out").c_str(), 0600) == 0);
  std::thread writer([&] { write_keys(folder / "in.u32", keys); });
  std::vector<uint32_t> out;
  std::thread reader([&] { out = read_keys<uint32_t>(folder / "out"); });
  const ScanReport report =
      scan_file_with(scan_environment(4096), folder / "in.u32", folder / "out", {.where = {.threads = 4}});
  writer.join();
  reader.join();
  CHECK(report.input_bytes == keys.size() * 4);
  CHECK(report.count == keys.size());
  CHECK(report.verified);
  CHECK(out == expected_scan<uint32_t>(keys, ScanOp::sum, ScanKind::inclusive));
}

TEST_CASE("a FIFO of unknown length is scanned into a file, raw or with a header") {
  const TemporaryFolder folder(Medium::disk);
  const auto keys = small_keys(700'001);
  std::vector<std::byte> npy = new_header(FileFormat::npy, KeyType::u32, Endian::little, keys.size());
  const size_t header_bytes = npy.size();
  const auto bytes = std::as_bytes(std::span(keys));
  npy.insert(npy.end(), bytes.begin(), bytes.end());
  REQUIRE(::mkfifo((folder / "in.u32").c_str(), 0600) == 0);
  for (const bool raw : {true, false})
    for (const std::optional<KeyType> output_type : {std::optional<KeyType>(), std::optional(KeyType::u64)}) {
      std::thread writer(
          [&] { write_file(folder / "in.u32", raw ? bytes : std::span<const std::byte>(npy)); });
      scan_file_with(scan_environment(1u << 16), folder / "in.u32", folder / "out",
                     {.where = {.threads = 3}, .output_type = output_type, .overwrite = true});
      writer.join();
      const size_t skip = raw ? 0 : header_bytes;
      if (output_type)
        CHECK(read_keys<uint64_t>(folder / "out", skip) ==
              expected_scan<uint64_t>(keys, ScanOp::sum, ScanKind::inclusive));
      else
        CHECK(read_keys<uint32_t>(folder / "out", skip) ==
              expected_scan<uint32_t>(keys, ScanOp::sum, ScanKind::inclusive));
    }
}

TEST_CASE("a stream that ends inside an element is refused") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "in.u32").c_str(), 0600) == 0);
  const auto write = [&] { write_file(folder / "in.u32", std::vector<std::byte>(4'000'003)); };
  std::thread writer(write);
  CHECK_THROWS_WITH(scan_file_with(scan_environment(4096), folder / "in.u32", folder / "out", {}),
                    ContainsSubstring("3 left over"));
  writer.join();
  std::thread second_writer(write);
  CHECK_THROWS_WITH(min_file_with(scan_environment(4096), folder / "in.u32", {}),
                    ContainsSubstring("3 left over"));
  second_writer.join();
  CHECK(folder.names() == Names{"in.u32"});
}

TEST_CASE("an overflow names its element, and the output keeps what it had") {
  const TemporaryFolder folder;
  auto keys = small_keys(1000);
  keys[700] = 0xffff'ffff;
  write_keys(folder / "in.u32", keys);
  write_keys(folder / "out", std::vector<uint32_t>{42});
  const auto expected = expected_overflow(keys, ScanKind::inclusive);
  REQUIRE(expected == 700);
  CHECK_THROWS_WITH(
      scan_file_with(scan_environment(), folder / "in.u32", folder / "out", {.overwrite = true}),
      ContainsSubstring("in.u32: the sum overflows u32 at element 700"));
  CHECK_THROWS_AS(scan_file_with(scan_environment(), folder / "in.u32", folder / "out", {.overwrite = true}),
                  InputError);  // no other backend would try again
  CHECK(read_keys<uint32_t>(folder / "out") == std::vector<uint32_t>{42});
  CHECK(folder.names() == Names{"in.u32", "out"});
  // An exclusive scan does not add the last element to anything that it writes.
  keys.resize(701);
  write_keys(folder / "in.u32", keys);
  scan_file_with(scan_environment(), folder / "in.u32", folder / "out",
                 {.kind = ScanKind::exclusive, .overwrite = true});
  CHECK(read_keys<uint32_t>(folder / "out") ==
        expected_scan<uint32_t>(keys, ScanOp::sum, ScanKind::exclusive));
}

TEST_CASE("a pipe gets nothing that stands behind an overflow") {
  const TemporaryFolder folder;
  auto keys = small_keys(100'000);
  keys[60'000] = 0xffff'ffff;
  write_keys(folder / "in.u32", keys);
  for (const ScanKind kind : {ScanKind::inclusive, ScanKind::exclusive}) {
    ::mkfifo((folder / "out").c_str(), 0600);
    std::vector<uint32_t> out;
    std::thread reader([&] { out = read_keys<uint32_t>(folder / "out"); });
    CHECK_THROWS_AS(scan_file_with(scan_environment(4096), folder / "in.u32", folder / "out",
                                   {.where = {.threads = 4}, .kind = kind}),
                    Error);
    reader.join();
    CHECK(out.size() <= 60'000 + (kind == ScanKind::exclusive));
    const auto expected = expected_scan<uint32_t>(keys, ScanOp::sum, kind);
    CHECK(first_difference(out, expected) == out.size());
  }
}

TEST_CASE("a result that does not add up never gets its name") {
  const TemporaryFolder folder;
  const auto keys = small_keys(1000);
  write_keys(folder / "in.u32", keys);
  const auto environment = scan_environment(64, Fault::flips_bit);
  for (const ScanKind kind : {ScanKind::inclusive, ScanKind::exclusive})
    for (const ScanOp op : {ScanOp::sum, ScanOp::bit_xor}) {
      INFO(name(op) << " " << name(kind));
      CHECK_THROWS_WITH(
          scan_file_with(environment, folder / "in.u32", folder / "out", {.op = op, .kind = kind}),
          ContainsSubstring("do not add up"));
    }
  CHECK(folder.names() == Names{"in.u32"});
  CHECK_FALSE(scan_file_with(environment, folder / "in.u32", folder / "out", {.verify = false}).verified);
}

TEST_CASE("a failure in one chunk ends the others, and is the one that is told") {
  const TemporaryFolder folder;
  write_keys(folder / "in.u32", small_keys(10'000));
  const auto environment = scan_environment(64, Fault::fails_to_sort);
  for (int round = 0; round < 20; ++round)
    CHECK_THROWS_WITH(
        scan_file_with(environment, folder / "in.u32", folder / "out", {.where = {.threads = 8}}),
        "the device fell off the bus");
  CHECK(folder.names() == Names{"in.u32"});
}

TEST_CASE("what fails on a GPU that was chosen is done again on the CPU, but not what was asked for") {
  const TemporaryFolder folder;
  const auto keys = small_keys(10'000);
  write_keys(folder / "in.u32", keys);
  auto environment = scan_environment();
  environment.status = [] { return CudaStatus{.usable = {0}, .device_count = 1, .reason = {}, .hint = {}}; };
  for (const Fault fault : {Fault::fails_to_begin, Fault::fails_to_sort, Fault::flips_bit}) {
    environment.make_cuda = [fault](int) { return std::make_unique<PlainBackend>(fault, "cuda"); };
    // Small files go to the CPU by default. Only a named algorithm or backend uses the GPU.
    CHECK_THROWS_AS(scan_file_with(environment, folder / "in.u32", folder / "out",
                                   {.where = {.backend = BackendChoice::cuda}}),
                    Error);
    const ScanReport report =
        scan_file_with(environment, folder / "in.u32", folder / "out", {.overwrite = true});
    CHECK(report.backend == "cpu");
    std::filesystem::remove(folder / "out");
  }
}

TEST_CASE("types and algorithms that make no sense are refused before anything is written") {
  const TemporaryFolder folder;
  write_keys(folder / "in.u32", small_keys(10));
  write_keys(folder / "in.f32", std::vector<float>{1});
  const auto refuses = [&](const char* input, const ScanFileOptions& options, const char* message) {
    CHECK_THROWS_AS(scan_file_with(scan_environment(), folder / input, folder / "out", options), UsageError);
    CHECK_THROWS_WITH(scan_file_with(scan_environment(), folder / input, folder / "out", options),
                      ContainsSubstring(message));
  };
  refuses("in.u32", {.output_type = KeyType::u16}, "u16 does not hold every u32");
  refuses("in.u32", {.output_type = KeyType::f32}, "f32 does not hold every u32");
  refuses("in.f32", {.op = ScanOp::bit_xor}, "exclusive or of f32");
  refuses("in.u32", {.where = {.backend = BackendChoice::cpu}, .algorithm = ScanAlgorithm::shuffle},
          "--algorithm shuffle runs only on the GPU");
  refuses("in.u32", {.where = {.backend = BackendChoice::cuda}, .algorithm = ScanAlgorithm::threads},
          "--algorithm threads runs only on the CPU");
  CHECK_THROWS_WITH(scan_file_with(scan_environment(), folder / "in.u32", folder / "out",
                                   {.algorithm = ScanAlgorithm::lookback}),
                    ContainsSubstring("the cuda backend cannot be used: no NVIDIA driver"));
  CHECK(folder.names() == Names{"in.f32", "in.u32"});
}

TEST_CASE("the smallest and the largest element of a file and of a pipe are found") {
  const TemporaryFolder folder;
  auto keys = small_keys(10'000);
  keys[7001] = 5000;
  keys[9000] = 5000;
  write_keys(folder / "in.u32", keys);
  const MinFileOptions largest{.where = {.threads = 3}, .extreme = Extreme::max, .wants_index = true};
  const MinReport report = min_file_with(scan_environment(), folder / "in.u32", largest);
  CHECK(report.value == "5000");
  CHECK(report.index == 7001);
  CHECK(report.count == keys.size());
  CHECK_FALSE(min_file_with(scan_environment(), folder / "in.u32", {}).index.has_value());
  REQUIRE(::mkfifo((folder / "pipe.u32").c_str(), 0600) == 0);
  std::thread writer([&] { write_keys(folder / "pipe.u32", keys); });
  CHECK(min_file_with(scan_environment(), folder / "pipe.u32", largest).index == 7001);
  writer.join();
}

TEST_CASE("of an empty file there is no smallest element") {
  const TemporaryFolder folder;
  write_keys(folder / "in.u32", std::vector<uint32_t>{});
  CHECK_THROWS_WITH(min_file_with(scan_environment(), folder / "in.u32", {}),
                    ContainsSubstring("in.u32: there are no elements, so there is no smallest one"));
  CHECK_THROWS_AS(min_file_with(scan_environment(), folder / "in.u32", {}), InputError);
}

TEST_CASE("repeats are timed; those of a pipe are refused") {
  const TemporaryFolder folder;
  write_keys(folder / "in.u32", small_keys(1000));
  const ScanReport scans =
      scan_file_with(scan_environment(), folder / "in.u32", folder / "out", {.repeat = 3});
  CHECK(scans.repeat_s.size() == 3);
  CHECK(scans.copy_bandwidth_bytes_s == 1e9);
  CHECK(min_file_with(scan_environment(), folder / "in.u32", {.repeat = 2}).repeat_s.size() == 2);
  CHECK_THROWS_AS(min_file_with(scan_environment(), "/dev/zero",
                                {.file = {.type = KeyType::u32, .read_bytes = 4000}, .repeat = 2}),
                  UsageError);
}

TEST_CASE("auto takes the GPU where its start is worth it, and never for a file that must be written") {
  const auto gpu = [] { return CudaStatus{.usable = {0}, .device_count = 1, .reason = {}, .hint = {}}; };
  const auto choice = [&](uint64_t in, uint64_t out, uint32_t threads) {
    return choose_stream_backend(in, out, gpu, threads, {}).which;
  };
  CHECK(choice(1u << 30, 0, 2) == BackendChoice::cpu);
  CHECK(choice(uint64_t{100} << 30, 0, 2) == BackendChoice::cuda);
  CHECK(choice(uint64_t{100} << 30, uint64_t{100} << 30, 2) == BackendChoice::cpu);
  CHECK(choice(uint64_t{4} << 30, 0, 16) == BackendChoice::cpu);
}

TEST_CASE("the check of a scan sees a wrong last element of any chunk") {
  const std::vector<int16_t> in{5, -7, 9};
  const auto bytes = [](const std::vector<int16_t>& elements) { return std::as_bytes(std::span(elements)); };
  for (const int16_t last : {int16_t{7}, int16_t{8}}) {
    ScanCheck check(KeyType::i16, KeyType::i16, ScanOp::sum, ScanKind::inclusive);
    check.note_input(1, bytes({-3, 4}));  // chunks may come in any order
    check.note_output(1, bytes({4, 8}));
    check.note_input(0, bytes(in));
    check.note_output(0, bytes({5, -2, last}));
    CHECK(check.agrees() == (last == 7));
  }
}
