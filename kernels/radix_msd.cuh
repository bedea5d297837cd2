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
//                             ├─ in ──> scratch ──> out ──> out      level 1, level 2, each bucket in a block
//                             │         scratch ──> out ──> scratch ──> out     the others, then the frequent
//                             └─ a bucket that no kernel here finishes: nothing, `falls_back` is set
//
// Moves 4 + 8 + 8 + 8 bytes a u32 key whatever the number of its digits, even ones alone 8 + 8 + 8, where an
// LSD sort moves 8 a digit. All choices are made on the device.
#pragma once

#include "core/key_bits.hpp"
#include "kernels/bucket_bits.cuh"
#include "kernels/bucket_counting.cuh"
#include "kernels/bucket_histogram.cuh"
#include "kernels/bucket_pairs.cuh"
#include "kernels/bucket_sort.cuh"
#include "kernels/counting_sort.cuh"
#include "kernels/few_values.cuh"
#include "kernels/frequent_values.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/msd_survey.cuh"
#include "kernels/pair_arrays.cuh"
#include "kernels/policy.cuh"
#include "kernels/ptx.cuh"
#include "kernels/radix_partition.cuh"
#include "kernels/rearrange.cuh"
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

/// Device memory of an MSD sort besides a scratch array of `count` records. Up to `zeroed` all must be zero
/// before each sort.
template <class Bits, class Value, class Policy_ = TunedMsd<Bits, Value>>
struct MsdWorkspace {
  using Policy = Policy_;
  static constexpr uint32_t most_spans = 512;  // blocks of the first level
  static constexpr bool with_values = value_bytes<Value> != 0;
  static constexpr uint32_t most_places = survey_detail::most_places(with_values);

  DeviceSpan<MsdPlan<Bits>> plan;
  DeviceSpan<value_table::Table<Bits>> values;
  DeviceSpan<SortPlan<Bits>> expansion;
  DeviceSpan<uint64_t> counts;        // by bucket: BinCounts
  DeviceSpan<uint32_t> sample_sizes;  // by finder
  DeviceSpan<uint32_t> dealt_whole;   // by parent: keys dealt to it by sectors,
  DeviceSpan<uint32_t> dealt_rest;    // and the others
  size_t zeroed;
  DeviceSpan<uint64_t> offsets;  // by bucket
  DeviceSpan<value_table::ListedValues<Bits>> listed;
  DeviceSpan<uint32_t> rest_counts;  // by span
  DeviceSpan<uint32_t> span_counts;
  DeviceSpan<PartitionJob> jobs;
  DeviceSpan<uint32_t> job_counts;
  DeviceSpan<ListedBucket> lists;     // BucketLists
  DeviceSpan<uint64_t> dealt_counts;  // by bucket
  DeviceSpan<uint16_t> dealt_chunks;

  /// `is_wanted` false: takes next to nothing, and cannot be used, unless it `counts_few_values`. Up to
  /// `dealt` keys may be partitioned without being counted.
  explicit MsdWorkspace(Workspace& workspace, bool is_wanted = true, bool counts_few_values = true,
                        uint64_t dealt = 0)
      : plan(workspace.take<MsdPlan<Bits>>(is_wanted || counts_few_values)),
        values(workspace.take<value_table::Table<Bits>>(is_wanted || counts_few_values)),
        expansion(workspace.take<SortPlan<Bits>>(is_wanted || counts_few_values)),
        counts(workspace.take<uint64_t>(is_wanted ? msd_most_buckets : 0)),
        sample_sizes(workspace.take<uint32_t>(is_wanted && !with_values ? survey_detail::finders : 0)),
        dealt_whole(workspace.take<uint32_t>(has_dealt(dealt) ? msd_digits : 0)),
        dealt_rest(workspace.take<uint32_t>(has_dealt(dealt) ? msd_digits : 0)),
        zeroed(workspace.used()),
        offsets(workspace.take<uint64_t>(is_wanted ? msd_most_buckets : 0)),
        listed(workspace.take<value_table::ListedValues<Bits>>(is_wanted || counts_few_values)),
        rest_counts(workspace.take<uint32_t>(is_wanted ? most_spans : 0)),
        span_counts(workspace.take<uint32_t>(is_wanted ? uint64_t{most_spans} * msd_digits : 0)),
        jobs(workspace.take<PartitionJob>(is_wanted ? msd_most_jobs : 0)),
        job_counts(workspace.take<uint32_t>(is_wanted ? uint64_t{msd_most_jobs} * msd_digits : 0)),
        lists(workspace.take<ListedBucket>(is_wanted ? BucketLists::entries : 0)),
        dealt_counts(workspace.take<uint64_t>(has_dealt(dealt) ? msd_most_buckets : 0)),
        dealt_chunks(workspace.take<uint16_t>(has_dealt(dealt) ? chunks(dealt) : 0)) {}

