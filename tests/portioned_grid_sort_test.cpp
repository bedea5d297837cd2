// portioned_grid_sort_test.cpp - pairs in one cooperative launch whose blocks take their shares portion by
// portion, with small portions and buckets. On the emulator and on a GPU.
#include "kernels/portioned_grid_sort.cuh"

#include "catch.hpp"
#include "datasets/distributions.hpp"
#include "device_array.hpp"
#include "kernels/grid_sort.cuh"
#include "on_device.hpp"
#include "oracle.hpp"
#include "record_arrays.hpp"
#include "seed.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sweepsort {
namespace {

/// Up to three portions of 768 pairs per block, buckets of up to 2,816.
using SmallPortions = GridSortPolicy<
    GridShape{.threads = 256, .keys_per_thread = 3, .max_blocks = 16, .min_share = 64, .portions = 3},
    BucketSortPolicy<256, 11, 1, 32768>>;
/// Four portions of 512 pairs, up to 512 buckets of up to 2,048.
using ManyBuckets = GridSortPolicy<GridShape{.threads = 512,
                                             .keys_per_thread = 1,
                                             .max_blocks = 16,
                                             .min_share = 64,
                                             .portions = 4,
                                             .digit_bits = 9},
                                   BucketSortPolicy<512, 4, 1, 131072>>;
/// Portions of 8,192, more than registers hold, and buckets of up to 2,048.
using LargePortions = GridSortPolicy<
    GridShape{.threads = 256, .keys_per_thread = 32, .max_blocks = 16, .min_share = 64, .portions = 2},
    BucketSortPolicy<256, 8, 1, 65536>>;

struct Case {
  Order order = Order::ascending;
  bool in_place = false;
  unsigned multiprocessors = 5;
};

/// Sorts and checks. Returns false if the pairs were left to others, with all arrays but the scratch array
/// unchanged.
template <class Policy, class Key, class Value>
bool sort(const std::vector<Key>& input, const Case& test) {
  using Bits = BitsOf<Key>;
  const OnDevice session(test.multiprocessors);
  RecordArrays<Key, Value> records(input, test.in_place);
  const SortArrays<Bits, Value> arrays = records.arrays();
  REQUIRE(arrays.count <= portioned_grid_capacity<Bits, Value, Policy>());
  Workspace counter;
  (void)GridSortWorkspace<Bits>(counter);
  const DeviceArray<std::byte> memory(counter.used());
  Workspace carved(memory.span());
  const GridSortWorkspace<Bits> workspace(carved);
  const std::vector<uint32_t> zero{0};
  const DeviceArray<uint32_t> falls_back{std::span<const uint32_t>(zero)};

  portioned_grid_sort<Policy>(arrays, key_map<Bits>(key_type_of<Key>(), test.order), workspace,
                              falls_back.data(), nullptr);

  memory.check_zones();
  falls_back.check_zones();
  const uint32_t fell_back = falls_back.download()[0];
  if (fell_back == 0) {
    records.require_sorted(test.order);
  } else {
    REQUIRE(fell_back == 1);
    records.require_untouched();
  }
  return fell_back == 0;
}

/// The `variant`-th combination of order, place and multiprocessors.
Case variant_of(uint32_t variant) {
  return {.order = variant % 2 == 0 ? Order::ascending : Order::descending,
          .in_place = variant / 2 % 2 == 0,
          .multiprocessors = 4 + variant / 4 % 4};
}

template <class Policy, class Key, class Value>
bool sort_distribution(std::string_view distribution, uint64_t count, const Case& test) {
  INFO(name(key_type_of<Key>()) << "+" << value_bytes<Value> << " " << distribution << " n=" << count << " "
                                << name(test.order) << (test.in_place ? " in place " : " ")
                                << test.multiprocessors);
  return sort<Policy, Key, Value>(make_keys<Key>(std::string(distribution), count, test_seed()), test);
}

/// Keys of the whole range. `size` of them are in the third of five buckets, with more at both ends than
/// elsewhere, so that samples show how far it extends.
std::vector<uint32_t> third_bucket_of(uint32_t size, uint32_t count) {
  std::mt19937 random(static_cast<uint32_t>(test_seed()));
  std::vector<uint32_t> keys;
  for (uint32_t in_third = 0; keys.size() < count;) {
    auto key = static_cast<uint32_t>(random());
    const uint64_t where = random() % 25;
    if (where == 0) key >>= 6;
    if (where == 1) key |= 0xfc000000;
    const bool is_in_third = uint64_t{key} * 5 >> 32 == 2;
    if (is_in_third ? in_third == size : keys.size() - in_third == count - size) continue;
    in_third += is_in_third;
    keys.push_back(key);
  }
  std::shuffle(keys.begin(), keys.end(), random);
  return keys;
}

/// Rising keys, except that one in ten is anywhere.
template <class Key>
std::vector<Key> close_to_order(uint64_t count) {
  std::mt19937_64 random(test_seed());
  std::vector<Key> keys(count);
  for (uint64_t i = 0; i < count; ++i)
    keys[i] = random() % 10 == 0 ? static_cast<Key>(random()) : static_cast<Key>(~Key{0} / count * i);
  return keys;
}

}  // namespace

