// device_sort_test.cpp - checks the kernels' sorts against the oracle. Compiled twice: for the emulator,
// where every commit runs it, and for a GPU.
#include "backend/cuda_sort.hpp"
#include "catch.hpp"
#include "datasets/distributions.hpp"
#include "device_sort_cases.hpp"
#include "kernels/policy.cuh"

#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sweepsort {
namespace {

/// The sizes at which something changes: zero, one, a warp, a vector, a tile, a few tiles, each with its
/// neighbours.
template <class Key>
std::vector<uint64_t> sizes(uint32_t value_bytes) {
  uint64_t tile = 0;
  for (const OnesweepRow& row : onesweep_rows)
    if (row.key_bytes == sizeof(Key) && row.value_bytes == value_bytes)
      tile = row.threads * row.keys_per_thread;
  std::vector<uint64_t> result{0, 1, 2, 31, 32, 33, 255, 257, 1000};
  for (const uint64_t tiles : on_gpu ? std::vector<uint64_t>{1, 2, 3, 64} : std::vector<uint64_t>{1, 2}) {
    result.push_back(tile * tiles - 1);
    result.push_back(tile * tiles);
    result.push_back(tile * tiles + 1);
  }
  return result;
}

#ifdef __SANITIZE_ADDRESS__
constexpr uint64_t max_emulated = 9'001;  // sanitizers make it three times slower
constexpr bool takes_turns = true;
#else
constexpr uint64_t max_emulated = 20'000;
constexpr bool takes_turns = false;
#endif

/// Records per distribution on the emulator: more than the smaller one-block sorts take.
constexpr uint64_t few_emulated = takes_turns ? 5'001 : 9'001;
/// The same if distributions take turns. Each one-block sort gets some of them.
constexpr uint64_t few_by_turn(uint32_t turn) {
  constexpr uint64_t counts[] = {few_emulated, 2'001, 4'001};
  return counts[turn % 3];
}

/// Calls f for the distributions that suit a type, with a number. What varies besides the distribution goes
/// by that number where there is no time for every combination.
template <class Key, class F>
void for_each_distribution(F f) {
  uint32_t turn = 0;
  for (const Distribution& distribution : all_distributions())
    if (distribution.suits(key_type_of<Key>())) f(std::string(distribution.name), turn++);
}

constexpr bool is_costly(uint64_t count) { return !on_gpu && count > max_emulated; }

/// What the sorts of one block, of a cluster and of a small grid take at most, and one record more. On the
/// emulator, limits up to `most_emulated`.
template <class Key>
std::vector<Case> borders_of_small_sorts(uint64_t most_emulated) {
  using Cluster = ClusterGridSort<uint32_t, NoValue>;
  using Grid = SmallGridSort<uint32_t, NoValue>;
  std::vector<uint32_t> limits{OneBlockPolicy::Small::max_keys, OneBlockPolicy::max_keys,
                               Cluster::max_blocks * Cluster::max_share};
  if (sizeof(Key) == 1) limits = {ByteSortPolicy::max_keys};
  if (on_gpu) limits.push_back(Grid::max_blocks * Grid::max_share);
  std::vector<Case> result;
  for (const uint64_t limit : limits)
    for (const bool is_above : {false, true})
      if (on_gpu || limit <= most_emulated)
        result.push_back({.count = limit + is_above, .in_place = is_above, .multiprocessors = 16});
  return result;
}

}  // namespace

TEMPLATE_TEST_CASE("keys of every size come out sorted", "[device]", uint8_t, uint16_t, uint32_t, uint64_t) {
  for (const uint64_t count : sizes<TestType>(0))
    for (const SortAlgorithm algorithm : {SortAlgorithm::automatic, SortAlgorithm::radix}) {
      sort_keys<TestType>({.count = count, .algorithm = algorithm});
      if (is_costly(count)) continue;
      sort_keys<TestType>({.count = count, .algorithm = algorithm, .in_place = true});
      sort_keys<TestType>({.count = count, .algorithm = algorithm, .portable = true});
    }
  for (const Case& border : borders_of_small_sorts<TestType>(max_emulated)) sort_keys<TestType>(border);
}