  /// What the survey looks at lies where buckets will be listed.
  std::byte* sample() const {
    static_assert(survey_detail::CollectedSample<Bits>::bytes(most_places) <=
                  BucketLists::entries * sizeof(ListedBucket));
    return reinterpret_cast<std::byte*>(lists.data());
  }
  /// Whether so many keys may be partitioned without being counted.
  static constexpr bool deals(uint64_t count) {
    if constexpr (Policy::deals) return count >= Policy::dealt_from && count <= Policy::dealt_most;
    return false;
  }
  /// Whether there is room for that: for more keys, too, so that these never want less memory.
  static constexpr bool has_dealt(uint64_t count) {
    if constexpr (Policy::deals) return count >= Policy::dealt_from;
    return false;
  }
  static constexpr UncountedLayout<Bits> layout(uint64_t count) {
    return {count, msd_bucket_bits(count, Policy::bucket_keys)};
  }
  /// Elements of the scratch array of keys. That of pairs holds the values, too.
  static constexpr uint64_t scratch_keys(uint64_t count) {
    if constexpr (with_values)
      return (count * PairRecord<Bits, Value>::bytes + sizeof(Bits) - 1) / sizeof(Bits);
    if constexpr (Policy::deals)
      if (count >= Policy::dealt_from)
        return std::max(count, layout(std::min(count, Policy::dealt_most)).keys());
    return count;
  }
  static constexpr uint64_t chunks(uint64_t count) {
    if constexpr (Policy::deals) count = std::min(count, Policy::dealt_most);
    return uint64_t{layout(count).chunks_a_bucket} << msd_bucket_bits(count, Policy::bucket_keys);
  }
  /// Second level: most records a job, one and a half times what a parent has on average.
  static uint64_t job_keys(uint64_t count) { return std::max<uint64_t>(count * 3 / (2 * msd_digits), 1024); }
};

/// Where the records of an MSD sort come from, go to, and are in between: keys_scratch, which has
/// MsdWorkspace::scratch_keys elements. values_scratch is for the sorts that this one falls back
/// on; it may lie in keys_scratch, behind `count` keys.
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

/// What an MSD sort does not find in its arrays. Pointers are to device memory, and may be null.
template <class Bits>
struct MsdSettings {
  KeyMap<Bits> map;
  const Digest<Bits>* digest = nullptr;   // of all keys; if null, they are sampled only
  Digest<Bits>* digest_beside = nullptr;  // was all zeros; is taken while one block samples
  const uint32_t* wanted = nullptr;       // if it is zero, nothing is done
  CodePasses<Bits> codes = {};            // pairs: where passes by code are planned, if they have few values
};

/// Records that have no MSD sort.
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
};

/// Few values are counted, all of them; or frequent ones, and the other keys go to `rest`.
template <class Bits>
__global__ __launch_bounds__(value_table::threads) void count_values_kernel(
    const Bits* keys, uint64_t count, uint64_t span, MsdPlan<Bits>* plan, value_table::Table<Bits>* table,
    Bits* rest, uint32_t* rest_counts) {
  ptx::wait_for_previous_launch();
  if (!plan->tries_few_values() && plan->frequent == 0) return;
  CountValuesShared<Bits>& shared = shared_memory<CountValuesShared<Bits>>();
  for (uint32_t i = threadIdx.x; i < sizeof(shared) / 4; i += value_table::threads)
    reinterpret_cast<uint32_t*>(&shared)[i] = 0;
  __syncthreads();
  if (plan->frequent != 0)
    frequent_detail::take_out(keys, count, span, *plan, shared.frequent, table, rest, rest_counts);
  else
    few_detail::count_few(keys, count, plan, shared.few, table);
}

