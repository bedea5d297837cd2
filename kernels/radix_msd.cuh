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
#include "core/rounding.hpp"
#include "kernels/bin_counts.cuh"
#include "kernels/bucket_bits.cuh"
#include "kernels/bucket_counting.cuh"
#include "kernels/bucket_histogram.cuh"
#include "kernels/bucket_list.cuh"
#include "kernels/bucket_pairs.cuh"
#include "kernels/bucket_parts.cuh"
#include "kernels/bucket_sort_kernel.cuh"
#include "kernels/counting_sort.cuh"
#include "kernels/few_values.cuh"
#include "kernels/frequent_survey.cuh"
#include "kernels/frequent_values.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_decide.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/msd_survey.cuh"
#include "kernels/pair_arrays.cuh"
#include "kernels/partition_jobs.cuh"
#include "kernels/policy_buckets.cuh"
#include "kernels/policy_msd.cuh"
#include "kernels/ptx.cuh"
#include "kernels/radix_partition.cuh"
#include "kernels/rearrange.cuh"
#include "kernels/sort_arrays.cuh"
#include "kernels/splitters.cuh"
#include "kernels/tickets.cuh"
#include "kernels/uncounted_partition.cuh"
#include "kernels/value_codes.cuh"
#include "kernels/value_table.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

template <class Bits, class Value>
inline constexpr bool has_msd_sort = !std::is_void_v<TunedMsd<Bits, Value>>;

/// Device memory of an MSD sort besides a scratch array of `count` records. The memory up to `zeroed` must be
/// zero before each sort.
template <class Bits, class Value, class Policy = TunedMsd<Bits, Value>>
struct MsdWorkspace {
  static constexpr uint32_t max_spans = 512;  // blocks of the first level
  static constexpr bool with_values = value_bytes<Value> != 0;
  static constexpr uint32_t max_places = survey_detail::max_places(with_values, Policy::splits);

  DeviceSpan<MsdPlan<Bits>> plan;
  DeviceSpan<value_table::Table<Bits>> values;
  DeviceSpan<SortPlan<Bits>> expansion;
  DeviceSpan<uint64_t> counts;        // by bucket: BinCounts
  DeviceSpan<uint32_t> sample_sizes;  // by finder
  DeviceSpan<uint32_t> dealt_whole;   // by parent: keys dealt to it in whole sectors,
  DeviceSpan<uint32_t> dealt_rest;    // and all other keys dealt to it
  size_t zeroed;
  DeviceSpan<uint64_t> offsets;  // by bucket
  DeviceSpan<value_table::ListedValues<Bits>> listed;
  DeviceSpan<uint32_t> rest_counts;   // by span
  DeviceSpan<ListedBucket> lists;     // BucketLists
  DeviceSpan<uint64_t> dealt_counts;  // by bucket
  SplitterWorkspace<Bits> splitters;
  // Only the partition that counts writes these. It runs if dealing was not tried or has failed, so the
  // numbers of dealt chunks lie in the same memory.
  DeviceSpan<uint32_t> span_counts;
  DeviceSpan<PartitionJob> jobs;
  DeviceSpan<uint32_t> job_counts;
  DeviceSpan<uint16_t> dealt_chunks;

  /// `is_wanted` false: takes almost no memory. The workspace then only serves count_few_values(), if
  /// `counts_few_values`. Up to `dealt` keys may be partitioned without being counted.
  explicit MsdWorkspace(Workspace& workspace, bool is_wanted = true, bool counts_few_values = true,
                        uint64_t dealt = 0)
      : plan(workspace.take<MsdPlan<Bits>>(is_wanted || counts_few_values)),
        values(workspace.take<value_table::Table<Bits>>(is_wanted || counts_few_values)),
        expansion(workspace.take<SortPlan<Bits>>(is_wanted || counts_few_values)),
        counts(workspace.take<uint64_t>(is_wanted ? msd_max_buckets : 0)),
        sample_sizes(workspace.take<uint32_t>(is_wanted && !with_values ? survey_detail::finders : 0)),
        dealt_whole(workspace.take<uint32_t>(has_dealt(dealt) ? msd_digits : 0)),
        dealt_rest(workspace.take<uint32_t>(has_dealt(dealt) ? msd_digits : 0)),
        zeroed(workspace.used()),
        offsets(workspace.take<uint64_t>(is_wanted ? msd_max_buckets : 0)),
        listed(workspace.take<value_table::ListedValues<Bits>>(is_wanted || counts_few_values)),
        rest_counts(workspace.take<uint32_t>(is_wanted ? max_spans : 0)),
        lists(workspace.take<ListedBucket>(is_wanted ? BucketLists::entries : 0)),
        dealt_counts(workspace.take<uint64_t>(has_dealt(dealt) ? msd_max_buckets : 0)),
        splitters(workspace, is_wanted && Policy::splits) {
    Workspace dealing = workspace;
    span_counts = workspace.take<uint32_t>(is_wanted ? uint64_t{max_spans} * msd_digits : 0);
    jobs = workspace.take<PartitionJob>(is_wanted ? msd_max_jobs : 0);
    job_counts = workspace.take<uint32_t>(is_wanted ? uint64_t{msd_max_rows} * msd_digits : 0);
    dealt_chunks = dealing.take<uint16_t>(has_dealt(dealt) ? chunks(dealt) : 0);
    workspace.share_with(dealing);
  }

