// schedules_test.cpp - the look-back under a thousand interleavings, on the emulator; a partition under some.
// SWEEPSORT_SEED sets the first one.
#include "catch.hpp"
#include "device_array.hpp"
#include "emulated_msd.hpp"
#include "kernels/radix_sort.cuh"
#include "kernels/scan.cuh"
#include "partition_check.hpp"
#include "scan_counts_check.hpp"
#include "seed.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sweepsort {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr uint64_t schedules = 100;  // the ordinary build runs a thousand
#else
constexpr uint64_t schedules = 1000;
#endif

/// Tiles of 512 keys, so that a few thousand keys are many tiles.
using SmallTiles =
    OnesweepPolicy<OnesweepRow{.threads = 256, .keys_per_thread = 2, .blocks_per_multiprocessor = 1}>;
using PortableTiles = Portable<SmallTiles>;

/// Sorts keys that vary in `live_bits`, in two portions and more: two epochs of each look-back row, and
/// offsets that travel.
template <class Tiles>
bool onesweep_sorts(uint64_t seed, uint64_t tiles, uint32_t live_bits) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> keys(512 * tiles + random() % 512);
  for (uint32_t& key : keys) key = static_cast<uint32_t>(random()) & live_bits;
  std::vector<uint32_t> expected = keys;
  std::sort(expected.begin(), expected.end());

  simt::Session session{.seed = seed};
  const DeviceArray<uint32_t> in{std::span<const uint32_t>(keys)};
  const DeviceArray<uint32_t> out(keys.size());
  constexpr uint64_t portion = 512 * 3;
  Workspace counter;
  (void)SortWorkspace<uint32_t, NoValue, Tiles>(counter, keys.size(), portion);
  const DeviceArray<std::byte> memory(counter.used());
  Workspace workspace(memory.span());
  radix_sort<uint32_t, NoValue>(
      {in.data(), in.size()}, out.span(), nullptr, nullptr, {.map = {}, .algorithm = SortAlgorithm::radix},
      SortWorkspace<uint32_t, NoValue, Tiles>(workspace, keys.size(), portion), nullptr);
  return out.download() == expected && out.zones_intact() && memory.zones_intact();
}

/// Sorts pairs by three digits, as records between the passes. The records lie in the scratch array and,
/// divided, in the output's columns. If their number is odd, one record lies elsewhere.
bool record_passes_sort(uint64_t seed) {
  std::mt19937_64 random(seed);
  const uint64_t count = 512 * 4 + random() % 512;
  const bool in_place = random() % 2 == 0;
  std::vector<uint32_t> keys(count);
  std::vector<uint32_t> values(count);
  for (uint32_t& key : keys) key = static_cast<uint32_t>(random()) & 0x00ff3fff;
  std::iota(values.begin(), values.end(), uint32_t{0});
  std::vector<uint32_t> expected = values;
  std::ranges::stable_sort(expected, {}, [&](uint32_t i) { return keys[i]; });

  simt::Session session{.seed = seed};
  const DeviceArray<uint32_t> in{std::span<const uint32_t>(keys)};
  const DeviceArray<uint32_t> values_in{std::span<const uint32_t>(values)};
  const DeviceArray<uint32_t> elsewhere(count);
  const DeviceArray<uint32_t> values_elsewhere(count);
  const DeviceArray<uint32_t>& out = in_place ? in : elsewhere;
  const DeviceArray<uint32_t>& values_out = in_place ? values_in : values_elsewhere;
  constexpr uint64_t portion = 512 * 3;
  using Carved = SortWorkspace<uint32_t, uint32_t, SmallTiles>;
  Workspace counter;
  (void)Carved(counter, count, portion);
  const DeviceArray<std::byte> memory(counter.used());
  Workspace workspace(memory.span());
  const Carved carved(workspace, count, portion);
  radix_sort<uint32_t, uint32_t>(DeviceSpan<const uint32_t>(in.data(), count), out.span(), values_in.data(),
                                 values_out.data(), {.map = {}, .algorithm = SortAlgorithm::radix}, carved,
                                 nullptr);
  const auto sorted = out.download();
  for (uint64_t i = 0; i < count; ++i)
    if (sorted[i] != keys[expected[i]]) return false;
  if (!in_place && (in.download() != keys || values_in.download() != values)) return false;
  for (const auto* array : {&in, &values_in, &elsewhere, &values_elsewhere})
    if (!array->zones_intact()) return false;
  return carved.plan.data()->as_records != 0 && values_out.download() == expected && memory.zones_intact();
}

