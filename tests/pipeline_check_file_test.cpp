// pipeline_check_file_test.cpp - check_file reports correctly: order, first fault, extremes, distinct keys,
// fingerprint.
#include "catch.hpp"
#include "io/layout.hpp"
#include "sort_file_fixture.hpp"
#include "sweepsort.hpp"

#include <sys/stat.h>

#include <limits>
#include <set>
#include <thread>

using namespace sweepsort;
using namespace sweepsort::test;
using Catch::Matchers::ContainsSubstring;

namespace {

template <class Key>
CheckReport check_keys(const std::vector<Key>& keys, Order order = Order::ascending) {
  const TemporaryFolder folder;
  write_keys(folder / "in", keys);
  return check_file(folder / "in", {.file = {.type = key_type_of<Key>()}, .threads = 3, .order = order});
}

/// More than one chunk of check_file.
constexpr size_t several_chunks = 3'000'001;

}  // namespace

TEST_CASE(
    "sorted keys are found sorted, and one key out of place is found where it is, also on a chunk's border") {
  std::vector<uint32_t> keys(several_chunks);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<uint32_t>(i / 3 + 5);
  const CheckReport sorted = check_keys(keys);
  CHECK(sorted.sorted);
  CHECK(sorted.count == keys.size());
  CHECK_FALSE(sorted.first_unsorted);
  CHECK(sorted.distinct == 1'000'001);
  CHECK(sorted.min == "5");
  CHECK(sorted.max == "1000005");
  for (const size_t at :
       {size_t{1}, size_t{77}, size_t{1} << 20, (size_t{1} << 20) + 1, size_t{2} << 20, keys.size() - 1}) {
    auto spoiled = keys;
    spoiled[at] = 1;
    const CheckReport report = check_keys(spoiled);
    CHECK_FALSE(report.sorted);
    CHECK(report.first_unsorted == at);
    CHECK(report.min == "1");
    CHECK_FALSE(report.distinct);
    CHECK(report.fingerprint != sorted.fingerprint);
  }
}

TEST_CASE("descending order is judged on demand") {
  const std::vector<int16_t> keys{5, 3, 3, -1, -7};
  CHECK(check_keys(keys, Order::descending).sorted);
  CHECK(check_keys(keys, Order::descending).distinct == 4);
  CHECK(check_keys(keys).first_unsorted == 1);
  CHECK(check_keys(std::vector<int16_t>{5, 3, 4}, Order::descending).first_unsorted == 2);
}

TEMPLATE_TEST_CASE("extremes are those of the type", "", uint8_t, int8_t, uint16_t, int16_t, uint32_t,
                   int32_t, uint64_t, int64_t) {
  constexpr TestType lowest = std::numeric_limits<TestType>::min();
  constexpr TestType highest = std::numeric_limits<TestType>::max();
  const CheckReport report = check_keys(std::vector<TestType>{1, highest, 0, lowest, 1});
  CHECK(report.min == std::to_string(lowest));
  CHECK(report.max == std::to_string(highest));
  CHECK(check_keys(std::vector<TestType>{42}).min == "42");
  CHECK(check_keys(std::vector<TestType>{42}).max == "42");
  const CheckReport nothing = check_keys(std::vector<TestType>{});
  CHECK(nothing.sorted);
  CHECK(nothing.min.empty());
  CHECK(nothing.max.empty());
  CHECK(nothing.distinct == 0);
}

TEST_CASE(
    "floats are printed with the fewest digits, NaN stands last and is no extreme unless there is nothing "
    "else") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const CheckReport report = check_keys(std::vector<double>{-0.0, 0.0, 0.1, 1e300, nan, -nan});
  CHECK(report.sorted == (check_keys(std::vector<double>{nan, -nan}).sorted));
  CHECK(report.min == "-0");
  CHECK(report.max == "1e+300");
  CHECK(check_keys(std::vector<double>{nan, 0.1, nan}).max == "0.1");
  CHECK(check_keys(std::vector<double>{nan, 0.1, nan}).min == "0.1");
  CHECK(check_keys(std::vector<double>{nan, 0.1}).first_unsorted == 1);
  CHECK(check_keys(std::vector<double>{nan, nan}).max == "nan");
  CHECK(check_keys(std::vector<float>{0.1f, -std::numeric_limits<float>::infinity()}).min == "-inf");
  CHECK(check_keys(std::vector<double>{infinity, nan}).max == "inf");
}