template <class Bits>
union OrderValuesShared {
  value_table::OrderShared<Bits> order;
  codes_detail::Shared codes;
};

/// One block: the values that were counted, in order. Pairs of few ones are passed by their codes.
template <class Bits>
__global__ __launch_bounds__(value_table::threads) void order_values_kernel(
    const value_table::Table<Bits>* table, KeyMap<Bits> map, MsdPlan<Bits>* plan,
    value_table::ListedValues<Bits>* listed, SortPlan<Bits>* expansion, CodePasses<Bits> codes) {
  ptx::wait_for_previous_launch();
  if (!plan->has_few_values() && plan->frequent == 0) return;
  auto& shared = shared_memory<OrderValuesShared<Bits>>();
  value_table::order_values(table, map, shared.order, plan, listed, expansion);
  __syncthreads();
  if (codes.plan != nullptr && plan->has_few_values())
    codes_detail::plan_passes(*expansion, *listed, map, codes, shared.codes);
}

/// Neighbouring keys of each block: whole vectors.
struct Spans {
  uint64_t keys;
  uint32_t number;

  Spans(uint64_t count, uint32_t most)
      : keys(align_up(std::max<uint64_t>(count / most + 1, 4096), 16)),
        number(static_cast<uint32_t>((count + keys - 1) / keys)) {}
};

/// What the plan wants of that.
template <class Bits, class Value, class Policy>
void count_values(const MsdArrays<Bits, Value>& arrays, const MsdSettings<Bits>& settings, const Spans& spans,
                  const MsdWorkspace<Bits, Value, Policy>& workspace, cudaStream_t stream) {
  MsdPlan<Bits>* const plan = workspace.plan.data();
  launch_chained(count_values_kernel<Bits>,
                 {spans.number, value_table::threads, sizeof(CountValuesShared<Bits>)}, stream,
                 arrays.keys_in, arrays.count, spans.keys, plan, workspace.values.data(), arrays.keys_scratch,
                 workspace.rest_counts.data());
  launch_chained(order_values_kernel<Bits>, {1, value_table::threads, sizeof(OrderValuesShared<Bits>)},
                 stream, static_cast<const value_table::Table<Bits>*>(workspace.values.data()), settings.map,
                 plan, workspace.listed.data(), workspace.expansion.data(), settings.codes);
}

/// Both levels of the partition, if the plan says that they need no histogram.
template <class Bits, class Policy>
void deal(const MsdArrays<Bits, NoValue>& arrays, KeyMap<Bits> map, const Spans& spans,
          const UncountedLayout<Bits>& layout, const MsdWorkspace<Bits, NoValue, Policy>& workspace,
          cudaStream_t stream) {
  using namespace uncounted_detail;
  using Partition = typename Policy::Deal;
  const Task<Bits> task{.in = arrays.keys_in,
                        .scratch = arrays.keys_scratch,
                        .count = arrays.count,
                        .span = spans.keys,
                        .map = map,
                        .layout = layout,
                        .counts_whole = workspace.dealt_whole.data(),
                        .counts_rest = workspace.dealt_rest.data(),
                        .counts = workspace.dealt_counts.data(),
                        .chunks = workspace.dealt_chunks.data(),
                        .plan = workspace.plan.data()};
  constexpr size_t shared_bytes = sizeof(uncounted_detail::Shared<Bits, Partition>);
  const uint32_t blocks = std::min(multiprocessors() * Partition::blocks_a_multiprocessor, msd_digits);
  const auto launch = [&]<class Buckets>() {
    launch_chained(deal_kernel<Bits, Partition, Buckets, true>,
                   {spans.number, Partition::threads, shared_bytes}, stream, task);
    launch_chained(deal_kernel<Bits, Partition, Buckets, false>, {blocks, Partition::threads, shared_bytes},
                   stream, task);
  };
  launch.template operator()<LinearBuckets<Bits>>();
  if (map.is_of_floats()) launch.template operator()<RealBuckets<Bits>>();
}

/// Sorts the buckets of task.list, of which each fits a block.
template <class Policy, bucket_sort_detail::Crowded crowded, Ranking ranking, class Parts = BucketParts,
          class Bits, class Value>
