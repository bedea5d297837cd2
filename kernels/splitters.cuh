// splitters.cuh - buckets for keys that no map divides evenly, because they are crowded at every scale. The
// buckets lie between splitters, which are keys of a sorted sample at equal distances. Frazer & McKellar,
// "Samplesort", 1970; Sanders & Winkel, "Super Scalar Sample Sort", 2004; Axtmann et al., "In-Place Parallel
// Super Scalar Samplesort", 2017. A tree finds a key's bucket (bucket_map.cuh).
//
//     sample, sorted     a b c d e f g h i j k l         every fourth is a splitter
//     splitters            |       e       i             keys below e, from e to below i, from i on
//
// The survey has collected the sample (msd_sample.cuh). One cooperative launch sorts it (grid_sort.cuh). A
// value that fills a bucket by itself has a bucket of its own, of any size. The stable partitions leave its
// records in order.
//
// Up to 2^14 buckets are counted at once. If there are more, a block's shared memory does not hold all
// splitters and counts. Then keys are counted level by level: first between the splitters of the parents and,
// behind the first partition, between those of each parent's children (partition_jobs.cuh).
#pragma once

#include "core/no_value.hpp"
#include "kernels/bin_counts.cuh"
#include "kernels/block.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/grid_sort.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/msd_sample.cuh"
#include "kernels/policy_one_launch.cuh"
#include "kernels/ptx.cuh"
#include "kernels/sort_arrays.cuh"
#include "kernels/tickets.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sweepsort {

namespace splitters_detail {

/// With fewer buckets, the first places of a sample would not be from all over the array.
inline constexpr uint32_t min_bucket_bits = 11;
static_assert((8u << min_bucket_bits) / survey_detail::keys_per_place<uint64_t> >=
              survey_detail::places_per_round);
inline constexpr uint32_t max_bucket_bits = 2 * msd_digit_bits;
/// More buckets than that are counted level by level.
inline constexpr uint32_t max_bits_at_once = 14;

/// How many buckets an array gets, and the sample for them. A sample's keys lie at uneven distances, so a
/// bucket may have a multiple of the mean: with eight sampled keys per bucket, one of 65,536 has 6 times as
/// many with a probability below 10^-7. With sixteen, a value with so few of them that it shares its bucket
/// still hardly ever has 4.5 times the mean. (If the four neighbours of a place are alike, there are only two
/// or four. Then 2^24 pairs have a bucket that is too large in one of 10^5 sorts, and 2^28 in two of three;
/// they go by digits.)
struct SplitShape {
  uint32_t bucket_bits = 0;
  uint32_t sampled = 0;   // keys
  bool suits = false;     // whether the array may be divided by splitters
  bool by_level = false;  // whether its keys are counted level by level

  /// The places that the survey collects.
  template <class Bits>
  constexpr uint32_t places() const {
    constexpr uint32_t keys = survey_detail::keys_per_place<Bits>;
    return std::max(survey_detail::piece_places, sampled / keys);
  }
  /// Bytes of the sample, with room for sorting it.
  template <class Bits>
  constexpr uint64_t sample_bytes() const {
    return std::max(3 * uint64_t{sampled} * sizeof(Bits),
                    survey_detail::CollectedSample<Bits>::bytes(places<Bits>()));
  }
};

/// For `count` records, on a device that can sort the sample in one launch.
template <class Msd>
constexpr SplitShape split_shape(uint64_t count) {
  if constexpr (Msd::splits) {
    static_assert(Msd::bits_at_once <= max_bits_at_once);
    const uint32_t bits =
        std::clamp(msd_bucket_bits(count, Msd::split_keys), min_bucket_bits, max_bucket_bits);
    const bool by_level = bits > Msd::bits_at_once;
    const uint64_t max_keys = by_level ? Msd::SplitLargest::max_keys : Msd::Large::max_keys;
    const uint64_t mean = count >> bits;
    const uint32_t per_bucket = mean <= Msd::split_keys ? 8 : 16;
    return {.bucket_bits = bits,
            .sampled = per_bucket << bits,
            .suits = count >= Msd::split_from && mean <= 2 * max_keys / (per_bucket == 8 ? 12 : 9),
            .by_level = by_level};
  }
  return {};
}

/// The sorts of small and of larger samples.
template <class Bits>
using SampleSort = SmallGridSort<Bits, NoValue>;
template <class Bits>
using LargeSampleSort = MiddleGridSort<Bits, NoValue>;
/// Whether the larger one is needed on the current device.
template <class Bits>
bool is_large_sample(uint32_t size) {
  return size > grid_capacity<Bits, NoValue, SampleSort<Bits>>();
}

}  // namespace splitters_detail