TEMPLATE_PRODUCT_TEST_CASE(
    "the portioned grid sort is right, or leaves all as it was, for every distribution", "[device]",
    std::pair,
    ((uint32_t, uint32_t), (float, uint32_t), (int32_t, uint64_t), (uint64_t, uint32_t),
     (int64_t, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  uint32_t variant = sizeof(Key) + sizeof(Value);
  for (const Distribution& distribution : all_distributions()) {
    if (!distribution.suits(key_type_of<Key>())) continue;
    variant += 5;
    const uint64_t count = 2'001 + 157 * (variant % 32);
    sort_distribution<SmallPortions, Key, Value>(distribution.name, count, variant_of(variant));
    // The emulator has no time for all of them.
    if (on_gpu || variant % 4 == 2)
      sort_distribution<ManyBuckets, Key, Value>(distribution.name, count, variant_of(variant / 4));
    if (on_gpu || variant % 8 == 0)
      sort_distribution<LargePortions, Key, Value>(distribution.name, count + 9'000, variant_of(variant / 8));
  }
}

TEMPLATE_PRODUCT_TEST_CASE("even pairs are sorted by it, at every limit of its sizes", "[device]", std::pair,
                           ((uint32_t, uint32_t), (uint64_t, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  uint32_t variant = 0;
  // One portion per block, two, and three; as many as the blocks hold.
  for (const uint64_t limit : {4 * 768, 4 * 2 * 768, 4 * 3 * 768})
    for (const uint64_t count : {limit - 1, limit, limit + 1}) {
      variant += 3;
      Case test = variant_of(variant);
      test.multiprocessors = 4 + (count > limit);
      CHECK(sort_distribution<SmallPortions, Key, Value>("uniform", count, test));
    }
  for (const uint64_t limit : {4 * 512, 4 * 3 * 512, 4 * 4 * 512})
    for (const uint64_t count : {limit - 1, limit, limit + 1}) {
      variant += 3;
      Case test = variant_of(variant);
      test.multiprocessors = 4 + (count > limit);
      CHECK(sort_distribution<ManyBuckets, Key, Value>("uniform", count, test));
    }
  CHECK(sort_distribution<LargePortions, Key, Value>("uniform", 14'001, {.multiprocessors = 1}));
}

TEST_CASE("pairs close to order take it, in order from end to end they are left to others", "[device]") {
  uint32_t variant = 0;
  for (uint32_t i = 0; i < 3; ++i) {
    const Case test = variant_of(variant);
    CHECK(sort<SmallPortions, uint32_t, uint32_t>(close_to_order<uint32_t>(6'000), test));
    CHECK(sort<ManyBuckets, uint64_t, uint32_t>(close_to_order<uint64_t>(6'000), test));
    CHECK(sort_distribution<SmallPortions, uint32_t, uint32_t>("organ-pipe", 6'000, test));
    variant += 3;
  }
  for (const char* const distribution : {"sorted", "reversed"})
    CHECK_FALSE(
        sort_distribution<SmallPortions, uint32_t, uint32_t>(distribution, 6'000, variant_of(variant++)));
}

TEST_CASE("numbers that stand close together are sorted by it, each once, if the pairs have 8 bytes",
          "[device]") {
  std::mt19937_64 random(test_seed());
  std::vector<uint32_t> keys(6'000);
  std::iota(keys.begin(), keys.end(), 1'000'000'007u);
  std::shuffle(keys.begin(), keys.end(), random);
  CHECK(sort<SmallPortions, uint32_t, uint32_t>(keys, variant_of(0)));
  CHECK_FALSE(sort<SmallPortions, uint32_t, uint64_t>(keys, variant_of(1)));
  for (uint32_t& key : keys) key -= key % 3;
  CHECK(sort<SmallPortions, uint32_t, uint32_t>(keys, variant_of(2)));
  for (uint32_t& key : keys) key = key / 6;
  CHECK_FALSE(sort<SmallPortions, uint32_t, uint32_t>(keys, variant_of(3)));
}

TEST_CASE("more than 256 buckets are told apart", "[device]") {
  using SmallBuckets = GridSortPolicy<GridShape{.threads = 512,
                                                .keys_per_thread = 4,
                                                .max_blocks = 16,
                                                .min_share = 64,
                                                .portions = 4,
                                                .digit_bits = 9},
                                      BucketSortPolicy<512, 1, 1, 131072>>;
  // Multiples of the golden ratio are spread more evenly than random keys: 288 buckets of 451.
  std::vector<uint32_t> keys(130'000);
  for (uint32_t i = 0; i < keys.size(); ++i) keys[i] = i * 0x9e3779b1;
  CHECK(sort<SmallBuckets, uint32_t, uint32_t>(keys, {.multiprocessors = 16}));
}

TEST_CASE("pairs of few, repeated or crowded keys are left to others", "[device]") {
  uint32_t variant = 0;
  for (const char* const distribution :
       {"all-equal", "few-16", "and3", "ninety-percent-one-value", "small-range-256"})
    CHECK_FALSE(
        sort_distribution<SmallPortions, uint32_t, uint32_t>(distribution, 6'000, variant_of(variant++)));
}

TEST_CASE("a bucket as large as a block is sorted, one larger leaves all to others", "[device]") {
  // The excess over the mean is so small that no sample shows it. There is one bucket for each of five
  // blocks.
  using FiveBlocks = GridSortPolicy<
      GridShape{.threads = 256, .keys_per_thread = 3, .max_blocks = 5, .min_share = 64, .portions = 3},
      SmallPortions::Finish>;
  constexpr uint32_t most = FiveBlocks::Finish::max_keys;
  for (const uint32_t size : {most - 1, most, most + 1})
    for (const bool in_place : {false, true})
      CHECK(sort<FiveBlocks, uint32_t, uint32_t>(third_bucket_of(size, 11'500), {.in_place = in_place}) ==
            (size <= most));
}

TEST_CASE("no pairs are sorted, and more than the multiprocessors hold are refused", "[device]") {
  CHECK(sort<SmallPortions, uint32_t, uint32_t>({}, {}));
  const OnDevice session(2);
  Workspace nothing;
  const GridSortWorkspace<uint32_t> workspace(nothing);
  const SortArrays<uint32_t, uint32_t> arrays{
      .keys_in = nullptr,
      .keys_scratch = nullptr,
      .keys_out = nullptr,
      .values_in = nullptr,
      .values_scratch = nullptr,
      .values_out = nullptr,
      .count = portioned_grid_capacity<uint32_t, uint32_t, SmallPortions>() + 1};
  CHECK_THROWS_AS((portioned_grid_sort<SmallPortions>(arrays, {}, workspace, nullptr, nullptr)),
                  std::length_error);
}

#ifndef SWEEPSORT_EMULATED
TEMPLATE_PRODUCT_TEST_CASE("the product's portioned grid sort is right", "[device]", std::pair,
                           ((uint32_t, uint32_t), (int32_t, uint64_t), (uint64_t, uint32_t),
                            (int64_t, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  using Policy = PortionedGridSort<BitsOf<Key>, Value>;
  const uint64_t capacity = portioned_grid_capacity<BitsOf<Key>, Value, Policy>();
  const uint64_t least = max_in_grid<LargestGridSort<BitsOf<Key>, Value>> + 1;
  uint32_t variant = 0;
  for (const uint64_t count : {least, least + 300'007, capacity - 1, capacity}) {
    for (const Distribution& distribution : all_distributions())
      if (distribution.suits(key_type_of<Key>()))
        sort_distribution<Policy, Key, Value>(distribution.name, count, variant_of(variant++));
    for (const char* const distribution : {"uniform", "organ-pipe"})
      CHECK(sort_distribution<Policy, Key, Value>(distribution, count, variant_of(variant++)));
  }
}

TEST_CASE("a share of 2^16 pairs in one bucket does not pass for none", "[device]") {
  using Policy = PortionedGridSort<uint32_t, uint32_t>;
  static_assert(Policy::max_share == 1u << 16);
  const uint64_t count = uint64_t{Policy::max_blocks} * Policy::max_share;
  if (portioned_grid_capacity<uint32_t, uint32_t, Policy>() < count) {
    WARN("skipped: the device has too few blocks for so many pairs");
    return;
  }
  // Eight of 1,024 samples are from this share: too few for its keys to look dense.
  const auto keys_with = [&](uint64_t together) {
    std::vector<uint32_t> keys = make_keys<uint32_t>("uniform", count, test_seed());
    for (uint64_t i = 0; i < together; ++i)
      keys[5 * Policy::max_share + i] = 0x77700000 + static_cast<uint32_t>(i * 0x9e37 % 0x10000);
    return keys;
  };
  CHECK(sort<Policy, uint32_t, uint32_t>(keys_with(1'000), {}));
  CHECK_FALSE(sort<Policy, uint32_t, uint32_t>(keys_with(Policy::max_share), {}));
}
#endif

#ifdef SWEEPSORT_EMULATED
TEST_CASE("the portioned grid sort is right under many schedules", "[simt]") {
#ifdef __SANITIZE_ADDRESS__
  constexpr uint32_t schedules = 8;
#else
  constexpr uint32_t schedules = 40;
#endif
  std::mt19937_64 random(test_seed());
  for (uint32_t i = 0; i < schedules; ++i) {
    const uint64_t count = 1'100 + random() % 4'000;
    CHECK(sort_distribution<SmallPortions, uint32_t, uint32_t>("uniform", count, variant_of(i)));
    sort_distribution<ManyBuckets, uint64_t, uint64_t>("nearly-sorted", count, variant_of(i));
  }
}
#endif
}  // namespace sweepsort
