// msd_run.hpp - the MSD sort alone, and what its tests share. Tiles and buckets are small, so that a few
// thousand records take both levels, every size of bucket and every way out. On the emulator and on a GPU.
#pragma once

#include "datasets/distributions.hpp"
#include "device_array.hpp"
#include "kernels/guessed_order.cuh"
#include "kernels/radix_msd.cuh"
#include "kernels/radix_onesweep.cuh"
#include "kernels/value_codes.cuh"
#include "on_device.hpp"
#include "record_arrays.hpp"
#include "seed.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sweepsort {

/// Tiles of 1024 records, buckets of 256 and 1024.
using SmallMsd = MsdPolicy<PartitionPolicy<256, 4, 2, 1>, BucketSortPolicy<256, 1, 1, 16384>,
                           BucketSortPolicy<256, 4, 1, 65536>,
                           MsdLimits{.bucket_keys = 32, .min_count = 1, .passed_bits = 0}>;

/// As SmallMsd, but even keys without values are partitioned without being counted.
using DealingSmall = DealingMsd<SmallMsd, PartitionPolicy<256, 4, 2, 1>, 1, uint64_t{1} << 24>;

/// Which of `pairs` pairs of neighbours the survey looks at as number `sample`.
inline uint64_t sampled_pair(uint64_t sample, uint64_t pairs) {
  constexpr uint64_t samples = survey_detail::samples;
  return pairs / samples * sample + pairs % samples * sample / samples;
}

/// Which of `count` keys the survey looks at in pairs.
inline std::vector<bool> keys_in_sampled_pairs(uint64_t count) {
  std::vector<bool> sampled(count);
  for (uint64_t s = 0; s < survey_detail::samples; ++s) {
    const uint64_t pair = sampled_pair(s, count / 2);
    sampled[2 * pair] = sampled[2 * pair + 1] = true;
  }
  return sampled;
}

/// The same, and those in `places` places at equal distances.
template <class Bits>
std::vector<bool> sampled_keys(uint64_t count, uint32_t places) {
  constexpr uint64_t in_place = survey_detail::keys_per_place<Bits>;
  std::vector<bool> sampled = keys_in_sampled_pairs(count);
  for (uint64_t p = 0; p < places; ++p) {
    const uint64_t first = (count / places * p + count % places * p / places) / in_place * in_place;
    for (uint64_t i = first; i < std::min(first + in_place, count); ++i) sampled[i] = true;
  }
  return sampled;
}

/// Whether a test looks at case `which` of `cases`. On the emulator, a sort takes a second under sanitizers.
/// So the emulator runs all cases only for the first type, and for every other type the one case that the
/// seed selects.
template <class T, class First>
bool is_looked_at(uint32_t which, uint32_t cases) {
  return on_gpu || std::is_same_v<T, First> || (test_seed() + sizeof(T)) % cases == which;
}

/// The orders in which case `number` is sorted: both, or the one that the emulator has time for.
inline std::vector<Order> orders_of(uint64_t number) {
  if (on_gpu) return {Order::ascending, Order::descending};
  return {(test_seed() + number) % 2 == 0 ? Order::ascending : Order::descending};
}

/// When the keys' digest is taken: beside the survey, or before the sort, which then reads it.
enum class DigestTaken { never, beside, before };

/// Case `number`'s. It does not depend on remainders by two and three, which decide other things.
inline DigestTaken digest_taken(uint32_t number) {
  using enum DigestTaken;
  constexpr DigestTaken cases[] = {before, before, never, beside, beside};
  return cases[number % 5];
}

struct MsdCase {
  Order order = Order::ascending;
  bool in_place = false;
  DigestTaken digest = DigestTaken::never;
  unsigned multiprocessors = 4;  // of the emulator
};

/// Device memory of an MSD sort, and of the passes by code that pairs of few values are left to.
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

/// As TestWorkspace, in memory of its own, which is cleared.
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

template <class Bits, class Value, class Policy>
void sort_by_plan(const SortArrays<Bits, Value>& arrays,
                  const TestWorkspace<Bits, Value, Policy>& workspace) {
  SortPlan<Bits>* const plan = workspace.plan.data();
  const ColumnArrays<Bits> keys{arrays.keys_in, arrays.keys_scratch, arrays.keys_out};
  const ColumnArrays<Value> values{arrays.values_in, arrays.values_scratch, arrays.values_out};
  radix_onesweep(keys, values, arrays.count, plan, workspace.onesweep, nullptr);
  if (keys.in != keys.out) return;
  copy_back(keys.scratch, keys.out, arrays.count, plan, nullptr);
  if constexpr (!std::is_same_v<Value, NoValue>)
    copy_back(values.scratch, values.out, arrays.count, plan, nullptr);
}

