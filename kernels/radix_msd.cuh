// radix_msd.cuh - the MSD radix sort of large arrays: two levels of partition, then every bucket on its own.
// Stehle & Jacobsen, "A Memory Bandwidth-Efficient Hybrid Radix Sort on GPUs", 2017. Pairs keep their order.
//
//     in ──sample─────────────── in order: copied while that is checked
//     in ──sample──> map ─────┬─ few distinct values: counted by hashing (few_values.cuh); pairs are left to
//                             │  passes by code (value_codes.cuh)
//                             ├─ some are frequent: counted, the others ──> scratch (frequent_values.cuh); of
//                             │  pairs one may be, and has a bucket of its own
//                             ├─ even: in ──> parents ──> chunks of buckets ──> out (uncounted_partition.cuh)
//     in ──read────> counts ──┼─ each bucket one value: written from the counts
//                             │  (pairs that a map does not divide: between splitters, splitters.cuh)
//                             ├─ in ──> scratch ──> out ──> out      level 1, level 2, each bucket in a block
//                             │         scratch ──> out ──> scratch ──> out     the others, then the frequent
//                             └─ a bucket that no kernel here finishes: nothing, `falls_back` is set
//
// Moves 4 + 8 + 8 + 8 bytes per u32 key, whatever the number of its digits, and 8 + 8 + 8 per key for even
// keys alone. An LSD sort moves 8 per digit. All choices are made on the device.
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "kernels/bin_counts.cuh"
#include "kernels/bucket_bits.cuh"
#include "kernels/bucket_counting.cuh"
#include "kernels/bucket_histogram.cuh"
#include "kernels/bucket_list.cuh"
#include "kernels/bucket_pairs.cuh"
#include "kernels/bucket_sort_kernel.cuh"
#include "kernels/count_values.cuh"
#include "kernels/counting_sort.cuh"
#include "kernels/frequent_survey.cuh"
#include "kernels/frequent_values.cuh"
#include "kernels/guessed_order.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_decide.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/msd_survey.cuh"
#include "kernels/msd_workspace.cuh"
#include "kernels/pair_arrays.cuh"
#include "kernels/partition_jobs.cuh"
#include "kernels/policy_buckets.cuh"
#include "kernels/policy_msd.cuh"
#include "kernels/radix_partition.cuh"
#include "kernels/sort_arrays.cuh"
#include "kernels/splitters.cuh"
#include "kernels/uncounted_partition.cuh"
#include "kernels/value_table.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sweepsort {

namespace msd_detail {

/// The launches of one sort.
template <class Bits, class Value, class Policy>
class MsdRun {
 public:
  MsdRun(const SortArrays<Bits, Value>& arrays, const MsdSettings<Bits>& settings,
         const MsdWorkspace<Bits, Value, Policy>& workspace, cudaStream_t stream)
      : arrays_(arrays),
        settings_(settings),
        workspace_(workspace),
        stream_(stream),
        may_deal_(!workspace.dealt_chunks.empty() && workspace.deals(arrays.count)),
        layout_(workspace.layout(arrays.count)),
        spans_(arrays.count, std::min(multiprocessors() * Policy::Partition::blocks_per_multiprocessor,
                                      workspace.max_spans)) {}

  void launch() const {
    look_at_sample();
    count_values(arrays_, settings_, spans_, workspace_, stream_);
    if constexpr (Policy::deals)
      if (may_deal_) deal_even_keys();
    count_and_decide();
    if constexpr (Policy::splits)
      if (split_.by_level) {
        choose();
        count_split();
      }
    partition_by_counts();
    finish_buckets();
    if constexpr (!with_values)
      put_in_frequent_values(static_cast<const Bits*>(arrays_.keys_scratch),
                             DeviceSpan<Bits>(arrays_.keys_out, arrays_.count), offsets_, settings_.map,
                             static_cast<const MsdPlan<Bits>*>(plan_), listed_, stream_);
  }