/// The same for the current device, or nothing: records that it does not suit are left to other methods.
template <class Bits, class Msd>
splitters_detail::SplitShape plan_split(uint64_t count) {
  using namespace splitters_detail;
  if constexpr (Msd::splits) {
    const SplitShape shape = split_shape<Msd>(count);
    const bool can_sort = !is_large_sample<Bits>(shape.sampled) ||
                          shape.sampled <= grid_capacity<Bits, NoValue, LargeSampleSort<Bits>>();
    if (shape.suits && can_sort) return shape;
  }
  return {};
}

/// Device memory for sorting a sample, and for the splitters. Need not be cleared.
template <class Bits>
struct SplitterWorkspace {
  GridSortWorkspace<Bits> grid;
  DeviceSpan<Bits> splitters;
  DeviceSpan<uint8_t> has_one_value;  // by bucket

  explicit SplitterWorkspace(Workspace& workspace, bool is_wanted)
      : grid(workspace, is_wanted),
        splitters(workspace.take<Bits>(is_wanted ? 1u << splitters_detail::max_bucket_bits : 0)),
        has_one_value(workspace.take<uint8_t>(is_wanted ? 1u << splitters_detail::max_bucket_bits : 0)) {}
};

/// The keys, and where their counts go.
template <class Bits>
struct SplitHistogramTask {
  const Bits* keys;
  uint64_t count;
  uint64_t span;  // keys per block
  KeyMap<Bits> map;
  const Bits* splitters;
  BinCounts counts;              // by bucket, unless keys are counted by level
  uint32_t* span_counts;         // by block and parent
  uint64_t* offsets;             // by bucket; if keys are counted by level, of each parent's first one
  const uint8_t* has_one_value;  // by bucket
  uint32_t max_keys;             // of a bucket that has several values
};

namespace splitters_detail {

template <class Bits>
using SampleSortTask = grid_sort_detail::Task<Bits, NoValue>;

/// Where the splitters of a sorted sample go, and which of their buckets have one value.
template <class Bits>
struct Choice {
  const Bits* sorted;  // keys as the caller stores them
  uint32_t size;
  uint32_t bucket_bits;
  KeyMap<Bits> map;
  Bits* splitters;
  uint8_t* has_one_value;
  uint64_t* counts;  // to be cleared; as many words as buckets