template <class Bits, class Value, class Policy>
void sort_on_device(const SortArrays<Bits, Value>& arrays, MsdSettings<Bits> settings,
                    const TestWorkspace<Bits, Value, Policy>& workspace) {
  constexpr bool with_values = !std::is_same_v<Value, NoValue>;
  const auto& onesweep = workspace.onesweep;
  if constexpr (with_values)
    settings.codes = {workspace.plan.data(), onesweep.offsets.data(), onesweep.offsets_stride(),
                      arrays.keys_in == arrays.keys_out};
  radix_msd(arrays, settings, workspace.msd, nullptr);
  if constexpr (with_values) sort_by_plan(arrays, workspace);
}

/// A block that has met a rise and a fall looks for no more repeats, so how many it meets depends on the
/// blocks.
template <class Bits>
void require_same_digest(Digest<Bits> one, Digest<Bits> other) {
  if (one.rises && one.falls) one.repeats = other.repeats = 0;
  CHECK(std::memcmp(&one, &other, sizeof(one)) == 0);
}

/// Sorts; returns the plan that the device made. Checks everything that can be checked after a fall-back.
template <class Key, class Value, class Policy = SmallMsd>
MsdPlan<BitsOf<Key>> msd_sort(const std::vector<Key>& input, const MsdCase& test) {
  using Bits = BitsOf<Key>;
  const OnDevice session(test.multiprocessors);
  const KeyMap<Bits> map = key_map<Bits>(key_type_of<Key>(), test.order);
  RecordArrays<Key, Value> records(input, test.in_place,
                                   MsdWorkspace<Bits, Value, Policy>::scratch_keys(input.size()));
  const SortArrays<Bits, Value> arrays = records.arrays();
  const TestMemory<Bits, Value, Policy> memory(arrays.count);
  const auto& workspace = memory.workspace();
  const std::vector<Digest<Bits>> nothing(1);
  const DeviceArray<Digest<Bits>> taken{std::span<const Digest<Bits>>(nothing)};
  if (test.digest != DigestTaken::never)
    digest(DeviceSpan<const Bits>(arrays.keys_in, arrays.count), map, taken.data(), nullptr);
  const DeviceArray<Digest<Bits>> beside{std::span<const Digest<Bits>>(nothing)};
  const MsdSettings<Bits> settings{
      .map = map,
      .digest = test.digest == DigestTaken::before ? taken.data() : nullptr,
      .digest_beside = test.digest == DigestTaken::beside ? beside.data() : nullptr};
  sort_on_device(arrays, settings, workspace);

  memory.check_zones();
  MsdPlan<Bits> plan;
  check(cudaMemcpy(&plan, workspace.msd.plan.data(), sizeof(plan), cudaMemcpyDeviceToHost));
  if (test.digest == DigestTaken::beside && !plan.order.is_right())
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
MsdPlan<BitsOf<Key>> msd_sort_distribution(const Distribution& distribution, uint64_t count,
                                           const MsdCase& test) {
  INFO(name(key_type_of<Key>()) << " " << distribution.name << " n=" << count << " " << name(test.order)
                                << (test.in_place ? " in place" : "")
                                << (test.digest == DigestTaken::never    ? ""
                                    : test.digest == DigestTaken::before ? " digested"
                                                                         : " digested beside"));
  return msd_sort<Key, Value, Policy>(make_keys<Key>(std::string(distribution.name), count, test_seed()),
                                      test);
}

/// Makes keys. `shares` (in hundredths) of them have the given values, all others have any value.
template <class Key>
std::vector<Key> keys_with_frequent_values(const std::vector<std::pair<BitsOf<Key>, uint32_t>>& shares,
                                           uint64_t count) {
  std::mt19937_64 random(test_seed());
  std::vector<Key> keys(count);
  for (Key& key : keys) {
    BitsOf<Key> bits = static_cast<BitsOf<Key>>(random());
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

}  // namespace sweepsort
