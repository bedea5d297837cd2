// msd_sort_test.cpp - the MSD sort with small tiles and buckets, so that a few thousand records take both
// levels, every size of bucket and every way out. On the emulator and on a GPU.
#include "catch.hpp"
#include "datasets/distributions.hpp"
#include "device_array.hpp"
#include "kernels/radix_msd.cuh"
#include "kernels/radix_onesweep.cuh"
#include "kernels/rearrange.cuh"
#include "kernels/value_codes.cuh"
#include "on_device.hpp"
#include "record_arrays.hpp"
#include "seed.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sweepsort {
namespace {

/// Tiles of 1024 records, buckets of 256 and 1024.
using SmallMsd = MsdPolicy<PartitionPolicy<256, 4, 2, 1>, BucketSortPolicy<256, 1, 1, 65536>,
                           BucketSortPolicy<256, 4, 1, 65536>, 32, 1>;

/// Buckets of more than 256 keys are counted.
using CountedMsd = MsdPolicy<PartitionPolicy<256, 4, 2, 1>, BucketSortPolicy<256, 1, 1, 65536>,
                             BucketSortPolicy<256, 1, 1, 65536>, 1024, 1, 1>;

/// Even keys alone are dealt; buckets of more than 128 keys are counted if they have few values.
using DenseMsd = DealingMsd<MsdPolicy<PartitionPolicy<256, 4, 2, 1>, BucketSortPolicy<128, 1, 1, 32768>,
                                      BucketSortPolicy<256, 2, 1, 32768>, 256, 1, uint64_t{1} << 30,
                                      uint64_t{1} << 27, uint64_t{1} << 20, 1>,
                            PartitionPolicy<256, 4, 2, 1>, 1, uint64_t{1} << 24>;

/// Buckets of few values are sorted by a bit vector; and even keys alone are dealt, too.
using SparseMsd = MsdPolicy<PartitionPolicy<256, 4, 2, 1>, BucketSortPolicy<128, 4, 1, 32768>,
                            BucketSortPolicy<256, 4, 1, 32768>, 256, 1, uint64_t{1} << 30, uint64_t{1} << 27,
                            uint64_t{1} << 20, uint64_t{1} << 29, 1>;
using DealingSparse = DealingMsd<SparseMsd, PartitionPolicy<256, 4, 2, 1>, 1, uint64_t{1} << 24>;

/// Pairs are left with narrow keys where these tell them apart.
using NarrowMsd = MsdPolicy<PartitionPolicy<256, 4, 2, 1>, BucketSortPolicy<256, 2, 1, 32768>,
                            BucketSortPolicy<256, 4, 1, 32768>, 256, 1, uint64_t{1} << 30, uint64_t{1} << 27,
                            uint64_t{1} << 20, uint64_t{1} << 29, uint64_t{1} << 26, 1>;

/// A bucket map whose pieces, if it has any, are fine; and a survey that asks whether keys clump together.
using FineMsd = MsdPolicy<PartitionPolicy<256, 4, 2, 1>, BucketSortPolicy<256, 1, 1, 65536>,
                          BucketSortPolicy<256, 4, 1, 65536>, 32, 1, uint64_t{1} << 30, 1, 1>;

/// The first one; even keys alone are partitioned without being counted.
using DealingSmall = DealingMsd<SmallMsd, PartitionPolicy<256, 4, 2, 1>, 1, uint64_t{1} << 24>;

/// Which of `pairs` neighbours the survey looks at.
uint64_t sampled_pair(uint64_t sample, uint64_t pairs) {
  constexpr uint64_t samples = survey_detail::samples;
  return pairs / samples * sample + pairs % samples * sample / samples;
}

struct Case {
  Order order = Order::ascending;
  bool in_place = false;
  bool digested = false;
  Ranking ranking = Ranking::lane_order;
};

/// What came out, and by which road.
template <class Bits>
using Plan = MsdPlan<Bits>;

/// Device memory of an MSD sort, and of passes by code, which pairs of few values are left to.
template <class Bits, class Value, class Policy>
struct TestWorkspace {
  MsdWorkspace<Bits, Value, Policy> msd;
  DeviceSpan<SortPlan<Bits>> plan;
  OnesweepWorkspace<Bits, Value> onesweep;

  TestWorkspace(Workspace& workspace, uint64_t count)
      : msd(workspace, true, true, count),
        plan(workspace.take<SortPlan<Bits>>(1)),
        onesweep(workspace, count, onesweep_portion<TunedOnesweep<Bits, Value>>) {}
};

/// The same in memory of its own, cleared.
template <class Bits, class Value, class Policy>
class TestMemory {
 public:
  using Carved = TestWorkspace<Bits, Value, Policy>;
  explicit TestMemory(uint64_t count) : memory_(bytes(count)), workspace_(carve(memory_, count)) {}
  const Carved& workspace() const { return workspace_; }
  void check_zones() const { memory_.check_zones(); }

 private:
  static size_t bytes(uint64_t count) {
    Workspace counter;
    (void)Carved(counter, count);
    return counter.used();
  }
  static Carved carve(const DeviceArray<std::byte>& memory, uint64_t count) {
    check(cudaMemset(memory.data(), 0, memory.size()));
    Workspace carved(memory.span());
    return Carved(carved, count);
  }

