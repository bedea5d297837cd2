// real_files_test.cpp - the real files in datasets/real are what their table says, and sort.
#include "catch.hpp"
#include "datasets/distributions.hpp"
#include "oracle.hpp"
#include "sweepsort.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <cstring>

namespace sweepsort {
namespace {

struct RealFile {
  std::string name;
  FileFormat format;
  KeyType type;
  Endian endian;
  uint64_t count;
};

const std::vector<RealFile>& real_files() {
  static const std::vector<RealFile> files{
      {"mac_blocks.u32", FileFormat::raw, KeyType::u32, Endian::little, 32'530},
      {"collation_order.npy", FileFormat::npy, KeyType::u32, Endian::little, 33'254},
      {"collation_weights.u16", FileFormat::raw, KeyType::u16, Endian::little, 33'254},
      {"words_uint64", FileFormat::sosd, KeyType::u64, Endian::little, 13'042},
      {"time_zone_transitions.npy", FileFormat::npy, KeyType::i64, Endian::big, 23'123}};
  return files;
}

std::string path_of(const RealFile& file) { return std::string(SWEEPSORT_REAL_FILES) + "/" + file.name; }

/// The keys at the end of the file, in this machine's byte order.
template <class Key>
std::vector<Key> keys_of(const std::vector<std::byte>& bytes, const RealFile& file) {
  std::vector<Key> keys(file.count);
  auto* const to = reinterpret_cast<std::byte*>(keys.data());
  std::memcpy(to, bytes.data() + (bytes.size() - file.count * sizeof(Key)), file.count * sizeof(Key));
  if (file.endian == Endian::big)
    for (uint64_t i = 0; i < file.count; ++i) std::reverse(to + i * sizeof(Key), to + (i + 1) * sizeof(Key));
  return keys;
}

TEST_CASE("every real file sorts, in both orders, on the CPU, and keeps its format") {
  const Order order = GENERATE(Order::ascending, Order::descending);
  const test::TemporaryFolder folder;
  for (const RealFile& file : real_files()) {
    INFO(file.name << ' ' << name(order));
    const SortFileOptions options{.where = {.backend = BackendChoice::cpu}, .order = order};
    const SortReport report = sort_file(path_of(file), folder / file.name, options);
    CHECK(report.count == file.count);
    CHECK(report.type == file.type);
    CHECK(report.format == file.format);
    CHECK(report.verified);

    const auto input = test::read_file(path_of(file));
    const auto output = test::read_file(folder / file.name);
    dispatch(file.type, [&]<class Key>(std::type_identity<Key>) {
      REQUIRE(input.size() == output.size());
      const size_t header_bytes = input.size() - file.count * sizeof(Key);
      CHECK(std::equal(input.begin(), input.begin() + static_cast<ptrdiff_t>(header_bytes), output.begin()));
      const auto before = keys_of<Key>(input, file);
      const auto after = keys_of<Key>(output, file);
      oracle::require_sorted<Key>(before, after, order);
    });
  }
}

TEST_CASE("the real files look as their table says") {
  const auto keys = [](size_t index, auto key) {
    const RealFile& file = real_files()[index];
    return keys_of<decltype(key)>(test::read_file(path_of(file)), file);
  };
  const auto blocks = keys(0, uint32_t{});
  CHECK(std::ranges::max(blocks) < 1u << 24);
  CHECK_FALSE(std::ranges::is_sorted(blocks));
  auto points = keys(1, uint32_t{});
  std::ranges::sort(points);
  CHECK(std::ranges::adjacent_find(points) == points.end());  // each comes once
  CHECK(points.back() <= 0x10ffff);
  CHECK(std::ranges::count(keys(2, uint16_t{}), 0) > 100);
  const auto words = keys(3, uint64_t{});
  CHECK(std::ranges::count_if(words, [](uint64_t word) { return (word >> 56) == 's'; }) > 1000);
  CHECK(std::ranges::min(keys(4, int64_t{})) < 0);
}

TEST_CASE("the check of a real file counts the same keys before and after a sort") {
  const test::TemporaryFolder folder;
  for (const RealFile& file : real_files()) {
    INFO(file.name);
    sort_file(path_of(file), folder / file.name, {.where = {.backend = BackendChoice::cpu}});
    const CheckReport before = check_file(path_of(file));
    const CheckReport after = check_file(folder / file.name);
    CHECK(after.sorted);
    CHECK_FALSE(before.sorted);
    CHECK(before.fingerprint == after.fingerprint);
    CHECK(before.min == after.min);
    CHECK(before.max == after.max);
  }
}

}  // namespace
}  // namespace sweepsort