void sort_buckets(bucket_sort_detail::BucketTask<Bits, Value> task, MsdPlan<Bits>* plan,
                  cudaStream_t stream) {
  using namespace bucket_sort_detail;
  const auto kernel = bucket_sort_kernel<Bits, Value, ranking, Policy, crowded, Parts>;
  constexpr size_t shared_bytes = sizeof(Shared<Bits, Value, Policy>);
  const uint32_t blocks = std::min(resident_blocks(kernel, Policy::threads, shared_bytes), msd_most_buckets);
  launch_chained(kernel, {blocks, Policy::threads, shared_bytes}, stream, task, plan);
}

/// Keys alone of few values: small buckets, by a bit vector.
template <class Policy, class Bits>
void sort_by_bits(bucket_sort_detail::BucketTask<Bits, NoValue> task, MsdPlan<Bits>* plan,
                  cudaStream_t stream) {
  using namespace bucket_bits_detail;
  constexpr uint32_t most_keys = Policy::Small::most_keys;
  launch_chained(bucket_bits_kernel<Bits, most_keys>,
                 {multiprocessors() * blocks_a_multiprocessor, threads, sizeof(Shared<Bits, most_keys>)},
                 stream, task, plan);
}

/// Pairs with narrow keys.
template <class Policy, class Value>
void sort_narrow_pairs(bucket_sort_detail::BucketTask<uint32_t, Value> task, MsdPlan<uint32_t>* plan,
                       cudaStream_t stream) {
  using namespace bucket_pairs_detail;
  using Sort = PairSort<Value, typename Policy::Small>;
  launch_chained(
      bucket_pairs_kernel<Value, typename Policy::Small>,
      {multiprocessors() * blocks_a_multiprocessor, Sort::threads, sizeof(typename Sort::PairShared)}, stream,
      task, plan);
}

/// Keys alone of few values: by counters. Buckets of up to `most_left_alone` keys may be left alone.
template <class Policy, class Shape, class Bits>
void count_buckets(bucket_sort_detail::BucketTask<Bits, NoValue> task, uint32_t most_left_alone,
                   MsdPlan<Bits>* plan, cudaStream_t stream) {
  using namespace bucket_counting_detail;
  constexpr uint32_t most_chunks = Policy::Large::most_keys / dealt_chunk<Bits>;
  static_assert(Policy::Large::most_keys % dealt_chunk<Bits> == 0);
  const auto kernel = bucket_counting_kernel<Bits, Shape, most_chunks>;
  constexpr size_t shared_bytes = sizeof(Shared<Shape, most_chunks>);
  const uint32_t blocks = resident_blocks(kernel, Shape::threads, shared_bytes);
  launch_chained(kernel, {blocks, Shape::threads, shared_bytes}, stream, task, most_left_alone, plan);
}