 private:
  using Small = typename Policy::Small;
  using Large = typename Policy::Large;
  static constexpr bool with_values = value_bytes<Value> != 0;

  /// Examines a sample of the keys, and makes the sorts that need no more than that.
  void look_at_sample() const {
    using namespace survey_detail;
    const uint64_t count = arrays_.count;
    const uint32_t places = sampled_places();
    const Task<Bits> task{.keys = arrays_.keys_in,
                          .count = count,
                          .map = settings_.map,
                          .bucket_keys = Policy::limits.bucket_keys,
                          .max_bucket_keys = Large::max_keys,
                          .max_keys = counts_larger_ ? max_counted_keys : Large::max_keys,
                          .keys_per_value = counts_dense_ ? counted_keys_per_value
                                            : may_place_parts<Bits, Value> || most_narrow()
                                                ? sorted_pairs_per_value
                                                : sorted_keys_per_value,
                          .passed_bits = most_narrow() ? MsdLimits{}.passed_bits : Policy::limits.passed_bits,
                          .with_values = with_values,
                          .minds_ties = with_values && arrays_.keys_in == arrays_.keys_out,
                          .checks_order = settings_.digest == nullptr,
                          .has_fine_pieces = !with_values && count >= Policy::limits.fine_from,
                          .asks_for_clumps = count >= Policy::limits.clumps_from && count < clumps_below,
                          .may_deal = may_deal_,
                          .split_bits = split_.bucket_bits,
                          .splits_by_level = split_.by_level,
                          .sample = CollectedSample<Bits>::in(sample_memory(), places)};
    collect_sample(task, settings_.wanted, plan_, stream_);
    if (settings_.digest == nullptr)
      rearrange_as_guessed(arrays_.keys_in, arrays_.keys_out, arrays_.values_in, arrays_.values_out, count,
                           settings_.map, plan_, stream_);
    survey(task, settings_.digest_beside, plan_, workspace_.values.data(), stream_);
    if constexpr (Policy::splits)
      if (split_.suits && !split_.by_level) choose();
    if constexpr (!with_values)
      find_frequent_values(task, arrays_.keys_scratch, workspace_.sample_sizes.data(), plan_,
                           workspace_.values.data(), stream_);
    if (settings_.digest != nullptr) correct_survey(settings_.digest, task.bucket_keys, plan_, stream_);
  }

  /// Partitions without a histogram.
  void deal_even_keys() const {
    constexpr auto largest = MsdWorkspace<Bits, Value, Policy>::layout(Policy::dealt_to);
    static_assert(largest.region() / dealt_chunk<Bits> <= 1u << 16, "a chunk has a number of 16 bits");
    static_assert(largest.room >= Policy::dealt_to / msd_digits + msd_digits * dealt_chunk<Bits>,
                  "there is a chunk for each child");
    deal<typename Policy::Deal>(DealTask<Bits>{.in = arrays_.keys_in,
                                               .scratch = arrays_.keys_scratch,
                                               .count = arrays_.count,
                                               .span = spans_.keys,
                                               .map = settings_.map,
                                               .layout = layout_,
                                               .counts_whole = workspace_.dealt_whole.data(),
                                               .counts_rest = workspace_.dealt_rest.data(),
                                               .counts = workspace_.dealt_counts.data(),
                                               .chunks = workspace_.dealt_chunks.data(),
                                               .plan = plan_},
                                spans_.number, stream_);
  }

  /// The places of the sample, and where it is collected. Splitters are chosen when the memory of the lists
  /// has been used.
  uint32_t sampled_places() const {
    return split_.suits ? split_.template places<Bits>() : survey_detail::max_places(with_values);
  }
  std::byte* sample_memory() const {
    return split_.suits ? reinterpret_cast<std::byte*>(arrays_.keys_scratch) : workspace_.sample();
  }