  DeviceArray<std::byte> memory_;
  Carved workspace_;
};

template <Ranking ranking, class Bits, class Value, class Policy>
void sort_by_plan(const MsdArrays<Bits, Value>& arrays, const TestWorkspace<Bits, Value, Policy>& workspace) {
  SortPlan<Bits>* const plan = workspace.plan.data();
  const ColumnArrays<Bits> keys{arrays.keys_in, arrays.keys_scratch, arrays.keys_out};
  const ColumnArrays<Value> values{arrays.values_in, arrays.values_scratch, arrays.values_out};
  radix_onesweep<ranking>(keys, values, arrays.count, plan, workspace.onesweep, nullptr);
  if (keys.in != keys.out) return;
  copy_back(keys.scratch, keys.out, arrays.count, plan, nullptr);
  copy_back(values.scratch, values.out, arrays.count, plan, nullptr);
}

template <Ranking ranking, class Bits, class Value, class Policy>
void sort_on_device(const MsdArrays<Bits, Value>& arrays, MsdSettings<Bits> settings,
                    const TestWorkspace<Bits, Value, Policy>& workspace) {
  constexpr bool with_values = !std::is_same_v<Value, NoValue>;
  const auto& onesweep = workspace.onesweep;
  if constexpr (with_values)
    settings.codes = {workspace.plan.data(), onesweep.offsets.data(), onesweep.offsets_stride(),
                      arrays.keys_in == arrays.keys_out};
  radix_msd<ranking>(arrays, settings, workspace.msd, nullptr);
  if constexpr (with_values) sort_by_plan<ranking>(arrays, workspace);
}

/// Who has met a rise and a fall looks for no more repeats: how many are met depends on the blocks.
template <class Bits>
void require_same_digest(Digest<Bits> one, Digest<Bits> other) {
  if (one.rises && one.falls) one.repeats = other.repeats = 0;
  CHECK(std::memcmp(&one, &other, sizeof(one)) == 0);
}

/// Sorts; the plan that the device made. Checks everything that a fall-back allows to check.
template <class Key, class Value, class Policy = SmallMsd>
Plan<KeyBits<Key>> sort(const std::vector<Key>& input, const Case& test) {
  using Bits = KeyBits<Key>;
  const OnDevice session;
  const KeyMap<Bits> map = key_map<Bits>(key_type_of<Key>(), test.order);
  RecordArrays<Key, Value> records(input, test.in_place,
                                   MsdWorkspace<Bits, Value, Policy>::scratch_keys(input.size()));
  const MsdArrays<Bits, Value> arrays = records.arrays();
  const TestMemory<Bits, Value, Policy> memory(arrays.count);
  const auto& workspace = memory.workspace();
  const std::vector<Digest<Bits>> nothing(1);
  const DeviceArray<Digest<Bits>> taken{std::span<const Digest<Bits>>(nothing)};
  digest(DeviceSpan<const Bits>(arrays.keys_in, arrays.count), map, taken.data(), nullptr);
  const DeviceArray<Digest<Bits>> beside{std::span<const Digest<Bits>>(nothing)};
  const MsdSettings<Bits> settings{.map = map,
                                   .digest = test.digested ? taken.data() : nullptr,
                                   .digest_beside = test.digested ? nullptr : beside.data()};
  if (test.ranking == Ranking::lane_order)
    sort_on_device<Ranking::lane_order>(arrays, settings, workspace);
  else
    sort_on_device<Ranking::ballot>(arrays, settings, workspace);

  memory.check_zones();
  Plan<Bits> plan;
  check(cudaMemcpy(&plan, workspace.msd.plan.data(), sizeof(plan), cudaMemcpyDeviceToHost));
  if (!test.digested && !plan.is_in_order())
    require_same_digest(taken.download().front(), beside.download().front());
  if (plan.falls_back) {
    records.check_zones();
    records.require_kept_input();
  } else {
    records.require_sorted(test.order);
  }
  return plan;
}

template <class Key, class Value, class Policy = SmallMsd>
Plan<KeyBits<Key>> sort_distribution(const Distribution& distribution, uint64_t count, const Case& test) {
  INFO(name(key_type_of<Key>()) << " " << distribution.name << " n=" << count << " " << name(test.order)
                                << (test.in_place ? " in place" : "") << (test.digested ? " digested" : "")
                                << (test.ranking == Ranking::ballot ? " ballot" : ""));
  return sort<Key, Value, Policy>(make_keys<Key>(std::string(distribution.name), count, test_seed()), test);
}

/// Keys of which the `shares` (in hundredths) have one of the values, and the others any.
template <class Key>
std::vector<Key> keys_with_frequent_values(const std::vector<std::pair<KeyBits<Key>, uint32_t>>& shares,
                                           uint64_t count) {
  std::mt19937_64 random(test_seed());
  std::vector<Key> keys(count);
  for (Key& key : keys) {
    KeyBits<Key> bits = static_cast<KeyBits<Key>>(random());
    auto lot = static_cast<uint32_t>(random() % 100);
    for (const auto& [value, share] : shares) {
      if (lot < share) {
        bits = value;
        break;
      }
      lot -= share;
    }
    key = std::bit_cast<Key>(bits);
  }
  return keys;
}

#ifdef __SANITIZE_ADDRESS__
constexpr uint32_t shares = 6;
#else
constexpr uint32_t shares = on_gpu ? 1 : 2;
#endif

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
    // The emulator has time for half of them, under sanitizers a sixth: what this record leaves out others
    // take.
    if (kind % shares != record % shares) continue;
    (void)sort_distribution<Key, Value>(distribution, on_gpu ? 200'003 : 6'001 + 37 * kind,
                                        {.order = kind % 2 == 0 ? Order::ascending : Order::descending,
                                         .in_place = kind % 3 == 0,
                                         .digested = kind % 5 < 2,
                                         .ranking = kind % 7 < 3 ? Ranking::ballot : Ranking::lane_order});
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
    if (!on_gpu && !is_uniform && kind % (6 * shares) != sizeof(TestType)) continue;
    const auto plan = sort_distribution<TestType, NoValue, DealingSmall>(
        distribution, on_gpu ? 300'007 : 20'001 + 37 * kind,
        {.order = kind % 2 == 0 ? Order::ascending : Order::descending,
         .in_place = kind % 3 == 0,
         .digested = kind % 5 < 2});
    if (is_uniform) CHECK((plan.was_dealt() && (plan.is_real != 0) == std::is_floating_point_v<TestType>));
  }
}

