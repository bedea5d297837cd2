// radix_msd.cuh - the MSD radix sort of large arrays: two levels of partition, then every bucket on its own.
// Stehle & Jacobsen, "A Memory Bandwidth-Efficient Hybrid Radix Sort on GPUs", 2017. Pairs keep their order.
//
//     in ──sample──> map ─────┬─ in order: copied while that is checked
//                             ├─ few distinct values: counted by hashing (few_values.cuh)
//     in ──read────> counts ──┼─ each bucket one value: written from the counts
//                             ├─ in ──> scratch ──> out ──> out      level 1, level 2, each bucket in a block
//                             └─ a bucket too large for a block: nothing here, `falls_back` is set
//
// Moves 4 + 8 + 8 + 8 bytes a u32 key whatever the number of its digits, where an LSD sort moves 8 a digit.
// All choices are made on the device.
#pragma once

#include "core/key_bits.hpp"
#include "kernels/bucket_histogram.cuh"
#include "kernels/bucket_sort.cuh"
#include "kernels/counting_sort.cuh"
#include "kernels/few_values.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/policy.cuh"
#include "kernels/ptx.cuh"
#include "kernels/radix_partition.cuh"
#include "kernels/rearrange.cuh"
#include "kernels/scan_counts.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

template <class Bits, class Value>
inline constexpr bool has_msd_sort = !std::is_void_v<TunedMsd<Bits, Value>>;

/// Device memory of an MSD sort besides a scratch array of `count` records. All zeros before each sort.
template <class Bits, class Value, class Policy_ = TunedMsd<Bits, Value>>
struct MsdWorkspace {
  using Policy = Policy_;
  static constexpr uint32_t most_spans = 512;  // blocks of the first level

  DeviceSpan<MsdPlan<Bits>> plan;
  FewValuesWorkspace<Bits> few;
  DeviceSpan<SortPlan<Bits>> counting_plan;
  DeviceSpan<uint64_t> counts;  // by bucket, later the offsets
  ScanCountsWorkspace scan;
  DeviceSpan<uint32_t> span_counts;
  DeviceSpan<PartitionJob> jobs;
  DeviceSpan<uint32_t> job_counts;
  DeviceSpan<uint32_t> lists;
  DeviceSpan<BucketParts> parts;  // by bucket

  /// `is_wanted` false: takes next to nothing, and cannot be used.
  explicit MsdWorkspace(Workspace& workspace, bool is_wanted = true)
      : plan(workspace.take<MsdPlan<Bits>>(is_wanted)),
        few(workspace, is_wanted),
        counting_plan(workspace.take<SortPlan<Bits>>(is_wanted)),
        counts(workspace.take<uint64_t>(is_wanted ? msd_most_buckets : 0)),
        scan(workspace, is_wanted ? msd_most_buckets : 0),
        span_counts(workspace.take<uint32_t>(is_wanted ? uint64_t{most_spans} * msd_digits : 0)),
        jobs(workspace.take<PartitionJob>(is_wanted ? most_jobs : 0)),
        job_counts(workspace.take<uint32_t>(is_wanted ? uint64_t{most_jobs} * msd_digits : 0)),
        lists(workspace.take<uint32_t>(is_wanted ? uint64_t{bucket_classes} * msd_most_buckets : 0)),
        parts(workspace.take<BucketParts>(is_wanted ? msd_most_buckets : 0)) {}

  /// Second level: most records a job, one and a half times what a parent has on average.
  static uint64_t job_keys(uint64_t count) { return std::max<uint64_t>(count * 3 / (2 * msd_digits), 1024); }

 private:
  static constexpr uint32_t most_jobs = msd_digits + msd_digits * 2 / 3 + 2;
};

/// Where the records of an MSD sort come from, go to, and are in between.
template <class Bits, class Value>
struct MsdArrays {
  const Bits* keys_in;
  Bits* keys_scratch;
  Bits* keys_out;
  const Value* values_in;
  Value* values_scratch;
  Value* values_out;
  uint64_t count;
};

/// Records that have no MSD sort.
template <class Bits, class Value>
struct MsdWorkspace<Bits, Value, void> {
  explicit MsdWorkspace(Workspace& /*workspace*/, bool /*is_wanted*/ = false) {}
};