TEMPLATE_TEST_CASE("keys of every type, order and distribution come out sorted", "[device]", uint8_t, int8_t,
                   uint16_t, int16_t, uint32_t, int32_t, float, uint64_t, int64_t, double) {
  // The types of one width share its kernels and differ only in the map of their bits. On the emulator,
  // unsigned types are sorted both ways in both orders, other types one way in each order. Under sanitizers,
  // each distribution takes one of the orders, and its neighbour takes the other.
  const bool all_orders = on_gpu || std::is_unsigned_v<TestType>;
  for_each_distribution<TestType>([&](const std::string& which, uint32_t turn) {
    const uint64_t count = on_gpu ? 1'000'003 : few_by_turn(turn);
    for (const Order order : {Order::ascending, Order::descending}) {
      // Fewer keys than are usually counted.
      if (sizeof(TestType) <= 2 && (on_gpu || turn % 4 == (order == Order::ascending ? 1 : 3)))
        sort_keys<TestType>({.distribution = which,
                             .count = on_gpu ? count : 3 * few_emulated,
                             .order = order,
                             .algorithm = SortAlgorithm::counting,
                             .in_place = turn % 2 == 0});
      if (takes_turns && (order == Order::ascending) != (turn % 2 == 0)) continue;
      if (all_orders || order == Order::ascending)
        sort_keys<TestType>({.distribution = which, .count = count, .order = order});
      if (all_orders || order == Order::descending)
        sort_keys<TestType>({.distribution = which,
                             .count = count,
                             .order = order,
                             .algorithm = SortAlgorithm::radix,
                             .in_place = true});
    }
  });
}