TEMPLATE_TEST_CASE("of keys that are dealt the low half is left, where that tells them apart", "[device]",
                   uint32_t, int64_t, float) {
  using Bits = KeyBits<TestType>;
  std::mt19937_64 random(test_seed());
  // Buckets of a quarter, a half and two thirds as many values as their low halves tell apart, which end anywhere;
  // and of some more.
  const uint64_t buckets = on_gpu ? 1u << 14 : 1u << 10;
  for (const uint32_t twelfths : {3, 6, 8, 13}) {
    const Bits range = static_cast<Bits>((Bits{1} << sizeof(Bits) * 4) / 12 * twelfths * buckets);
    const Bits first = static_cast<Bits>(range + random() % 1'000'000'007);
    std::vector<TestType> keys(on_gpu ? 300'007 : 20'011);
    for (TestType& key : keys) key = std::bit_cast<TestType>(static_cast<Bits>(first + random() % range));
    const auto plan = sort<TestType, NoValue, DealingSmall>(
        keys, {.order = twelfths == 6 ? Order::descending : Order::ascending, .in_place = twelfths == 8});
    if (std::is_same_v<TestType, float>) continue;  // even or not
    REQUIRE(plan.was_dealt());
    const auto narrow = std::count(std::begin(plan.is_narrow), std::end(plan.is_narrow), 1u);
    // The first parent and the last one have a bucket that is open.
    CHECK(narrow == (twelfths < 12 ? int64_t{msd_digits} - 2 : 0));
  }
}

TEMPLATE_TEST_CASE("large buckets of few values are counted, from where they were dealt to", "[device]",
                   uint32_t, uint64_t) {
  const uint32_t buckets = on_gpu ? 4096 : 512;
  const bool is_narrow = GENERATE(true, false);
  std::mt19937_64 random(test_seed());
  std::vector<TestType> keys(buckets * 170 + random() % 1000);
  // Parents at the ends are not narrow; all others are, or the values of a bucket are too many.
  const uint64_t range = uint64_t{buckets} * (is_narrow ? 30'000 : 90'000);
  const TestType first = static_cast<TestType>(random() % 1'000'000'000);
  for (TestType& key : keys) key = static_cast<TestType>(first + random() % range);
  // Four bits do not count these.
  for (uint32_t i = 0; i < 100; ++i) keys[random() % keys.size()] = static_cast<TestType>(first + range / 3);
  for (const Order order : {Order::ascending, Order::descending}) {
    const auto plan = sort<TestType, NoValue, DenseMsd>(keys, {.order = order, .in_place = is_narrow});
    CHECK((plan.was_dealt() && !plan.falls_back));
    CHECK((plan.is_narrow[100] != 0) == (is_narrow || sizeof(TestType) == 8));
    CHECK((plan.listed[few_valued_buckets] > buckets / 2) == is_narrow);
  }
}

TEMPLATE_TEST_CASE("small buckets of few values are sorted by a bit vector", "[device]", uint32_t, int64_t,
                   float) {
  using Bits = KeyBits<TestType>;
  const uint32_t buckets = on_gpu ? 4096 : 512;
  std::mt19937_64 random(test_seed());
  // As many values a bucket as the vector has bits, or some less; some more are too many.
  const uint64_t of_bucket = GENERATE(65'000u, 40'000u, 70'000u);
  const uint64_t range = buckets * of_bucket;
  const Bits first = static_cast<Bits>((uint64_t{1} << 30) + random() % 1'000'000);
  std::vector<TestType> keys(buckets * 150 + random() % 1000);
  const auto key_of = [&](uint64_t above) {
    return std::bit_cast<TestType>(static_cast<Bits>(first + above));
  };
  for (TestType& key : keys) key = key_of(random() % range);
  const auto any = [&]() -> TestType& { return keys[random() % keys.size()]; };
  for (size_t i = 0; i < keys.size() / 20; ++i) any() = any();
  // Neighbours, and one value that comes more often than a thread has room for.
  for (uint32_t i = 0; i < 100; ++i) any() = key_of(range / 3 + i);
  for (uint32_t i = 0; i < 100; ++i) any() = key_of(range / 2);
  for (const Order order : {Order::ascending, Order::descending}) {
    const bool in_place = (order == Order::ascending) == (of_bucket == 40'000);
    const auto dealt = sort<TestType, NoValue, DealingSparse>(keys, {.order = order, .in_place = in_place});
    const auto counted = sort<TestType, NoValue, SparseMsd>(keys, {.order = order, .in_place = !in_place});
    CHECK((dealt.was_dealt() && counted.partitions()));
    if (std::is_same_v<TestType, float>) continue;  // buckets are linear in values, these bits are not
    for (const auto& plan : {dealt, counted}) {
      CHECK((plan.listed[few_valued_buckets] > buckets / 2) == (of_bucket < 1u << few_value_bits));
      CHECK(plan.listed[repeating_buckets] != 0);
    }
  }
  for (size_t i = 0; i < keys.size(); ++i) any() = key_of(range / 5);
  const auto plan = sort<TestType, NoValue, SparseMsd>(keys, {});
  CHECK((plan.frequent != 0 && plan.partitions() && plan.listed[few_valued_buckets] == 0));
}

TEMPLATE_TEST_CASE("buckets of even fewer values are counted, large ones, too", "[device]", uint32_t, int64_t,
                   float) {
  using Bits = KeyBits<TestType>;
  const uint32_t buckets = on_gpu ? 4096 : 512;
  std::mt19937_64 random(test_seed());
  // As many values as there are counters, or less, not all for the same number of warps; some more are too
  // many.
  const uint64_t of_bucket = GENERATE(16'000u, 3'000u, 300u, 40'000u);
  const uint64_t range = buckets * of_bucket;
  // Of floats those of one exponent, so that their values are as even as their bits.
  const Bits first = std::bit_cast<KeyBits<float>>(8'388'608.0f);
  std::vector<TestType> keys(buckets * 150 + random() % 1000);
  const auto key_of = [&](uint64_t above) {
    return std::bit_cast<TestType>(static_cast<Bits>(first + above));
  };
  for (TestType& key : keys) key = key_of(random() % range);
  // One value that eight bits do not count; parents that are dealt have no room for so many.
  auto with_repeated = keys;
  for (uint32_t i = 0; i < 270; ++i) with_repeated[random() % keys.size()] = key_of(range / 2);
  for (const Order order : {Order::ascending, Order::descending}) {
    const bool in_place = (order == Order::ascending) == (of_bucket == 3'000);
    const auto dealt = sort<TestType, NoValue, DealingSparse>(keys, {.order = order, .in_place = in_place});
    const auto counted =
        sort<TestType, NoValue, SparseMsd>(with_repeated, {.order = order, .in_place = !in_place});
    CHECK((dealt.was_dealt() && counted.partitions()));
    if (std::is_same_v<TestType, float> && range > 1u << 23) continue;
    for (const auto& plan : {dealt, counted})
      CHECK((plan.listed[dense_buckets] > buckets / 2) == (of_bucket < 1u << dense_value_bits));
  }
  const auto large = sort<TestType, NoValue, DenseMsd>(with_repeated, {});
  CHECK((large.listed[dense_buckets] > buckets / 4) == (of_bucket < 1u << dense_value_bits));
  for (size_t i = 0; i < keys.size(); ++i) keys[random() % keys.size()] = key_of(range / 5);
  const auto besides = sort<TestType, NoValue, SparseMsd>(keys, {});
  CHECK((besides.frequent != 0 && besides.partitions() && besides.listed[dense_buckets] == 0));
}

TEMPLATE_TEST_CASE("pairs are left with the low halves of their keys, where these tell them apart",
                   "[device]", (std::pair<uint32_t, uint32_t>), (std::pair<float, uint64_t>)) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  const uint32_t buckets = on_gpu ? 4096 : 512;
  std::mt19937_64 random(test_seed());
  const uint64_t of_bucket = GENERATE(65'000u, 40'000u, 70'000u);
  const uint64_t range = buckets * of_bucket;
  const auto first = static_cast<uint32_t>((1u << 30) + random() % 1'000'000);
  std::vector<Key> keys(buckets * 200 + random() % 1000);
  const auto key_of = [&](uint64_t above) {
    return std::bit_cast<Key>(static_cast<uint32_t>(first + above));
  };
  // One parent's buckets have too few keys, others' neighbours or one value many times.
  for (Key& key : keys) {
    const uint64_t above = random() % range;
    key = key_of(above / (range / 64) == 11 && random() % 32 != 0 ? random() % range : above);
  }
  const auto any = [&]() -> Key& { return keys[random() % keys.size()]; };
  for (size_t i = 0; i < keys.size() / 10; ++i) any() = any();
  for (uint32_t i = 0; i < 100; ++i) any() = key_of(range / 3 + i);
  for (uint32_t i = 0; i < 100; ++i) any() = key_of(range / 2);
  for (const Order order : {Order::ascending, Order::descending}) {
    const auto plan = sort<Key, Value, NarrowMsd>(
        keys, {.order = order, .in_place = (order == Order::ascending) == (of_bucket == 40'000)});
    CHECK((plan.partitions() && !plan.falls_back));
    const auto narrow = std::count(std::begin(plan.is_narrow), std::end(plan.is_narrow), 1u);
    CHECK((narrow > msd_digits / 2) == (of_bucket < 1u << few_value_bits));
    CHECK(narrow < msd_digits - 2);
    CHECK((plan.has_narrow != 0) == (narrow != 0));  // and not what has no bucket
    CHECK((plan.listed[few_valued_buckets] > buckets / 2) == (of_bucket < 1u << few_value_bits));
    CHECK((plan.listed[small_buckets] != 0 && plan.listed[crowded_buckets] != 0));
  }
}

TEST_CASE("floats that are neighbours, or come in runs, are not dealt out in vain", "[device]") {
  // A range in which the map of a sample has a bucket for each value, by chance.
  const uint64_t count = on_gpu ? 300'007 : 20'011;
  std::mt19937_64 random(test_seed());
  std::vector<float> keys(count);
  for (float& key : keys) key = std::bit_cast<float>(static_cast<uint32_t>(0x3f800000 + random() % 65'027));
  keys.front() = 1;
  keys.back() = std::bit_cast<float>(0x3f800000 + 65'027);
  CHECK_FALSE(sort<float, NoValue, DealingSmall>(keys, {}).was_dealt());
  // Each tile's keys go to few parents.
  for (uint64_t i = 0; i < count; ++i)
    keys[i] = static_cast<float>(i % (count / 7)) + static_cast<float>(random() % 256) / 256;
  const auto plan = sort<float, NoValue, DealingSmall>(keys, {});
  CHECK((!plan.falls_back && (plan.deal_failed || !on_gpu)));
}

TEST_CASE("even floats whose values come many times are left to others", "[device]") {
  std::mt19937_64 random(test_seed());
  std::vector<float> keys(on_gpu ? 300'007 : 20'011);
  const uint32_t values = on_gpu ? 40'000 : 2'000;  // more than are counted one by one
  for (float& key : keys) key = static_cast<float>(random() % values);
  const auto plan = sort<float, NoValue, DealingSmall>(keys, {});
  CHECK((plan.is_real && plan.falls_back && !plan.deals));
}

#ifndef SWEEPSORT_EMULATED
TEMPLATE_TEST_CASE("large arrays of even keys are not counted, wherever they begin and end", "[device]",
                   uint32_t, double) {
  using Policy = TunedMsd<KeyBits<TestType>, NoValue>;
  std::mt19937_64 random(test_seed());
  std::vector<TestType> keys(Policy::dealt_from + random() % 1'000'000);
  for (TestType& key : keys) key = static_cast<TestType>(1'000'000'007 + random() % 2'000'000'000);
  for (const Order order : {Order::ascending, Order::descending}) {
    const auto plan = sort<TestType, NoValue, Policy>(keys, {.order = order, .in_place = true});
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
    const auto plan = sort<TestType, NoValue, DealingSmall>(keys, {});
    CHECK((plan.deals && plan.was_dealt() == is_dealt && !plan.falls_back));
  }
}
#endif

TEMPLATE_TEST_CASE("keys that only seemed to be even are counted after all", "[device]", uint32_t, uint64_t) {
  const uint64_t count = on_gpu ? 300'007 : 30'011;
  const uint64_t pairs = count / 2;
  constexpr uint64_t samples = survey_detail::samples;
  std::mt19937_64 random(test_seed());
  std::vector<TestType> keys(count);
  for (TestType& key : keys) key = static_cast<TestType>(random());
  std::vector<bool> is_sampled(pairs);
  for (uint64_t s = 0; s < samples; ++s) is_sampled[sampled_pair(s, pairs)] = true;
  constexpr TestType parent = static_cast<TestType>(~TestType{0}) / 256;
  SECTION("many in one parent") {
    for (uint64_t p = 0; p < pairs; ++p)
      if (!is_sampled[p] && p % 8 == 0)
        keys[2 * p] = keys[2 * p + 1] = static_cast<TestType>(77 * parent + random() % parent);
  }
  SECTION("neighbours in one parent") {
    for (uint64_t p = pairs / 2; p < pairs / 2 + 600; ++p)
      if (!is_sampled[p])
        keys[2 * p] = keys[2 * p + 1] = static_cast<TestType>(5 * parent + random() % parent);
  }
  for (const bool in_place : {false, true}) {
    const auto plan = sort<TestType, NoValue, DealingSmall>(keys, {.in_place = in_place});
    CHECK((plan.deals && plan.deal_failed && plan.partitions_by_counts() && !plan.falls_back));
  }
}

TEST_CASE("each kind of keys takes the road that is meant for it", "[device]") {
  const auto plan_of = [](const char* distribution) {
    return sort<uint32_t, NoValue>(make_keys<uint32_t>(distribution, on_gpu ? 100'003 : 9'001, test_seed()),
                                   {});
  };
  for (const char* ordered : {"sorted", "all-equal"}) {
    const Plan<uint32_t> plan = plan_of(ordered);
    CHECK((plan.is_in_order() && plan.guess() == Guess::ascending));
  }
  const Plan<uint32_t> reversed = plan_of("reversed");
  CHECK((reversed.is_in_order() && reversed.guess() == Guess::descending));
  CHECK(plan_of("few-16").has_few_values());
  // A window of 65,536 values is counted wherever it begins, a wider one is not.
  std::mt19937_64 random(test_seed());
  std::vector<uint32_t> window(on_gpu ? 100'003 : 9'001);
  for (uint32_t& key : window) key = 0x70000 + random() % 65'536;
  CHECK(sort<uint32_t, NoValue>(window, {}).counts_values());
  for (uint32_t& key : window) key += 1'000;
  CHECK(sort<uint32_t, NoValue>(window, {}).counts_values());
  window[0] = *std::min_element(window.begin(), window.end()) + 65'536;
  CHECK_FALSE(sort<uint32_t, NoValue>(window, {}).counts_values());
  // Pairs of values that are neighbours are left to the LSD sort, which has few passes for them.
  if (on_gpu) {
    std::vector<uint32_t> few(300'003);
    for (uint32_t& key : few) key = static_cast<uint32_t>(random() % 65'536);
    CHECK(sort<uint32_t, uint32_t>(few, {}).falls_back);
    CHECK(sort<uint32_t, NoValue>(few, {}).counts_values());
  }
  const Plan<uint32_t> even = plan_of("uniform");
  CHECK((even.partitions() && !even.is_pieced));
  const Plan<uint32_t> uneven = plan_of("gaussian");
  CHECK((uneven.partitions() && uneven.is_pieced));
  const auto floats = make_keys<float>("uniform", on_gpu ? 100'003 : 9'001, test_seed());
  CHECK(sort<float, NoValue>(floats, {}).partitions());
  const Plan<uint32_t> nearly = plan_of("nearly-sorted");
  CHECK((!nearly.is_in_order() && nearly.partitions()));
}

TEMPLATE_TEST_CASE("frequent values are taken out, and put in where they belong", "[device]", uint32_t,
                   double) {
  using Bits = KeyBits<TestType>;
  constexpr Bits all = static_cast<Bits>(~Bits{0});
  constexpr Bits middle = all / 3;
  const uint64_t count = on_gpu ? 200'003 : 30'011;
  const std::vector<std::vector<std::pair<Bits, uint32_t>>> cases{
      {{middle, 90}},
      {{Bits{0}, 55}, {all, 25}},
      // Neighbours in one bucket, and one that few keys have between them.
      {{middle, 55}, {middle + 1, 1}, {middle + 2, 18}, {middle + 3, 10}, {middle + (all >> 20), 8}},
      {{Bits{1}, 55}, {all - 1, 20}, {middle, 8}, {all >> 1, 6}, {(all >> 1) + 1, 4}}};
  uint32_t turn = 0;
  for (const auto& shares : cases) {
    for (const Order order : {Order::ascending, Order::descending}) {
      const uint32_t number = turn++;
      const bool in_place = number % 3 == 0;
      // The emulator has time for one order and type of each case.
      if (!on_gpu && number % 4 != (std::is_same_v<TestType, double> ? 3 : 0)) continue;
      INFO("case " << turn << " " << name(order) << (in_place ? " in place" : ""));
      const auto keys = keys_with_frequent_values<TestType>(shares, count);
      const Plan<Bits> plan =
          sort<TestType, NoValue>(keys, {.order = order, .in_place = in_place, .digested = turn % 4 == 1});
      CHECK((plan.frequent != 0 && plan.partitions() && plan.keys < count));
    }
  }
}

TEMPLATE_PRODUCT_TEST_CASE("of pairs a frequent value gets a bucket of its own", "[device]", std::pair,
                           ((uint64_t, uint32_t), (int64_t, uint32_t), (double, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  using Bits = KeyBits<Key>;
  constexpr Bits all = static_cast<Bits>(~Bits{0});
  const uint64_t count = on_gpu ? 200'003 : 30'011;
  uint32_t turn = 0;
  for (const Bits value : {Bits{0}, all, static_cast<Bits>(all / 3), static_cast<Bits>(all >> 1)}) {
    for (const uint32_t share : {20u, 60u, 97u}) {
      const uint32_t number = turn++;
      // The emulator has time for some.
      if (!on_gpu && (number + number / 3) % 3 != (std::is_same_v<Key, int64_t> ? 2 : sizeof(Value) / 8))
        continue;
      const Case test{.order = number % 2 == 0 ? Order::ascending : Order::descending,
                      .in_place = number % 3 == 0,
                      .digested = number % 4 == 1,
                      .ranking = number % 5 < 2 ? Ranking::ballot : Ranking::lane_order};
      INFO(share << " % " << uint64_t{value} << " " << name(test.order)
                 << (test.in_place ? " in place" : ""));
      const auto keys = keys_with_frequent_values<Key>({{value, share}}, count);
      const Plan<Bits> plan = sort<Key, Value>(keys, test);
      CHECK((plan.has_apart != 0 && plan.partitions()));
    }
  }
  // Two of them are left to the LSD sort.
  const auto keys = keys_with_frequent_values<Key>({{Bits{1}, 50}, {all - 1, 20}}, count);
  CHECK(sort<Key, Value>(keys, {}).falls_back);
}

TEMPLATE_TEST_CASE("values that repeat are no trouble beside frequent ones", "[device]", uint32_t, double) {
  using Bits = KeyBits<TestType>;
  const uint64_t count = 30'011;  // more, and the cluster below fits no bucket
  std::mt19937_64 random(test_seed());
  // Besides one frequent value: some come dozens or hundreds of times; and a narrow cluster, in which a part
  // of a bucket has more values than a warp has lanes.
  std::vector<Bits> repeating(150);
  for (Bits& value : repeating) value = static_cast<Bits>(random());
  const Bits cluster = static_cast<Bits>(random());
  std::vector<TestType> keys(count);
  for (TestType& key : keys) {
    const uint64_t lot = random() % 100;
    const Bits bits = lot < 60   ? Bits{12345}
                      : lot < 80 ? repeating[random() % repeating.size() * (random() % 4) / 3]
                      : lot < 81 ? static_cast<Bits>(cluster + random() % 50)
                                 : static_cast<Bits>(random());
    key = std::bit_cast<TestType>(bits);
  }
  const Plan<Bits> plan = sort<TestType, NoValue>(keys, {});
  CHECK((plan.frequent != 0 && plan.partitions()));
  CHECK(plan.listed[repeating_buckets] != 0);
  CHECK(plan.listed[crowded_buckets] < plan.listed[repeating_buckets]);
}

TEMPLATE_TEST_CASE("larger buckets of few values are counted, though one comes more than 255 times",
                   "[device]", uint32_t, float, uint64_t) {
  using Bits = KeyBits<TestType>;
  const Bits lowest = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 3));
  std::mt19937_64 random(test_seed());
  std::vector<TestType> keys;
  const auto add = [&](uint32_t count, uint32_t first, uint32_t values) {
    for (uint32_t i = 0; i < count; ++i)
      keys.push_back(std::bit_cast<TestType>(static_cast<Bits>(lowest + first + random() % values)));
  };
  // Too few for a map in pieces; 512 buckets, of which the first and the last one reach to the ends of all
  // values.
  add(6400, 0, 1u << 24);
  add(600, 5u << 20, 5000);
  add(500, 9u << 20, 5000);
  add(400, (9u << 20) + 70, 1);
  std::shuffle(keys.begin(), keys.end(), random);
  std::vector<Case> cases{{.order = Order::descending, .in_place = true}};
  if (on_gpu) cases.emplace_back();
  for (const Case& test : cases) {
    const auto plan = sort<TestType, NoValue, CountedMsd>(keys, test);
    CHECK(plan.falls_back == 0);
    CHECK(plan.listed[few_valued_buckets] >= 2);
  }
}

TEMPLATE_TEST_CASE(
    "the first and the last bucket of a block find their parts by themselves, if a key is beyond", "[device]",
    uint32_t, uint64_t) {
  std::mt19937_64 random(test_seed());
  std::vector<TestType> keys(on_gpu ? 300'007 : 20'011);
  for (TestType& key : keys) key = static_cast<TestType>((5u << 24) + random() % (1u << 24));
  // One that the survey does not look at: samples are pairs of neighbours.
  uint64_t first_unseen = 0;
  for (uint64_t s = 0; sampled_pair(s, keys.size() / 2) == first_unseen; ++s) ++first_unseen;
  for (const bool is_beyond : {false, true}) {
    if (is_beyond) keys[2 * first_unseen] = 12'345;
    const auto plan = sort<TestType, NoValue, SmallMsd>(keys, {});
    CHECK(plan.map.lowest == 5u << 24);
    CHECK(plan.map.range == (1u << 24) - 1);
    CHECK(plan.falls_back == 0);
    CHECK(plan.listed[repeating_buckets] == (is_beyond ? 2 : 0));
    const auto of_pairs = sort<TestType, uint32_t, SmallMsd>(keys, {});
    CHECK(of_pairs.falls_back == 0);
    CHECK(of_pairs.listed[crowded_buckets] == (is_beyond ? 2 : 0));
  }
}

TEMPLATE_TEST_CASE("buckets follow an uneven distribution by fine pieces, too", "[device]", float, uint64_t) {
  const std::vector<TestType> keys = make_keys<TestType>(
      std::is_same_v<TestType, float> ? "uniform" : "gaussian", on_gpu ? 33'333 : 9'001, test_seed());
  const auto plan = sort<TestType, NoValue, FineMsd>(keys, {});
  CHECK(plan.is_pieced == 1);
  CHECK(plan.piece_bits == fine_piece_bits);
  CHECK(plan.falls_back == 0);
}

TEST_CASE("keys that clump together are left to another sort, if they are asked for", "[device]") {
  std::mt19937_64 random(test_seed());
  std::vector<uint64_t> clumps(300);
  for (uint64_t& first : clumps) first = random();
  std::vector<uint64_t> uniform(on_gpu ? 70'001 : 20'001);
  std::vector<uint64_t> clumped(uniform.size());
  for (uint64_t& key : uniform) key = random();
  for (uint64_t& key : clumped) key = clumps[random() % clumps.size()] + random() % 256;
  CHECK(sort<uint64_t, NoValue, FineMsd>(uniform, {}).falls_back == 0);
  CHECK(sort<uint64_t, NoValue, FineMsd>(clumped, {}).falls_back == 1);
  if (on_gpu) CHECK(sort<uint64_t, NoValue>(clumped, {}).falls_back == 0);
}

TEST_CASE("a key that is frequent leaves nothing to sort, or buckets that are still too large", "[device]") {
  const uint64_t count = on_gpu ? 200'003 : 30'011;
  std::vector<uint32_t> keys = keys_with_frequent_values<uint32_t>({{7, 50}, {1u << 30, 50}}, count);
  keys[5] = 9;
  (void)sort<uint32_t, NoValue>(keys, {});
  // What is left meets in one bucket of 2^13 values, whose neighbours are empty.
  std::mt19937_64 random(test_seed());
  keys = keys_with_frequent_values<uint32_t>({{7, 50}}, count);
  for (uint32_t& key : keys)
    if (key != 7) key = random() % 100 == 0 ? static_cast<uint32_t>(random()) : 0x40000000u + random() % 8192;
  (void)sort<uint32_t, NoValue>(keys, {});
}

TEST_CASE("few values are not counted where one finds no slot, be it the very last key", "[device]") {
  // All meet in one slot of a block's table, 4,096 slots: the high bits of their products agree. The last key
  // is one value more than find_slot tries slots, and stands behind the last whole vector.
  constexpr uint32_t inverse = 0xe8b2f51;  // of the hash's factor, modulo 2^32
  static_assert(inverse * 0x9e3779b1u == 1);
  const auto colliding = [](uint32_t i) { return inverse * ((5u << 20) + i * 997); };
  std::vector<uint32_t> keys(on_gpu ? 100'001 : 9'001);
  for (uint32_t i = 0; i < keys.size(); ++i) keys[i] = colliding(i * 7 % most_tries);
  keys.back() = colliding(most_tries);
  CHECK_FALSE(sort<uint32_t, NoValue>(keys, {}).has_few_values());
  CHECK_FALSE(sort<uint32_t, uint32_t>(keys, {}).has_few_values());
}

TEMPLATE_PRODUCT_TEST_CASE("pairs of few values are sorted by the places of these in a list", "[device]",
                           std::pair, ((uint32_t, uint32_t), (double, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  std::mt19937_64 random(test_seed());
  uint32_t turn = 0;
  // The last ones have codes of two digits.
  for (const uint32_t values : {2u, 3u, 16u, 256u, 257u, 700u}) {
    const uint32_t number = turn++;
    if (!on_gpu && number % 2 != (sizeof(Key) == 4 ? 0 : 1)) continue;
    std::vector<Key> list(values);
    for (Key& value : list) value = std::bit_cast<Key>(static_cast<KeyBits<Key>>(random()));
    if (values > 2) list[0] = std::bit_cast<Key>(KeyBits<Key>{0});
    std::vector<Key> keys(on_gpu ? 300'003 : 13'001);
    // Of a few values, half of the keys have the first two; of many, that would leave too little of each.
    for (Key& key : keys) key = list[random() % (values < 256 && random() % 2 == 0 ? 2 : values)];
    // 2 and 700 values in place; 256 and 257 descending; 16, 256 and 257 elsewhere.
    const Case test{.order = number % 5 > 2 ? Order::descending : Order::ascending,
                    .in_place = number % 5 == 0,
                    .digested = number % 4 == 3,
                    .ranking = number % 3 == 0 ? Ranking::ballot : Ranking::lane_order};
    INFO(values << " values");
    CHECK(sort<Key, Value>(keys, test).has_few_values());
  }
}

TEMPLATE_PRODUCT_TEST_CASE("pairs whose digest shows few digits are sorted by codes, or digits after all",
                           "[device]", std::pair, ((uint32_t, uint32_t), (double, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  using Bits = KeyBits<Key>;
  std::mt19937_64 random(test_seed());
  uint32_t turn = 0;
  // 0: as many values as there are keys, of eight letters a byte.
  for (const uint32_t values : {2u, 20u, 0u}) {
    const Order order = turn % 2 == 0 ? Order::ascending : Order::descending;
    const bool in_place = ++turn % 3 == 0;
    std::vector<Key> keys(on_gpu ? 300'003 : 9'001);
    std::vector<Bits> list(std::max(values, 1u));
    for (Bits& value : list) value = static_cast<Bits>(random());
    for (Key& key : keys) {
      const Bits letters = static_cast<Bits>(random() & 0x0707070707070707);
      key = std::bit_cast<Key>(values == 0 ? letters : list[random() % values]);
    }
    INFO(values << " values " << name(order) << (in_place ? " in place" : ""));
    const OnDevice session;
    const KeyMap<Bits> map = key_map<Bits>(key_type_of<Key>(), order);
    RecordArrays<Key, Value> records(keys, in_place,
                                     2 * keys.size());  // passes of records want room for both
    const MsdArrays<Bits, Value> arrays = records.arrays();
    const TestMemory<Bits, Value, SmallMsd> memory(arrays.count);
    const auto& workspace = memory.workspace();
    const std::vector<Digest<Bits>> nothing(1);
    const DeviceArray<Digest<Bits>> taken{std::span<const Digest<Bits>>(nothing)};
    digest(DeviceSpan<const Bits>(arrays.keys_in, arrays.count), map, taken.data(), nullptr);
    SortPlan<Bits>* const plan = workspace.plan.data();
    const CodePasses<Bits> codes{plan, workspace.onesweep.offsets.data(), workspace.onesweep.offsets_stride(),
                                 in_place};
    const SortTask task{
        .count = arrays.count,
        .algorithm = SortAlgorithm::automatic,
        .with_values = true,
        .in_place = in_place,
        .may_pass_records = may_pass_records<Bits, Value, TunedOnesweep<Bits, Value>>(arrays.count),
        .may_pack = may_come_second<Bits, TunedOnesweep<Bits, Value>>(arrays.count)};
    make_sort_plan(static_cast<const Digest<Bits>*>(taken.data()), task, map, nullptr, plan, codes.offsets,
                   codes.offsets_stride, {arrays.keys_in, &workspace.msd.plan.data()->maybe_few}, nullptr);
    count_few_values(arrays, MsdSettings<Bits>{.map = map, .codes = codes}, workspace.msd, nullptr);
    sort_by_plan<Ranking::ballot>(arrays, workspace);
    memory.check_zones();
    records.require_sorted(order);
    SortPlan<Bits> made;
    check(cudaMemcpy(&made, plan, sizeof(made), cudaMemcpyDeviceToHost));
    if (values != 0)
      CHECK(made.live_digits == 1);
    else if (task.may_pack)  // three bits a byte vary; of doubles, whose order is no exclusive or, some more
      CHECK(made.live_digits <= sizeof(Bits) / 2);
    else
      CHECK(made.live_digits == sizeof(Bits));
  }
}

TEST_CASE("pairs pass as records where their digits are many, and none of them is hot", "[device]") {
  const auto [distribution, as_records] =
      GENERATE(table<const char*, bool>({{"uniform", true},
                                         {"zipf-hashed", true},
                                         {"block-alternating", false},  // 16 digits at each place
                                         {"and5", false}}));            // one that most keys have
  INFO(distribution);
  const OnDevice session;
  const DeviceArray<uint32_t> keys{
      std::span<const uint32_t>(make_keys<uint32_t>(distribution, 20'000, test_seed()))};
  const std::vector<Digest<uint32_t>> no_digest(1);
  const DeviceArray<Digest<uint32_t>> taken{std::span<const Digest<uint32_t>>(no_digest)};
  digest(DeviceSpan<const uint32_t>(keys.data(), keys.size()), {}, taken.data(), nullptr);
  const std::vector<SortPlan<uint32_t>> no_plan(1);
  const DeviceArray<SortPlan<uint32_t>> plan{std::span<const SortPlan<uint32_t>>(no_plan)};
  const DeviceArray<uint64_t> offsets(digit_places<uint32_t> * digit_values);
  const SortTask task{.count = keys.size(),
                      .algorithm = SortAlgorithm::radix,
                      .with_values = true,
                      .in_place = false,
                      .may_pass_records = true};
  make_sort_plan<uint32_t>(taken.data(), task, {}, nullptr, plan.data(), offsets.data(), digit_values, {},
                           nullptr);
  CHECK((plan.download()[0].as_records != 0) == as_records);
}

#ifdef SWEEPSORT_EMULATED
TEMPLATE_TEST_CASE("a bucket map never falls, and a bucket's interval holds its keys and no others", "",
                   uint32_t, uint64_t) {
  std::mt19937_64 random(test_seed());
  const auto any_bits = [&] {
    return static_cast<TestType>(random() >> (64 - sizeof(TestType) * 8 + random() % 24));
  };
  for (int round = 0; round < 2000; ++round) {
    const TestType lowest = round % 4 == 0 ? TestType{0} : any_bits();
    const TestType room = static_cast<TestType>(~lowest);
    const TestType range =
        round % 4 == 0 ? room : std::min(room, static_cast<TestType>(any_bits() >> (round % 30)));
    const uint32_t buckets = 1u << (9 + round % 8);
    const auto map = BucketMap<TestType>::over(lowest, range, buckets);
    const uint32_t piece_bits = round % 2 == 0 ? coarse_piece_bits : fine_piece_bits;
    std::vector<MapPiece> pieces(1u << piece_bits);
    const bool is_pieced = round % 3 == 0;
    uint32_t given = 0;
    for (uint32_t piece = 0; piece < pieces.size(); ++piece) {
      const auto more = static_cast<uint32_t>(random() % 4 != 0 ? 0 : random() % (buckets - given) / 8);
      pieces[piece] = given | more << 16;
      given += more;
    }
    const auto bucket_of = [&](TestType key) {
      return is_pieced ? PiecedBuckets<TestType>{map, pieces.data(), piece_bits}(key)
                       : LinearBuckets<TestType>{map}(key);
    };
    INFO("lowest " << lowest << " range " << range << " buckets " << buckets);
    std::vector<TestType> keys{0, lowest, static_cast<TestType>(lowest + range),
                               static_cast<TestType>(~TestType{0})};
    for (int k = 0; k < 60; ++k) {
      keys.push_back(any_bits());
      keys.push_back(static_cast<TestType>(lowest + any_bits() % (range == room ? range : range + 1)));
    }
    std::sort(keys.begin(), keys.end());
    uint32_t last = 0;
    for (const TestType key : keys) {
      const uint32_t bucket = bucket_of(key);
      const auto interval = is_pieced
                                ? interval_of(PiecedBuckets<TestType>{map, pieces.data(), piece_bits}, bucket)
                                : interval_of(LinearBuckets<TestType>{map}, bucket);
      const bool is_right =
          bucket >= last && bucket < buckets && interval.first <= key && key <= interval.last &&
          (interval.first == 0 || bucket_of(static_cast<TestType>(interval.first - 1)) < bucket) &&
          (static_cast<TestType>(~interval.last) == 0 ||
           bucket_of(static_cast<TestType>(interval.last + 1)) > bucket);
      if (!is_right)
        FAIL("key " << key << " bucket " << bucket << " [" << interval.first << ", " << interval.last << "]");
      last = bucket;
    }
  }
}

TEMPLATE_TEST_CASE("a bucket of floats begins with the least key that its map gives to it", "", uint32_t,
                   uint64_t) {
  using Real = typename RealBuckets<TestType>::Real;
  std::mt19937_64 random(test_seed());
  int found = 0;
  for (const Order order : {Order::ascending, Order::descending}) {
    const KeyMap<TestType> map = key_map<TestType>(key_type_of<Real>(), order);
    for (int round = 0; round < 300; ++round) {
      const auto any_real = [&] {
        const auto fraction =
            static_cast<Real>(static_cast<int64_t>(random())) / static_cast<Real>(1ull << 63);
        return std::ldexp(fraction, static_cast<int>(random() % 60) - 30);
      };
      const TestType one = map.to_ordered(std::bit_cast<TestType>(any_real()));
      const TestType other = map.to_ordered(std::bit_cast<TestType>(round % 4 == 0 ? Real{0} : any_real()));
      if (one == other) continue;
      const uint32_t buckets = 2u << random() % 15;
      const auto real = RealBuckets<TestType>::over(std::min(one, other), std::max(one, other),
                                                    round % 2 == 0 ? Real{0} : Real{1} / 64, buckets, map);
      if (!real.is_usable()) continue;
      for (int k = 0; k < 20; ++k) {
        const auto bucket = static_cast<uint32_t>(random() % (buckets + 1));
        INFO(name(order) << " from " << real.lowest << " to " << real.highest << ", " << bucket << " of "
                         << buckets);
        bool behind = false;
        const TestType first = real.first_key(bucket, behind);
        const auto all = static_cast<TestType>(~TestType{0});
        if (behind != (real(all) < bucket)) FAIL("behind: " << behind);
        if (behind) continue;
        if (real(first) < bucket || (first != 0 && real(static_cast<TestType>(first - 1)) >= bucket))
          FAIL("not the first: " << first);
        ++found;
      }
    }
  }
  CHECK(found > 5'000);
}

TEST_CASE("a sample's places are all there, and the first ones as far from each other as all", "") {
  using namespace survey_detail;
  for (const uint32_t places : {places_a_round, piece_places, fine_piece_places}) {
    const CollectedSample<uint32_t> sample{nullptr, nullptr, places};
    for (uint32_t first = places_a_round; first <= places; first *= 2) {
      INFO("the first " << first << " of " << places);
      std::vector<uint32_t> found;
      std::vector<uint32_t> expected;
      for (uint32_t at = 0; at < first; ++at) {
        found.push_back(sample.place_at(at));
        expected.push_back(at * (places / first));
      }
      std::ranges::sort(found);
      REQUIRE(found == expected);
    }
  }
}

TEMPLATE_TEST_CASE("a map around samples covers the block of 2^k values whose ends lie within the slack", "",
                   uint32_t, uint64_t) {
  std::mt19937_64 random(test_seed());
  constexpr uint32_t bits = sizeof(TestType) * 8;
  constexpr uint32_t buckets = 512;
  for (uint32_t block_bits = 12; block_bits <= bits; ++block_bits) {
    const auto inside = static_cast<TestType>(static_cast<TestType>(~TestType{0}) >> (bits - block_bits));
    const auto begin = static_cast<TestType>(static_cast<TestType>(random()) & ~inside);
    const TestType slack = inside / 64;
    const auto least = static_cast<TestType>(begin + random() % slack);
    const auto most = static_cast<TestType>(begin + inside - random() % slack);
    INFO("least " << least << " most " << most << " slack " << slack);

    const LinearBuckets<TestType> block{BucketMap<TestType>::filling(least, most, slack, buckets)};
    CHECK(block.map.lowest == begin);
    CHECK(block.map.range == inside);
    if (block_bits < 64) {
      CHECK(block.may_hold(uint64_t{inside} + 1));
      CHECK_FALSE(block.may_hold(uint64_t{inside} + 2));
    }
    const auto interval = interval_of(block, buckets / 2);
    CHECK(interval.first == static_cast<TestType>(begin + inside / 2 + 1));
    CHECK(static_cast<TestType>(interval.last - interval.first) == inside / buckets);
    CHECK_FALSE(interval.is_open);
    CHECK(interval_of(block, 0).is_open == (begin != 0));
    CHECK(interval_of(block, buckets - 1).is_open ==
          (static_cast<TestType>(begin + inside) != static_cast<TestType>(~TestType{0})));

    const auto higher = static_cast<TestType>(begin + slack + 1);
    const auto beside = BucketMap<TestType>::filling(higher, most, slack, buckets);
    const auto all = static_cast<TestType>(~TestType{0});
    CHECK(beside.lowest == begin + 1);
    CHECK(beside.lowest + beside.range == (most < all - slack ? static_cast<TestType>(most + slack) : all));
  }
}
#endif
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
      sort_on_device<Ranking::ballot>(
          arrays,
          MsdSettings<TestType>{
              .map = map, .digest = is_digested ? taken.data() : nullptr, .wanted = wanted.data()},
          memory.workspace());
      Plan<TestType> plan;
      check(cudaMemcpy(&plan, memory.workspace().msd.plan.data(), sizeof(plan), cudaMemcpyDeviceToHost));
      CHECK((plan.is_not_wanted && !plan.falls_back));
      records.check_zones();
      records.require_kept_input();
    }
}

}  // namespace sweepsort