namespace msd_detail {

template <class Policy, bucket_sort_detail::Crowded crowded, Ranking ranking, class Bits, class Value>
void sort_buckets(const MsdArrays<Bits, Value>& arrays, uint32_t which, KeyMap<Bits> map,
                  const uint64_t* offsets, const BucketParts* parts, uint32_t* lists, MsdPlan<Bits>* plan,
                  cudaStream_t stream) {
  using namespace bucket_sort_detail;
  const auto kernel = bucket_sort_kernel<Bits, Value, ranking, Policy, crowded>;
  constexpr size_t shared_bytes = sizeof(Shared<Bits, Value, Policy>);
  const uint32_t blocks = std::min(resident_blocks(kernel, Policy::threads, shared_bytes), msd_most_buckets);
  const BucketArrays<Bits, Value> in_place{arrays.keys_out, arrays.keys_out, arrays.values_out,
                                           arrays.values_out};
  launch_chained(kernel, {blocks, Policy::threads, shared_bytes}, stream, in_place, arrays.count, offsets,
                 parts, static_cast<const uint32_t*>(lists + which * msd_most_buckets), which,
                 lists + crowded_buckets * msd_most_buckets, map, plan);
}

template <class Policy, Ranking ranking, class Bits, class Value>
void sort_alone(const MsdArrays<Bits, Value>& arrays, KeyMap<Bits> map, cudaStream_t stream) {
  using namespace bucket_sort_detail;
  const BucketArrays<Bits, Value> all{arrays.keys_in, arrays.keys_out, arrays.values_in, arrays.values_out};
  launch_chained(sort_alone_kernel<Bits, Value, ranking, Policy>,
                 {1, Policy::threads, sizeof(Shared<Bits, Value, Policy>)}, stream, all,
                 static_cast<uint32_t>(arrays.count), map);
}

}  // namespace msd_detail

/// Records that one block sorts by itself, without any workspace.
template <class Bits, class Value, class Policy = TunedMsd<Bits, Value>>
inline constexpr uint64_t most_alone = Policy::Large::most_keys;

/// Sorts up to most_alone records in one launch. keys_scratch and values_scratch are not used.
template <Ranking ranking, class Bits, class Value, class Policy = TunedMsd<Bits, Value>>
void sort_in_one_block(const MsdArrays<Bits, Value>& arrays, KeyMap<Bits> map, cudaStream_t stream) {
  constexpr Ranking stable_ranking = value_bytes<Value> != 0 ? ranking : Ranking::ballot;
  if (arrays.count <= Policy::Small::most_keys)
    msd_detail::sort_alone<typename Policy::Small, stable_ranking>(arrays, map, stream);
  else
    msd_detail::sort_alone<typename Policy::Large, stable_ranking>(arrays, map, stream);
}

