// partition_check.hpp - one run of the emulated partition's first level against the standard library.
#pragma once

#include "device_array.hpp"
#include "kernels/policy_buckets.cuh"
#include "kernels/radix_partition.cuh"
#include "simt/simt.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace sweepsort {

/// Partitions `count` keys by their leading digit under the schedule of `seed`; returns what went wrong, or
/// nothing.
inline std::optional<std::string> partition_fault(uint64_t seed, uint64_t count) {
  constexpr uint32_t shift = 32 - msd_digit_bits;
  std::mt19937_64 random(seed);
  std::vector<uint32_t> keys(count);
  for (uint32_t& key : keys) key = static_cast<uint32_t>(random());
  std::vector<uint32_t> digit_counts(msd_digits);
  for (const uint32_t key : keys) ++digit_counts[key >> shift];
  std::vector<uint64_t> first_of_digit(msd_digits);
  for (uint32_t d = 1; d < msd_digits; ++d) first_of_digit[d] = first_of_digit[d - 1] + digit_counts[d - 1];

  simt::Session session{.seed = seed};
  std::vector<MsdPlan<uint32_t>> plans(1);
  plans[0].keys = count;
  plans[0].bucket_bits = msd_digit_bits;
  plans[0].map = BucketMap<uint32_t>::over(0, ~0u, msd_digits);
  const DeviceArray<MsdPlan<uint32_t>> plan{std::span<const MsdPlan<uint32_t>>(plans)};
  const DeviceArray<uint64_t> offsets{std::span<const uint64_t>(first_of_digit)};
  const DeviceArray<uint32_t> counts{std::span<const uint32_t>(digit_counts)};
  const DeviceArray<uint32_t> in{std::span<const uint32_t>(keys)};
  const DeviceArray<uint32_t> out(count);
  const PartitionTask<uint32_t, NoValue> task{
      .keys = {.in = in.data(), .scratch = out.data(), .out = nullptr},
      .values_in = nullptr,
      .values_out = nullptr,
      .count = count,
      .span = count,
      .rest_counts = nullptr,
      .offsets = offsets.data(),
      .splitters = nullptr,
      .has_one_value = nullptr,
      .jobs = nullptr,
      .job_counts = counts.data(),
      .plan = plan.data(),
      .map = {},
      .outgrows = false};
  try {
    partition<PartitionPolicy<256, 4, 2, 1>, 0>(task, nullptr);
  } catch (const simt::Deadlock& deadlock) {
    return std::string("deadlock: ") + deadlock.what();
  } catch (const simt::Fault& fault) {
    return std::string("fault: ") + fault.what();
  }
  if (!out.zones_intact()) return "wrote outside of its array";
  std::vector<uint32_t> partitioned = out.download();
  const auto by_digit = [](uint32_t a, uint32_t b) { return a >> shift < b >> shift; };
  if (!std::ranges::is_sorted(partitioned, by_digit)) return "keys among those of another digit";
  std::ranges::sort(partitioned);
  std::ranges::sort(keys);
  if (partitioned != keys) return "other keys";
  return {};
}

}  // namespace sweepsort
