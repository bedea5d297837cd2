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
#pragma once

#include "core/no_value.hpp"
#include "kernels/bin_counts.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/grid_sort.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/msd_sample.cuh"
#include "kernels/policy_one_launch.cuh"
#include "kernels/ptx.cuh"
#include "kernels/sort_arrays.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sweepsort {

namespace splitters_detail {

/// A bucket may have this many times the mean, as a sample's keys lie at uneven distances. With eight sampled
/// keys per bucket, one of 16,384 buckets has more with a probability below 10^-8. (If the four neighbours of
/// a place are alike, there are only two. Then 2^24 pairs have such a bucket in one of 10^5 sorts, and 2^25
/// nearly always; they go by digits.)
inline constexpr uint32_t max_to_mean = 6;
/// With fewer buckets, the first places of a sample would not be from all over the array.
inline constexpr uint32_t min_bucket_bits = 11;
inline constexpr uint32_t max_bucket_bits = 14;

template <class Bits>
using SampleSort = SmallGridSort<Bits, NoValue>;

/// Keys of the sample for 2^bucket_bits buckets.
constexpr uint32_t sampled(uint32_t bucket_bits) { return 8u << bucket_bits; }
static_assert(sampled(max_bucket_bits) <=
              survey_detail::max_places(true, true) * survey_detail::keys_per_place<uint64_t>);
static_assert(sampled(min_bucket_bits) >=
              survey_detail::places_per_round * survey_detail::keys_per_place<uint64_t>);
static_assert(3 * sampled(max_bucket_bits) * sizeof(uint64_t) <= BucketLists::entries * sizeof(ListedBucket));

}  // namespace splitters_detail

