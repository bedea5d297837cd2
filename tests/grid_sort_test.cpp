// grid_sort_test.cpp - the sort in one cooperative launch or one cluster. Uses small blocks, so that a few
// thousand records take many of them, and the blocks of the product. On the emulator and on a GPU.
#include "kernels/grid_sort.cuh"

#include "catch.hpp"
#include "datasets/distributions.hpp"
#include "device_array.hpp"
#include "on_device.hpp"
#include "record_arrays.hpp"
#include "seed.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace sweepsort {
namespace {

constexpr unsigned multiprocessors_here = 5;

/// Shares of up to 768 records, on up to 16 multiprocessors, and buckets of up to 1024.
using SmallGrid =
    GridSortPolicy<GridShape{.threads = 256, .keys_per_thread = 3, .max_blocks = 16, .min_share = 64},
                   BucketSortPolicy<256, 4, 1, 16384>>;
/// Shares of up to 8,192 records, more than registers hold, and buckets of up to 3,072.
using LargeGrid =
    GridSortPolicy<GridShape{.threads = 256, .keys_per_thread = 32, .max_blocks = 16, .min_share = 64},
                   BucketSortPolicy<256, 12, 1, 65536>>;
static_assert(LargeGrid::keys_per_thread > LargeGrid::keys_at_once);
/// The number of its blocks in some tests. On the emulator, two multiprocessors have two.
constexpr uint64_t large_blocks = on_gpu ? LargeGrid::max_blocks : 2;
/// As SmallGrid, but the blocks are a cluster.
using SmallCluster = InCluster<SmallGrid>;
/// Two parts of the warps, a record a thread; a block each 32nd record.
using TinyShares =
    GridSortPolicy<GridShape{.threads = 512, .keys_per_thread = 1, .max_blocks = 40, .min_share = 32},
                   BucketSortPolicy<512, 1, 1, 131072>>;

enum class Taken { buckets_or_list, digits };

struct Case {
  Order order = Order::ascending;
  bool in_place = false;
  unsigned multiprocessors = multiprocessors_here;
};

/// Sorts and checks. Returns the method that was taken.
template <class Policy, class Key, class Value>
Taken sort(const std::vector<Key>& input, const Case& test) {
  using Bits = BitsOf<Key>;
  const OnDevice session(test.multiprocessors);
  const KeyMap<Bits> map = key_map<Bits>(key_type_of<Key>(), test.order);
  RecordArrays<Key, Value> records(input, test.in_place);
  const SortArrays<Bits, Value> arrays = records.arrays();
  Workspace counter;
  (void)GridSortWorkspace<Bits>(counter);
  const DeviceArray<std::byte> memory(counter.used());
  Workspace carved(memory.span());
  const GridSortWorkspace<Bits> workspace(carved);

  REQUIRE(arrays.count <= grid_capacity<Bits, Value, Policy>());
  grid_sort<Policy>(arrays, map, workspace, nullptr);

  memory.check_zones();
  records.require_sorted(test.order);
  // Memory is poisoned at first. Only the method of the digits writes this, and nothing does for short keys.
  Bits differing;
  std::memset(&differing, 0xcd, sizeof(differing));
  Bits found;
  check(cudaMemcpy(&found, workspace.differing.data(), sizeof(found), cudaMemcpyDeviceToHost));
  return found == differing ? Taken::buckets_or_list : Taken::digits;
}

/// The `variant`-th of the four combinations of order and place.
Case variant_of(uint32_t variant) {
  return {.order = variant % 2 == 0 ? Order::ascending : Order::descending, .in_place = variant / 2 % 2 == 0};
}

template <class Policy, class Key, class Value>
Taken sort_distribution(std::string_view distribution, uint64_t count, const Case& test) {
  INFO(name(key_type_of<Key>()) << "+" << value_bytes<Value> << " " << distribution << " n=" << count << " "
                                << name(test.order) << (test.in_place ? " in place" : ""));
  return sort<Policy, Key, Value>(make_keys<Key>(std::string(distribution), count, test_seed()), test);
}

/// All keys but two are among 200 neighbours. The two span the whole range.
template <class Key>
std::vector<Key> crowded(uint64_t count) {
  std::mt19937_64 random(test_seed());
  std::vector<Key> keys(count);
  for (Key& key : keys) key = static_cast<Key>(1'000'000 + random() % 200);
  keys.front() = 0;
  keys.back() = static_cast<Key>(~Key{0});
  return keys;
}

/// Keys of the whole range. The first four bits of `size` of them are 7, which is one of 16 buckets.
std::vector<uint32_t> one_bucket_of(uint32_t size, uint32_t count) {
  std::mt19937 random(static_cast<uint32_t>(test_seed()));
  const auto any = [&] { return static_cast<uint32_t>(random()); };
  std::vector<uint32_t> keys{0, ~0u};
  while (keys.size() < size + 2) keys.push_back(0x70000000u | any() >> 4);
  while (keys.size() < count)
    if (const uint32_t key = any(); key >> 28 != 7) keys.push_back(key);
  std::shuffle(keys.begin() + 1, keys.end(), random);
  std::iter_swap(std::find(keys.begin(), keys.end(), ~0u), keys.end() - 1);  // the last one is sampled
  return keys;
}

}  // namespace