/// Sorts `count` records, at least two. `digest`: of all keys, or null; then the keys are sampled instead.
/// Unless plan->falls_back is set in the end, keys_out (and values_out) hold the sorted records; if it is
/// set, nothing was written. keys_out may be keys_in. All arrays are aligned to 16 bytes.
template <Ranking ranking, class Bits, class Value, class Policy>
void radix_msd(const MsdArrays<Bits, Value>& arrays, KeyMap<Bits> map, const Digest<Bits>* digest,
               const MsdWorkspace<Bits, Value, Policy>& workspace, cudaStream_t stream) {
  constexpr bool with_values = value_bytes<Value> != 0;
  // Keys alone are hardly ranked: not worth a second set of kernels.
  constexpr Ranking stable_ranking = with_values ? ranking : Ranking::ballot;
  const uint64_t count = arrays.count;
  MsdPlan<Bits>* const plan = workspace.plan.data();
  const uint32_t bucket_bits = msd_bucket_bits<Policy>(count);
  using namespace msd_plan_detail;
  launch_chained(survey_kernel<Bits>, {1, survey_threads, sizeof(SurveyShared<Bits>)}, stream, arrays.keys_in,
                 count, map, bucket_bits, with_values, uint64_t{Policy::Large::most_keys}, plan);
  if (digest != nullptr)
    launch_chained(survey_digest_kernel<Bits>, {1, 1}, stream, digest, bucket_bits, plan);
  else
    rearrange_as_guessed(arrays.keys_in, arrays.keys_out, arrays.values_in, arrays.values_out, count, map,
                         plan, stream);
  if constexpr (!with_values)
    sort_few_values({arrays.keys_in, count}, DeviceSpan<Bits>(arrays.keys_out, count), map, plan,
                    workspace.few, stream);

  constexpr uint32_t blocks_a_multiprocessor = Policy::Partition::blocks_a_multiprocessor;
  const uint32_t spans = std::min(multiprocessors() * blocks_a_multiprocessor, workspace.most_spans);
  const uint64_t span = align_up(std::max<uint64_t>(count / spans + 1, 4096), 16);
  using namespace bucket_histogram_detail;
  launch_chained(bucket_histogram_kernel<Bits>,
                 {static_cast<uint32_t>((count + span - 1) / span), WideCounters::threads,
                  sizeof(bucket_histogram_detail::Shared)},
                 stream, arrays.keys_in, count, span, map, plan,
                 reinterpret_cast<unsigned long long*>(workspace.counts.data()),
                 workspace.span_counts.data());
  scan_counts(workspace.counts, nullptr, workspace.scan, stream);
  const uint64_t* const offsets = workspace.counts.data();
  // Crowded buckets of either class, and their parts, must suit the launch of the large ones.
  static_assert(Policy::Small::most_keys <= Policy::Large::most_keys &&
                Policy::Small::parts <= Policy::Large::parts);
  const ClassLimits limits{{Policy::Small::most_keys, Policy::Large::most_keys},
                           {std::countr_zero(Policy::Small::parts), std::countr_zero(Policy::Large::parts)}};
  launch_chained(decide_kernel<Bits>,
                 {msd_most_buckets / decide_threads, decide_threads, sizeof(DecideShared)}, stream, offsets,
                 count, workspace.job_keys(count), limits, plan, workspace.counting_plan.data(),
                 workspace.jobs.data(), workspace.lists.data(), workspace.parts.data());
  if constexpr (!with_values)
    counting_detail::expand(offsets, msd_most_buckets, DeviceSpan<Bits>(arrays.keys_out, count), map,
                            workspace.counting_plan.data(), stream);

  using namespace partition_detail;
  const auto partition = partition_kernel<Bits, Value, stable_ranking, typename Policy::Partition>;
  constexpr size_t partition_bytes =
      sizeof(partition_detail::Shared<Bits, Value, typename Policy::Partition>);
  const LaunchShape shape{multiprocessors() * blocks_a_multiprocessor, Policy::Partition::threads,
                          partition_bytes};
  Level<Bits, Value> level{.keys_in = arrays.keys_in,
                           .keys_out = arrays.keys_scratch,
                           .values_in = arrays.values_in,
                           .values_out = arrays.values_scratch,
                           .count = count,
                           .span = span,
                           .number = 0,
                           .offsets = offsets,
                           .jobs = nullptr,
                           .job_counts = workspace.span_counts.data(),
                           .plan = plan,
                           .map = map};
  launch_chained(partition, shape, stream, level);
  launch_chained(count_jobs_kernel<Bits>, {multiprocessors(), count_threads, sizeof(CountShared)}, stream,
                 static_cast<const Bits*>(arrays.keys_scratch), static_cast<const MsdPlan<Bits>*>(plan),
                 static_cast<const PartitionJob*>(workspace.jobs.data()), workspace.job_counts.data());
  level.keys_in = arrays.keys_scratch;
  level.keys_out = arrays.keys_out;
  level.values_in = arrays.values_scratch;
  level.values_out = arrays.values_out;
  level.number = 1;
  level.jobs = workspace.jobs.data();
  level.job_counts = workspace.job_counts.data();
  launch_chained(partition, shape, stream, level);

  using namespace msd_detail;
  using bucket_sort_detail::Crowded;
  const auto sort_class = [&]<class BucketPolicy, Crowded crowded>(uint32_t which) {
    sort_buckets<BucketPolicy, crowded, stable_ranking>(arrays, which, map, offsets, workspace.parts.data(),
                                                        workspace.lists.data(), plan, stream);
  };
  sort_class.template operator()<typename Policy::Small, Crowded::left_alone>(small_buckets);
  sort_class.template operator()<typename Policy::Large, Crowded::left_alone>(large_buckets);
  sort_class.template operator()<typename Policy::Large, Crowded::by_digits>(crowded_buckets);
}

}  // namespace sweepsort