/// log2 of the number of buckets between splitters; 0: this number of records is left to other methods.
template <class Bits, class Msd>
uint32_t split_bits(uint64_t count) {
  using namespace splitters_detail;
  if constexpr (Msd::splits) {
    const uint32_t bits =
        std::clamp(msd_bucket_bits(count, Msd::split_keys), min_bucket_bits, max_bucket_bits);
    const bool suits = count >= Msd::split_from && count >> bits <= Msd::Large::max_keys / max_to_mean;
    if (suits && sampled(bits) <= grid_capacity<Bits, NoValue, SampleSort<Bits>>()) return bits;
  }
  return 0;
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

/// The keys, and where their counts between splitters go: as bucket_histogram.cuh counts those of a map.
template <class Bits>
struct SplitHistogramTask {
  const Bits* keys;
  uint64_t count;
  uint64_t span;  // keys per block
  KeyMap<Bits> map;
  const Bits* splitters;
  BinCounts counts;       // by bucket
  uint32_t* span_counts;  // by block and leading digit
};

namespace splitters_detail {

template <class Bits>
using SampleSortTask = grid_sort_detail::Task<Bits, NoValue>;

/// Where the splitters of a sorted sample go, and which of their buckets have one value.
template <class Bits>
struct Choice {
  const Bits* sorted;  // keys as the caller stores them
  uint32_t size;
  KeyMap<Bits> map;
  Bits* splitters;
  uint8_t* has_one_value;

  /// The first key of a bucket is a sample. If the same key also begins the bucket before, its value has that
  /// bucket to itself, and this bucket begins with the next higher key.
  __device__ __forceinline__ Bits splitter(uint32_t bucket, uint32_t distance) const {
    if (bucket == 0) return Bits{0};
    const Bits here = map.to_ordered(sorted[bucket * distance]);
    const bool repeats = bucket > 1 && here == map.to_ordered(sorted[(bucket - 1) * distance]);
    return repeats && here != static_cast<Bits>(~Bits{0}) ? static_cast<Bits>(here + 1) : here;
  }
  /// Called by all threads of the grid.
  __device__ __forceinline__ void choose(uint32_t buckets) const {
    const uint32_t distance = size / buckets;
    for (uint32_t b = blockIdx.x * blockDim.x + threadIdx.x; b < buckets; b += gridDim.x * blockDim.x) {
      const Bits own = splitter(b, distance);
      splitters[b] = own;
      has_one_value[b] = b + 1 < buckets ? splitter(b + 1, distance) == static_cast<Bits>(own + 1)
                                         : own == static_cast<Bits>(~Bits{0});
    }
  }
};

template <class Bits>
__global__ __launch_bounds__(SampleSort<Bits>::threads,
                             1) void choose_splitters_kernel(SampleSortTask<Bits> task, Choice<Bits> choice,
                                                             const MsdPlan<Bits>* plan) {
  if (ptx::is_before_90()) return;
  if (!plan->is_split || plan->is_settled()) return;
  using namespace grid_sort_detail;
  using Buckets = LinearBuckets<Bits>;
  GridSort<Buckets, NoValue, SampleSort<Bits>>(shared_memory<Shared<Buckets, NoValue, SampleSort<Bits>>>(),
                                               task)
      .sort();
  ptx::grid_sync();
  choice.choose(1u << plan->bucket_bits);
}

inline constexpr uint32_t histogram_threads = 1024;

template <class Bits>
struct HistogramShared {
  Bits nodes[1u << max_bucket_bits];
  uint32_t counts[1u << max_bucket_bits];
};

template <class Bits>
__global__ __launch_bounds__(histogram_threads) void histogram_kernel(SplitHistogramTask<Bits> task,
                                                                      const MsdPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  if (!plan->is_split || plan->is_settled()) return;
  auto& shared = shared_memory<HistogramShared<Bits>>();
  const uint32_t bits = plan->bucket_bits;
  const SplitterTree<Bits> tree{shared.nodes, bits};
  tree.plant(task.splitters, 0);
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
  task.counts.add_all(1u << bits, histogram_threads, [&](uint32_t bucket) { return shared.counts[bucket]; });
  const uint32_t children = 1u << (bits - msd_digit_bits);
  if (threadIdx.x < msd_digits) {
    uint32_t sum = 0;
    for (uint32_t child = 0; child < children; ++child)
      sum += shared.counts[threadIdx.x * children + (child + threadIdx.x) % children];
    task.span_counts[blockIdx.x * msd_digits + threadIdx.x] = sum;
  }
}

}  // namespace splitters_detail

/// After the survey: sorts `sample` (device memory, `size` keys as the caller stores them, with room for
/// twice as many behind them), and chooses splitters, if the plan wants some.
template <class Bits>
void choose_splitters(Bits* sample, uint32_t size, KeyMap<Bits> map, const SplitterWorkspace<Bits>& workspace,
                      MsdPlan<Bits>* plan, cudaStream_t stream) {
  using namespace splitters_detail;
  const SortArrays<Bits, NoValue> arrays{.keys_in = sample,
                                         .keys_scratch = sample + size,
                                         .keys_out = sample + 2 * size,
                                         .values_in = nullptr,
                                         .values_scratch = nullptr,
                                         .values_out = nullptr,
                                         .count = size};
  using Policy = SampleSort<Bits>;
  const auto task = grid_sort_detail::task_of<Policy>(arrays, map, workspace.grid);
  const size_t bytes = grid_sort_detail::shared_bytes<Bits, NoValue, Policy>();
  const Choice<Bits> choice{arrays.keys_out, size, map, workspace.splitters.data(),
                            workspace.has_one_value.data()};
  launch_cooperative(choose_splitters_kernel<Bits>,
                     {grid_sort_detail::blocks_of(task), Policy::threads, bytes}, stream, task, choice,
                     static_cast<const MsdPlan<Bits>*>(plan));
}

/// Counts the keys between splitters if the plan wants that. There are `spans` spans.
template <class Bits>
void count_between_splitters(const SplitHistogramTask<Bits>& task, uint32_t spans, const MsdPlan<Bits>* plan,
                             cudaStream_t stream) {
  using namespace splitters_detail;
  launch_chained(histogram_kernel<Bits>, {spans, histogram_threads, sizeof(HistogramShared<Bits>)}, stream,
                 task, plan);
}

}  // namespace sweepsort