  /// Makes the histogram of the buckets, chooses the method, and lists the buckets.
  void count_and_decide() const {
    // Crowded buckets of either class, and their parts, must suit the launch of the large ones.
    static_assert(Small::max_keys <= Large::max_keys && Small::parts <= Large::parts);
    const BucketHistogramTask<Bits> histogram{.keys = arrays_.keys_in,
                                              .rest = arrays_.keys_scratch,
                                              .rest_counts = workspace_.rest_counts.data(),
                                              .count = arrays_.count,
                                              .span = spans_.keys,
                                              .map = settings_.map,
                                              .counts = bucket_counts(),
                                              .span_counts = workspace_.span_counts.data()};
    count_bucket_sizes(histogram, spans_.number, plan_, stream_);
    if constexpr (Policy::splits)
      if (split_.suits && !split_.by_level) count_split();
    decide(decision(), plan_, workspace_.expansion.data(), stream_);
    if constexpr (!with_values)
      counting_detail::expand(offsets_, 0, DeviceSpan<Bits>(arrays_.keys_out, arrays_.count), settings_.map,
                              static_cast<const SortPlan<Bits>*>(workspace_.expansion.data()), stream_);
  }

  /// Chooses splitters, if no map divides the keys ...
  void choose() const {
    choose_splitters(reinterpret_cast<Bits*>(sample_memory()), split_, settings_.map, workspace_.splitters,
                     workspace_.counts, plan_, stream_);
  }
  /// ... and counts the keys between them.
  void count_split() const {
    count_between_splitters(
        SplitHistogramTask<Bits>{.keys = arrays_.keys_in,
                                 .count = arrays_.count,
                                 .span = spans_.keys,
                                 .map = settings_.map,
                                 .splitters = workspace_.splitters.splitters.data(),
                                 .counts = bucket_counts(),
                                 .span_counts = workspace_.span_counts.data(),
                                 .offsets = workspace_.offsets.data(),
                                 .has_one_value = workspace_.splitters.has_one_value.data(),
                                 .max_keys = Policy::SplitLargest::max_keys},
        spans_.number, plan_, stream_);
  }

  BinCounts bucket_counts() const {
    return {.words = reinterpret_cast<unsigned long long*>(workspace_.counts.data()),
            .are_halves = arrays_.count >> 32 == 0};
  }

  Decision decision(bool is_between_levels = false) const {
    const BucketClass class_by_values = counts_large_ ? large_buckets
                                        : takes_bits_ ? small_buckets
                                                      : bucket_classes;
    Decision decision{
        .counts = bucket_counts(),
        .dealt_counts = {.words = reinterpret_cast<unsigned long long*>(workspace_.dealt_counts.data()),
                         .are_halves = false},
        .has_one_value = workspace_.splitters.has_one_value.data(),
        .offsets = workspace_.offsets.data(),
        .limits = {.max_keys = {Small::max_keys, Large::max_keys, counts_larger_ ? max_counted_keys : 0},
                   .part_bits = {std::countr_zero(Small::parts), std::countr_zero(Large::parts)},
                   .class_by_values = class_by_values,
                   .counts_dense = counts_dense_,
                   .may_place = may_place_parts<Bits, Value>,
                   .min_narrow = leaves_narrow_ ? granule_of<NarrowKey<Bits>, Value> : 0,
                   .max_split = {}},
        .lists = {workspace_.lists.data()},
        .frequent_buckets = &listed_->buckets[0],
        .frequent_starts = &listed_->starts[0],
        .is_between_levels = is_between_levels};
    if constexpr (Policy::splits) {
      decision.limits.max_split[small_buckets] = Policy::SplitSmall::max_keys;
      decision.limits.max_split[large_buckets] = Policy::SplitLarge::max_keys;
      decision.limits.max_split[few_valued_buckets] =
          split_.by_level ? Policy::SplitLargest::max_keys : Large::max_keys;
    }
    return decision;
  }

