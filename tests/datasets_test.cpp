// datasets_test.cpp - the input distributions are what their names say, and the same everywhere.
#include "catch.hpp"
#include "core/error.hpp"
#include "core/key_bits.hpp"
#include "datasets/distributions.hpp"
#include "oracle.hpp"
#include "seed.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace sweepsort {
namespace {

template <class Key>
std::vector<BitsOf<Key>> ordered_bits(const std::vector<Key>& keys) {
  std::vector<BitsOf<Key>> bits;
  std::ranges::transform(keys, std::back_inserter(bits), oracle::Ordered<Key>(Order::ascending));
  return bits;
}

std::vector<std::byte> filled(const Distribution& distribution, KeyType type, uint64_t seed, uint64_t n) {
  std::vector<std::byte> bytes(n * key_bytes(type));
  fill(distribution, type, seed, n, 0, bytes);
  return bytes;
}

bool near(double got, double expected, double tolerance) {
  return std::abs(got - expected) < expected * tolerance;
}

/// Unlike a fingerprint, this depends on the order. FNV-1a (Fowler, Noll, Vo).
uint64_t checksum(uint64_t sum, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) sum = (sum ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3ull;
  return sum;
}

template <class Function>
void for_each_suitable_type(const Distribution& distribution, Function function) {
  for (const KeyType type : all_key_types)
    if (distribution.suits(type)) function(type);
}

TEST_CASE("every distribution has a name of its own, a summary, a plot and a type that it suits") {
  std::set<std::string_view> names;
  for (const Distribution& distribution : all_distributions()) {
    INFO(distribution.name);
    CHECK(names.insert(distribution.name).second);
    CHECK_FALSE(distribution.summary.empty());
    CHECK(std::ranges::count(distribution.plot, '\n') >= 4);
    CHECK(std::ranges::any_of(all_key_types, distribution.suits));
    CHECK(find_distribution(distribution.name) == &distribution);
  }
  for (const char* const name : {"and2", "and3", "and4", "and5", "and6", "and7", "and8"})
    CHECK(find_distribution(name) != nullptr);
  for (const char* const name : {"", "and1", "and9", "and", "unifor", "uniform "})
    CHECK(find_distribution(name) == nullptr);
}

TEST_CASE("a file made in odd parts is the file made at once") {
  constexpr uint64_t n = 9001;
  for (const Distribution& distribution : all_distributions()) {
    for_each_suitable_type(distribution, [&](KeyType type) {
      INFO(distribution.name << ' ' << name(type) << ' ' << replay_text());
      const std::vector<std::byte> whole = filled(distribution, type, test_seed(), n);
      const size_t size = key_bytes(type);
      std::vector<std::byte> parts(whole.size());
      // Fills backwards, in steps that are no multiple of anything inside.
      for (uint64_t last = n; last > 0;) {
        const uint64_t first = last > 1237 ? last - 1237 : 0;
        fill(distribution, type, test_seed(), n, first,
             std::span(parts).subspan(first * size, (last - first) * size));
        last = first;
      }
      CHECK((parts == whole));
    });
  }
}

TEST_CASE("a file made by several threads is the file made by one") {
  constexpr uint64_t n = 1'300'001;
  const Distribution& distribution = require_distribution("nearly-sorted", KeyType::u32);
  std::vector<std::byte> one(n * 4);
  std::vector<std::byte> three(n * 4);
  fill_all(distribution, KeyType::u32, test_seed(), one, 1);
  fill_all(distribution, KeyType::u32, test_seed(), three, 3);
  CHECK((one == three));
}

TEST_CASE("keys are the same on every machine") {
  // Checksums over all suitable types, seed 7, 5000 keys. A change here changes every generated file; the
  // change log must say so.
  const std::map<std::string_view, uint64_t> expected{
      {"uniform", 0xe5f5adcf78381a4aull},
      {"and3", 0x0298903b0d893f1eull},
      {"and5", 0x62a1e6148a832af7ull},
      {"all-equal", 0xfd36cc4f2a847dd5ull},
      {"few-2", 0x4d67b446ae9cf739ull},
      {"few-16", 0xa1f0b57d42af82f2ull},
      {"few-1000", 0xddedff9cea3d4f85ull},
      {"sorted", 0xc92685b33e937ef1ull},
      {"reversed", 0x4fc9d16cb3cf7e01ull},
      {"nearly-sorted", 0xef3451a0e88c7fe1ull},
      {"organ-pipe", 0x38cb123830f0eb29ull},
      {"zipf", 0x9e56ed4950e74775ull},
      {"zipf-hashed", 0x1a261654c7ca53ceull},
      {"gaussian", 0xa62a021c82d44066ull},
      {"shuffled-ids", 0x4e11fbaafbd65ff1ull},
      {"small-range-256", 0xe1831ea78b901086ull},
      {"small-range-65536", 0xf8e5d4c7bb9728c5ull},
      {"below-2^32", 0x776c29c132f6c6b5ull},
      {"timestamps", 0x519e3e4e9df37b35ull},
      {"ipv4", 0xbed6f4a53f7337f2ull},
      {"ninety-percent-one-value", 0x4c57c17986a561afull},
      {"one-bucket", 0xdc86b70e059d27caull},
      {"two-digits", 0x85e43a31fecd87b9ull},
      {"block-alternating", 0x2e9055cd7f9b84c3ull},
      {"decimal-text", 0x69af14f846f65a36ull},
      {"float-specials", 0x0f7842da85ca282aull},
  };
  for (const Distribution& distribution : all_distributions()) {
    uint64_t sum = 0xcbf29ce484222325ull;
    for_each_suitable_type(distribution,
                           [&](KeyType type) { sum = checksum(sum, filled(distribution, type, 7, 5000)); });
    INFO(distribution.name << " 0x" << std::hex << sum);
    const auto found = expected.find(distribution.name);
    CHECK((found != expected.end() && found->second == sum));
  }
}

TEST_CASE("another seed makes another file") {
  for (const Distribution& distribution : all_distributions()) {
    INFO(distribution.name);
    // Uses 64 bits, because a sorted file of bytes is the same for every seed.
    const KeyType type = distribution.suits(KeyType::u64) ? KeyType::u64 : KeyType::f64;
    CHECK((filled(distribution, type, 1, 4096) != filled(distribution, type, 2, 4096)));
  }
}

TEST_CASE("a distribution refuses a type that it does not suit, and a part outside of the file") {
  std::vector<std::byte> bytes(64);
  CHECK_THROWS_AS(fill(*find_distribution("float-specials"), KeyType::u32, 1, 16, 0, bytes), UsageError);
  CHECK_THROWS_AS(fill(*find_distribution("below-2^32"), KeyType::u32, 1, 16, 0, bytes), UsageError);
  CHECK_THROWS_AS(fill(*find_distribution("uniform"), KeyType::u32, 1, 15, 0, bytes), Error);
  CHECK_THROWS_AS(fill(*find_distribution("uniform"), KeyType::u32, 1, 100, 90, bytes), Error);
  CHECK_THROWS_AS(make_keys<uint32_t>("no-such-name", 10, 1), UsageError);
}

TEST_CASE("only float-specials makes numbers that are not finite") {
  for (const Distribution& distribution : all_distributions()) {
    INFO(distribution.name << ' ' << replay_text());
    const auto finite = [](auto key) { return std::isfinite(key); };
    const bool special = distribution.name == "float-specials";
    if (distribution.suits(KeyType::f32))
      CHECK(std::ranges::all_of(make_keys<float>(distribution.name, 20'000, test_seed()), finite) != special);
    if (distribution.suits(KeyType::f64))
      CHECK(std::ranges::all_of(make_keys<double>(distribution.name, 20'000, test_seed()), finite) !=
            special);
  }
}

TEMPLATE_TEST_CASE("ordered distributions are in the order that they claim", "", uint8_t, int16_t, uint32_t,
                   int64_t, float, double) {
  const uint64_t n =
      GENERATE(uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{1000}, uint64_t{99'999});
  INFO(n << " keys, " << replay_text());
  const auto bits = [&](const char* name) { return ordered_bits(make_keys<TestType>(name, n, test_seed())); };
  const auto middle = static_cast<ptrdiff_t>((n + 1) / 2);
  CHECK((std::ranges::is_sorted(bits("sorted"))));
  CHECK((std::ranges::is_sorted(bits("reversed"), std::greater{})));
  const auto pipe = bits("organ-pipe");
  CHECK((std::is_sorted(pipe.begin(), pipe.begin() + middle)));
  CHECK((std::is_sorted(pipe.begin() + middle, pipe.end(), std::greater{})));
}

TEST_CASE("nearly-sorted is sorted but for about 1 key in 100, and holds the sorted file's keys") {
  constexpr uint64_t n = 200'000;
  auto nearly = make_keys<uint64_t>("nearly-sorted", n, test_seed());
  const auto sorted = make_keys<uint64_t>("sorted", n, test_seed());
  uint64_t moved = 0;
  for (uint64_t i = 0; i < n; ++i) moved += nearly[i] != sorted[i] ? 1 : 0;
  INFO(moved << " of " << n << " keys moved, " << replay_text());
  CHECK(moved > n / 200);
  CHECK(moved < n / 50);
  std::ranges::sort(nearly);
  CHECK((nearly == sorted));
}

TEST_CASE("few-K has K distinct values and all-equal has one") {
  for (const auto& [name, count] :
       std::map<std::string, size_t>{{"all-equal", 1}, {"few-2", 2}, {"few-16", 16}, {"few-1000", 1000}}) {
    const auto keys = make_keys<uint64_t>(name, 100'000, test_seed());
    CHECK(std::set(keys.begin(), keys.end()).size() == count);
  }
}

TEST_CASE("of bytes, too, few-2 and few-16 have as many values as they say, whatever the seed") {
  for (uint64_t seed = test_seed(); seed < test_seed() + 100; ++seed) {
    INFO("seed " << seed);
    for (const auto& [name, count] : std::map<std::string, size_t>{{"few-2", 2}, {"few-16", 16}}) {
      const auto keys = make_keys<uint8_t>(name, 1'000, seed);
      CHECK(std::set(keys.begin(), keys.end()).size() == count);
      const auto signed_keys = make_keys<int8_t>(name, 1'000, seed);
      CHECK(std::set(signed_keys.begin(), signed_keys.end()).size() == count);
    }
  }
}

TEST_CASE("uniform and gaussian have the mean and the deviation of their names") {
  constexpr double n = 100'000;
  for (const auto& [name, deviation] :
       std::map<std::string, double>{{"uniform", 1e6 / std::sqrt(3)}, {"gaussian", 2e6 / 12}}) {
    double sum = 0;
    double squares = 0;
    for (const double key : make_keys<double>(name, 100'000, test_seed())) {
      sum += key;
      squares += key * key;
    }
    INFO(name << ' ' << replay_text());
    CHECK(std::abs(sum / n) < 6 * deviation / std::sqrt(n));
    CHECK(near(std::sqrt(squares / n), deviation, 0.02));
  }
}

TEST_CASE("AND of k uniform numbers sets a bit with probability 2^-k") {
  for (const unsigned k : {2u, 3u, 5u, 8u}) {
    uint64_t bits = 0;
    for (const uint64_t key : make_keys<uint64_t>("and" + std::to_string(k), 50'000, test_seed()))
      bits += std::popcount(key);
    CHECK(near(static_cast<double>(bits), 64 * 50'000.0 / (1u << k), 0.03));
  }
}

TEST_CASE("zipf halves the frequency when the rank doubles") {
  constexpr uint64_t n = 1'000'000;
  std::vector<double> frequency(1024);
  uint64_t largest = 0;
  for (const uint32_t key : make_keys<uint32_t>("zipf", n, test_seed())) {
    largest = std::max<uint64_t>(largest, key);
    if (key < frequency.size()) ++frequency[key];
  }
  INFO(replay_text());
  for (size_t rank = 0; rank < 32; ++rank)
    CHECK(near(frequency[rank], n * std::log2(1 + 1.0 / (static_cast<double>(rank) + 1)) / 24, 0.1));
  CHECK(largest > (1u << 23));
  CHECK(largest < (1u << 24));
  // Hashed keys: there are as many distinct keys, and the most frequent one is as frequent.
  std::map<uint64_t, uint64_t> hashed;
  for (const uint64_t key : make_keys<uint64_t>("zipf-hashed", n, test_seed())) ++hashed[key];
  const auto top = std::ranges::max_element(hashed, {}, [](const auto& entry) { return entry.second; });
  CHECK(near(static_cast<double>(top->second), frequency[0], 0.05));
}

TEST_CASE("values stay in the range that the distribution names") {
  const auto range = []<class Key>(const std::vector<Key>& keys) {
    const auto [low, high] = std::ranges::minmax(keys);
    return std::pair<uint64_t, uint64_t>(low, high);
  };
  constexpr uint64_t n = 200'000;
  const uint64_t seed = test_seed();
  CHECK(range(make_keys<int16_t>("small-range-256", n, seed)) == std::pair<uint64_t, uint64_t>(1000, 1255));
  const auto wide = range(make_keys<uint32_t>("small-range-65536", n, seed));
  CHECK((wide.first >= 1000 && wide.second <= 66'535));
  CHECK(range(make_keys<uint64_t>("below-2^32", n, seed)).second >> 32 == 0);
  const auto day = range(make_keys<int64_t>("timestamps", n, seed));
  CHECK((day.first >= 1'704'067'200'000'000'000 && day.second < 1'704'153'600'000'000'000));
  const auto addresses = range(make_keys<uint32_t>("ipv4", n, seed));
  CHECK((addresses.first >> 24 >= 1 && addresses.second >> 24 <= 223));
}

TEST_CASE("shuffled-ids has every number once, and hardly one behind the number before it") {
  for (const uint64_t n : {1u, 2u, 3u, 5u, 256u, 257u, 100'003u}) {
    INFO(n << ' ' << replay_text());
    auto ids = make_keys<uint64_t>("shuffled-ids", n, test_seed());
    uint64_t neighbours = 0;
    for (size_t i = 1; i < ids.size(); ++i) neighbours += ids[i] == ids[i - 1] + 1;
    CHECK((n < 1000 || neighbours < 20));
    std::ranges::sort(ids);
    for (uint64_t i = 0; i < n; ++i) REQUIRE(ids[i] == i);
  }
}

TEST_CASE("digits vary where the distribution says, and nowhere else") {
  const auto varying = []<class Key>(const std::vector<Key>& keys) {
    const auto bits = ordered_bits(keys);
    BitsOf<Key> differences = 0;
    for (const auto key : bits) differences = static_cast<BitsOf<Key>>(differences | (key ^ bits.front()));
    return differences;
  };
  const uint64_t seed = test_seed();
  CHECK(varying(make_keys<uint32_t>("two-digits", 5000, seed)) == 0x00ff00ffu);
  CHECK(varying(make_keys<uint64_t>("two-digits", 5000, seed)) == 0x00ff00ffu);
  CHECK(varying(make_keys<float>("two-digits", 5000, seed)) == 0x00ff00ffu);
  CHECK(varying(make_keys<uint16_t>("one-bucket", 5000, seed)) == 0x00ffu);
  CHECK(varying(make_keys<int32_t>("one-bucket", 5000, seed)) == 0x00ffffffu);
  CHECK(varying(make_keys<double>("one-bucket", 5000, seed)) == 0x00ffffffffffffffull);
}

TEST_CASE("block-alternating keeps a tile within 8 buckets of a digit and leaves them with the next tile") {
  const auto bits = ordered_bits(make_keys<int32_t>("block-alternating", 3 * 4096, test_seed()));
  for (uint32_t shift = 0; shift < 32; shift += 8)
    for (size_t i = 0; i < bits.size(); ++i) {
      const bool high = (i / 4096 + shift / 8) % 2 == 0;
      REQUIRE((bits[i] >> shift & 0xf8) == (high ? 0xb8 : 0x38));
    }
}

TEST_CASE("decimal-text has ten characters in every byte, and all numbers of so many digits") {
  const auto bits = ordered_bits(make_keys<uint64_t>("decimal-text", 100'000, test_seed()));
  std::map<uint64_t, uint64_t> counts;
  for (const uint64_t key : bits)
    for (uint32_t shift = 0; shift < 64; shift += 8) ++counts[shift << 8 | (key >> shift & 0xff)];
  REQUIRE(counts.size() == 80);
  for (const auto& [place, count] : counts) {
    CHECK((place & 0xff) - '0' < 10);
    CHECK(near(static_cast<double>(count), 10'000, 0.1));
  }
}

TEST_CASE("ninety-percent-one-value does") {
  std::map<uint64_t, uint64_t> counts;
  for (const uint64_t key : make_keys<uint64_t>("ninety-percent-one-value", 100'000, test_seed()))
    ++counts[key];
  const auto top = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  CHECK(near(static_cast<double>(top->second), 90'000, 0.01));
  CHECK(counts.size() == 100'001 - top->second);
}

TEMPLATE_TEST_CASE("float-specials has every kind of number of both signs", "", float, double) {
  std::map<std::string, int> kinds;
  for (const TestType key : make_keys<TestType>("float-specials", 10'000, test_seed())) {
    const std::string sign = std::signbit(key) ? "-" : "+";
    switch (std::fpclassify(key)) {
      case FP_NAN: ++kinds[sign + "nan"]; break;
      case FP_INFINITE: ++kinds[sign + "infinity"]; break;
      case FP_ZERO: ++kinds[sign + "zero"]; break;
      case FP_SUBNORMAL: ++kinds[sign + "denormal"]; break;
      default: ++kinds[sign + "normal"];
    }
  }
  CHECK(kinds.size() == 10);
  for (const auto& [kind, count] : kinds) {
    INFO(kind);
    CHECK(count > 100);
  }
}

}  // namespace
}  // namespace sweepsort