TEMPLATE_PRODUCT_TEST_CASE("the grid sort is right for every kind of record and distribution", "[device]",
                           std::pair,
                           ((uint8_t, NoValue), (int16_t, NoValue), (uint32_t, NoValue), (float, NoValue),
                            (uint64_t, NoValue), (int64_t, NoValue), (uint32_t, uint32_t),
                            (int32_t, uint64_t), (uint64_t, uint32_t), (double, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  uint32_t variant = sizeof(Key) + value_bytes<Value>;
  for (const Distribution& distribution : all_distributions()) {
    if (!distribution.suits(key_type_of<Key>())) continue;
    variant += 3;  // has no factor in common with four, so all variants come up
    // The emulator has time for half of them. The next record type takes what this one leaves out.
    if (!on_gpu && variant % 2 == std::is_unsigned_v<Key>) continue;
    const uint64_t count = 2'001 + 37 * (variant % 32);
    sort_distribution<SmallGrid, Key, Value>(distribution.name, count, variant_of(variant / 2));
  }
}

TEMPLATE_PRODUCT_TEST_CASE("the blocks of one cluster sort as well", "[device]", std::pair,
                           ((uint32_t, NoValue), (double, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  uint32_t variant = sizeof(Key);
  for (const char* const distribution : {"uniform", "and3", "few-16", "all-equal", "zipf-hashed"}) {
    Case test = variant_of(variant += 3);
    test.multiprocessors = 3 + variant % 3;
    sort_distribution<SmallCluster, Key, Value>(distribution, 2'301, test);
  }
  Case full = variant_of(variant);
  full.multiprocessors = 16;
  sort_distribution<SmallCluster, Key, Value>("uniform", 3'000, full);
}

TEMPLATE_PRODUCT_TEST_CASE("shares that are read twice are sorted as well", "[device]", std::pair,
                           ((uint16_t, NoValue), (uint32_t, NoValue), (int64_t, NoValue),
                            (uint32_t, uint32_t), (double, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  uint32_t variant = sizeof(Key) + value_bytes<Value>;
  for (const char* const distribution : {"uniform", "and3", "few-16", "sorted", "ninety-percent-one-value",
                                         "zipf-hashed", "all-equal", "two-digits"})
    for (const uint64_t count :
         {uint64_t{3'001}, large_blocks * 4'500 + 1, large_blocks * LargeGrid::max_share}) {
      variant += 3;
      if (!on_gpu && variant % 4 != 0) continue;
      if (!find_distribution(distribution)->suits(key_type_of<Key>())) continue;
      Case test = variant_of(variant / (on_gpu ? 1 : 4));
      test.multiprocessors = 2;
      sort_distribution<LargeGrid, Key, Value>(distribution, count, test);
    }
}

TEST_CASE("an odd number of passes in place reads all shares again before one is written", "[device]") {
  std::mt19937_64 random(test_seed());
  for (const uint64_t live : {uint64_t{0xff}, uint64_t{0xff00ff00ff}})
    for (uint32_t schedule = 0; schedule < (on_gpu ? 20 : 6); ++schedule) {
      std::vector<uint64_t> keys(5'000, 0x1234567890abcdef);
      for (uint64_t& key : keys)
        if (random() % 3 == 0) key ^= random() & live;
      Case test = variant_of(schedule);
      test.in_place = true;
      test.multiprocessors = 2 + schedule % 4;
      CHECK(sort<LargeGrid, uint64_t, NoValue>(keys, test) == Taken::digits);
      CHECK(sort<LargeGrid, uint64_t, uint32_t>(keys, test) == Taken::digits);
    }
}

TEMPLATE_TEST_CASE("floats that are even in their values take buckets, unless one is no number", "[device]",
                   float, double) {
  std::vector<TestType> keys = make_keys<TestType>("uniform", 2'500, test_seed());
  CHECK(sort<SmallGrid, TestType, NoValue>(keys, {}) == Taken::buckets_or_list);
  CHECK(sort<SmallGrid, TestType, NoValue>(keys, {.order = Order::descending}) == Taken::buckets_or_list);
  for (TestType& key : keys) key = std::abs(key) * TestType(1e-30);
  CHECK(sort<SmallGrid, TestType, NoValue>(keys, {}) == Taken::buckets_or_list);
  keys.front() = std::numeric_limits<TestType>::quiet_NaN();
  CHECK(sort<SmallGrid, TestType, NoValue>(keys, {}) == Taken::digits);
}

TEST_CASE("pairs whose keys repeat are sorted by their bytes at once", "[device]") {
  const std::vector<uint32_t> keys = make_keys<uint32_t>("small-range-256", 2'500, test_seed());
  CHECK(sort<SmallGrid, uint32_t, uint32_t>(keys, {}) == Taken::digits);
  CHECK(sort<SmallGrid, uint32_t, NoValue>(keys, {}) == Taken::buckets_or_list);
  // The same if the bits that vary are far apart and no bucket has many keys.
  std::mt19937_64 random(test_seed());
  std::vector<uint64_t> apart(2'500);
  for (uint64_t& key : apart)
    key = 0x5500000000000055 | (random() & 0x00ff000000000000) | (random() & 1) << 20;
  CHECK(sort<SmallGrid, uint64_t, uint32_t>(apart, {}) == Taken::digits);
  CHECK(sort<SmallGrid, uint64_t, NoValue>(apart, {}) == Taken::buckets_or_list);
}

TEMPLATE_PRODUCT_TEST_CASE("records of few keys are sorted by their list, unless a key is not in it",
                           "[device]", std::pair,
                           ((float, uint32_t), (int64_t, uint64_t), (double, uint64_t), (int32_t, NoValue))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  const auto key_of = [](uint64_t bits) { return std::bit_cast<Key>(static_cast<BitsOf<Key>>(bits)); };
  std::mt19937_64 random(test_seed());
  uint32_t variant = 0;
  for (const uint32_t values : {2u, 9u, 14u}) {  // of 256 samples
    std::vector<Key> list(values);
    for (Key& value : list) value = key_of(random());
    list[0] = key_of(0);
    std::vector<Key> keys(3'000);
    for (Key& key : keys) key = list[random() % values];
    const Case test = variant_of(variant++ * 3);
    INFO(values << " values " << name(test.order));
    CHECK(sort<SmallGrid, Key, Value>(keys, test) == Taken::buckets_or_list);
    keys[50] = key_of(random());  // the sample takes eight keys in a row, every 96 keys
    CHECK(sort<SmallGrid, Key, Value>(keys, test) == Taken::digits);
    CHECK(sort<LargeGrid, Key, Value>(keys, test) == Taken::digits);
    keys[50] = keys[0];
    CHECK(sort<LargeGrid, Key, Value>(keys, test) == Taken::buckets_or_list);
  }
}

TEST_CASE("the grid sort is right at every limit of its sizes", "[device]") {
  uint32_t variant = 0;
  // What the blocks hold in their registers, a row more, and all that they take.
  for (const uint32_t rows :
       {LargeGrid::keys_at_once, LargeGrid::keys_at_once + 1, LargeGrid::keys_per_thread})
    for (const uint64_t over : {0, 1, 2}) {
      const uint64_t count = large_blocks * rows * LargeGrid::threads - 1 + over;
      if (count > large_blocks * LargeGrid::max_share) continue;
      Case test = variant_of(variant++);
      test.multiprocessors = 2;
      sort_distribution<LargeGrid, uint32_t, NoValue>("uniform", count, test);
    }
  for (const uint64_t limit : {1, 64, 256, 5 * 64, 5 * 256, 5 * 768})
    for (const uint64_t count : {limit - 1, limit, limit + 1}) {
      if (count == 0 || count > 5 * 768) continue;
      Case test = variant_of(variant++);
      sort_distribution<SmallGrid, uint32_t, NoValue>("uniform", count, test);
      sort_distribution<SmallGrid, int32_t, uint32_t>("few-16", count, test);
      test.multiprocessors = 30;
      if (count <= 1'000) sort_distribution<TinyShares, uint64_t, uint32_t>("uniform", count, test);
    }
}

TEST_CASE("a bucket as large as a block is sorted, one larger sends all to the digits", "[device]") {
  for (const uint32_t size : {1024u, 1025u, 1023u, 2'500u})
    for (const bool in_place : {false, true}) {
      const Case test{.in_place = in_place, .multiprocessors = 16};
      const Taken expected = size <= 1024 ? Taken::buckets_or_list : Taken::digits;
      if (!on_gpu && size != 1024 && size != 1025) continue;
      // The emulator sorts only keys in place, and only pairs out of place.
      if (on_gpu || in_place)
        CHECK(sort<SmallGrid, uint32_t, NoValue>(one_bucket_of(size, 4'000), test) == expected);
      if (on_gpu || !in_place)
        CHECK(sort<SmallGrid, uint32_t, uint32_t>(one_bucket_of(size, 4'000), test) == expected);
    }
}

TEST_CASE("keys that crowd in one bucket are sorted by their live bytes, an odd or even number of them",
          "[device]") {
  for (uint32_t variant = 0; variant < 4; variant += on_gpu ? 1 : 3) {
    const Case test = variant_of(variant);
    CHECK(sort<SmallGrid, uint32_t, NoValue>(crowded<uint32_t>(2'000), test) == Taken::digits);
    CHECK(sort<SmallGrid, uint32_t, uint64_t>(crowded<uint32_t>(2'000), test) == Taken::digits);
    std::mt19937_64 random(test_seed() + variant);
    for (const uint64_t live : {uint64_t{0}, uint64_t{0xff}, uint64_t{0x30000000ff00}, ~uint64_t{0}}) {
      std::vector<uint64_t> keys(2'500, 0x1234567890abcdef);
      // Most keys have one value, which no bucket map divides.
      for (uint64_t& key : keys)
        if (random() % 3 == 0) key ^= random() & live;
      CHECK(sort<SmallGrid, uint64_t, NoValue>(keys, test) == Taken::digits);
      CHECK(sort<SmallGrid, uint64_t, uint32_t>(keys, test) == Taken::digits);
    }
  }
}

#ifndef SWEEPSORT_EMULATED  // on the emulator, device_sort_test covers it
/// Sorts with the grid sorts that hold `count` records.
template <class Key, class Value>
void sort_in_product_grids(const char* distribution, uint64_t count, const Case& test) {
  using Cluster = ClusterGridSort<BitsOf<Key>, Value>;
  using Small = SmallGridSort<BitsOf<Key>, Value>;
  if constexpr (!std::is_void_v<Cluster>)
    if (count <= max_in_grid<Cluster>) sort_distribution<Cluster, Key, Value>(distribution, count, test);
  if (count <= max_in_grid<Small>) sort_distribution<Small, Key, Value>(distribution, count, test);
  sort_distribution<MiddleGridSort<BitsOf<Key>, Value>, Key, Value>(distribution, count, test);
}

TEST_CASE("the product's grid sort is right", "[device]") {
  CHECK(device_abilities().cluster_blocks >= 8);  // otherwise there is no cluster below
  const uint64_t capacity = [] {
    const OnDevice session(2);
    return grid_capacity<uint32_t, NoValue>();
  }();
  const std::vector<uint64_t> counts{4'609,   7'001,         1 << 14,      (1 << 14) + 1,
                                     1 << 16, (1 << 17) + 3, 1 << 18,      (1 << 18) + 1,
                                     1 << 19, 1 << 20,       capacity - 1, capacity};
  const Case two{.in_place = true, .multiprocessors = 2};
  for (const uint64_t count : counts) {
    sort_in_product_grids<uint32_t, NoValue>("uniform", count, two);
    sort_in_product_grids<int64_t, uint64_t>("and3", count, two);
    for (const char* distribution : {"uniform", "zipf", "all-equal", "gaussian", "ninety-percent-one-value",
                                     "sorted", "organ-pipe", "one-bucket"}) {
      const Case descending{.order = Order::descending};
      if (find_distribution(distribution)->suits(KeyType::i8))
        sort_in_product_grids<int8_t, NoValue>(distribution, count, two);
      sort_in_product_grids<uint16_t, NoValue>(distribution, count, descending);
      sort_in_product_grids<float, NoValue>(distribution, count, {});
      sort_in_product_grids<uint64_t, NoValue>(distribution, count, descending);
      sort_in_product_grids<uint32_t, uint32_t>(distribution, count, descending);
      sort_in_product_grids<int32_t, uint64_t>(distribution, count, {});
      sort_in_product_grids<double, uint32_t>(distribution, count, descending);
      sort_in_product_grids<uint64_t, uint64_t>(distribution, count, {});
    }
  }
}

TEMPLATE_PRODUCT_TEST_CASE("the product's grid sort of large shares is right", "[device]", std::pair,
                           ((uint16_t, NoValue), (float, NoValue), (uint64_t, NoValue), (int32_t, uint32_t),
                            (uint32_t, uint64_t), (int64_t, uint32_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  using Grid = LargeGridSort<BitsOf<Key>, Value>;
  const uint64_t capacity = [] {
    const OnDevice session;
    return grid_capacity<BitsOf<Key>, Value, Grid>();
  }();
  uint32_t variant = 0;
  for (const uint64_t count : {uint64_t{1} << 17, (uint64_t{1} << 20) + 1, capacity - 1, capacity})
    for (const Distribution& distribution : all_distributions())
      if (distribution.suits(key_type_of<Key>()))
        sort_distribution<Grid, Key, Value>(distribution.name, count, variant_of(variant++));
}
#endif

TEST_CASE("more records than the multiprocessors hold are refused", "[device]") {
  const OnDevice session(multiprocessors_here);
  const uint64_t capacity = grid_capacity<uint32_t, NoValue, SmallGrid>();
  CHECK(capacity == std::min(multiprocessors(), SmallGrid::max_blocks) * SmallGrid::max_share);
  Workspace nothing;
  const GridSortWorkspace<uint32_t> workspace(nothing);
  const SortArrays<uint32_t, NoValue> arrays{.keys_in = nullptr,
                                             .keys_scratch = nullptr,
                                             .keys_out = nullptr,
                                             .values_in = nullptr,
                                             .values_scratch = nullptr,
                                             .values_out = nullptr,
                                             .count = capacity + 1};
  CHECK_THROWS_AS((grid_sort<SmallGrid>(arrays, {}, workspace, nullptr)), std::length_error);
}

#ifdef SWEEPSORT_EMULATED
TEST_CASE("the grid sort is right under many schedules", "[simt]") {
#ifdef __SANITIZE_ADDRESS__
  constexpr uint32_t schedules = 15;
#else
  constexpr uint32_t schedules = 40;
#endif
  std::mt19937_64 random(test_seed());
  for (uint32_t i = 0; i < schedules; ++i) {
    Case test = variant_of(i);
    test.multiprocessors = 2 + i % 5;
    const char* const distribution = i % 3 == 0 ? "ninety-percent-one-value" : "uniform";
    sort_distribution<SmallGrid, uint32_t, uint32_t>(distribution, 500 + random() % 1'000, test);
    sort_distribution<SmallGrid, uint64_t, NoValue>(distribution, 500 + random() % 1'000, test);
    sort_distribution<SmallGrid, uint16_t, NoValue>(distribution, 500 + random() % 1'000, test);
    sort_distribution<LargeGrid, uint64_t, uint32_t>(distribution, 500 + random() % 1'000, test);
  }
}
#endif
}  // namespace sweepsort