TEMPLATE_PRODUCT_TEST_CASE("pairs are sorted stably", "[device]", std::pair,
                           ((uint8_t, uint32_t), (uint16_t, uint64_t), (uint32_t, uint32_t),
                            (uint32_t, uint64_t), (float, uint32_t), (uint64_t, uint32_t),
                            (int64_t, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  for (const uint64_t count : sizes<Key>(sizeof(Value))) sort_pairs<Key, Value>({.count = count});
  if (sizeof(Key) >= 4)  // others have no small sorts
    for (const Case& border : borders_of_small_sorts<Key>(few_emulated)) sort_pairs<Key, Value>(border);
  const uint64_t count = on_gpu ? 500'009 : few_emulated;
  // The order only changes the map of the keys' bits, and `in_place` only the choice of buffers. On the
  // emulator, one width takes all four combinations, the others take two.
  const bool all_combinations = on_gpu || std::is_same_v<Key, uint32_t>;
  for_each_distribution<Key>([&](const std::string& which, uint32_t turn) {
    uint32_t combination = 0;
    for (const Order order : {Order::ascending, Order::descending})
      for (const bool in_place : {false, true}) {
        if (!all_combinations && in_place != (order == Order::descending)) continue;
        if (takes_turns && combination++ % 2 != turn % 2) continue;
        sort_pairs<Key, Value>({.distribution = which, .count = count, .order = order, .in_place = in_place});
      }
    if (!takes_turns || turn % 3 == 0)
      sort_pairs<Key, Value>({.distribution = which, .count = count, .portable = true});
  });
}

TEMPLATE_PRODUCT_TEST_CASE("pairs are sorted stably by passes of records and of columns", "[device]",
                           std::pair, ((uint32_t, uint32_t), (float, uint32_t), (int64_t, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  const uint64_t tile = TunedOnesweep<std::conditional_t<sizeof(Key) == 4, uint32_t, uint64_t>, Value>::tile;
  const uint64_t least = min_record_bytes / (sizeof(Key) + sizeof(Value));
  // Half of a tile of records is in the memory of the keys, half in that of the values. One pair is left
  // over.
  const std::vector<uint64_t> counts =
      on_gpu ? std::vector<uint64_t>{least + tile + 1} : std::vector<uint64_t>{tile - 1, 3 * tile + 1};
  uint32_t turn = 0;
  // Spread-out digits, some of them frequent; and hot digits, which pass as columns.
  for (const char* const distribution : {"uniform", "zipf-hashed", "nearly-sorted", "gaussian", "and3"})
    for (const uint64_t count : counts) {
      const uint32_t number = turn++;
      if (takes_turns && number % 4 != 1) continue;
      sort_pairs<Key, Value>({.distribution = distribution,
                              .count = count,
                              .order = number % 3 == 0 ? Order::descending : Order::ascending,
                              .algorithm = SortAlgorithm::radix,
                              .in_place = number % 4 < 2,
                              .portion_keys = number % 3 == 1 ? counts.back() / 2 : 0});
    }
}

TEST_CASE("counting takes keys of a small range, whatever their type", "[device]") {
  const uint64_t count = on_gpu ? 3'000'001 : 3 * max_emulated + 10'000;
  for (const Order order : {Order::ascending, Order::descending}) {
    sort_keys<uint32_t>({.distribution = "small-range-65536",
                         .count = count,
                         .order = order,
                         .algorithm = SortAlgorithm::counting});
    sort_keys<int64_t>({.distribution = "small-range-256",
                        .count = count,
                        .order = order,
                        .algorithm = SortAlgorithm::counting});
    sort_keys<int32_t>({.distribution = "small-range-256",
                        .count = 999,
                        .order = order,
                        .algorithm = SortAlgorithm::counting});
    sort_pairs<uint32_t, uint32_t>({.distribution = "small-range-256",
                                    .count = 9'999,
                                    .order = order,
                                    .algorithm = SortAlgorithm::counting});
    sort_pairs<int64_t, uint64_t>({.distribution = "small-range-256",
                                   .count = 9'999,
                                   .order = order,
                                   .algorithm = SortAlgorithm::counting,
                                   .in_place = true});
  }
}

TEST_CASE("counting refuses a range that is too wide and writes nothing", "[device]") {
  const OnDevice session;
  const auto input = make_keys<uint32_t>("uniform", 5'000, test_seed());
  DeviceArray<uint32_t> in{std::span<const uint32_t>(input)};
  DeviceArray<uint32_t> out(input.size());
  const auto before = out.download();
  const DeviceSort sort{.type = KeyType::u32,
                        .algorithm = SortAlgorithm::counting,
                        .count = input.size(),
                        .keys_in = in.data(),
                        .keys_out = out.data()};
  DeviceArray<std::byte> memory(device_sort_workspace_bytes(sort));
  device_sort(sort, Workspace(memory.span()), nullptr);
  REQUIRE(device_sort_outcome(sort, Workspace(memory.span()), nullptr).algorithm ==
          DeviceSortOutcome::Algorithm::unsuitable);
  REQUIRE(out.download() == before);
}

TEST_CASE("more records never want less memory", "[device]") {
  const OnDevice session;
  for (const KeyType type : all_key_types)
    for (const uint32_t value_bytes : {0u, 4u, 8u}) {
      const auto bytes = [&](uint64_t count) {
        DeviceSort sort{.type = type, .count = count};
        sort.value_bytes = value_bytes;
        return device_sort_workspace_bytes(sort);
      };
      std::vector<uint64_t> limits;
      for (uint32_t bits = 8; bits < 34; ++bits)
        for (const uint64_t thirds : {2, 3}) limits.push_back((thirds << bits) / 2);
      for (const uint32_t threads : {256, 512, 1024})
        for (const uint32_t keys_per_thread : {9, 12, 18})
          limits.push_back(uint64_t{threads} * keys_per_thread);
      for (const uint64_t limit : limits)
        for (const uint64_t count : {limit - 1, limit, limit + 1}) {
          INFO(name(type) << "+" << value_bytes << " n=" << count);
          CHECK(bytes(count) <= bytes(count + 1));
        }
    }
}

TEST_CASE("records want as much memory once more, and 64 MiB", "[device]") {
  const OnDevice session;
  for (const KeyType type : all_key_types)
    for (const uint32_t value_bytes : {0u, 4u, 8u})
      for (uint32_t bits = 8; bits <= 33; ++bits)
        for (const uint64_t count : {(uint64_t{3} << bits) / 4, uint64_t{1} << bits}) {
          DeviceSort sort{.type = type, .count = count};
          sort.value_bytes = value_bytes;
          INFO(name(type) << "+" << value_bytes << " n=" << count);
          constexpr uint64_t others = 64u << 20;
          CHECK(device_sort_workspace_bytes(sort) <= count * (key_bytes(type) + value_bytes) + others);
        }
}

#ifdef SWEEPSORT_EMULATED
TEST_CASE("one block, one grid or passes sort keys, by their number", "") {
  using Algorithm = DeviceSortOutcome::Algorithm;
  struct Expected {
    uint32_t count;
    uint32_t multiprocessors;  // the number of blocks in a grid
    Algorithm algorithm;
  };
  for (const auto& [count, multiprocessors, algorithm] : {Expected{4'608, 16, Algorithm::block},
                                                          {4'609, 16, Algorithm::grid},
                                                          {20'000, 4, Algorithm::grid},
                                                          {34'000, 4, Algorithm::grid},
                                                          {34'000, 1, Algorithm::radix}}) {
    const OnDevice session(multiprocessors);
    const auto input = make_keys<uint32_t>("uniform", count, test_seed());
    DeviceArray<uint32_t> in{std::span<const uint32_t>(input)};
    DeviceArray<uint32_t> out(input.size());
    const DeviceSort sort{
        .type = KeyType::u32, .count = input.size(), .keys_in = in.data(), .keys_out = out.data()};
    DeviceArray<std::byte> memory(device_sort_workspace_bytes(sort));
    device_sort(sort, Workspace(memory.span()), nullptr);
    oracle::require_sorted<uint32_t>(input, out.download());
    CHECK(device_sort_outcome(sort, Workspace(memory.span()), nullptr).algorithm == algorithm);
  }
}
#endif

#ifndef SWEEPSORT_EMULATED  // too many records for it; msd_sort_test and grid_sort_test do this in small
TEMPLATE_TEST_CASE("even keys take a tiled grid up to its limits, others the algorithms behind it",
                   "[device]", uint32_t, int32_t, float, uint64_t, int64_t, double) {
  using Algorithm = DeviceSortOutcome::Algorithm;
  using Bits = std::conditional_t<sizeof(TestType) == 4, uint32_t, uint64_t>;
  using Tiled = TunedTiledGrid<Bits, NoValue>;
  const auto sort = [](const char* distribution, uint64_t count, uint32_t variant) {
    INFO(distribution << " n=" << count);
    const DeviceSortOutcome outcome =
        sort_keys<TestType>({.distribution = distribution,
                             .count = count,
                             .order = variant % 3 == 0 ? Order::descending : Order::ascending,
                             .in_place = variant % 2 == 0,
                             .chunks = variant % 5 == 0 ? std::vector<uint64_t>{count / 3, count - count / 3}
                                                        : std::vector<uint64_t>{}});
    const bool is_even = std::string_view(distribution) == "uniform";
    CHECK((outcome.algorithm == Algorithm::grid) == (is_even && count <= Tiled::max_count));
  };
  uint32_t variant = sizeof(TestType) + std::is_signed_v<TestType>;
  for (const uint64_t count : {Tiled::min_count, Tiled::max_count, Tiled::max_count + 1})
    sort("uniform", count, variant++);
  for (const char* const distribution : {"uniform", "sorted", "nearly-sorted", "few-1000", "zipf-hashed",
                                         "and3", "gaussian", "ninety-percent-one-value"}) {
    sort(distribution, Tiled::min_count + 100'000 * variant, variant);
    ++variant;
  }
}

TEMPLATE_PRODUCT_TEST_CASE(
    "even pairs take a portioned grid up to its limits, others the algorithms behind it", "[device]",
    std::pair, ((uint32_t, uint32_t), (int32_t, uint64_t), (int64_t, uint32_t), (uint64_t, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  using Algorithm = DeviceSortOutcome::Algorithm;
  using Bits = std::conditional_t<sizeof(Key) == 4, uint32_t, uint64_t>;
  using Grid = LargestGridSort<Bits, Value>;
  using Portioned = PortionedGridSort<Bits, Value>;
  const uint64_t least = uint64_t{Grid::max_blocks} * Grid::max_share + 1;
  const uint64_t most = uint64_t{Portioned::max_blocks} * Portioned::max_share;
  const auto sort = [](const char* distribution, uint64_t count, uint32_t variant) {
    INFO(distribution << " n=" << count);
    return sort_pairs<Key, Value>({.distribution = distribution,
                                   .count = count,
                                   .order = variant % 3 == 0 ? Order::descending : Order::ascending,
                                   .in_place = variant % 2 == 0,
                                   .chunks = variant % 5 == 0
                                                 ? std::vector<uint64_t>{count / 3, count - count / 3}
                                                 : std::vector<uint64_t>{}})
        .algorithm;
  };
  uint32_t variant = sizeof(Key) + sizeof(Value);
  for (const char* const distribution : {"uniform", "organ-pipe"}) {
    for (const uint64_t count : {least, (least + most) / 2, most})
      CHECK(sort(distribution, count, variant++) == Algorithm::grid);
    CHECK(sort(distribution, most + 1, variant++) != Algorithm::grid);
  }
  for (const char* const distribution : {"sorted", "reversed", "all-equal", "few-1000", "zipf-hashed", "and3",
                                         "gaussian", "ninety-percent-one-value", "small-range-256"}) {
    CHECK(sort(distribution, least + 100'000 * (variant % 9), variant) != Algorithm::grid);
    ++variant;
  }
  // Those of fewer pairs, which are no longer left to the digits of a large share.
  constexpr uint64_t min_in_large = min_in_large_grid<Bits, Value>;
  if (min_in_large == 0) return;
  using Middle = MiddleGridSort<Bits, Value>;
  for (const uint64_t count : {uint64_t{Middle::max_blocks} * Middle::max_share + 1, min_in_large - 1}) {
    CHECK(sort("uniform", count, 1) == Algorithm::grid);
    CHECK(sort("few-1000", count, 2) != Algorithm::grid);
    CHECK(sort("zipf-hashed", count, 3) != Algorithm::grid);
  }
  CHECK(sort("few-1000", min_in_large, 1) == Algorithm::grid);
}

TEMPLATE_TEST_CASE("the LSD sort finds its statuses cleared where it shares their memory", "[device]",
                   uint32_t, double) {
  // With so many keys, an uncounted partition grows into that memory.
  const uint64_t count = (1 << 26) + 3;
  using Algorithm = DeviceSortOutcome::Algorithm;
  const auto sort = [&](Case test) {
    test.count = count;
    return sort_keys<TestType>(test).algorithm;
  };
  CHECK(sort({.order = Order::descending}) == Algorithm::msd);
  CHECK(sort({.algorithm = SortAlgorithm::radix}) == Algorithm::radix);
  CHECK(sort({.algorithm = SortAlgorithm::radix, .chunks = {count / 3, count - count / 3}}) ==
        Algorithm::radix);
  if (std::is_integral_v<TestType>)
    CHECK(sort({.distribution = "and5", .in_place = true}) == Algorithm::radix);
}

TEMPLATE_PRODUCT_TEST_CASE(
    "pairs of few values, a frequent one or a small range are sorted where each algorithm asks for them",
    "[device]", std::pair,
    ((uint32_t, uint32_t), (float, uint64_t), (int64_t, uint32_t), (uint64_t, uint64_t))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  using Algorithm = DeviceSortOutcome::Algorithm;
  uint32_t turn = 0;
  // In one launch, after the digest, and after the survey, which starts at 2^21 or 2^23 pairs.
  for (const uint64_t count : {1'000'003, 1'900'001, (1 << 22) + 5, (1 << 24) + 7})
    for (const char* const distribution :
         {"few-2", "few-16", "few-1000", "ninety-percent-one-value", "small-range-256"}) {
      const uint32_t number = turn++;
      const DeviceSortOutcome outcome =
          sort_pairs<Key, Value>({.distribution = distribution,
                                  .count = count,
                                  .order = number % 3 == 0 ? Order::descending : Order::ascending,
                                  .in_place = number % 2 == 0});
      INFO(distribution << " n=" << count);
      if (count < 2'000'000) continue;
      const std::string_view kind = distribution;
      if (kind == "few-2" || kind == "few-16" || kind == "small-range-256" ||
          (kind == "few-1000" && count > 1 << 23))
        CHECK(outcome.algorithm == Algorithm::counting);
      if (kind == "ninety-percent-one-value" && count > 1 << 23 && sizeof(Key) == 8)
        CHECK(outcome.algorithm == Algorithm::msd);
    }
}

TEMPLATE_TEST_CASE("keys of few values are sorted where each algorithm asks for them", "[device]", int32_t,
                   float, uint64_t) {
  uint32_t turn = 0;
  // In one launch, and after the digest or the survey.
  for (const uint64_t count : {20'011, 1'000'003, 3'000'001, (1 << 23) + 5, (1 << 24) + 7})
    for (const char* const distribution : {"few-2", "few-16", "few-1000", "small-range-256"}) {
      const uint32_t number = turn++;
      const DeviceSortOutcome outcome =
          sort_keys<TestType>({.distribution = distribution,
                               .count = count,
                               .order = number % 3 == 0 ? Order::descending : Order::ascending,
                               .in_place = number % 2 == 0});
      INFO(distribution << " n=" << count);
      if (count > 1 << 23 && std::string_view(distribution).starts_with("few-") &&
          (std::string_view(distribution) != "few-1000" || sizeof(TestType) == 8))
        CHECK(outcome.algorithm == DeviceSortOutcome::Algorithm::counting);
    }
}
#endif

TEST_CASE("16-bit counters hand over before they overflow", "[device]") {
  // More than 2^17 keys for each block. Each of the hot values below has more than 2^16 of them.
  const uint64_t count = on_gpu ? 50'000'000 : takes_turns ? 140'003 : 200'003;
  std::mt19937_64 random(test_seed());
  struct Skew {
    const char* name;
    std::function<uint64_t(uint64_t)> key_at;
  };
  for (const auto& [name, key_at] : {
           Skew{"all equal", [](uint64_t) { return 7; }},
           Skew{"nine of ten the highest", [&](uint64_t) { return random() % 10 == 0 ? random() : 65'535; }},
           Skew{"two neighbours by turns, in one word", [](uint64_t i) { return 6 + i % 2; }},
           Skew{"two hot values",
                [&](uint64_t i) { return i % 100 == 0 ? random() : random() % 2 * 40'001; }},
       }) {
    std::vector<uint16_t> keys(count);
    for (uint64_t i = 0; i < count; ++i) keys[i] = static_cast<uint16_t>(key_at(i));
    sort_these(
        keys,
        {.distribution = name, .count = count, .algorithm = SortAlgorithm::counting, .multiprocessors = 1});
  }
}

TEST_CASE("a pass split into portions carries its bucket offsets from one to the next", "[device]") {
  for (const uint64_t portion : {uint64_t{1}, uint64_t{13'000}, uint64_t{25'000}}) {
    if (takes_turns && portion == 13'000) continue;
    sort_keys<uint32_t>({.count = 40'000, .algorithm = SortAlgorithm::radix, .portion_keys = portion});
    sort_keys<uint64_t>({.distribution = "and3",
                         .count = 16'001,
                         .algorithm = SortAlgorithm::radix,
                         .in_place = true,
                         .portion_keys = portion});
    sort_pairs<uint32_t, uint32_t>({.distribution = "few-16",
                                    .count = 18'001,
                                    .algorithm = SortAlgorithm::radix,
                                    .portion_keys = portion});
  }
}

TEST_CASE("a digest taken in chunks is the digest of the whole", "[device]") {
  constexpr SortAlgorithm radix = SortAlgorithm::radix;  // otherwise so few keys would have no digest
  for (const char* distribution : {"uniform", "sorted", "reversed", "nearly-sorted", "all-equal"}) {
    sort_keys<uint32_t>({.distribution = distribution,
                         .count = 10'000,
                         .algorithm = radix,
                         .chunks = {3, 4'093, 1, 5'000, 903}});
    sort_keys<double>({.distribution = distribution,
                       .count = 5'000,
                       .algorithm = radix,
                       .in_place = true,
                       .chunks = {2'500, 2'499, 1}});
    sort_keys<int8_t>({.distribution = distribution, .count = 5'000, .chunks = {7, 4'993}});
  }
  // Sorted within each chunk, but not across their border.
  const OnDevice session;
  std::vector<uint32_t> input(2'000);
  for (uint32_t i = 0; i < 2'000; ++i) input[i] = i < 1'000 ? 5'000 + i : i;
  DeviceArray<uint32_t> in{std::span<const uint32_t>(input)};
  DeviceArray<uint32_t> out(input.size());
  const DeviceSort sort{
      .type = KeyType::u32, .algorithm = radix, .count = 2'000, .keys_in = in.data(), .keys_out = out.data()};
  run_sort(sort, {.count = 2'000, .chunks = {1'000, 1'000}});
  oracle::require_sorted<uint32_t>(input, out.download());
}

}  // namespace sweepsort
