// tiled_grid_sort_test.cpp - one partition and its buckets in one cooperative launch, with small tiles and
// buckets. On the emulator and on a GPU.
#include "kernels/tiled_grid_sort.cuh"

#include "catch.hpp"
#include "datasets/distributions.hpp"
#include "device_array.hpp"
#include "on_device.hpp"
#include "oracle.hpp"
#include "record_arrays.hpp"
#include "seed.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace sweepsort {
namespace {

/// Tiles of 2,048 keys, buckets of about 512 with room for 768, and bins that usually have room.
using SmallTiles = TiledGridPolicy<
    TiledGridShape{
        .keys_per_thread = 8, .bin_slots = 4'096, .max_blocks = 16, .max_buckets = 192, .bucket_keys = 512},
    BucketSortPolicy<256, 3, 1, 16384>>;
/// Two blocks on each multiprocessor, tiles of 4,096 keys, and bins that often have no room.
using LargeTiles = TiledGridPolicy<
    TiledGridShape{
        .keys_per_thread = 16, .bin_slots = 4'096, .max_blocks = 40, .max_buckets = 192, .bucket_keys = 512},
    BucketSortPolicy<256, 3, 2, 65536>>;

struct Case {
  Order order = Order::ascending;
  bool in_place = false;
  unsigned multiprocessors = 5;
};

/// Sorts and checks. Returns false if the keys were left to others, with all arrays unchanged.
template <class Policy, class Key>
bool sort(const std::vector<Key>& input, const Case& test) {
  using Bits = BitsOf<Key>;
  const OnDevice session(test.multiprocessors);
  const uint64_t count = input.size();
  REQUIRE(count <= tiled_grid_capacity<Bits, Policy>());
  const DeviceArray<Key> in{std::span<const Key>(input)};
  const DeviceArray<Key> elsewhere(test.in_place ? 0 : count);
  const std::vector<Key> before = elsewhere.download();
  const DeviceArray<Bits> scratch(tiled_grid_scratch<Policy>(count));
  Workspace counter;
  (void)TiledGridWorkspace<Policy>(counter);
  const DeviceArray<std::byte> memory(counter.used());
  Workspace carved(memory.span());
  const TiledGridWorkspace<Policy> workspace(carved);
  check(cudaMemset(memory.data(), 0, counter.used()));

  const DeviceArray<Key>& out = test.in_place ? in : elsewhere;
  tiled_grid_sort<Bits, Policy>(reinterpret_cast<const Bits*>(in.data()), scratch.data(),
                                reinterpret_cast<Bits*>(out.data()), count,
                                key_map<Bits>(key_type_of<Key>(), test.order), workspace, nullptr);

  uint32_t falls_back = 0;
  check(cudaMemcpy(&falls_back, workspace.falls_back.data(), sizeof(falls_back), cudaMemcpyDeviceToHost));
  for (const DeviceArray<Key>* const keys : {&in, &elsewhere}) keys->check_zones();
  scratch.check_zones();
  memory.check_zones();
  if (falls_back == 0) {
    oracle::require_sorted<Key>(input, out.download(), test.order);
  } else {
    REQUIRE(falls_back == 1);
    oracle::require(oracle::compare<Key>(before, elsewhere.download()));
  }
  if (falls_back != 0 || !test.in_place) oracle::require(oracle::compare<Key>(input, in.download()));
  return falls_back == 0;
}

/// The `variant`-th combination of order, place and multiprocessors.
Case variant_of(uint32_t variant) {
  return {.order = variant % 2 == 0 ? Order::ascending : Order::descending,
          .in_place = variant / 2 % 2 == 0,
          .multiprocessors = 1 + variant / 4 % 6};
}

template <class Policy, class Key>
bool sort_distribution(std::string_view distribution, uint64_t count, const Case& test) {
  INFO(name(key_type_of<Key>()) << " " << distribution << " n=" << count << " " << name(test.order)
                                << (test.in_place ? " in place" : "") << " " << test.multiprocessors);
  return sort<Policy, Key>(make_keys<Key>(std::string(distribution), count, test_seed()), test);
}

/// The bucket of a key of the whole range, if there are 32.
constexpr uint32_t bucket_of_32(uint32_t key) { return key >> 27; }

/// Random keys of 32 buckets, whatever the number of blocks. Exactly `size` of them are in `bucket`.
std::vector<uint32_t> one_bucket_of(uint32_t size, uint32_t bucket) {
  std::mt19937 random(static_cast<uint32_t>(test_seed()));
  std::vector<uint32_t> keys;
  while (keys.size() < size) keys.push_back(bucket << 27 | static_cast<uint32_t>(random()) >> 5);
  while (keys.size() < 32 * SmallTiles::bucket_keys - 100)
    if (const auto key = static_cast<uint32_t>(random()); bucket_of_32(key) != bucket) keys.push_back(key);
  std::shuffle(keys.begin(), keys.end(), random);
  return keys;
}

/// The most blocks. For the keys of keys_of_blocks(), each block has a tile.
constexpr Case all_blocks{.multiprocessors = SmallTiles::max_blocks};

/// Random keys of 32 buckets. At least `in_block[b]` keys of block b are in `bucket`, in places at which the
/// sample does not look. There is no more scratch than the buckets take.
std::vector<uint32_t> keys_of_blocks(uint32_t bucket, const std::vector<uint32_t>& in_block) {
  using even_sample::neighbours;
  constexpr uint64_t share = 516;
  constexpr uint64_t count = SmallTiles::max_blocks * share - 60;
  static_assert(tiled_grid_buckets<SmallTiles>(count, SmallTiles::max_blocks) == 32);
  static_assert(tiled_grid_scratch<SmallTiles>(count) == 32 * SmallTiles::Finish::max_keys);
  constexpr uint64_t width = even_sample::vector_width<uint32_t>;
  constexpr uint64_t lines = SmallTiles::threads / neighbours;
  std::vector<bool> is_sampled(count);
  for (uint64_t line = 0; line < lines; ++line)
    for (uint64_t i = 0; i < neighbours * width; ++i)
      is_sampled.at((count / width - neighbours) * line / (lines - 1) * width + i) = true;
  std::mt19937 random(static_cast<uint32_t>(test_seed()));
  std::vector<uint32_t> keys(count);
  for (uint32_t& key : keys) key = static_cast<uint32_t>(random());
  for (uint64_t b = 0; b < SmallTiles::max_blocks; ++b) {
    const auto own = std::span(keys).subspan(b * share, std::min(share, count - b * share));
    auto here = static_cast<uint32_t>(std::ranges::count(own, bucket, bucket_of_32));
    for (uint64_t i = 0; i < own.size() && here < in_block[b]; ++i) {
      if (is_sampled[b * share + i] || bucket_of_32(own[i]) == bucket) continue;
      own[i] = bucket << 27 | own[i] >> 5;
      ++here;
    }
    REQUIRE(here >= in_block[b]);
  }
  return keys;
}

}  // namespace

TEMPLATE_TEST_CASE("the tiled grid sort is right, or leaves all as it was, for every distribution",
                   "[device]", uint32_t, float, uint64_t, int64_t) {
  uint32_t variant = sizeof(TestType);
  for (const Distribution& distribution : all_distributions()) {
    if (!distribution.suits(key_type_of<TestType>())) continue;
    variant += 5;
    const uint64_t count = 2'001 + 397 * (variant % 16);
    sort_distribution<SmallTiles, TestType>(distribution.name, count, variant_of(variant));
    if (on_gpu || variant % 2 == 0)
      sort_distribution<LargeTiles, TestType>(distribution.name, count, variant_of(variant / 2));
  }
}

TEMPLATE_TEST_CASE("even keys are sorted by it, at every limit of its sizes", "[device]", uint32_t, int32_t,
                   float, double, uint64_t) {
  uint32_t variant = 0;
  for (const uint64_t limit : {3 * 512, 1024, 2 * 1024, 5 * 1024, 5 * 1024 + 512, 16 * 512})
    for (const uint64_t count : {limit - 1, limit, limit + 1}) {
      variant += 3;
      CHECK(sort_distribution<SmallTiles, TestType>("uniform", count, variant_of(variant)));
      CHECK(sort_distribution<LargeTiles, TestType>("uniform", count, variant_of(variant)));
    }
}

TEST_CASE("keys in order, few, repeated or crowded are left to others", "[device]") {
  uint32_t variant = 0;
  for (const char* const distribution :
       {"sorted", "reversed", "all-equal", "few-16", "and3", "ninety-percent-one-value", "small-range-256"})
    CHECK_FALSE(sort_distribution<SmallTiles, uint32_t>(distribution, 6'000, variant_of(variant++)));
}

TEMPLATE_TEST_CASE("keys of evenly distributed values that repeat are left to others", "[device]", uint32_t,
                   float) {
  // There are as many values as the sample has cells. It meets them there no more often than keys that
  // differ.
  using ManyBuckets = TiledGridPolicy<
      TiledGridShape{
          .keys_per_thread = 8, .bin_slots = 16384, .max_blocks = 16, .max_buckets = 768, .bucket_keys = 512},
      BucketSortPolicy<256, 3, 1, 16384>>;
  std::mt19937_64 random(test_seed());
  std::vector<TestType> keys(380'000);
  for (TestType& key : keys) key = static_cast<TestType>(random() % 4'096 * 4'096);
  CHECK_FALSE(sort<ManyBuckets, TestType>(keys, {.multiprocessors = 16}));
  keys.resize(6'001);  // hardly any value comes twice
  CHECK(sort<ManyBuckets, TestType>(keys, {.multiprocessors = 16}));
}

TEMPLATE_TEST_CASE("numbers that stand close together are sorted by it, each once or some times", "[device]",
                   uint32_t, int64_t) {
  std::mt19937_64 random(test_seed());
  uint32_t variant = 0;
  // With more keys per number, keys of 4 and of 8 bytes are left to other sorts, which pass few digits.
  for (const uint64_t numbers : {6'000u, 6'000u / 3, 6'000u / 24}) {
    std::vector<TestType> keys(6'000);
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<TestType>(1'000'000'007 + i % numbers);
    std::shuffle(keys.begin(), keys.end(), random);
    CHECK(sort<SmallTiles, TestType>(keys, variant_of(variant++)) == (numbers > 1'000));
  }
}

TEST_CASE("a bucket as large as its room is sorted, one larger leaves all to others", "[device]") {
  uint32_t variant = 0;
  for (const uint32_t size : {767u, 768u, 769u, 777u, 1'000u})
    for (const unsigned multiprocessors : {1u, 4u}) {
      Case test = variant_of(variant++);
      test.multiprocessors = multiprocessors;
      INFO(size << " keys, " << multiprocessors << " multiprocessors");
      CHECK(sort<SmallTiles, uint32_t>(one_bucket_of(size, 14), test) ==
            (size <= SmallTiles::Finish::max_keys));
    }
  // The last bucket's room is at the end of the scratch array. Blocks append 48 or 56 keys at once, so one of
  // them runs over, if any does.
  std::vector<uint32_t> in_block(SmallTiles::max_blocks, 48);
  CHECK(sort<SmallTiles, uint32_t>(keys_of_blocks(31, in_block), all_blocks));
  in_block[0] = in_block[9] = 56;
  CHECK_FALSE(sort<SmallTiles, uint32_t>(keys_of_blocks(31, in_block), all_blocks));
}

TEST_CASE("as many keys of a tile as may find no room in their bin are sorted, one more leaves all to others",
          "[device]") {
  constexpr uint32_t most = SmallTiles::bin_slots / 32 + tiled_grid_detail::max_beside_bin;
  std::vector<uint32_t> in_block(SmallTiles::max_blocks);
  for (const uint32_t keys : {most, most + 1}) {
    in_block[4] = keys;
    INFO(keys << " keys of one bucket in a tile");
    CHECK(sort<SmallTiles, uint32_t>(keys_of_blocks(14, in_block), all_blocks) == (keys <= most));
  }
  // A block gives up at its first tile, and what it has dealt by then has room everywhere.
  std::vector<uint32_t> side_by_side = one_bucket_of(768, 14);
  auto place = side_by_side.begin() + 700;  // behind a line of the sample, far before the next one
  for (auto key = side_by_side.begin() + 1'100; place < side_by_side.begin() + 960; ++key)
    if (bucket_of_32(*key) == 14) std::iter_swap(key, place++);
  for (const unsigned multiprocessors : {1u, 4u})
    CHECK_FALSE(sort<SmallTiles, uint32_t>(side_by_side, {.multiprocessors = multiprocessors}));
  // Those of all blocks together have no room at the back of the first bucket, at the front of the scratch
  // array.
  std::ranges::fill(in_block, SmallTiles::bin_slots / 32 + 50);
  CHECK_FALSE(sort<SmallTiles, uint32_t>(keys_of_blocks(0, in_block), all_blocks));
}

TEST_CASE("parts of a bucket that crowd are sorted by digits", "[device]") {
  std::mt19937_64 random(test_seed());
  std::vector<uint64_t> keys(5'000);
  for (uint64_t& key : keys) key = random();
  // Too few for the sample to notice, and more than a thread compares.
  for (uint32_t i = 0; i < 45; ++i) keys.push_back(0x7777777777770000u + random() % 50'000);
  std::shuffle(keys.begin(), keys.end(), random);
  for (uint32_t variant = 0; variant < 4; ++variant)
    CHECK(sort<SmallTiles, uint64_t>(keys, variant_of(variant)));
}

TEMPLATE_TEST_CASE("floats of any range are sorted by it, also around zero", "[device]", float, double) {
  struct Range {
    double low;
    double high;
  };
  std::mt19937_64 random(test_seed());
  uint32_t variant = 0;
  for (const Range range :
       {Range{-1, 1}, {0, 1}, {-1, 0}, {1, 2}, {-2, -1}, {1e-30, 1}, {-0.001, 5}, {-5, 0.1}}) {
    std::uniform_real_distribution<double> distribution(range.low, range.high);
    std::vector<TestType> keys(6'000);
    for (TestType& key : keys) key = static_cast<TestType>(distribution(random));
    // Too few for the sample to notice, and more than a thread compares.
    for (uint32_t i = 0; i < 45; ++i)
      keys.push_back(static_cast<TestType>((range.low + range.high) / 2 * (1 + distribution(random) * 1e-6)));
    std::shuffle(keys.begin(), keys.end(), random);
    INFO(range.low << " to " << range.high);
    for (uint32_t i = 0; i < (on_gpu ? 8 : 2); ++i)
      CHECK(sort<SmallTiles, TestType>(keys, variant_of(variant++)));
  }
}

TEMPLATE_TEST_CASE("what is no number, or has no end, may be among even floats", "[device]", float, double) {
  using Limits = std::numeric_limits<TestType>;
  std::mt19937_64 random(test_seed());
  uint32_t variant = 0;
  for (const double lowest : {-1.0, 0.0, 1.0}) {
    std::uniform_real_distribution<double> distribution(lowest, lowest + 2);
    std::vector<TestType> keys(6'000);
    for (TestType& key : keys) key = static_cast<TestType>(distribution(random));
    auto place = keys.begin() + 40;  // behind the sample's first line of neighbours, far before the next one
    for (const TestType key :
         {Limits::quiet_NaN(), -Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), Limits::max(),
          -Limits::max(), Limits::denorm_min(), -Limits::denorm_min(), TestType{0}, -TestType{0}})
      *place++ = key;
    for (uint32_t i = 0; i < (on_gpu ? 8 : 2); ++i)
      CHECK(sort<SmallTiles, TestType>(keys, variant_of(variant++)));
  }
}

TEST_CASE("no keys, and as many as its buckets hold, are sorted", "[device]") {
  CHECK(sort<SmallTiles, uint32_t>({}, {}));
  for (const unsigned multiprocessors : {1u, 5u}) {
    const uint64_t capacity = [&] {
      const OnDevice session(multiprocessors);
      return tiled_grid_capacity<uint32_t, SmallTiles>();
    }();
    CHECK(sort_distribution<SmallTiles, uint32_t>("uniform", capacity, {.multiprocessors = multiprocessors}));
  }
}

TEST_CASE("more keys than its buckets hold are refused", "[device]") {
  const OnDevice session(2);
  Workspace nothing;
  const TiledGridWorkspace<SmallTiles> workspace(nothing);
  const uint64_t capacity = tiled_grid_capacity<uint32_t, SmallTiles>();
  CHECK_THROWS_AS((tiled_grid_sort<uint32_t, SmallTiles>(nullptr, nullptr, nullptr, 2 * capacity, {},
                                                         workspace, nullptr)),
                  std::length_error);
}

#ifdef SWEEPSORT_EMULATED
TEMPLATE_TEST_CASE("the parts of a bucket of floats never fall, and there are words for all of them", "",
                   float, double) {
  using Bits = BitsOf<TestType>;
  std::mt19937_64 random(test_seed());
  uint32_t asked = 0;
  for (int round = 0; round < 400; ++round) {
    const auto map =
        key_map<Bits>(key_type_of<TestType>(), round % 2 == 0 ? Order::ascending : Order::descending);
    const auto any_real = [&] {
      const auto fraction =
          static_cast<TestType>(static_cast<int64_t>(random())) / static_cast<TestType>(1ull << 63);
      return round % 3 == 0 ? fraction : std::ldexp(fraction, static_cast<int>(random() % 60) - 30);
    };
    const Bits one = map.to_ordered(std::bit_cast<Bits>(any_real()));
    const Bits other = map.to_ordered(std::bit_cast<Bits>(round % 4 == 0 ? TestType{0} : any_real()));
    const auto buckets = static_cast<uint32_t>(2 + random() % 1'000);
    const auto bucket_of =
        RealBuckets<Bits>::around(std::min(one, other), std::max(one, other), buckets, map);
    if (!bucket_of.is_usable()) continue;
    for (int k = 0; k < 20; ++k) {
      // Around zero as often as anywhere else, and at the ends.
      const uint32_t bucket = k == 0   ? 0
                              : k == 1 ? buckets - 1
                              : k < 10 ? bucket_of(map.to_ordered(0))
                                       : static_cast<uint32_t>(random() % buckets);
      const uint32_t bits = 15 + round % 3;
      bool behind = false;
      const Bits first = bucket_of.first_key(bucket, behind);
      if (behind || bucket_of(first) != bucket) continue;
      const Bits next = bucket_of.first_key(bucket + 1, behind);
      const auto last = static_cast<Bits>(behind ? ~Bits{0} : next - 1);
      std::vector<Bits> keys{first, last};
      for (uint32_t more = 0; more < 60; ++more) {
        const Bits range =
            static_cast<Bits>(last - first) >> (more % 3 == 0 ? 0 : random() % (sizeof(Bits) * 8));
        const auto away =
            static_cast<Bits>(range == static_cast<Bits>(~Bits{0}) ? random() : random() % (range + 1));
        keys.push_back(static_cast<Bits>(more % 2 == 0 ? first + away : last - away));
      }
      std::ranges::sort(keys);
      tiled_grid_detail::parts_of(bucket_of, bucket, bits).as_one_kind(bits, map, [&](const auto& parts) {
        uint32_t before = 0;
        for (const Bits key : keys) {
          const uint32_t word = parts.word_of(key);
          const uint32_t part =
              word * BucketParts::max_in_word + parts.in_word(key) % BucketParts::max_in_word;
          if (word >= (1u << bits) / BucketParts::max_in_word || part < before)
            FAIL(bucket_of.lowest << " to " << bucket_of.highest << ", " << bucket << " of " << buckets
                                  << ": " << key << " has part " << part << " of " << (1u << bits)
                                  << " behind " << before);
          before = part;
        }
      });
      ++asked;
    }
  }
  CHECK(asked > 4'000);
}

TEST_CASE("the tiled grid sort is right under many schedules", "[simt]") {
  std::mt19937_64 random(test_seed());
  for (uint32_t i = 0; i < 60; ++i) {
    const uint64_t count = 1'100 + random() % 4'000;
    CHECK(sort_distribution<SmallTiles, uint32_t>("uniform", count, variant_of(i)));
    sort_distribution<SmallTiles, uint64_t>("gaussian", count, variant_of(i));
  }
}
#endif
}  // namespace sweepsort