/// Does three scans by `launch_scan(arrays, workspace)` on one workspace, each shorter and of other elements.
template <class Launch>
bool scans(uint64_t seed, uint64_t size, Launch launch_scan) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> in(size);
  for (uint32_t& element : in) element = static_cast<uint32_t>(random());
  simt::Session session{.seed = seed};
  const DeviceArray<uint32_t> source{std::span<const uint32_t>(in)};
  const DeviceArray<std::byte> memory(65536);
  check(cudaMemset(memory.data(), 0, memory.size()));
  for (const uint64_t count : {size, size / 2, size / 3}) {
    const uint64_t first = (size - count) / 4 * 4;  // the ring needs aligned arrays
    const DeviceArray<uint32_t> target(count);
    launch_scan(ScanArrays<uint32_t>{source.data() + first, target.data(), count, false, nullptr, nullptr},
                Workspace(memory.span()));
    uint32_t sum = 0;
    const auto out = target.download();
    for (uint64_t i = 0; i < count; ++i)
      if (out[i] != (sum += in[first + i])) return false;
    if (!target.zones_intact() || !memory.zones_intact()) return false;
  }
  return true;
}

/// Tiles of 128 and 256 elements, and a ring that wraps around every third tile.
using SmallScanTiles = ScanPolicy<32, 1, 1>;
using SmallWaveTiles = ScanWavePolicy<64, 1>;
using SmallRing = ScanRingPolicy<3, 2, 1>;

}  // namespace

TEST_CASE("the scan of counts is right under a thousand schedules", "[simt]") {
  for (uint64_t i = 0; i < schedules; ++i) {
    const uint64_t seed = test_seed() + i;
    const std::optional<std::string> fault = scan_counts_fault(seed, 2048 * 5 - 3 + i % 7);
    INFO("replay with SWEEPSORT_SEED=" << seed << ": " << fault.value_or("right"));
    REQUIRE_FALSE(fault.has_value());
  }
}

TEST_CASE("a partition is right under a hundred schedules", "[simt]") {
  for (uint64_t i = 0; i < schedules / 10; ++i) {
    const uint64_t seed = test_seed() + i;
    const std::optional<std::string> fault = partition_fault(seed, 1024 * 5 - 3 + i % 7);
    INFO("replay with SWEEPSORT_SEED=" << seed << ": " << fault.value_or("right"));
    REQUIRE_FALSE(fault.has_value());
  }
}

TEST_CASE("onesweep passes are right under a thousand schedules", "[simt]") {
  for (uint64_t i = 0; i < schedules; ++i) {
    const uint64_t seed = test_seed() + i;
    INFO("replay with SWEEPSORT_SEED=" << seed);
    REQUIRE((i % 4 == 0 ? onesweep_sorts<PortableTiles>(seed, 4, 0x00ff00ff)
                        : onesweep_sorts<SmallTiles>(seed, 4, 0x00ff00ff)));
  }
}

TEST_CASE("passes by live bits are right under a hundred schedules", "[simt]") {
  // Blocks that wait for the plan count three rows of keys.
  for (uint64_t i = 0; i < schedules / 10; ++i) {
    const uint64_t seed = test_seed() + i;
    INFO("replay with SWEEPSORT_SEED=" << seed);
    REQUIRE(onesweep_sorts<SmallTiles>(seed, 17, 0x0f0f0f0f));
  }
}

TEST_CASE("onesweep passes of records are right under a thousand schedules", "[simt]") {
  for (uint64_t i = 0; i < schedules; ++i) {
    const uint64_t seed = test_seed() + i;
    INFO("replay with SWEEPSORT_SEED=" << seed);
    REQUIRE(record_passes_sort(seed));
  }
}

TEST_CASE("scans of arrays are right under a thousand schedules", "[simt]") {
  const Sum<uint32_t> op;
  for (uint64_t i = 0; i < schedules; ++i) {
    const uint64_t seed = test_seed() + i;
    INFO("replay with SWEEPSORT_SEED=" << seed);
    REQUIRE(scans(seed, 128 * 23 + i % 9, [&](const ScanArrays<uint32_t>& arrays, Workspace workspace) {
      scan_lookback<SmallScanTiles>(arrays, op, LookbackMemory<uint32_t>(workspace, 64), nullptr);
    }));
    REQUIRE(scans(seed, 256 * 9 + i % 9, [&](const ScanArrays<uint32_t>& arrays, Workspace workspace) {
      scan_wave<SmallWaveTiles>(arrays, op, ScanWaveMemory<uint32_t>(workspace), nullptr);
    }));
    REQUIRE(scans(seed, 256 * 13 + i % 9, [&](const ScanArrays<uint32_t>& arrays, Workspace workspace) {
      scan_ring<SmallRing>(arrays, op, LookbackMemory<uint32_t>(workspace, 64), nullptr);
    }));
  }
}

TEST_CASE("a carry is handed from tile to tile under a hundred schedules", "[simt]") {
  for (uint64_t i = 0; i < schedules / 10; ++i) {  // tiles of 1024 threads take long
    const uint64_t seed = test_seed() + i;
    INFO("replay with SWEEPSORT_SEED=" << seed);
    REQUIRE(scans(seed, 16384 * 4 + i % 9, [](const ScanArrays<uint32_t>& arrays, Workspace workspace) {
      scan_shuffle_chained(arrays, Sum<uint32_t>{}, ChainMemory<uint32_t>(workspace), nullptr);
    }));
  }
}

}  // namespace sweepsort