template <class Policy, Ranking ranking, class Bits, class Value>
void sort_alone(const MsdArrays<Bits, Value>& arrays, KeyMap<Bits> map, cudaStream_t stream) {
  using namespace bucket_sort_detail;
  const BucketArrays<Bits, Value> all{arrays.keys_in, arrays.keys_out, arrays.values_in, arrays.values_out};
  auto kernel = sort_alone_kernel<Bits, Value, ranking, Policy, BucketParts>;
  if constexpr (value_bytes<Value> == 0)
    if (map.is_of_floats()) kernel = sort_alone_kernel<Bits, Value, ranking, Policy, RealParts<Bits>>;
  launch_chained(kernel, {1, Policy::threads, sizeof(Shared<Bits, Value, Policy>)}, stream, all,
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

/// Sorts `count` records, at least two. Unless plan->falls_back is set in the end, keys_out (and values_out)
/// hold the sorted records; if it is set, nothing was written, and likewise if pairs turn out to have few
/// values: then settings.codes.plan, which is left alone otherwise, tells the passes to do. keys_out may be
/// keys_in. All arrays are aligned to 16 bytes.
template <Ranking ranking, class Bits, class Value, class Policy>
void radix_msd(const MsdArrays<Bits, Value>& arrays, const MsdSettings<Bits>& settings,
               const MsdWorkspace<Bits, Value, Policy>& workspace, cudaStream_t stream) {
  constexpr bool with_values = value_bytes<Value> != 0;
  // Keys alone are hardly ranked: not worth a second set of kernels.
  constexpr Ranking stable_ranking = with_values ? ranking : Ranking::ballot;
  const uint64_t count = arrays.count;
  const KeyMap<Bits>& map = settings.map;
  const bool counts_larger = !with_values && count >= Policy::counted_from;
  const bool counts_large = !with_values && count >= Policy::dense_from;
  const bool takes_bits = !with_values && count >= Policy::sparse_from && !counts_large && !counts_larger;
  const bool counts_dense = takes_bits || counts_large;
  const bool leaves_narrow = leaves_narrow_pairs<Bits, Value> && count >= Policy::narrow_from;
  MsdPlan<Bits>* const plan = workspace.plan.data();
  const bool may_deal = !workspace.dealt_chunks.empty() && workspace.deals(count);
  const survey_detail::Task<Bits> survey{
      .keys = arrays.keys_in,
      .count = count,
      .map = map,
      .bucket_keys = Policy::bucket_keys,
      .most_bucket_keys = Policy::Large::most_keys,
      .most_keys = counts_larger ? most_counted_keys : Policy::Large::most_keys,
      .keys_a_value = counts_dense ? survey_detail::counted_keys_a_value : survey_detail::sorted_keys_a_value,
      .with_values = with_values,
      .checks_order = settings.digest == nullptr,
      .has_fine_pieces = !with_values && count >= Policy::fine_from,
      .asks_for_clumps = count >= Policy::clumps_from && count < survey_detail::clumps_below,
      .may_deal = may_deal,
      .sample = survey_detail::CollectedSample<Bits>::in(workspace.sample(), workspace.most_places)};
  survey_detail::collect_sample(survey, settings.wanted, plan, stream);
  if (settings.digest == nullptr)
    rearrange_as_guessed(arrays.keys_in, arrays.keys_out, arrays.values_in, arrays.values_out, count, map,
                         plan, stream);
  const digest_detail::Task<Bits> beside(DeviceSpan<const Bits>(arrays.keys_in, count), map,
                                         settings.digest_beside);
  const uint32_t idle = std::max(multiprocessors(), 2u) - 1;
  const uint32_t digesting = settings.digest_beside == nullptr ? 0 : beside.blocks(idle);
  launch_chained(survey_detail::survey_kernel<Bits>,
                 {1 + digesting, survey_detail::threads,
                  std::max(sizeof(survey_detail::Shared<Bits>), sizeof(survey_detail::DigestShared<Bits>))},
                 stream, survey, beside, plan, workspace.values.data());
  if constexpr (!with_values) {
    const survey_detail::FrequentSample<Bits> sample{
        .keys = arrays.keys_scratch,
        .sizes = workspace.sample_sizes.data(),
        .places = survey_detail::frequent_places<Bits>(count),
        .most_keys = static_cast<uint32_t>(std::min<uint64_t>(count / survey_detail::finders, 1u << 31))};
    launch_chained(survey_detail::sample_kernel<Bits>,
                   {2 * sample.places / survey_detail::sample_threads, survey_detail::sample_threads,
                    sizeof(survey_detail::SampleShared)},
                   stream, survey, sample, static_cast<const MsdPlan<Bits>*>(plan));
    launch_chained(survey_detail::find_frequent_kernel<Bits>,
                   {survey_detail::finders, survey_detail::threads, sizeof(survey_detail::Shared<Bits>)},
                   stream, survey, sample, plan, workspace.values.data());
  }
  if (settings.digest != nullptr)
    launch_chained(survey_detail::survey_digest_kernel<Bits>, {1, 1}, stream, settings.digest,
                   survey.bucket_keys, plan);

  constexpr uint32_t blocks_a_multiprocessor = Policy::Partition::blocks_a_multiprocessor;
  const msd_detail::Spans all(count,
                              std::min(multiprocessors() * blocks_a_multiprocessor, workspace.most_spans));
  const uint64_t span = all.keys;
  const uint32_t spans = all.number;
  const value_table::ListedValues<Bits>* const listed = workspace.listed.data();
  msd_detail::count_values(arrays, settings, all, workspace, stream);

  const UncountedLayout<Bits> layout = workspace.layout(count);
  if constexpr (Policy::deals)
    if (may_deal) msd_detail::deal(arrays, map, all, layout, workspace, stream);

  const BinCounts counts{.words = reinterpret_cast<unsigned long long*>(workspace.counts.data()),
                         .are_halves = count >> 32 == 0};
  using namespace bucket_histogram_detail;
  const bucket_histogram_detail::Task<Bits> histogram{.keys = arrays.keys_in,
                                                      .rest = arrays.keys_scratch,
                                                      .rest_counts = workspace.rest_counts.data(),
                                                      .count = count,
                                                      .span = span,
                                                      .map = map,
                                                      .counts = counts,
                                                      .span_counts = workspace.span_counts.data()};
  launch_chained(bucket_histogram_kernel<Bits>,
                 {spans, WideCounters::threads, sizeof(bucket_histogram_detail::Shared)}, stream, histogram,
                 plan);

  if constexpr (Policy::deals)
    static_assert(
        MsdWorkspace<Bits, Value, Policy>::layout(Policy::dealt_most).region() / dealt_chunk<Bits> <=
            1u << 16,
        "a chunk has a number of 16 bits");
  // Crowded buckets of either class, and their parts, must suit the launch of the large ones.
  static_assert(Policy::Small::most_keys <= Policy::Large::most_keys &&
                Policy::Small::parts <= Policy::Large::parts);
  using namespace msd_plan_detail;
  const Decision decision{
      .counts = counts,
      .dealt_counts = {.words = reinterpret_cast<unsigned long long*>(workspace.dealt_counts.data()),
                       .are_halves = false},
      .offsets = workspace.offsets.data(),
      .limits = {{Policy::Small::most_keys, Policy::Large::most_keys, counts_larger ? most_counted_keys : 0},
                 {std::countr_zero(Policy::Small::parts), std::countr_zero(Policy::Large::parts)},
                 counts_large ? large_buckets
                 : takes_bits ? small_buckets
                              : bucket_classes,
                 counts_dense,
                 leaves_narrow ? granule<NarrowKey<Bits>, Value> : 0},
      .lists = {workspace.lists.data()},
      .frequent_buckets = &listed->buckets[0],
      .frequent_starts = &listed->starts[0]};
  launch_chained(decide_kernel<Bits>,
                 {msd_most_buckets / decide_threads, decide_threads, sizeof(DecideShared)}, stream, decision,
                 plan, workspace.expansion.data());
  const uint64_t* const offsets = workspace.offsets.data();
  if constexpr (!with_values)
    counting_detail::expand(offsets, 0, DeviceSpan<Bits>(arrays.keys_out, count), map,
                            static_cast<const SortPlan<Bits>*>(workspace.expansion.data()), stream);

  using namespace partition_detail;
  using PartitionPolicy = typename Policy::Partition;
  LaunchShape shape{multiprocessors() * blocks_a_multiprocessor, PartitionPolicy::threads,
                    sizeof(partition_detail::Shared<Bits, Value, PartitionPolicy, 0>)};
  Level<Bits, Value> level{.keys = {arrays.keys_in, arrays.keys_scratch, arrays.keys_out},
                           .values_in = arrays.values_in,
                           .values_out = arrays.values_out,
                           .count = count,
                           .span = span,
                           .rest_counts = workspace.rest_counts.data(),
                           .offsets = offsets,
                           .jobs = nullptr,
                           .job_counts = workspace.span_counts.data(),
                           .plan = plan,
                           .map = map,
                           .outgrows = outgrows_cache<Bits, Value>(count)};
  launch_chained(partition_kernel<Bits, Value, stable_ranking, PartitionPolicy, 0>, shape, stream, level);
  launch_chained(count_jobs_kernel<Bits, Value>, {multiprocessors(), count_threads, sizeof(CountShared)},
                 stream, level.keys, offsets, workspace.job_keys(count), plan, workspace.jobs.data(),
                 workspace.job_counts.data());
  level.jobs = workspace.jobs.data();
  level.job_counts = workspace.job_counts.data();
  shape.shared_bytes = sizeof(partition_detail::Shared<Bits, Value, PartitionPolicy, 1>);
  launch_chained(partition_kernel<Bits, Value, stable_ranking, PartitionPolicy, 1>, shape, stream, level);
  if constexpr (leaves_narrow_pairs<Bits, Value>)
    if (leaves_narrow) {
      using Narrow = NarrowKey<Bits>;
      shape.shared_bytes = sizeof(partition_detail::Shared<Bits, Value, PartitionPolicy, 1, Narrow>);
      launch_chained(partition_kernel<Bits, Value, stable_ranking, PartitionPolicy, 1, Narrow>, shape, stream,
                     level);
    }

  using bucket_sort_detail::Crowded;
  const auto task = [&](BucketClass which, BucketClass next) {
    const BucketLists lists{workspace.lists.data()};
    return bucket_sort_detail::BucketTask<Bits, Value>{
        .arrays = {arrays.keys_out, arrays.keys_out, arrays.values_out, arrays.values_out},
        .rest = arrays.keys_scratch,
        .list = lists[which],
        .next_list = lists[next],
        .map = map,
        .dealt = {arrays.keys_scratch, layout.region(),
                  msd_bucket_bits(count, Policy::bucket_keys) - msd_digit_bits, workspace.dealt_chunks.data(),
                  layout.chunks_a_bucket}};
  };
  const auto sort_class = [&]<class BucketPolicy, Crowded crowded>(BucketClass which, BucketClass next) {
    msd_detail::sort_buckets<BucketPolicy, crowded, stable_ranking>(task(which, next), plan, stream);
  };
  using Small = typename Policy::Small;
  using Large = typename Policy::Large;
  sort_class.template operator()<Small, Crowded::left_alone>(
      small_buckets, with_values ? crowded_buckets : repeating_buckets);
  sort_class.template operator()<Large, Crowded::left_alone>(large_buckets, crowded_buckets);
  if constexpr (leaves_narrow_pairs<Bits, Value>)
    if (leaves_narrow)
      msd_detail::sort_narrow_pairs<Policy>(task(few_valued_buckets, crowded_buckets), plan, stream);
  if constexpr (!with_values) {
    namespace counting = bucket_counting_detail;
    if (takes_bits)
      msd_detail::sort_by_bits<Policy>(task(few_valued_buckets, repeating_buckets), plan, stream);
    if (counts_larger || counts_large)
      msd_detail::count_buckets<Policy, counting::FewValued>(task(few_valued_buckets, repeating_buckets), 0,
                                                             plan, stream);
    if (counts_dense)
      msd_detail::count_buckets<Policy, counting::Dense>(task(dense_buckets, repeating_buckets),
                                                         Small::most_keys, plan, stream);
    sort_class.template operator()<ForRepeated<Small>, Crowded::left_alone>(repeating_buckets,
                                                                            crowded_buckets);
    sort_class.template operator()<ForRepeated<Large>, Crowded::by_digits>(crowded_buckets, crowded_buckets);
    if constexpr (Policy::deals)
      if (may_deal && map.is_of_floats())
        msd_detail::sort_buckets<ForRepeated<Large>, Crowded::by_digits, stable_ranking, RealParts<Bits>>(
            task(crowded_buckets, crowded_buckets), plan, stream);
  } else {
    sort_class.template operator()<Large, Crowded::by_digits>(crowded_buckets, crowded_buckets);
  }
  if constexpr (!with_values)
    put_in_frequent_values(static_cast<const Bits*>(arrays.keys_scratch),
                           DeviceSpan<Bits>(arrays.keys_out, count), offsets, map,
                           static_cast<const MsdPlan<Bits>*>(plan), listed, stream);
}

/// Pairs: where workspace.plan->maybe_few is set, and nothing else of that plan, counts the values of the
/// keys. If these are few, settings.codes.plan tells the passes that sort by them; else it is left alone.
template <class Bits, class Value, class Policy>
void count_few_values(const MsdArrays<Bits, Value>& arrays, const MsdSettings<Bits>& settings,
                      const MsdWorkspace<Bits, Value, Policy>& workspace, cudaStream_t stream) {
  msd_detail::count_values(arrays, settings, msd_detail::Spans(arrays.count, multiprocessors()), workspace,
                           stream);
}

}  // namespace sweepsort