  /// The sample lies in the memory where buckets will be listed.
  std::byte* sample() const {
    static_assert(survey_detail::CollectedSample<Bits>::bytes(max_places) <=
                  BucketLists::entries * sizeof(ListedBucket));
    return reinterpret_cast<std::byte*>(lists.data());
  }
  /// Whether `count` keys may be partitioned without being counted.
  static constexpr bool deals(uint64_t count) {
    if constexpr (Policy::deals) return count >= Policy::dealt_from && count <= Policy::dealt_to;
    return false;
  }
  /// Whether there is room for that. True for larger counts, too, so that more keys never need less memory.
  static constexpr bool has_dealt(uint64_t count) {
    if constexpr (Policy::deals) return count >= Policy::dealt_from;
    return false;
  }
  static constexpr UncountedLayout<Bits> layout(uint64_t count) {
    return {count, msd_bucket_bits(count, Policy::limits.bucket_keys)};
  }
  /// Elements of the scratch array of keys. For pairs, it also holds the values.
  static constexpr uint64_t scratch_keys(uint64_t count) {
    if constexpr (with_values) return ceil_divide(count * PairRecord<Bits, Value>::bytes, sizeof(Bits));
    if constexpr (Policy::deals)
      if (count >= Policy::dealt_from)
        return std::max(count, layout(std::min(count, Policy::dealt_to)).keys());
    return count;
  }
  static constexpr uint64_t chunks(uint64_t count) {
    if constexpr (Policy::deals) count = std::min(count, Policy::dealt_to);
    return uint64_t{layout(count).chunks_per_bucket} << msd_bucket_bits(count, Policy::limits.bucket_keys);
  }
};

/// What an MSD sort needs to know besides its arrays. Pointers are to device memory and may be null.
template <class Bits>
struct MsdSettings {
  KeyMap<Bits> map;
  const Digest<Bits>* digest = nullptr;   // of all keys; null: they are only sampled
  Digest<Bits>* digest_beside = nullptr;  // all zeros; is taken while one block samples
  const uint32_t* wanted = nullptr;       // if it points to zero, nothing is done
  CodePasses<Bits> codes = {};            // plans what is left to do if the records have few values
};

/// For records that have no MSD sort.
template <class Bits, class Value>
struct MsdWorkspace<Bits, Value, void> {
  size_t zeroed;
  explicit MsdWorkspace(Workspace& workspace, bool /*is_wanted*/ = false, bool /*counts_few_values*/ = false,
                        uint64_t /*dealt*/ = 0)
      : zeroed(workspace.used()) {}
};