  /// The first key of a bucket is a sample. If the same key also begins the bucket before, its value has that
  /// bucket to itself, and this bucket begins with the next higher key.
  __device__ __forceinline__ Bits splitter(uint32_t bucket) const {
    if (bucket == 0) return Bits{0};
    const uint32_t distance = size >> bucket_bits;
    const Bits here = map.to_ordered(sorted[bucket * distance]);
    const bool repeats = bucket > 1 && here == map.to_ordered(sorted[(bucket - 1) * distance]);
    return repeats && here != static_cast<Bits>(~Bits{0}) ? static_cast<Bits>(here + 1) : here;
  }
  /// Called by all threads of the grid.
  __device__ __forceinline__ void choose() const {
    const uint32_t buckets = 1u << bucket_bits;
    for (uint32_t b = blockIdx.x * blockDim.x + threadIdx.x; b < buckets; b += gridDim.x * blockDim.x) {
      const Bits own = splitter(b);
      splitters[b] = own;
      has_one_value[b] = b + 1 < buckets ? splitter(b + 1) == static_cast<Bits>(own + 1)
                                         : own == static_cast<Bits>(~Bits{0});
      counts[b] = 0;
    }
  }
};

/// If keys are counted by level, the buckets of a map were decided before. If one of them is too large, the
/// plan changes its mind here.
template <class Bits, class Policy>
__global__ __launch_bounds__(Policy::threads, 1) void choose_splitters_kernel(SampleSortTask<Bits> task,
                                                                              Choice<Bits> choice,
                                                                              MsdPlan<Bits>* plan) {
  if (ptx::is_before_90()) return;
  const bool splits_instead = plan->has_too_large && plan->splits_if_too_large;
  if (!(plan->is_split || splits_instead) || plan->is_settled()) return;
  using namespace grid_sort_detail;
  using Buckets = LinearBuckets<Bits>;
  GridSort<Buckets, NoValue, Policy>(shared_memory<Shared<Buckets, NoValue, Policy>>(), task).sort();
  ptx::grid_sync();  // also: all blocks have read the plan
  choice.choose();
  if (splits_instead && blockIdx.x == 0 && threadIdx.x == 0) plan->split_instead(choice.bucket_bits);
}

template <class Bits, class Policy>
void choose(const SortArrays<Bits, NoValue>& sample, Choice<Bits> choice,
            const SplitterWorkspace<Bits>& workspace, MsdPlan<Bits>* plan, cudaStream_t stream) {
  const auto task = grid_sort_detail::task_of<Policy>(sample, choice.map, workspace.grid);
  const size_t bytes = grid_sort_detail::shared_bytes<Bits, NoValue, Policy>();
  launch_cooperative(choose_splitters_kernel<Bits, Policy>,
                     {grid_sort_detail::blocks_of(task), Policy::threads, bytes}, stream, task, choice, plan);
}

inline constexpr uint32_t histogram_threads = 1024;

template <class Bits>
struct HistogramShared {
  Bits nodes[1u << max_bits_at_once];
  uint32_t counts[1u << max_bits_at_once];
  uint64_t keys[histogram_threads];
  uint64_t warp_sums[histogram_threads / warp_threads];
};

/// Whether one of a parent's children must be too large.
template <class Bits>
__device__ __forceinline__ bool overruns(const SplitHistogramTask<Bits>& task, uint32_t parent, uint64_t keys,
                                         uint32_t children) {
  if (keys <= uint64_t{children} * task.max_keys) return false;
  for (uint32_t child = 0; child < children; ++child)
    if (task.has_one_value[parent * children + child] != 0) return false;
  return true;
}

/// Finds where the parents begin, and whether there is one that the sample has missed. Called by the last
/// block, when all spans are counted.
template <class Bits>
__device__ __forceinline__ void place_parents(HistogramShared<Bits>& shared,
                                              const SplitHistogramTask<Bits>& task, MsdPlan<Bits>& plan) {
  constexpr uint32_t parts = histogram_threads / msd_digits;  // of the spans
  const uint32_t parent = threadIdx.x % msd_digits;
  uint64_t keys = 0;
#pragma unroll 16
  for (uint32_t span = threadIdx.x / msd_digits; span < gridDim.x; span += parts)
    keys += task.span_counts[span * msd_digits + parent];
  shared.keys[threadIdx.x] = keys;
  __syncthreads();
  uint64_t of_parent = 0;
  for (uint32_t part = 0; part < parts && threadIdx.x < msd_digits; ++part)
    of_parent += shared.keys[part * msd_digits + parent];
  uint64_t total = 0;
  const uint64_t start = block_exclusive_sum<histogram_threads>(of_parent, shared.warp_sums, total);
  if (threadIdx.x >= msd_digits) return;
  const uint32_t children = 1u << (plan.bucket_bits - msd_digit_bits);
  task.offsets[parent * children] = start;
  if (overruns(task, parent, of_parent, children)) atomicOr(&plan.has_too_large, 1u);
}

template <class Bits>
__global__ __launch_bounds__(histogram_threads) void histogram_kernel(SplitHistogramTask<Bits> task,
                                                                      MsdPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  if (!plan->is_split || plan->is_settled()) return;
  auto& shared = shared_memory<HistogramShared<Bits>>();
  const bool by_level = plan->counts_by_level != 0;
  const uint32_t bits = by_level ? msd_digit_bits : plan->bucket_bits;
  const SplitterTree<Bits> tree{shared.nodes, bits};
  tree.plant(task.splitters, plan->bucket_bits - bits);
  for (uint32_t b = threadIdx.x; b < 1u << bits; b += histogram_threads) shared.counts[b] = 0;
  __syncthreads();
  constexpr uint32_t in_flight = 8;
  const uint64_t first = min(blockIdx.x * task.span, task.count);
  const uint64_t end = min(first + task.span, task.count);
  for (uint64_t row = first + threadIdx.x; row < end; row += histogram_threads * in_flight) {
    Bits key[in_flight];
    uint32_t bucket[in_flight];
#pragma unroll
    for (uint32_t k = 0; k < in_flight; ++k) {
      const uint64_t i = row + k * histogram_threads;
      key[k] = i < end ? task.map.to_ordered(task.keys[i]) : Bits{0};
    }
    tree.find(key, bucket);
#pragma unroll
    for (uint32_t k = 0; k < in_flight; ++k)
      if (row + k * histogram_threads < end) atomicAdd(&shared.counts[bucket[k]], 1u);
  }
  __syncthreads();
  const uint32_t children = 1u << (bits - msd_digit_bits);
  if (threadIdx.x < msd_digits) {
    uint32_t sum = 0;
    for (uint32_t child = 0; child < children; ++child)
      sum += shared.counts[threadIdx.x * children + (child + threadIdx.x) % children];
    task.span_counts[blockIdx.x * msd_digits + threadIdx.x] = sum;
  }
  if (!by_level)
    task.counts.add_all(1u << bits, histogram_threads,
                        [&](uint32_t bucket) { return shared.counts[bucket]; });
  else if (completes(plan->counted_spans, 1, gridDim.x))
    place_parents(shared, task, *plan);
}

}  // namespace splitters_detail

