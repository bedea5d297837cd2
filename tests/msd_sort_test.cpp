// msd_sort_test.cpp - the MSD sort is right or leaves keys to another sort, and which keys take which method.
#include "catch.hpp"
#include "msd_run.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sweepsort {
namespace {

/// A bucket map whose pieces, if it has any, are fine, and a survey that checks whether keys clump together.
using FineMsd = MsdPolicy<
    PartitionPolicy<256, 4, 2, 1>, BucketSortPolicy<256, 1, 1, 16384>, BucketSortPolicy<256, 4, 1, 65536>,
    MsdLimits{.bucket_keys = 32, .min_count = 1, .fine_from = 1, .clumps_from = 1, .passed_bits = 0}>;

/// As FineMsd, but crowded buckets are divided by splitters.
template <uint32_t bits_at_once>
using Splitting =
    SplittingMsd<FineMsd, BucketSortPolicy<256, 1, 1, 16384>, BucketSortPolicy<256, 2, 1, 16384>,
                 BucketSortPolicy<256, 4, 1, 16384>, 64, 1, bits_at_once>;
using SplittingFine = Splitting<14>;
/// The same, but keys are counted level by level.
using SplittingByLevel = Splitting<8>;

// Each record type is sorted in one of `shares` distributions. The emulator has time for half of them, under
// sanitizers for a twelfth. The seed says for which.
#ifdef __SANITIZE_ADDRESS__
constexpr uint32_t shares = 12;
#else
constexpr uint32_t shares = on_gpu ? 1 : 2;
#endif

/// Distributions that no record type leaves to another sort.
constexpr std::string_view never_left[] = {"uniform", "few-16", "few-1000", "shuffled-ids",
                                           "ninety-percent-one-value"};

}  // namespace

