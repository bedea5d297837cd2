// msd_buckets_test.cpp - every way in which the MSD sort finishes a bucket.
#include "catch.hpp"
#include "msd_run.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

namespace sweepsort {
namespace {

/// Buckets of more than 256 keys are counted.
using CountedMsd = MsdPolicy<PartitionPolicy<256, 4, 2, 1>, BucketSortPolicy<256, 1, 1, 16384>,
                             BucketSortPolicy<256, 1, 1, 16384>,
                             MsdLimits{.bucket_keys = 1024, .min_count = 1, .counted_from = 1}>;

/// As CountedMsd, but even keys without values are dealt.
using DealingCounted = DealingMsd<CountedMsd, PartitionPolicy<256, 4, 2, 1>, 1, uint64_t{1} << 24>;

/// Even keys without values are dealt. Buckets of more than 128 keys are counted if they have few values.
using DenseMsd = DealingMsd<MsdPolicy<PartitionPolicy<256, 4, 2, 1>, BucketSortPolicy<128, 1, 1, 8192>,
                                      BucketSortPolicy<256, 2, 1, 16384>,
                                      MsdLimits{.bucket_keys = 256, .min_count = 1, .dense_from = 1}>,
                            PartitionPolicy<256, 4, 2, 1>, 1, uint64_t{1} << 24>;

/// Buckets of few values are sorted by a bit vector. In DealingSparse, even keys without values are dealt,
/// too.
using SparseMsd =
    MsdPolicy<PartitionPolicy<256, 4, 2, 1>, BucketSortPolicy<128, 4, 1, 8192>,
              BucketSortPolicy<256, 4, 1, 32768>,
              MsdLimits{.bucket_keys = 256, .min_count = 1, .sparse_from = 1, .passed_bits = 0}>;
using DealingSparse = DealingMsd<SparseMsd, PartitionPolicy<256, 4, 2, 1>, 1, uint64_t{1} << 24>;

/// Pairs keep only narrow keys where these distinguish them.
using NarrowMsd = MsdPolicy<PartitionPolicy<256, 4, 2, 1>, BucketSortPolicy<256, 2, 1, 16384>,
                            BucketSortPolicy<256, 4, 1, 32768>,
                            MsdLimits{.bucket_keys = 256, .min_count = 1, .narrow_from = 1}>;

}  // namespace

TEMPLATE_TEST_CASE("of keys that are dealt the low half is left, where that tells them apart", "[device]",
                   uint32_t, int64_t, float) {
  using Bits = BitsOf<TestType>;
  std::mt19937_64 random(test_seed());
  // Buckets that end anywhere and have a quarter, a half or two thirds as many values as their low halves can
  // distinguish; and buckets with some more.
  const uint64_t buckets = on_gpu ? 1u << 14 : 1u << 10;
  for (uint32_t which = 0; which < 4; ++which) {
    if (!is_looked_at<TestType, uint32_t>(which, 4)) continue;
    const uint32_t twelfths = std::array{3u, 6u, 8u, 13u}[which];
    const Bits range = static_cast<Bits>((Bits{1} << sizeof(Bits) * 4) / 12 * twelfths * buckets);
    const Bits first = static_cast<Bits>(range + random() % 1'000'000'007);
    std::vector<TestType> keys(on_gpu ? 300'007 : 20'011);
    for (TestType& key : keys) key = std::bit_cast<TestType>(static_cast<Bits>(first + random() % range));
    const auto plan = msd_sort<TestType, NoValue, DealingSmall>(
        keys, {.order = twelfths == 6 ? Order::descending : Order::ascending, .in_place = twelfths == 8});
    if (std::is_same_v<TestType, float>) continue;  // they may be even or not
    REQUIRE(plan.was_dealt());
    const auto narrow = std::count(std::begin(plan.is_narrow), std::end(plan.is_narrow), 1u);
    // The first and the last parent have an open-ended bucket.
    CHECK(narrow == (twelfths < 12 ? int64_t{msd_digits} - 2 : 0));
  }
}

TEMPLATE_TEST_CASE("large buckets of few values are counted, from where they were dealt to", "[device]",
                   uint32_t, uint64_t) {
  const uint32_t buckets = on_gpu ? 4096 : 512;
  const bool is_narrow = GENERATE(true, false);
  std::mt19937_64 random(test_seed());
  std::vector<TestType> keys(buckets * 170 + random() % 1000);
  // Parents at the ends are not narrow. All others are, unless a bucket has too many values.
  const uint64_t range = uint64_t{buckets} * (is_narrow ? 30'000 : 90'000);
  const TestType first = static_cast<TestType>(random() % 1'000'000'000);
  for (TestType& key : keys) key = static_cast<TestType>(first + random() % range);
  // Four bits cannot count these.
  for (uint32_t i = 0; i < 100; ++i) keys[random() % keys.size()] = static_cast<TestType>(first + range / 3);
  for (const Order order : orders_of(is_narrow + sizeof(TestType) / 8)) {
    const auto plan = msd_sort<TestType, NoValue, DenseMsd>(keys, {.order = order, .in_place = is_narrow});
    CHECK((plan.was_dealt() && !plan.falls_back));
    CHECK((plan.is_narrow[100] != 0) == (is_narrow || sizeof(TestType) == 8));
    CHECK((plan.listed[few_valued_buckets] > buckets / 2) == is_narrow);
  }
}

TEMPLATE_TEST_CASE("small buckets of few values are sorted by a bit vector", "[device]", uint32_t, int64_t,
                   float) {
  using Bits = BitsOf<TestType>;
  // About as many values per bucket as the vector has bits, or fewer; then somewhat too many.
  const auto which = GENERATE(range(0u, 3u));
  const uint64_t of_bucket = std::array{65'000u, 40'000u, 70'000u}[which];
  if (!is_looked_at<TestType, uint32_t>(which, 3)) return;
  const uint32_t buckets = on_gpu ? 4096 : 512;
  std::mt19937_64 random(test_seed());
  const uint64_t range = buckets * of_bucket;
  const Bits first = static_cast<Bits>((uint64_t{1} << 30) + random() % 1'000'000);
  std::vector<TestType> keys(buckets * 150 + random() % 1000);
  const auto key_of = [&](uint64_t above) {
    return std::bit_cast<TestType>(static_cast<Bits>(first + above));
  };
  for (TestType& key : keys) key = key_of(random() % range);
  const auto any = [&]() -> TestType& { return keys[random() % keys.size()]; };
  for (size_t i = 0; i < keys.size() / 20; ++i) any() = any();
  // Neighbours, and one value that occurs more often than a thread has room for.
  for (uint32_t i = 0; i < 100; ++i) any() = key_of(range / 3 + i);
  for (uint32_t i = 0; i < 100; ++i) any() = key_of(range / 2);
  for (const Order order : orders_of(which + sizeof(TestType) / 8)) {
    const bool in_place = (order == Order::ascending) == (of_bucket == 40'000);
    const auto dealt =
        msd_sort<TestType, NoValue, DealingSparse>(keys, {.order = order, .in_place = in_place});
    const auto counted =
        msd_sort<TestType, NoValue, SparseMsd>(keys, {.order = order, .in_place = !in_place});
    CHECK((dealt.was_dealt() && counted.partitions()));
    if (std::is_same_v<TestType, float>) continue;  // buckets are linear in values, these bits are not
    for (const auto& plan : {dealt, counted}) {
      CHECK((plan.listed[few_valued_buckets] > buckets / 2) == (of_bucket < 1u << few_value_bits));
      CHECK(plan.listed[repeating_buckets] != 0);
    }
  }
  for (size_t i = 0; i < keys.size(); ++i) any() = key_of(range / 5);
  const auto plan = msd_sort<TestType, NoValue, SparseMsd>(keys, {});
  CHECK((plan.frequent.count != 0 && plan.partitions() && plan.listed[few_valued_buckets] == 0));
}

TEMPLATE_TEST_CASE("buckets of even fewer values are counted, large ones, too", "[device]", uint32_t, int64_t,
                   float) {
  using Bits = BitsOf<TestType>;
  // As many values as there are counters, or fewer, not always for the same number of warps; then somewhat
  // too many.
  const auto which = GENERATE(range(0u, 4u));
  const uint64_t of_bucket = std::array{16'000u, 3'000u, 400u, 40'000u}[which];
  if (!is_looked_at<TestType, uint32_t>(which, 4)) return;
  const uint32_t buckets = on_gpu ? 4096 : 512;
  std::mt19937_64 random(test_seed());
  const uint64_t range = buckets * of_bucket;
  // Floats of one exponent, so that their values are as even as their bits.
  const Bits first = std::bit_cast<BitsOf<float>>(8'388'608.0f);
  std::vector<TestType> keys(buckets * 150 + random() % 1000);
  const auto key_of = [&](uint64_t above) {
    return std::bit_cast<TestType>(static_cast<Bits>(first + above));
  };
  for (TestType& key : keys) key = key_of(random() % range);
  // One value that eight bits cannot count. Parents that are dealt have no room for so many keys.
  auto with_repeated = keys;
  for (uint32_t i = 0; i < 270; ++i) with_repeated[random() % keys.size()] = key_of(range / 2);
  for (const Order order : orders_of(which + sizeof(TestType) / 8)) {
    const bool in_place = (order == Order::ascending) == (of_bucket == 3'000);
    const auto dealt =
        msd_sort<TestType, NoValue, DealingSparse>(keys, {.order = order, .in_place = in_place});
    const auto counted =
        msd_sort<TestType, NoValue, SparseMsd>(with_repeated, {.order = order, .in_place = !in_place});
    CHECK((dealt.was_dealt() && counted.partitions()));
    if (std::is_same_v<TestType, float> && range > 1u << 23) continue;
    for (const auto& plan : {dealt, counted})
      CHECK((plan.listed[dense_buckets] > buckets / 2) == (of_bucket < 1u << dense_value_bits));
  }
  const auto large = msd_sort<TestType, NoValue, DenseMsd>(with_repeated, {});
  CHECK((large.listed[dense_buckets] > buckets / 4) == (of_bucket < 1u << dense_value_bits));
  for (size_t i = 0; i < keys.size(); ++i) keys[random() % keys.size()] = key_of(range / 5);
  const auto besides = msd_sort<TestType, NoValue, SparseMsd>(keys, {});
  CHECK((besides.frequent.count != 0 && besides.partitions() && besides.listed[dense_buckets] == 0));
}

TEMPLATE_TEST_CASE("pairs are left with the low halves of their keys, where these tell them apart",
                   "[device]", (std::pair<uint32_t, uint32_t>), (std::pair<float, uint64_t>)) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  const auto which = GENERATE(range(0u, 3u));
  const uint64_t of_bucket = std::array{65'000u, 40'000u, 70'000u}[which];
  if (!is_looked_at<Key, uint32_t>(which, 3)) return;
  const uint32_t buckets = on_gpu ? 4096 : 512;
  std::mt19937_64 random(test_seed());
  const uint64_t range = buckets * of_bucket;
  const auto first = static_cast<uint32_t>((1u << 30) + random() % 1'000'000);
  std::vector<Key> keys(buckets * 200 + random() % 1000);
  const auto key_of = [&](uint64_t above) {
    return std::bit_cast<Key>(static_cast<uint32_t>(first + above));
  };
  // One parent's buckets have too few keys. Others have neighbours, or one value many times.
  for (Key& key : keys) {
    const uint64_t above = random() % range;
    key = key_of(above / (range / 64) == 11 && random() % 32 != 0 ? random() % range : above);
  }
  const auto any = [&]() -> Key& { return keys[random() % keys.size()]; };
  for (size_t i = 0; i < keys.size() / 10; ++i) any() = any();
  for (uint32_t i = 0; i < 100; ++i) any() = key_of(range / 3 + i);
  for (uint32_t i = 0; i < 100; ++i) any() = key_of(range / 2);
  for (const Order order : orders_of(which + sizeof(Value) / 8)) {
    const auto plan = msd_sort<Key, Value, NarrowMsd>(
        keys, {.order = order, .in_place = (order == Order::ascending) == (of_bucket == 40'000)});
    CHECK((plan.partitions() && !plan.falls_back));
    const auto narrow = std::count(std::begin(plan.is_narrow), std::end(plan.is_narrow), 1u);
    CHECK((narrow > msd_digits / 2) == (of_bucket < 1u << few_value_bits));
    CHECK(narrow < msd_digits - 2);
    CHECK((plan.has_narrow != 0) == (narrow != 0));  // and not what has no bucket
    CHECK((plan.listed[narrow_pair_buckets] > buckets / 2) == (of_bucket < 1u << few_value_bits));
    CHECK((plan.listed[small_buckets] != 0 && plan.listed[crowded_buckets] != 0));
  }
  // Few digits are left to passes, unless higher ones differ, too.
  if (of_bucket != 40'000) return;
  for (const bool crosses : {false, true}) {
    const uint64_t begin = crosses ? (1u << 24) - (first - (1u << 30)) - 1000 : 0;
    for (Key& key : keys) key = key_of(begin + random() % (keys.size() / 3));
    const auto plan = msd_sort<Key, Value, NarrowMsd>(keys, {});
    if (std::is_integral_v<Key> || !crosses) CHECK(plan.falls_back == !crosses);
  }
}

TEMPLATE_TEST_CASE("equal keys of pairs are told apart by their places", "[device]",
                   (std::pair<uint64_t, uint32_t>), (std::pair<int64_t, uint32_t>)) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  using Bits = BitsOf<Key>;
  // Four keys of each value, one, fewer; then too many values for the parts, whose keys stay as they are.
  const auto which = GENERATE(range(0u, 4u));
  const uint64_t of_bucket = std::array{65u, 256u, 1'000u, 5'000u}[which];
  if (!is_looked_at<Key, uint64_t>(which, 4)) return;
  const uint32_t buckets = on_gpu ? 4096 : 512;
  std::mt19937_64 random(test_seed());
  const uint64_t range = buckets * of_bucket;
  const Bits first = static_cast<Bits>((uint64_t{1} << (sizeof(Bits) * 8 - 2)) + random() % 1'000'000);
  std::vector<Key> keys(buckets * 250 + random() % 1000);
  const auto key_of = [&](uint64_t above) { return std::bit_cast<Key>(static_cast<Bits>(first + above)); };
  for (Key& key : keys) key = key_of(random() % range);
  // A large bucket, and some of which a fifth is one value.
  for (uint32_t i = 0; i < 500; ++i) keys[random() % keys.size()] = key_of(range / 3 + i % 3);
  for (uint32_t i = 0; i < 300; ++i)
    keys[random() % keys.size()] = key_of(range / 2 + i % 5 * 10 * of_bucket);
  for (const Order order : orders_of(which)) {
    const auto plan =
        msd_sort<Key, Value, SparseMsd>(keys, {.order = order, .in_place = order == Order::ascending});
    CHECK((plan.partitions() && !plan.falls_back));
    // Those at the ends may be open. Others are left alone if one value has too many keys for its parts.
    if (of_bucket == 65) CHECK(plan.listed[crowded_buckets] <= 2);
    if (of_bucket == 5'000) CHECK(plan.listed[crowded_buckets] >= 5);
    CHECK(plan.listed[large_buckets] != 0);
  }
}

TEMPLATE_TEST_CASE("larger buckets of few values are counted, though one comes more than 255 times",
                   "[device]", uint32_t, float, uint64_t) {
  using Bits = BitsOf<TestType>;
  const Bits lowest = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 3));
  std::mt19937_64 random(test_seed());
  std::vector<TestType> keys;
  const auto add = [&](uint32_t count, uint32_t first, uint32_t values) {
    for (uint32_t i = 0; i < count; ++i)
      keys.push_back(std::bit_cast<TestType>(static_cast<Bits>(lowest + first + random() % values)));
  };
  // Too few keys for a map in pieces. There are 512 buckets; the first and the last one extend to the ends of
  // all values.
  add(6400, 0, 1u << 24);
  add(600, 5u << 20, 5000);
  add(500, 9u << 20, 5000);
  add(400, (9u << 20) + 70, 1);
  std::shuffle(keys.begin(), keys.end(), random);
  std::vector<MsdCase> cases{{.order = Order::descending, .in_place = true}};
  if (on_gpu) cases.emplace_back();
  for (const MsdCase& test : cases) {
    const auto plan = msd_sort<TestType, NoValue, CountedMsd>(keys, test);
    CHECK(plan.falls_back == 0);
    CHECK(plan.listed[few_valued_buckets] >= 2);
  }
}

TEST_CASE("a block's histogram is exact where a counter overflows", "[device]") {
  std::mt19937_64 random(test_seed());
  // One block counts them all. More than 2^16 of them meet in one counter.
  std::vector<uint32_t> keys(72'000);
  const MsdCase one_block{.order = Order::descending, .multiprocessors = 1};
  SECTION("in a bucket of three values") {
    for (uint32_t& key : keys) key = static_cast<uint32_t>(5000 + (300u << 16) + random() % 3);
    for (uint32_t i = 0; i < 2000; ++i) keys[i * 36] = static_cast<uint32_t>(random() % (1u << 25));
    const auto plan = msd_sort<uint32_t, NoValue, CountedMsd>(keys, one_block);
    CHECK((plan.listed[few_valued_buckets] == 1 && !plan.falls_back));
  }
  SECTION("in a bucket that is a value") {
    for (uint32_t& key : keys)
      key = static_cast<uint32_t>(0x70000 + (random() % 32 != 0 ? 777 : random() % 65'000));
    CHECK(msd_sort<uint32_t, NoValue, SmallMsd>(keys, one_block).counts_values());
  }
}

TEST_CASE("a bucket may have as many keys as a block holds, and no more", "[device]") {
  std::mt19937_64 random(test_seed());
  // With so few keys, no pieces of the map follow them.
  std::vector<uint32_t> keys(8'000);
  constexpr uint32_t shift = 23;
  constexpr uint32_t bucket = 300;
  for (const uint32_t size : {256u, 257u, 1024u, 1025u}) {
    INFO(size << " keys");
    for (uint32_t& key : keys) {
      key = static_cast<uint32_t>(random());
      if (key >> shift == bucket) key ^= 1u << 31;
    }
    for (uint32_t i = 0; i < size; ++i)
      keys[i * 7] = bucket << shift | static_cast<uint32_t>(random() >> (64 - shift));
    const auto plan = msd_sort<uint32_t, NoValue, SmallMsd>(keys, {.in_place = size % 2 == 0});
    CHECK(plan.listed[large_buckets] == (size > 256 && size <= 1024));
    CHECK(plan.falls_back == (size > 1024));
  }
}

TEST_CASE("keys that were dealt are left to another sort if a bucket has more than a block holds",
          "[device]") {
  // Though it has so few values that its keys could be counted, if they had not been dealt.
  std::mt19937_64 random(test_seed());
  std::vector<uint32_t> keys(20'011);
  for (uint32_t& key : keys) key = static_cast<uint32_t>(12'345 + random() % (1u << 24));
  const auto is_sampled = keys_in_sampled_pairs(keys.size());
  // All over the array, so that no tile has many.
  uint32_t left = 260;
  for (uint64_t at = 0; left != 0; at = (at + 7'919) % keys.size())
    if (!is_sampled[at]) {
      keys[at] = static_cast<uint32_t>(0x765432 + random() % 200);
      --left;
    }
  const auto plan = msd_sort<uint32_t, NoValue, DealingCounted>(keys, {});
  CHECK((plan.was_dealt() && plan.has_too_large && plan.falls_back));
}

TEMPLATE_TEST_CASE(
    "the first and the last bucket of a block find their parts by themselves, if a key is beyond", "[device]",
    uint32_t, uint64_t) {
  std::mt19937_64 random(test_seed());
  std::vector<TestType> keys(on_gpu ? 300'007 : 20'011);
  for (TestType& key : keys) key = static_cast<TestType>((5u << 24) + random() % (1u << 24));
  // One key that the survey does not look at. The survey samples pairs of neighbours.
  uint64_t first_unseen = 0;
  for (uint64_t s = 0; sampled_pair(s, keys.size() / 2) == first_unseen; ++s) ++first_unseen;
  for (const bool is_beyond : {false, true}) {
    if (!is_looked_at<TestType, uint32_t>(is_beyond, 2)) continue;
    if (is_beyond) keys[2 * first_unseen] = 12'345;
    const auto plan = msd_sort<TestType, NoValue, SmallMsd>(keys, {});
    CHECK(plan.map.lowest == 5u << 24);
    CHECK(plan.map.range == (1u << 24) - 1);
    CHECK(plan.falls_back == 0);
    CHECK(plan.listed[repeating_buckets] == (is_beyond ? 2 : 0));
    const auto of_pairs = msd_sort<TestType, uint32_t, SmallMsd>(keys, {});
    CHECK(of_pairs.falls_back == 0);
    CHECK(of_pairs.listed[crowded_buckets] == (is_beyond ? 2 : 0));
  }
}

}  // namespace sweepsort