/// Chooses splitters, if the plan wants some. `sample` (device memory): shape.sampled keys as the caller
/// stores them, with room for twice as many behind them. `counts` are cleared.
template <class Bits>
void choose_splitters(Bits* sample, const splitters_detail::SplitShape& shape, KeyMap<Bits> map,
                      const SplitterWorkspace<Bits>& workspace, DeviceSpan<uint64_t> counts,
                      MsdPlan<Bits>* plan, cudaStream_t stream) {
  using namespace splitters_detail;
  const uint32_t size = shape.sampled;
  const SortArrays<Bits, NoValue> arrays{.keys_in = sample,
                                         .keys_scratch = sample + size,
                                         .keys_out = sample + 2 * size,
                                         .values_in = nullptr,
                                         .values_scratch = nullptr,
                                         .values_out = nullptr,
                                         .count = size};
  const Choice<Bits> choice{.sorted = arrays.keys_out,
                            .size = size,
                            .bucket_bits = shape.bucket_bits,
                            .map = map,
                            .splitters = workspace.splitters.data(),
                            .has_one_value = workspace.has_one_value.data(),
                            .counts = counts.data()};
  if (is_large_sample<Bits>(size))
    choose<Bits, LargeSampleSort<Bits>>(arrays, choice, workspace, plan, stream);
  else
    choose<Bits, SampleSort<Bits>>(arrays, choice, workspace, plan, stream);
}

/// Counts the keys between splitters, if the plan wants that: of all buckets, or of the parents, and finds
/// where these begin. There are `spans` spans.
template <class Bits>
void count_between_splitters(const SplitHistogramTask<Bits>& task, uint32_t spans, MsdPlan<Bits>* plan,
                             cudaStream_t stream) {
  using namespace splitters_detail;
  launch_chained(histogram_kernel<Bits>, {spans, histogram_threads, sizeof(HistogramShared<Bits>)}, stream,
                 task, plan);
}

}  // namespace sweepsort