namespace msd_detail {

template <class Bits>
union CountValuesShared {
  few_detail::Shared<Bits> few;
  frequent_detail::Shared<Bits> frequent;
  value_table::OrderShared<Bits> order;
  codes_detail::Shared codes;
};

/// If the keys have few values, counts them all. If some values are frequent, counts these and moves the
/// other keys to `rest`. The last block to finish sorts the values. If they are few, it also describes in
/// `codes` what is left to do.
template <class Bits>
__global__ __launch_bounds__(value_table::threads) void count_values_kernel(
    const Bits* keys, uint64_t count, uint64_t span, KeyMap<Bits> map, MsdPlan<Bits>* plan,
    value_table::Table<Bits>* table, Bits* rest, uint32_t* rest_counts,
    value_table::ListedValues<Bits>* listed, SortPlan<Bits>* expansion, CodePasses<Bits> codes) {
  ptx::wait_for_previous_launch();
  if (!plan->tries_few_values() && plan->frequent.count == 0) return;
  auto& shared = cleared_shared_memory<CountValuesShared<Bits>, value_table::threads>();
  if (plan->frequent.count != 0)
    frequent_detail::take_out(keys, count, span, *plan, shared.frequent, table, rest, rest_counts);
  else
    few_detail::count_few(keys, count, plan, shared.few, table);

  if (!completes(expansion->finished_blocks, 1, gridDim.x)) return;
  if (!plan->has_few_values() && plan->frequent.count == 0) return;
  value_table::order_values(table, map, shared.order, plan, listed, expansion);
  __syncthreads();
  if (codes.plan != nullptr && plan->has_few_values())
    codes_detail::plan_rest(*expansion, *listed, map, codes, shared.codes);
}

/// Counts values as far as the plan asks for it.
template <class Bits, class Value, class Policy>
void count_values(const SortArrays<Bits, Value>& arrays, const MsdSettings<Bits>& settings,
                  const Spans& spans, const MsdWorkspace<Bits, Value, Policy>& workspace,
                  cudaStream_t stream) {
  launch_chained(count_values_kernel<Bits>,
                 {spans.number, value_table::threads, sizeof(CountValuesShared<Bits>)}, stream,
                 arrays.keys_in, arrays.count, spans.keys, settings.map, workspace.plan.data(),
                 workspace.values.data(), arrays.keys_scratch, workspace.rest_counts.data(),
                 workspace.listed.data(), workspace.expansion.data(), settings.codes);
}

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
    const uint32_t places = max_places(with_values, split_bits_ != 0);
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
                          .split_bits = split_bits_,
                          .sample = CollectedSample<Bits>::in(workspace_.sample(), places)};
    collect_sample(task, settings_.wanted, plan_, stream_);
    if (settings_.digest == nullptr)
      rearrange_as_guessed(arrays_.keys_in, arrays_.keys_out, arrays_.values_in, arrays_.values_out, count,
                           settings_.map, plan_, stream_);
    survey(task, settings_.digest_beside, plan_, workspace_.values.data(), stream_);
    if constexpr (Policy::splits)
      if (split_bits_ != 0) {
        const uint32_t size = splitters_detail::sampled(split_bits_);
        choose_splitters(reinterpret_cast<Bits*>(task.sample.places), size, settings_.map,
                         workspace_.splitters, plan_, stream_);
      }
    if constexpr (!with_values)
      find_frequent_values(task, arrays_.keys_scratch, workspace_.sample_sizes.data(), plan_,
                           workspace_.values.data(), stream_);
    if (settings_.digest != nullptr) correct_survey(settings_.digest, task.bucket_keys, plan_, stream_);
  }

  /// Partitions without a histogram.
  void deal_even_keys() const {
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

  /// Makes the histogram of the buckets, chooses the method, and lists the buckets.
  void count_and_decide() const {
    if constexpr (Policy::deals) {
      constexpr auto layout = MsdWorkspace<Bits, Value, Policy>::layout(Policy::dealt_to);
      static_assert(layout.region() / dealt_chunk<Bits> <= 1u << 16, "a chunk has a number of 16 bits");
      static_assert(layout.room >= Policy::dealt_to / msd_digits + msd_digits * dealt_chunk<Bits>,
                    "there is a chunk for each child");
    }
    // Crowded buckets of either class, and their parts, must suit the launch of the large ones.
    static_assert(Small::max_keys <= Large::max_keys && Small::parts <= Large::parts);
    const BinCounts counts{.words = reinterpret_cast<unsigned long long*>(workspace_.counts.data()),
                           .are_halves = arrays_.count >> 32 == 0};
    const BucketHistogramTask<Bits> histogram{.keys = arrays_.keys_in,
                                              .rest = arrays_.keys_scratch,
                                              .rest_counts = workspace_.rest_counts.data(),
                                              .count = arrays_.count,
                                              .span = spans_.keys,
                                              .map = settings_.map,
                                              .counts = counts,
                                              .span_counts = workspace_.span_counts.data()};
    count_bucket_sizes(histogram, spans_.number, plan_, stream_);
    if constexpr (Policy::splits)
      if (split_bits_ != 0)
        count_between_splitters(SplitHistogramTask<Bits>{.keys = arrays_.keys_in,
                                                         .count = arrays_.count,
                                                         .span = spans_.keys,
                                                         .map = settings_.map,
                                                         .splitters = workspace_.splitters.splitters.data(),
                                                         .counts = counts,
                                                         .span_counts = workspace_.span_counts.data()},
                                spans_.number, static_cast<const MsdPlan<Bits>*>(plan_), stream_);
    Decision decision{
        .counts = counts,
        .dealt_counts = {.words = reinterpret_cast<unsigned long long*>(workspace_.dealt_counts.data()),
                         .are_halves = false},
        .has_one_value = workspace_.splitters.has_one_value.data(),
        .offsets = workspace_.offsets.data(),
        .limits = {{Small::max_keys, Large::max_keys, counts_larger_ ? max_counted_keys : 0},
                   {std::countr_zero(Small::parts), std::countr_zero(Large::parts)},
                   counts_large_ ? large_buckets
                   : takes_bits_ ? small_buckets
                                 : bucket_classes,
                   counts_dense_,
                   may_place_parts<Bits, Value>,
                   leaves_narrow_ ? granule_of<NarrowKey<Bits>, Value> : 0,
                   {}},
        .lists = {workspace_.lists.data()},
        .frequent_buckets = &listed_->buckets[0],
        .frequent_starts = &listed_->starts[0]};
    if constexpr (Policy::splits) {
      decision.limits.max_split[small_buckets] = Policy::SplitSmall::max_keys;
      decision.limits.max_split[large_buckets] = Policy::SplitLarge::max_keys;
    }
    decide(decision, plan_, workspace_.expansion.data(), stream_);
    if constexpr (!with_values)
      counting_detail::expand(offsets_, 0, DeviceSpan<Bits>(arrays_.keys_out, arrays_.count), settings_.map,
                              static_cast<const SortPlan<Bits>*>(workspace_.expansion.data()), stream_);
  }

  /// Both levels of the partition, by counts.
  void partition_by_counts() const {
    using PartitionPolicy = typename Policy::Partition;
    PartitionLevel<Bits, Value> level{.keys = {arrays_.keys_in, arrays_.keys_scratch, arrays_.keys_out},
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
    partition<PartitionPolicy, 0>(level, stream_);
    make_partition_jobs(level, workspace_.jobs.data(), workspace_.job_counts.data(), stream_);
    partition<PartitionPolicy, 1>(level, stream_);
    if constexpr (leaves_narrow_pairs<Bits, Value>)
      if (leaves_narrow_) partition<PartitionPolicy, 1, NarrowKey<Bits>>(level, stream_);
  }

  /// Sorts each bucket with the block size and the kernel of its class.
  void finish_buckets() const {
    sort_class<Small, Crowded::left_alone>(small_buckets, with_values ? crowded_buckets : repeating_buckets);
    sort_class<Large, Crowded::left_alone>(large_buckets, crowded_buckets);
    if constexpr (leaves_narrow_pairs<Bits, Value>)
      if (leaves_narrow_)
        sort_narrow_pairs<Small>(task(narrow_pair_buckets, crowded_buckets), plan_, stream_);
    if constexpr (with_values) {
      if constexpr (Policy::splits)
        if (split_bits_ != 0) {
          sort_class<typename Policy::SplitSmall, Crowded::only_digits>(small_buckets, crowded_buckets);
          sort_class<typename Policy::SplitLarge, Crowded::only_digits>(large_buckets, crowded_buckets);
        }
      sort_last<Large>();
    } else {
      if (takes_bits_)
        sort_buckets_by_bits<Small::max_keys>(task(few_valued_buckets, repeating_buckets), plan_, stream_);
      if (counts_larger_ || counts_large_)
        count_buckets<CountsFewValues, Large::max_keys>(task(few_valued_buckets, repeating_buckets), 0, plan_,
                                                        stream_);
      if (counts_dense_)
        count_buckets<CountsDenseValues, Large::max_keys>(task(dense_buckets, repeating_buckets),
                                                          Small::max_keys, plan_, stream_);
      sort_class<ForRepeated<Small>, Crowded::left_alone>(repeating_buckets, crowded_buckets);
      sort_last<ForRepeated<Large>>();
    }
  }

  /// Sorts the buckets that all other kernels left alone.
  template <class BucketPolicy>
  void sort_last() const {
    constexpr auto crowded = Crowded::by_digits;
    const auto last = task(crowded_buckets, crowded_buckets);
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
    sort_buckets<BucketPolicy, crowded>(task(which, next), plan_, stream_);
  }

  bucket_list::BucketTask<Bits, Value> task(BucketClass which, BucketClass next) const {
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
  uint32_t split_bits_ = split_bits<Bits, Policy>(arrays_.count);
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