TEMPLATE_PRODUCT_TEST_CASE("the MSD sort is right or says that it is not the one", "[device]", std::pair,
                           ((uint32_t, NoValue), (float, NoValue), (uint64_t, NoValue), (int64_t, NoValue),
                            (uint32_t, uint32_t), (int32_t, uint64_t), (uint64_t, uint32_t),
                            (double, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  constexpr uint32_t record = (std::is_unsigned_v<Key> ? 0 : 1) + (sizeof(Key) == 8 ? 2 : 0) +
                              (std::is_same_v<Value, NoValue> ? 0 : 2);
  uint32_t turn = 0;
  for (const Distribution& distribution : all_distributions()) {
    if (!distribution.suits(key_type_of<Key>())) continue;
    const uint32_t kind = turn++;
    // Other record types take the distributions that this one leaves out.
    if ((kind + test_seed()) % shares != record % shares) continue;
    const auto plan =
        msd_sort_distribution<Key, Value>(distribution, on_gpu ? 200'003 : 6'001 + 37 * kind,
                                          {.order = kind % 2 == 0 ? Order::ascending : Order::descending,
                                           .in_place = kind % 3 == 0,
                                           .digest = digest_taken(kind)});
    INFO(distribution.name);
    // Of a few thousand floats, one bucket may have more than a block of the emulator's sorts.
    if (!on_gpu && std::is_floating_point_v<Key>) continue;
    if (std::ranges::find(never_left, distribution.name) != std::end(never_left)) CHECK(!plan.falls_back);
  }
}

TEMPLATE_TEST_CASE("even keys are partitioned without being counted, others as before", "[device]", uint32_t,
                   int64_t, float, double) {
  uint32_t turn = 0;
  for (const Distribution& distribution : all_distributions()) {
    if (!distribution.suits(key_type_of<TestType>())) continue;
    const uint32_t kind = turn++;
    const bool is_uniform = distribution.name == "uniform";
    // The emulator has time for a few of the others.
    if (!on_gpu && !is_uniform && (kind + test_seed()) % (6 * shares) != sizeof(TestType)) continue;
    const auto plan = msd_sort_distribution<TestType, NoValue, DealingSmall>(
        distribution, on_gpu ? 300'007 : 20'001 + 37 * kind,
        {.order = kind % 2 == 0 ? Order::ascending : Order::descending,
         .in_place = kind % 3 == 0,
         .digest = digest_taken(kind)});
    if (is_uniform)
      CHECK((plan.was_dealt() && (plan.deal.is_of_reals != 0) == std::is_floating_point_v<TestType>));
  }
}

TEST_CASE("floats that are neighbours, or come in runs, are not dealt out in vain", "[device]") {
  // In this range, the map of a sample happens to have a bucket for each value.
  const uint64_t count = on_gpu ? 300'007 : 20'011;
  std::mt19937_64 random(test_seed());
  std::vector<float> keys(count);
  for (float& key : keys) key = std::bit_cast<float>(static_cast<uint32_t>(0x3f800000 + random() % 65'027));
  keys.front() = 1;
  keys.back() = std::bit_cast<float>(0x3f800000 + 65'027);
  CHECK_FALSE(msd_sort<float, NoValue, DealingSmall>(keys, {}).was_dealt());
  // Each tile's keys go to few parents.
  for (uint64_t i = 0; i < count; ++i)
    keys[i] = static_cast<float>(i % (count / 7)) + static_cast<float>(random() % 256) / 256;
  const auto plan = msd_sort<float, NoValue, DealingSmall>(keys, {});
  CHECK((!plan.falls_back && (plan.deal.failed || !on_gpu)));
}

TEST_CASE("keys that find no room in a bin wait for the next tile, at both levels", "[device]") {
  // Bins have 32 slots per parent and 256 narrow keys per child; there are 64 children.
  using ManyBuckets = DealingMsd<MsdPolicy<PartitionPolicy<256, 4, 2, 1>, BucketSortPolicy<128, 2, 1, 16384>,
                                           BucketSortPolicy<256, 4, 1, 65536>,
                                           MsdLimits{.bucket_keys = 4, .min_count = 1, .passed_bits = 0}>,
                                 PartitionPolicy<256, 4, 2, 1>, 1, uint64_t{1} << 24>;
  constexpr uint64_t tile = 1024;
  std::mt19937_64 random(test_seed());
  std::vector<float> keys(40'003);
  for (float& key : keys) key = static_cast<float>(random() >> 40);
  // These keys belong to one child. They are in some tiles, but not in those between: a bin has room for a
  // few that waited.
  for (uint64_t t = 5; t < 19; t += 2)
    for (uint64_t i = 0; i < 45; ++i) keys[t * tile + i] = 7'777'777 + static_cast<float>(t * 25 + i) / 2;
  const auto plan = msd_sort<float, NoValue, ManyBuckets>(keys, {.order = Order::descending});
  CHECK((plan.was_dealt() && !plan.falls_back));
}

TEST_CASE("even floats whose values come many times are left to others", "[device]") {
  std::mt19937_64 random(test_seed());
  std::vector<float> keys(on_gpu ? 300'007 : 20'011);
  const uint32_t values = on_gpu ? 40'000 : 2'000;  // more than are counted one by one
  for (float& key : keys) key = static_cast<float>(random() % values);
  const auto plan = msd_sort<float, NoValue, DealingSmall>(keys, {});
  CHECK((plan.deal.is_of_reals && plan.falls_back && !plan.deal.is_planned));
}

#ifndef SWEEPSORT_EMULATED
TEMPLATE_TEST_CASE("large arrays of even keys are not counted, wherever they begin and end", "[device]",
                   uint32_t, double) {
  using Policy = TunedMsd<BitsOf<TestType>, NoValue>;
  std::mt19937_64 random(test_seed());
  std::vector<TestType> keys(Policy::dealt_from + random() % 1'000'000);
  for (TestType& key : keys) key = static_cast<TestType>(1'000'000'007 + random() % 2'000'000'000);
  for (const Order order : {Order::ascending, Order::descending}) {
    const auto plan = msd_sort<TestType, NoValue, Policy>(keys, {.order = order, .in_place = true});
    CHECK((plan.was_dealt() && !plan.falls_back));
  }
}

TEMPLATE_TEST_CASE("a parent's keys are counted after all where they leave too few chunks free", "[device]",
                   uint32_t, uint64_t) {
  using Layout = UncountedLayout<TestType>;
  constexpr uint64_t count = uint64_t{1} << 24;
  constexpr uint32_t shift = sizeof(TestType) * 8 - 8;
  constexpr TestType parent = 77;
  struct Expected {
    uint32_t free_chunks;
    bool is_dealt;
  };
  for (const auto [free_chunks, is_dealt] : {Expected{240, true}, Expected{40, false}}) {
    const uint64_t of_parent =
        MsdWorkspace<TestType, NoValue, DealingSmall>::layout(count).room - free_chunks * Layout::chunk;
    std::mt19937_64 random(test_seed());
    std::vector<TestType> keys(count);
    for (uint64_t i = 0; i < count; ++i) {
      auto key = static_cast<TestType>(random());
      const bool is_of_parent = i * of_parent / count != (i + 1) * of_parent / count;
      if (is_of_parent != (key >> shift == parent))
        key = static_cast<TestType>(
            key ^ ((is_of_parent ? key >> shift ^ parent : static_cast<TestType>(1 + i % 255)) << shift));
      keys[i] = key;
    }
    INFO("free chunks " << free_chunks);
    const auto plan = msd_sort<TestType, NoValue, DealingSmall>(keys, {});
    CHECK((plan.deal.is_planned && plan.was_dealt() == is_dealt && !plan.falls_back));
  }
}
#endif

TEMPLATE_TEST_CASE("keys that only seemed to be even are counted after all", "[device]", uint32_t, uint64_t) {
  const uint64_t count = on_gpu ? 300'007 : 30'011;
  const uint64_t pairs = count / 2;
  std::mt19937_64 random(test_seed());
  std::vector<TestType> keys(count);
  for (TestType& key : keys) key = static_cast<TestType>(random());
  const auto is_sampled = keys_in_sampled_pairs(count);
  constexpr TestType parent = static_cast<TestType>(~TestType{0}) / 256;
  SECTION("many in one parent") {
    for (uint64_t p = 0; p < pairs; ++p)
      if (!is_sampled[2 * p] && p % 8 == 0)
        keys[2 * p] = keys[2 * p + 1] = static_cast<TestType>(77 * parent + random() % parent);
  }
  SECTION("neighbours in one parent") {
    for (uint64_t p = pairs / 2; p < pairs / 2 + 600; ++p)
      if (!is_sampled[2 * p])
        keys[2 * p] = keys[2 * p + 1] = static_cast<TestType>(5 * parent + random() % parent);
  }
  for (const bool in_place : {false, true}) {
    if (!is_looked_at<TestType, uint32_t>(in_place, 2)) continue;
    const auto plan = msd_sort<TestType, NoValue, DealingSmall>(keys, {.in_place = in_place});
    CHECK((plan.deal.is_planned && plan.deal.failed && plan.partitions_by_counts() && !plan.falls_back));
  }
}

TEST_CASE("each kind of keys takes the method that is meant for it", "[device]") {
  const auto plan_of = [](const char* distribution) {
    return msd_sort<uint32_t, NoValue>(
        make_keys<uint32_t>(distribution, on_gpu ? 100'003 : 9'001, test_seed()), {});
  };
  for (const char* ordered : {"sorted", "all-equal"}) {
    const MsdPlan<uint32_t> plan = plan_of(ordered);
    CHECK((plan.order.is_right() && plan.order.guess() == Guess::ascending));
  }
  const MsdPlan<uint32_t> reversed = plan_of("reversed");
  CHECK((reversed.order.is_right() && reversed.order.guess() == Guess::descending));
  CHECK(plan_of("few-16").has_few_values());
  // A window of 65,536 values is counted wherever it begins; a wider one is not.
  std::mt19937_64 random(test_seed());
  std::vector<uint32_t> window(on_gpu ? 100'003 : 9'001);
  for (uint32_t& key : window) key = 0x70000 + random() % 65'536;
  CHECK(msd_sort<uint32_t, NoValue>(window, {}).counts_values());
  for (uint32_t& key : window) key += 1'000;
  CHECK(msd_sort<uint32_t, NoValue>(window, {}).counts_values());
  window[0] = *std::min_element(window.begin(), window.end()) + 65'536;
  CHECK_FALSE(msd_sort<uint32_t, NoValue>(window, {}).counts_values());
  // Pairs whose keys are neighbouring values are left to the LSD sort, which needs few passes for them.
  if (on_gpu) {
    std::vector<uint32_t> few(300'003);
    for (uint32_t& key : few) key = static_cast<uint32_t>(random() % 65'536);
    CHECK(msd_sort<uint32_t, uint32_t>(few, {}).falls_back);
    CHECK(msd_sort<uint32_t, NoValue>(few, {}).counts_values());
  }
  const MsdPlan<uint32_t> even = plan_of("uniform");
  CHECK((even.partitions() && !even.is_pieced));
  const MsdPlan<uint32_t> uneven = plan_of("gaussian");
  CHECK((uneven.partitions() && uneven.is_pieced));
  const auto floats = make_keys<float>("uniform", on_gpu ? 100'003 : 9'001, test_seed());
  CHECK(msd_sort<float, NoValue>(floats, {}).partitions());
  const MsdPlan<uint32_t> nearly = plan_of("nearly-sorted");
  CHECK((!nearly.order.is_right() && nearly.partitions()));
  // Where no pieces would help, none are made.
  const auto crowded = make_keys<uint64_t>("and5", on_gpu ? 100'003 : 33'333, test_seed());
  const MsdPlan<uint64_t> given_up = msd_sort<uint64_t, NoValue>(crowded, {});
  CHECK((given_up.falls_back && !given_up.is_pieced));
}

TEMPLATE_TEST_CASE("pairs that fall are reversed, and few of one key stay in their order", "[device]",
                   uint32_t, double) {
  using Bits = BitsOf<TestType>;
  const uint64_t count = on_gpu ? 300'003 : 9'001;
  // Makes runs of up to `most` pairs with one key, and runs of `longest` pairs at a place where a warp's keys
  // begin or end.
  const auto plan_of = [&](uint64_t most, uint64_t longest, bool in_place) {
    std::mt19937_64 random(test_seed());
    std::vector<TestType> keys;
    const uint64_t long_run = (count / 2 + random() % 128) / 128 * 128 + random() % 128;
    while (keys.size() < count) {
      const auto key = static_cast<TestType>(count - keys.size());
      const bool is_long = keys.size() >= long_run && keys.size() < long_run + longest;
      keys.insert(keys.end(), is_long ? longest : 1 + random() % most, key);
    }
    keys.resize(count);
    return msd_sort<TestType, uint32_t>(keys, {.in_place = in_place});
  };
  const auto is_reversed = [](const MsdPlan<Bits>& plan) {
    return plan.order.is_right() && plan.order.guess() == Guess::descending;
  };
  CHECK(is_reversed(plan_of(1, 1, false)));
  CHECK(is_reversed(plan_of(1, 1, true)));
  CHECK(is_reversed(plan_of(1, 2, false)));
  CHECK(is_reversed(plan_of(4, 32, false)));
  CHECK_FALSE(plan_of(4, 80, false).order.is_right());
  CHECK_FALSE(plan_of(1, 2, true).order.is_right());
  // At the end of the array.
  std::vector<TestType> keys(count);
  for (uint64_t i = 0; i < count; ++i) keys[i] = static_cast<TestType>(count - std::min(i, count - 20));
  CHECK(is_reversed(msd_sort<TestType, uint32_t>(keys, {})));
  for (uint64_t i = 0; i < count; ++i) keys[i] = static_cast<TestType>(count - std::min(i, count - 700));
  CHECK_FALSE(msd_sort<TestType, uint32_t>(keys, {}).order.is_right());
}

TEMPLATE_TEST_CASE("buckets follow an uneven distribution by fine pieces, too", "[device]", float, uint64_t) {
  const std::vector<TestType> keys = make_keys<TestType>("gaussian", on_gpu ? 33'333 : 9'001, test_seed());
  const auto plan = msd_sort<TestType, NoValue, FineMsd>(keys, {});
  CHECK(plan.is_pieced);
  CHECK(plan.piece_bits == fine_piece_bits);
  CHECK(plan.falls_back == 0);
}

TEST_CASE("each counter of a survey's large sample is for as many buckets as any other") {
  for (uint32_t bits = std::countr_zero(survey_detail::bucket_counters); bits <= 16; ++bits) {
    std::vector<uint32_t> buckets(survey_detail::bucket_counters);
    for (uint32_t bucket = 0; bucket < 1u << bits; ++bucket)
      ++buckets.at(survey_detail::counter_of_bucket(bucket, bits));
    CHECK(std::ranges::all_of(
        buckets, [&](uint32_t each) { return each == (1u << bits) / survey_detail::bucket_counters; }));
  }
}

TEMPLATE_TEST_CASE("uneven keys that are close to order are not taken for crowded", "[device]", uint32_t,
                   uint64_t) {
  std::vector<TestType> keys = make_keys<TestType>("gaussian", on_gpu ? 1u << 24 : 9'001, test_seed());
  std::sort(keys.begin(), keys.end());
  std::mt19937_64 random(test_seed());
  for (uint64_t i = 0; i < keys.size() / 200; ++i)
    std::swap(keys[random() % keys.size()], keys[random() % keys.size()]);
  const auto plan = msd_sort<TestType, NoValue, FineMsd>(keys, {});
  CHECK((plan.is_pieced && plan.piece_bits == fine_piece_bits && !plan.falls_back));
}

TEMPLATE_TEST_CASE("buckets follow the values of floats, not their bits, where that divides them better",
                   "[device]", float, double) {
  std::mt19937_64 random(test_seed());
  std::normal_distribution<TestType> normal(TestType{3}, TestType{40});
  std::vector<TestType> keys(on_gpu ? 300'007 : 9'011);
  const Order order = std::is_same_v<TestType, float> ? Order::ascending : Order::descending;
  for (TestType& key : keys) key = normal(random);
  const auto plan = msd_sort<TestType, NoValue>(keys, {.order = order});
  // The bucket around zero is crowded.
  CHECK((plan.has_real_pieces && !plan.falls_back && plan.listed[crowded_buckets] > 0));
  // Each binade has as many keys as the next.
  for (TestType& key : keys) key = std::exp2(static_cast<TestType>(random() % 65'536) / 512 - 64);
  CHECK((msd_sort<TestType, NoValue>(keys, {}).has_real_pieces == 0));
}

TEMPLATE_TEST_CASE("floats that a sample misses do not mislead a map of values", "[device]", float, double) {
  using Bits = BitsOf<TestType>;
  using Limits = std::numeric_limits<TestType>;
  constexpr uint32_t places = survey_detail::places_per_round;
  std::mt19937_64 random(test_seed());
  std::exponential_distribution<TestType> exponential;
  // Some are where only the larger sample would look, if at all.
  const auto put_specials = [](std::vector<TestType>& keys, const std::vector<bool>& is_sampled) {
    uint64_t at = keys.size() / 3;
    for (const TestType key :
         {Limits::quiet_NaN(), -Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), Limits::max(),
          -Limits::max(), Limits::denorm_min(), TestType{0}, -TestType{0}}) {
      while (is_sampled[at]) ++at;
      keys[at++] = key;
    }
  };
  const Order order = std::is_same_v<TestType, float> ? Order::descending : Order::ascending;
  std::vector<TestType> keys(on_gpu ? 300'007 : 20'011);
  for (TestType& key : keys) key = -exponential(random);
  put_specials(keys, keys_in_sampled_pairs(keys.size()));
  CHECK((msd_sort<TestType, NoValue>(keys, {.order = order}).has_real_pieces));
  // Keys that are dealt: none of the places from which the map is made anew may have one.
  keys.resize(on_gpu ? 300'007 : 5 * places * survey_detail::keys_per_place<Bits> / 4 + 11);
  for (TestType& key : keys) key = static_cast<TestType>(random() >> 40);
  put_specials(keys, sampled_keys<Bits>(keys.size(), places));
  const auto plan = msd_sort<TestType, NoValue, DealingSmall>(keys, {.order = order});
  CHECK((plan.was_dealt() && plan.deal.is_of_reals && !plan.falls_back));
}

TEST_CASE("keys that clump together are left to another sort, if they are asked for", "[device]") {
  std::mt19937_64 random(test_seed());
  std::vector<uint64_t> clumps(300);
  for (uint64_t& first : clumps) first = random();
  std::vector<uint64_t> uniform(on_gpu ? 70'001 : 20'001);
  std::vector<uint64_t> clumped(uniform.size());
  for (uint64_t& key : uniform) key = random();
  for (uint64_t& key : clumped) key = clumps[random() % clumps.size()] + random() % 256;
  CHECK(msd_sort<uint64_t, NoValue, FineMsd>(uniform, {}).falls_back == 0);
  CHECK(msd_sort<uint64_t, NoValue, FineMsd>(clumped, {}).falls_back == 1);
  if (on_gpu) CHECK(msd_sort<uint64_t, NoValue>(clumped, {}).falls_back == 0);
}

TEMPLATE_PRODUCT_TEST_CASE("crowded pairs are divided by splitters, whatever their values' shares",
                           "[device]", std::pair, ((uint64_t, uint64_t), (int64_t, uint32_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  uint32_t turn = 8 / sizeof(Value);
  for (const char* const distribution : {"and3", "and5"}) {
    if (!on_gpu && turn != 8 / sizeof(Value)) continue;  // the sample alone takes the emulator a long time
    const bool by_level = turn % 4 >= 2;
    // On a GPU, some buckets are for large blocks, too, and the larger sample is sixteen keys per bucket.
    const uint64_t count = !on_gpu ? 12'011 : by_level ? 4'700'003 : 1'000'003;
    std::vector<Key> keys = make_keys<Key>(distribution, count, test_seed());
    std::mt19937_64 random(test_seed());
    // Some values have a tenth of the keys each, among them the lowest and the highest value. No block sorts
    // their buckets.
    if (turn % 2 == 0)
      for (Key& key : keys) {
        const uint64_t lot = random() % 10;
        if (lot < 3) key = std::bit_cast<Key>(lot < 2 ? ~uint64_t{0} - lot : uint64_t{0});
        if constexpr (std::is_signed_v<Key>)  // then the lowest key has bits that are not zero
          if (lot >= 3 && key < 0) key = ~key;
      }
    const MsdCase test{.order = turn % 2 == 0 ? Order::descending : Order::ascending,
                       .in_place = turn % 2 != 0,
                       .digest = digest_taken(turn),
                       .multiprocessors = 8};  // for the sample
    ++turn;
    const auto plan = by_level ? msd_sort<Key, Value, SplittingByLevel>(keys, test)
                               : msd_sort<Key, Value, SplittingFine>(keys, test);
    CHECK((plan.is_split && !plan.falls_back));
    CHECK((plan.counts_by_level != 0) == by_level);
  }
}

#ifndef SWEEPSORT_EMULATED
TEMPLATE_PRODUCT_TEST_CASE("millions of crowded pairs are divided by splitters", "[device]", std::pair,
                           ((uint64_t, uint64_t), (double, uint64_t), (int64_t, uint32_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  using Policy = TunedMsd<BitsOf<Key>, Value>;
  std::mt19937_64 random(test_seed());
  uint32_t turn = sizeof(Value);
  const auto sort = [&](const char* distribution, uint64_t least) {
    return msd_sort<Key, Value, Policy>(
        make_keys<Key>(distribution, least + random() % 1'000, test_seed()),
        {.order = ++turn % 2 == 0 ? Order::descending : Order::ascending, .in_place = turn % 3 == 0});
  };
  for (const char* const distribution : {"and3", "and5", "zipf-hashed", "ipv4"}) {
    if (!find_distribution(distribution)->suits(key_type_of<Key>())) continue;
    const auto plan = sort(distribution, Policy::split_from);
    if (std::string(distribution) == "and3") CHECK((plan.is_split && !plan.falls_back));
  }
  // Counted by level: with a small sample, and with a larger one.
  const auto plan = sort(sizeof(Value) == 8 ? "and3" : "and5", (1u << (sizeof(Value) == 8 ? 24 : 25)) + 1);
  CHECK((plan.counts_by_level && !plan.falls_back));
}
#endif

TEMPLATE_TEST_CASE("pairs whose crowd the survey missed are divided by splitters behind the histogram",
                   "[device]", uint32_t, uint64_t) {
  const uint64_t count = on_gpu ? 1'000'003 : 12'011;
  std::mt19937_64 random(test_seed());
  std::vector<int64_t> keys(count);
  const std::vector<bool> is_sampled = keys_in_sampled_pairs(count);
  for (uint64_t i = 0; i < count; ++i)
    keys[i] = static_cast<int64_t>(is_sampled[i] || random() % 4 == 0 ? random() : random() % (1u << 20));
  for (const bool in_place : {false, true}) {
    if (!on_gpu && in_place != (sizeof(TestType) == 4)) continue;
    const auto plan = msd_sort<int64_t, TestType, SplittingByLevel>(
        keys, {.order = in_place ? Order::descending : Order::ascending,
               .in_place = in_place,
               .digest = in_place ? DigestTaken::before : DigestTaken::beside,
               .multiprocessors = 8});
    CHECK((plan.is_split && !plan.falls_back));
  }
}

TEMPLATE_TEST_CASE("pairs whose crowd the splitters' sample missed, too, are left to another sort",
                   "[device]", uint32_t, uint64_t) {
  // The larger crowd overruns its parent, the smaller one only its bucket.
  const bool is_seen_early = sizeof(TestType) == 8;
  const uint64_t count = is_seen_early ? 80'021 : 40'009;
  std::mt19937_64 random(test_seed());
  std::vector<uint64_t> keys(count);
  const uint32_t places = splitters_detail::split_shape<SplittingByLevel>(count).places<uint64_t>();
  const std::vector<bool> is_sampled = sampled_keys<uint64_t>(count, places);
  for (uint64_t i = 0; i < count; ++i) keys[i] = is_sampled[i] ? random() : random() % (1u << 20);
  for (const bool in_place : {false, true}) {
    if (!on_gpu && in_place != (sizeof(TestType) == 4)) continue;
    const auto plan =
        msd_sort<uint64_t, TestType, SplittingByLevel>(keys, {.in_place = in_place, .multiprocessors = 8});
    CHECK((plan.is_split && plan.falls_back));
    CHECK((plan.jobs == 0) == is_seen_early);
  }
}

TEST_CASE("pairs of few live digits are not divided by splitters", "[device]") {
  std::mt19937_64 random(test_seed());
  std::vector<uint64_t> keys(on_gpu ? 1'000'003 : 12'011);
  for (uint64_t& key : keys) key = (random() & random() & random()) >> 24;  // of 40 bits
  const auto plan = msd_sort<uint64_t, uint64_t, SplittingFine>(keys, {.multiprocessors = 8});
  CHECK((plan.falls_back && !plan.is_split));
}

TEST_CASE("pairs with doubles that are whole numbers go by digits if these repeat", "[device]") {
  std::mt19937_64 random(test_seed());
  std::vector<double> keys(on_gpu ? 1'000'003 : 12'011);
  const auto fill = [&](const auto& next) {
    for (double& key : keys) key = static_cast<double>(next());
  };
  fill([&] { return random() % 65'536 + 65'536; });
  CHECK(msd_sort<double, uint32_t>(keys, {}).falls_back);
  fill([&] { return random() % (uint64_t{1} << 45); });  // hardly one comes twice
  CHECK_FALSE(msd_sort<double, uint32_t>(keys, {}).falls_back);
  fill([&] {
    return random() % 16 == 0 ? random() % 65'536 + 65'536 : 70'000;
  });  // one has a bucket of its own
  CHECK_FALSE(msd_sort<double, uint32_t>(keys, {}).falls_back);
  // Of many live bits: equal keys of a bucket keep their order.
  std::vector<double> some(keys.size() / 4);
  for (double& value : some) value = 1 + static_cast<double>(random()) / 0x1p64;
  fill([&] { return some[random() % some.size()]; });
  const auto plan = msd_sort<double, uint32_t>(keys, {});
  CHECK((plan.partitions() && !plan.falls_back));
}

TEMPLATE_TEST_CASE("where others have sorted, nothing is done, whatever the keys are", "[device]", uint32_t,
                   uint64_t) {
  const OnDevice session;
  const std::vector<uint32_t> answer(2);  // the first: not wanted
  const DeviceArray<uint32_t> wanted{std::span<const uint32_t>(answer)};
  for (const char* const distribution :
       {"uniform", "sorted", "few-16", "ninety-percent-one-value", "gaussian"})
    for (const bool is_digested : {false, true}) {
      INFO(distribution << (is_digested ? " digested" : ""));
      const auto input = make_keys<TestType>(distribution, 3'001, test_seed());
      RecordArrays<TestType, NoValue> records(input, is_digested);
      const auto arrays = records.arrays();
      const TestMemory<TestType, NoValue, SmallMsd> memory(arrays.count);
      const KeyMap<TestType> map;
      const std::vector<Digest<TestType>> nothing(1);
      const DeviceArray<Digest<TestType>> taken{std::span<const Digest<TestType>>(nothing)};
      digest(DeviceSpan<const TestType>(arrays.keys_in, arrays.count), map, taken.data(), nullptr);
      sort_on_device(arrays,
                     MsdSettings<TestType>{
                         .map = map, .digest = is_digested ? taken.data() : nullptr, .wanted = wanted.data()},
                     memory.workspace());
      MsdPlan<TestType> plan;
      check(cudaMemcpy(&plan, memory.workspace().msd.plan.data(), sizeof(plan), cudaMemcpyDeviceToHost));
      CHECK((plan.is_not_wanted && !plan.falls_back));
      records.check_zones();
      records.require_kept_input();
    }
}

}  // namespace sweepsort
