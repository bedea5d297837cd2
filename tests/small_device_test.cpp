// small_device_test.cpp - the sorts on a device that has neither the shared memory nor the instructions of
// compute capability 9.0. On the emulator, which refuses the launches that such a device would refuse.
#include "catch.hpp"
#include "datasets/distributions.hpp"
#include "device_sort_cases.hpp"
#include "kernels/device_abilities.cuh"
#include "kernels/histogram.cuh"
#include "kernels/policy.cuh"
#include "kernels/radix_rank.cuh"

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sweepsort {
namespace {

template <class Key, class Value>
constexpr uint64_t tile = PortableOnesweep<UnsignedOf<sizeof(Key)>, Value>::tile;

#ifdef __SANITIZE_ADDRESS__
constexpr uint32_t shares = 3;  // each width takes a third of the distributions
#else
constexpr uint32_t shares = 1;
#endif

template <class Key, class F>
void for_each_distribution(F f) {
  uint32_t turn = 0;
  for (const Distribution& distribution : all_distributions())
    if (distribution.suits(key_type_of<Key>()) && turn++ % shares == sizeof(Key) % shares)
      f(std::string(distribution.name), turn);
}

/// The algorithm that sorts these keys without values.
template <class Key>
DeviceSortOutcome::Algorithm algorithm_of(const std::string& distribution, uint64_t count,
                                          SortAlgorithm algorithm) {
  const OnDevice session;
  const auto input = make_keys<Key>(distribution, count, test_seed());
  const DeviceArray<Key> keys{std::span<const Key>(input)};
  const DeviceSort sort{.type = key_type_of<Key>(),
                        .algorithm = algorithm,
                        .count = count,
                        .keys_in = keys.data(),
                        .keys_out = keys.data()};
  const DeviceArray<std::byte> memory(device_sort_workspace_bytes(sort));
  device_sort(sort, Workspace(memory.span()), nullptr);
  return device_sort_outcome(sort, Workspace(memory.span()), nullptr).algorithm;
}

}  // namespace

TEST_CASE("launches do not overlap and blocks have 64 KiB on a device of 7.5", "[device]") {
  const OnSmallDevices small;
  const OnDevice session;
  const DeviceAbilities abilities = device_abilities();
  CHECK(abilities.code == 75);
  CHECK(abilities.shared_bytes == 64 * 1024);
  CHECK_FALSE(abilities.is_full());
  CHECK_FALSE(abilities.overlaps_launches());
  CHECK(abilities.cluster_blocks == 0);
}

TEST_CASE("a device of 12.0, which has 99 KiB per block, is not a full one, but its launches overlap",
          "[device]") {
  const simt::Session session{.compute_capability = 120, .shared_bytes_of_block = 99 * 1024};
  CHECK_FALSE(device_abilities().is_full());
  CHECK(device_abilities().overlaps_launches());
}

TEST_CASE("a device whose atomics take lanes in another order is found out", "[device]") {
  for (const bool in_order : {true, false}) {
    const simt::Session session{.multiprocessors = 1, .atomics_in_lane_order = in_order};
    const std::vector<uint32_t> zero{0};
    const DeviceArray<uint32_t> exceptions{std::span<const uint32_t>(zero)};
    test_lane_order(exceptions.data(), nullptr);
    CHECK((exceptions.download().front() == 0) == in_order);
  }
}

TEMPLATE_TEST_CASE("a small device sorts keys of every width", "[device]", uint8_t, uint16_t, uint32_t,
                   uint64_t) {
  const OnSmallDevices small;
  constexpr uint64_t one = tile<TestType, NoValue>;
  for (const uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{33}, one - 1, one, one + 1, 2 * one + 1}) {
    sort_keys<TestType>({.count = count});
    sort_keys<TestType>({.count = count, .order = Order::descending, .in_place = true});
  }
  for_each_distribution<TestType>([](const std::string& which, uint32_t turn) {
    sort_keys<TestType>({.distribution = which,
                         .count = 7'001,
                         .order = turn % 2 == 0 ? Order::ascending : Order::descending,
                         .algorithm = turn % 3 == 0 ? SortAlgorithm::radix : SortAlgorithm::automatic,
                         .in_place = turn % 4 < 2});
  });
}