  /// Both levels of the partition, by counts.
  void partition_by_counts() const {
    using PartitionPolicy = typename Policy::Partition;
    PartitionTask<Bits, Value> task{.keys = {arrays_.keys_in, arrays_.keys_scratch, arrays_.keys_out},
                                    .values_in = arrays_.values_in,
                                    .values_out = arrays_.values_out,
                                    .count = arrays_.count,
                                    .span = spans_.keys,
                                    .rest_counts = workspace_.rest_counts.data(),
                                    .offsets = offsets_,
                                    .splitters = workspace_.splitters.splitters.data(),
                                    .has_one_value = workspace_.splitters.has_one_value.data(),
                                    .jobs = nullptr,
                                    .job_counts = workspace_.span_counts.data(),
                                    .plan = plan_,
                                    .map = settings_.map,
                                    .outgrows = outgrows_cache<Bits, Value>(arrays_.count)};
    partition<PartitionPolicy, 0>(task, stream_);
    make_partition_jobs(task, workspace_.jobs.data(), workspace_.job_counts.data(), bucket_counts(), stream_);
    if (split_.by_level) decide(decision(true), plan_, workspace_.expansion.data(), stream_);
    partition<PartitionPolicy, 1>(task, stream_);
    if constexpr (leaves_narrow_pairs<Bits, Value>)
      if (leaves_narrow_) partition<PartitionPolicy, 1, NarrowKey<Bits>>(task, stream_);
  }

  /// Sorts each bucket with the block size and the kernel of its class.
  void finish_buckets() const {
    sort_class<Small, Crowded::left_alone>(small_buckets, with_values ? crowded_buckets : repeating_buckets);
    sort_class<Large, Crowded::left_alone>(large_buckets, crowded_buckets);
    if constexpr (leaves_narrow_pairs<Bits, Value>)
      if (leaves_narrow_)
        sort_narrow_pairs<Small>(bucket_task(narrow_pair_buckets, crowded_buckets), plan_, stream_);
    if constexpr (with_values) {
      if constexpr (Policy::splits)
        if (split_.suits) {
          sort_class<typename Policy::SplitSmall, Crowded::only_digits>(small_buckets, crowded_buckets);
          sort_class<typename Policy::SplitLarge, Crowded::only_digits>(large_buckets, crowded_buckets);
          if (split_.by_level)
            sort_class<typename Policy::SplitLargest, Crowded::only_digits>(crowded_buckets, crowded_buckets);
        }
      sort_last<Large>();
    } else {
      if (takes_bits_)
        sort_buckets_by_bits<Small::max_keys>(bucket_task(few_valued_buckets, repeating_buckets), plan_,
                                              stream_);
      if (counts_larger_ || counts_large_)
        count_buckets<CountsFewValues, Large::max_keys>(bucket_task(few_valued_buckets, repeating_buckets), 0,
                                                        plan_, stream_);
      if (counts_dense_)
        count_buckets<CountsDenseValues, Large::max_keys>(bucket_task(dense_buckets, repeating_buckets),
                                                          Small::max_keys, plan_, stream_);
      sort_class<ForRepeated<Small>, Crowded::left_alone>(repeating_buckets, crowded_buckets);
      sort_last<ForRepeated<Large>>();
    }
  }

  /// Sorts the buckets that all other kernels left alone.
  template <class BucketPolicy>
  void sort_last() const {
    constexpr auto crowded = Crowded::by_digits;
    const auto last = bucket_task(crowded_buckets, crowded_buckets);
    sort_buckets<BucketPolicy, crowded>(last, plan_, stream_);
    if (settings_.map.is_of_floats())
      sort_buckets<BucketPolicy, crowded, RealParts<Bits>>(last, plan_, stream_);
  }