TEST_CASE("a stretch of NaNs longer than a chunk leaves the extremes to the others") {
  std::vector<float> keys(several_chunks, std::numeric_limits<float>::quiet_NaN());
  keys[5] = -2.5f;
  CHECK(check_keys(keys).min == "-2.5");
  CHECK(check_keys(keys).max == "-2.5");
  keys[5] = keys[6];
  keys.back() = 7;
  CHECK(check_keys(keys).max == "7");
}

TEST_CASE("distinct keys of 1 and 2 bytes are counted in any order") {
  const auto bytes = random_keys<uint8_t>(100);
  CHECK(check_keys(bytes).distinct == std::set<uint8_t>(bytes.begin(), bytes.end()).size());
  const auto words = random_keys<int16_t>(several_chunks);
  CHECK(check_keys(words).distinct == std::set<int16_t>(words.begin(), words.end()).size());
}

TEST_CASE("the fingerprint is the same for every order of the keys and every byte order of the file") {
  auto keys = random_keys<uint32_t>(10'000);
  const Fingerprint before = check_keys(keys).fingerprint;
  std::ranges::sort(keys);
  CHECK(check_keys(keys).fingerprint == before);
  keys[0] ^= 1;
  CHECK(check_keys(keys).fingerprint != before);
  keys[0] ^= 1;
  for (uint32_t& key : keys) key = __builtin_bswap32(key);
  const TemporaryFolder folder;
  write_keys(folder / "in.u32", keys);
  const CheckReport big = check_file(folder / "in.u32", {.file = {.endian = Endian::big}});
  CHECK(big.fingerprint == before);
  CHECK(big.sorted);
}

TEST_CASE("a stream is checked as its file is, in every format") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe_uint64").c_str(), 0600) == 0);
  std::vector<uint64_t> keys(several_chunks);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  keys[2'500'000] = 0;
  for (const FileFormat format : {FileFormat::raw, FileFormat::npy, FileFormat::sosd}) {
    auto file = new_header(format, KeyType::u64, Endian::little, keys.size());
    const auto data = std::as_bytes(std::span(keys));
    file.insert(file.end(), data.begin(), data.end());
    for (const size_t extra : {0, 3}) {
      std::thread writer([&] {
        auto longer = file;
        longer.resize(file.size() + extra);
        write_file(folder / "pipe_uint64", longer);
      });
      // Reading ends where the header says. The writer may find nobody who takes the rest.
      const auto check = [&] { return check_file(folder / "pipe_uint64", {.file = {.format = format}}); };
      if (extra != 0) {
        CHECK_THROWS_AS(check(), Error);
      } else {
        const CheckReport report = check();
        CHECK(report.format == format);
        CHECK(report.count == keys.size());
        CHECK(report.first_unsorted == 2'500'000);
        CHECK(report.max == "3000000");
      }
      writer.join();
    }
  }
}

TEST_CASE("a window of a stream is checked alone") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::vector<uint32_t> keys(10'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<uint32_t>(i);
  std::thread writer([&] { write_keys(folder / "pipe", keys); });
  const CheckReport report = check_file(
      folder / "pipe", {.file = {.type = KeyType::u32, .skip_bytes = 20'000, .read_bytes = 20'000}});
  writer.join();
  CHECK(report.count == 5000);
  CHECK(report.min == "5000");
  CHECK(report.max == "9999");
}

TEST_CASE("a stream with less than its header says is an error") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::thread writer(
      [&] { write_file(folder / "pipe", new_header(FileFormat::npy, KeyType::u32, Endian::little, 5)); });
  CHECK_THROWS_WITH(check_file(folder / "pipe"), ContainsSubstring("cut short"));
  writer.join();
}