TEMPLATE_PRODUCT_TEST_CASE("a small device sorts pairs stably", "[device]", std::pair,
                           ((uint8_t, uint32_t), (int8_t, uint64_t), (uint16_t, uint32_t),
                            (uint16_t, uint64_t), (uint32_t, uint32_t), (float, uint64_t),
                            (uint64_t, uint32_t), (int64_t, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  const OnSmallDevices small;
  constexpr uint64_t one = tile<Key, Value>;
  for (const uint64_t count : {uint64_t{0}, uint64_t{1}, one - 1, one, 2 * one + 1})
    sort_pairs<Key, Value>({.count = count});
  for_each_distribution<Key>([](const std::string& which, uint32_t turn) {
    if (turn % 2 != sizeof(Value) / 4 % 2) return;  // values of the other width take the other half
    sort_pairs<Key, Value>({.distribution = which,
                            .count = 5'003,
                            .order = turn % 3 == 0 ? Order::descending : Order::ascending,
                            .in_place = turn % 4 < 2});
  });
}

TEST_CASE("a small device counts keys where that is asked for, and bytes", "[device]") {
  const OnSmallDevices small;
  for (const Order order : {Order::ascending, Order::descending}) {
    const auto test = [&](const char* distribution, uint64_t count) {
      return Case{.distribution = distribution,
                  .count = count,
                  .order = order,
                  .algorithm = SortAlgorithm::counting,
                  .in_place = order == Order::descending};
    };
    sort_keys<uint16_t>(test("uniform", 5'001));
    sort_keys<uint32_t>(test("small-range-65536", 6'001));
    sort_keys<int64_t>(test("small-range-256", 3'001));
    sort_pairs<uint32_t, uint32_t>(test("small-range-256", 5'999));
  }
  using Algorithm = DeviceSortOutcome::Algorithm;
  CHECK(algorithm_of<uint8_t>("uniform", 4'000, SortAlgorithm::automatic) == Algorithm::counting);
  CHECK(algorithm_of<uint16_t>("uniform", 4'000, SortAlgorithm::automatic) == Algorithm::radix);
  CHECK(algorithm_of<uint16_t>("uniform", 4'000, SortAlgorithm::counting) == Algorithm::counting);
  CHECK(algorithm_of<uint32_t>("uniform", 4'000, SortAlgorithm::counting) == Algorithm::unsuitable);
  CHECK(algorithm_of<uint32_t>("uniform", 4'000, SortAlgorithm::automatic) == Algorithm::radix);
}

TEST_CASE("a small device digests chunks and carries offsets through portions", "[device]") {
  const OnSmallDevices small;
  sort_keys<uint32_t>({.count = 10'000, .chunks = {3, 4'093, 1, 5'000, 903}});
  sort_keys<uint16_t>({.count = 5'000, .in_place = true, .chunks = {2'500, 2'499, 1}});
  sort_keys<uint8_t>({.distribution = "nearly-sorted", .count = 5'000, .chunks = {7, 4'993}});
  sort_keys<uint64_t>({.count = 9'000, .portion_keys = 3'000});
  sort_pairs<uint32_t, uint64_t>({.distribution = "few-16", .count = 9'000, .portion_keys = 6'000});
}

TEST_CASE("a workspace is large enough for whatever device the sort will meet", "[device]") {
  DeviceSort sort{.type = KeyType::u64, .count = 50'000, .value_bytes = 8};
  const size_t before = device_sort_workspace_bytes(sort);
  const OnSmallDevices small;
  const OnDevice session;
  CHECK(device_sort_workspace_bytes(sort) == before);
}

}  // namespace sweepsort
