// msd_values_test.cpp - what the MSD sort does with keys that have few values, or some frequent ones.
#include "catch.hpp"
#include "msd_run.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace sweepsort {

TEMPLATE_TEST_CASE("frequent values are taken out, and put in where they belong", "[device]", uint32_t,
                   double) {
  using Bits = BitsOf<TestType>;
  constexpr Bits all = static_cast<Bits>(~Bits{0});
  constexpr Bits middle = all / 3;
  const uint64_t count = on_gpu ? 200'003 : 30'011;
  const std::vector<std::vector<std::pair<Bits, uint32_t>>> cases{
      {{middle, 90}},
      {{Bits{0}, 55}, {all, 25}},
      // Neighbours in one bucket; few keys have the value between them.
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
      const MsdPlan<Bits> plan = msd_sort<TestType, NoValue>(
          keys, {.order = order, .in_place = in_place, .digest = digest_taken(turn)});
      CHECK((plan.frequent.count != 0 && plan.partitions() && plan.keys < count));
    }
  }
}

TEMPLATE_PRODUCT_TEST_CASE("of pairs a frequent value gets a bucket of its own", "[device]", std::pair,
                           ((uint64_t, uint32_t), (int64_t, uint32_t), (double, uint64_t),
                            (uint32_t, uint32_t), (float, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  using Bits = BitsOf<Key>;
  constexpr Bits all = static_cast<Bits>(~Bits{0});
  const uint64_t count = on_gpu ? 200'003 : 30'011;
  uint32_t turn = 0;
  for (const Bits value : {Bits{0}, all, static_cast<Bits>(all / 3), static_cast<Bits>(all >> 1)}) {
    for (const uint32_t share : {20u, 60u, 97u}) {
      const uint32_t number = turn++;
      // The emulator has time for some of them.
      constexpr bool is_float = std::is_floating_point_v<Key>;
      constexpr uint32_t type = sizeof(Key) == 4 ? 3 + is_float : is_float ? 2 : std::is_signed_v<Key>;
      if (!on_gpu && number % 5 != type) continue;
      const MsdCase test{.order = number % 2 == 0 ? Order::ascending : Order::descending,
                         .in_place = number % 3 == 0,
                         .digest = digest_taken(number)};
      INFO(share << " % " << uint64_t{value} << " " << name(test.order)
                 << (test.in_place ? " in place" : ""));
      const auto keys = keys_with_frequent_values<Key>({{value, share}}, count);
      const MsdPlan<Bits> plan = msd_sort<Key, Value>(keys, test);
      CHECK((plan.apart.exists != 0 && plan.partitions()));
    }
  }
  // Keys with two such values are left to the LSD sort.
  const auto keys = keys_with_frequent_values<Key>({{Bits{1}, 50}, {all - 1, 20}}, count);
  CHECK(msd_sort<Key, Value>(keys, {}).falls_back);
}

TEMPLATE_TEST_CASE("values that repeat are no trouble beside frequent ones", "[device]", uint32_t, double) {
  using Bits = BitsOf<TestType>;
  const uint64_t count = 30'011;  // with more, the cluster below fits into no bucket
  std::mt19937_64 random(test_seed());
  // Besides one frequent value, some values come dozens or hundreds of times. There is also a narrow cluster,
  // in which a part of a bucket has more values than a warp has lanes.
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
  const MsdPlan<Bits> plan = msd_sort<TestType, NoValue>(keys, {});
  CHECK((plan.frequent.count != 0 && plan.partitions()));
  CHECK(plan.listed[repeating_buckets] != 0);
  CHECK(plan.listed[crowded_buckets] < plan.listed[repeating_buckets]);
}

TEST_CASE("a key that is frequent leaves little to sort, or buckets that are still too large", "[device]") {
  std::vector<uint32_t> keys = keys_with_frequent_values<uint32_t>({{7, 99}}, on_gpu ? 200'003 : 30'011);
  const auto little = msd_sort<uint32_t, NoValue>(keys, {});
  CHECK((little.frequent.count != 0 && little.partitions() && !little.falls_back));
  // Where no sample looks, many of the other keys meet in one bucket.
  std::mt19937_64 random(test_seed());
  keys = keys_with_frequent_values<uint32_t>({{7, 65}}, on_gpu ? 200'003 : 90'011);
  const auto is_sampled = sampled_keys<uint32_t>(keys.size(), survey_detail::piece_places);
  for (uint64_t i = 0; i < keys.size(); ++i)
    if (!is_sampled[i] && keys[i] != 7) keys[i] = static_cast<uint32_t>(0x40000000 + random() % 8192);
  const auto too_large = msd_sort<uint32_t, NoValue>(keys, {});
  CHECK((too_large.frequent.count != 0 && too_large.has_too_large && too_large.falls_back));
}

TEST_CASE("few values are not counted where one finds no slot, be it the very last key", "[device]") {
  // All keys meet in one slot of a block's table of 4,096 slots, because the high bits of their products
  // agree. There is one value more than the number of slots that find_slot tries; it is the last key, behind
  // the last whole vector.
  constexpr uint32_t inverse = 0xe8b2f51;  // of the hash's factor, modulo 2^32
  static_assert(inverse * 0x9e3779b1u == 1);
  const auto colliding = [](uint32_t i) { return inverse * ((5u << 20) + i * 997); };
  std::vector<uint32_t> keys(on_gpu ? 100'001 : 9'001);
  for (uint32_t i = 0; i < keys.size(); ++i) keys[i] = colliding(i * 7 % max_tries);
  keys.back() = colliding(max_tries);
  CHECK_FALSE(msd_sort<uint32_t, NoValue>(keys, {}).has_few_values());
  CHECK_FALSE(msd_sort<uint32_t, uint32_t>(keys, {}).has_few_values());
}

TEMPLATE_PRODUCT_TEST_CASE("pairs of few values are sorted by the places of these in a list", "[device]",
                           std::pair, ((uint32_t, uint32_t), (double, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  std::mt19937_64 random(test_seed());
  uint32_t turn = 0;
  // The last of these numbers of values need codes of two digits.
  for (const uint32_t values : {2u, 3u, 16u, 256u, 257u, 700u}) {
    const uint32_t number = turn++;
    if (!on_gpu && number % 2 != (sizeof(Key) == 4 ? 0 : 1)) continue;
    std::vector<Key> list(values);
    for (Key& value : list) value = std::bit_cast<Key>(static_cast<BitsOf<Key>>(random()));
    if (values > 2) list[0] = std::bit_cast<Key>(BitsOf<Key>{0});
    std::vector<Key> keys(on_gpu ? 300'003 : 13'001);
    // With few values, half of the keys have the first two. With many, that would leave too few keys for
    // each.
    for (Key& key : keys) key = list[random() % (values < 256 && random() % 2 == 0 ? 2 : values)];
    // In place: 2 and 700 values. Descending: 256 and 257. Out of place: 16, 256 and 257.
    const MsdCase test{.order = number % 5 > 2 ? Order::descending : Order::ascending,
                       .in_place = number % 5 == 0,
                       .digest = digest_taken(number)};
    INFO(values << " values");
    CHECK(msd_sort<Key, Value>(keys, test).has_few_values());
  }
}

TEMPLATE_PRODUCT_TEST_CASE("records whose digest shows few digits are counted, or sorted by digits after all",
                           "[device]", std::pair,
                           ((uint32_t, uint32_t), (double, uint64_t), (uint32_t, NoValue))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  using Bits = BitsOf<Key>;
  constexpr bool with_values = !std::is_same_v<Value, NoValue>;
  std::mt19937_64 random(test_seed());
  uint32_t turn = 0;
  // 0: as many values as there are keys, made of eight letters per byte.
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
                                     2 * keys.size());  // passes of records need room for both
    const SortArrays<Bits, Value> arrays = records.arrays();
    const TestMemory<Bits, Value, SmallMsd> memory(arrays.count);
    const auto& workspace = memory.workspace();
    const std::vector<Digest<Bits>> nothing(1);
    const DeviceArray<Digest<Bits>> taken{std::span<const Digest<Bits>>(nothing)};
    digest(DeviceSpan<const Bits>(arrays.keys_in, arrays.count), map, taken.data(), nullptr);
    SortPlan<Bits>* const plan = workspace.plan.data();
    uint64_t* const offsets = workspace.onesweep.offsets.data();
    const uint64_t stride = workspace.onesweep.offsets_stride();
    const CodePasses<Bits> codes{plan, with_values ? offsets : nullptr, stride, in_place};
    const SortTask task{
        .count = arrays.count,
        .algorithm = SortAlgorithm::automatic,
        .with_values = with_values,
        .in_place = in_place,
        .may_pass_records = may_pass_records<Bits, Value, TunedOnesweep<Bits, Value>>(arrays.count),
        .may_pack = may_come_second<Bits, TunedOnesweep<Bits, Value>>(arrays.count)};
    make_sort_plan(static_cast<const Digest<Bits>*>(taken.data()), task, map, nullptr, plan, offsets, stride,
                   {arrays.keys_in, &workspace.msd.plan.data()->maybe_few}, nullptr);
    count_few_values(arrays, MsdSettings<Bits>{.map = map, .codes = codes}, workspace.msd, nullptr);
    if constexpr (!with_values)
      counting_detail::expand(nullptr, 0, DeviceSpan<Bits>(arrays.keys_out, arrays.count), map,
                              static_cast<const SortPlan<Bits>*>(plan), nullptr);
    sort_by_plan(arrays, workspace);
    memory.check_zones();
    records.require_sorted(order);
    SortPlan<Bits> made;
    check(cudaMemcpy(&made, plan, sizeof(made), cudaMemcpyDeviceToHost));
    CHECK(made.scatters == (values == 0 || with_values));
    CHECK((made.method == Method::counting) == (values != 0));
    if (values != 0 && with_values) CHECK(made.live_digits == 1);
    if (values != 0) continue;
    if (task.may_pack)  // three bits per byte vary; in doubles some more, as their order is no exclusive or
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
                                         {"and5", false}}));            // one digit that most keys have
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

}  // namespace sweepsort