  /// Whether most buckets of even pairs in a small range are narrow: not if they are larger on average than
  /// small ones should be.
  bool most_narrow() const {
    return leaves_narrow_ && arrays_.count <= uint64_t{Policy::limits.bucket_keys} << (2 * msd_digit_bits);
  }

  template <class BucketPolicy, Crowded crowded>
  void sort_class(BucketClass which, BucketClass next) const {
    sort_buckets<BucketPolicy, crowded>(bucket_task(which, next), plan_, stream_);
  }

  bucket_list::BucketTask<Bits, Value> bucket_task(BucketClass which, BucketClass next) const {
    const BucketLists lists{workspace_.lists.data()};
    const uint32_t child_bits = msd_bucket_bits(arrays_.count, Policy::limits.bucket_keys) - msd_digit_bits;
    return {.arrays = {arrays_.keys_out, arrays_.keys_out, arrays_.values_out, arrays_.values_out},
            .rest = arrays_.keys_scratch,
            .list = lists[which],
            .next_list = lists[next],
            .map = settings_.map,
            .dealt = {arrays_.keys_scratch, layout_.region(), child_bits, workspace_.dealt_chunks.data(),
                      layout_.chunks_per_bucket}};
  }

  const SortArrays<Bits, Value>& arrays_;
  const MsdSettings<Bits>& settings_;
  const MsdWorkspace<Bits, Value, Policy>& workspace_;
  cudaStream_t stream_;
  bool may_deal_;
  UncountedLayout<Bits> layout_;
  Spans spans_;
  // Whether there are enough keys to finish buckets in another way than by sorting (policy.cuh).
  bool counts_larger_ = !with_values && arrays_.count >= Policy::limits.counted_from;
  bool counts_large_ = !with_values && arrays_.count >= Policy::limits.dense_from;
  bool takes_bits_ =
      !with_values && arrays_.count >= Policy::limits.sparse_from && !counts_large_ && !counts_larger_;
  bool counts_dense_ = takes_bits_ || counts_large_;
  splitters_detail::SplitShape split_ = plan_split<Bits, Policy>(arrays_.count);
  bool leaves_narrow_ = leaves_narrow_pairs<Bits, Value> && arrays_.count >= Policy::limits.narrow_from;
  MsdPlan<Bits>* plan_ = workspace_.plan.data();
  const uint64_t* offsets_ = workspace_.offsets.data();
  const value_table::ListedValues<Bits>* listed_ = workspace_.listed.data();
};

}  // namespace msd_detail

/// Sorts `count` records, at least two. If plan->falls_back is not set in the end, keys_out (and values_out)
/// hold the sorted records. If it is set, keys_out may hold anything, unless it is keys_in, and everything
/// else is unchanged. The same is true if pairs turn out to have few values: then settings.codes.plan
/// describes the passes that are left to do. It is left alone otherwise. keys_out may be keys_in;
/// keys_scratch has MsdWorkspace::scratch_keys elements. All arrays are aligned to 16 bytes.
template <class Bits, class Value, class Policy>
void radix_msd(const SortArrays<Bits, Value>& arrays, const MsdSettings<Bits>& settings,
               const MsdWorkspace<Bits, Value, Policy>& workspace, cudaStream_t stream) {
  msd_detail::MsdRun<Bits, Value, Policy>(arrays, settings, workspace, stream).launch();
}

/// Counts the values of the keys if workspace.plan->maybe_few is set, and nothing else of that plan. If they
/// are few, settings.codes.plan describes the passes that sort by them or, for keys alone, says that their
/// runs are to be written. Otherwise it is left alone.
template <class Bits, class Value, class Policy>
void count_few_values(const SortArrays<Bits, Value>& arrays, const MsdSettings<Bits>& settings,
                      const MsdWorkspace<Bits, Value, Policy>& workspace, cudaStream_t stream) {
  msd_detail::count_values(arrays, settings, Spans(arrays.count, multiprocessors()), workspace, stream);
}

}  // namespace sweepsort
