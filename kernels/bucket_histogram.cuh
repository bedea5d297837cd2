// bucket_histogram.cuh - how many keys each of up to 65,536 buckets has, in one read. Shams & Kennedy, 2007.
// Reads n keys.
//
//     block 0 | block 1 | ...      each block counts a span of neighbouring keys in its shared memory, and
//     \__span_/                    leaves behind: its counts added to all others', and how many keys of its
//                                  span have each leading digit
//
// From the latter, a block that later partitions the same span knows where in each bucket its keys go.
#pragma once

#include "kernels/bin_counts.cuh"
#include "kernels/block.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"
#include "kernels/tickets.cuh"
#include "kernels/warp.cuh"
#include "kernels/wide_counters.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// Where the keys are, and where their counts go.
template <class Bits>
struct BucketHistogramTask {
  const Bits* keys;
  const Bits* rest;  // keys that are not frequent; each span begins at the same index as in `keys`
  const uint32_t* rest_counts;
  uint64_t count;
  uint64_t span;  // keys per block: a whole number of vectors
  KeyMap<Bits> map;
  BinCounts counts;       // by bucket
  uint32_t* span_counts;  // by block and leading digit
};

namespace bucket_histogram_detail {

struct Shared {
  WideCounters counters;
  MapPiece pieces[max_map_pieces];
  uint64_t most[WideCounters::threads / warp_threads];
  uint64_t min_inverted[WideCounters::threads / warp_threads];
  uint32_t handed_over[msd_digits];  // keys that were counted in device memory, by leading digit
};
static_assert(WideCounters::bins == msd_max_buckets);

/// One block's span of the keys.
template <class Bits>
class SpanHistogram {
 public:
  __device__ SpanHistogram(Shared& shared, const BucketHistogramTask<Bits>& task, MsdPlan<Bits>* plan)
      : shared_(shared),
        task_(task),
        plan_(plan),
        bucket_bits_(plan->bucket_bits),
        map_(plan->map),
        is_pieced_(plan->is_pieced != 0) {
    const uint64_t first = min(blockIdx.x * task.span, task.count);
    const bool is_rest = plan->frequent.count != 0;
    size_ = is_rest ? task.rest_counts[blockIdx.x] : min(task.span, task.count - first);
    own_ = (is_rest ? task.rest : task.keys) + first;
    // The barrier in WideCounters::count() precedes the reads.
    if (threadIdx.x < msd_digits) shared.handed_over[threadIdx.x] = 0;
    for (uint32_t p = threadIdx.x; is_pieced_ && p < 1u << plan->piece_bits; p += blockDim.x)
      shared.pieces[p] = plan->pieces[p];
  }

  /// Counts by the plan's map.
  __device__ __forceinline__ void count() {
    const bool has_apart = may_stand_apart<Bits> && plan_->apart.exists != 0;
    if (map_.is_leading_bits() && task_.map.is_xor() && !is_pieced_ && !has_apart)
      count_leading_bits();
    else if (plan_->has_value_buckets())
      count_values();
    else if (has_apart)
      count_beside();
    else if (is_pieced_ && plan_->has_real_pieces)
      count_real_pieces();
    else
      count_mapped();
  }

  /// After count(): adds the block's counts to those of all blocks, and writes the span's counts by leading
  /// digit.
  __device__ __forceinline__ void publish() const {
    task_.counts.add_all(1u << bucket_bits_, blockDim.x,
                         [&](uint32_t bucket) { return shared_.counters.at(bucket); });
    const uint32_t children = 1u << (bucket_bits_ - msd_digit_bits);
    constexpr uint32_t warps = WideCounters::threads / warp_threads;
    for (uint32_t digit = threadIdx.x / warp_threads; digit < msd_digits; digit += warps) {
      uint32_t sum = 0;
      for (uint32_t child = ptx::lane_id(); child < children; child += warp_threads)
        sum += shared_.counters.at(digit * children + child);
      sum = ptx::warp_sum(sum);
      if (ptx::lane_id() == 0)
        task_.span_counts[blockIdx.x * msd_digits + digit] = sum + shared_.handed_over[digit];
    }
  }

 private:
  __device__ __forceinline__ void count_leading_bits() {
    const uint32_t shift = sizeof(Bits) * 8 - bucket_bits_;
    const Bits mask = task_.map.flip;
    count_by([=](Bits key) { return static_cast<uint32_t>(static_cast<Bits>(key ^ mask) >> shift); });
  }

  /// One bucket per value. Also finds the least and the most value, which the sample may have missed.
  __device__ __forceinline__ void count_values() {
    Bits most = 0;
    Bits min_inverted = 0;
    count_by([&](Bits key) {
      const Bits ordered = task_.map.to_ordered(key);
      most = max(most, ordered);
      min_inverted = max(min_inverted, static_cast<Bits>(~ordered));
      return static_cast<uint32_t>(ordered - map_.lowest) % msd_max_buckets;
    });
    constexpr uint32_t threads = WideCounters::threads;
    most = static_cast<Bits>(block_max<threads, uint64_t>(most, shared_.most));
    min_inverted = static_cast<Bits>(block_max<threads, uint64_t>(min_inverted, shared_.min_inverted));
    if (threadIdx.x != 0) return;
    using Word = AtomicWord<Bits>;
    atomicMax(reinterpret_cast<Word*>(&plan_->most), static_cast<Word>(most));
    atomicMax(reinterpret_cast<Word*>(&plan_->min_inverted), static_cast<Word>(min_inverted));
  }

  /// One value has a bucket of its own.
  __device__ __forceinline__ void count_beside() {
    const BucketsBeside<Bits> beside = plan_->buckets_beside(shared_.pieces);
    const Bits apart = task_.map.from_ordered(plan_->apart.value);
    const uint32_t keys = shared_.counters.count_beside(
        own_, size_, [=](Bits key) { return key == apart; },
        [&](Bits key) { return beside(task_.map.to_ordered(key)); },
        [&](uint32_t bucket) { hand_over(bucket, WideCounters::half); });
    if (threadIdx.x == 0) hand_over(plan_->apart.bucket, keys);
    __syncthreads();
  }

  __device__ __forceinline__ void count_real_pieces() {
    const auto real_pieces = plan_->real_pieces(shared_.pieces);
    count_by([&](Bits key) { return real_pieces(task_.map.to_ordered(key)); });
  }

  __device__ __forceinline__ void count_mapped() {
    const LinearBuckets<Bits> linear = plan_->linear_buckets();
    const PiecedBuckets<Bits> pieced = plan_->pieced_buckets(shared_.pieces);
    bool is_beyond = false;
    count_by([&](Bits key) {
      const Bits ordered = task_.map.to_ordered(key);
      is_beyond |= !map_.contains(ordered);
      return is_pieced_ ? pieced(ordered) : linear(ordered);
    });
    if (__any_sync(full_warp, is_beyond) && ptx::lane_id() == 0) atomicOr(&plan_->has_beyond, 1u);
  }

  template <class BucketOf>
  __device__ __forceinline__ void count_by(const BucketOf& bucket_of) {
    shared_.counters.count(own_, size_, bucket_of,
                           [&](uint32_t bucket) { hand_over(bucket, WideCounters::half); });
  }

  /// Adds keys that are counted in device memory.
  __device__ __forceinline__ void hand_over(uint32_t bucket, uint32_t keys) {
    task_.counts.add(bucket, keys);
    atomicAdd(&shared_.handed_over[bucket >> (bucket_bits_ - msd_digit_bits)], keys);
  }

  Shared& shared_;
  const BucketHistogramTask<Bits>& task_;
  MsdPlan<Bits>* plan_;
  uint32_t bucket_bits_;
  BucketMap<Bits> map_;
  bool is_pieced_;
  const Bits* own_;
  uint64_t size_;
};

/// Block b counts the keys [b * span, (b + 1) * span).
template <class Bits>
__global__ __launch_bounds__(WideCounters::threads) void bucket_histogram_kernel(
    const __grid_constant__ BucketHistogramTask<Bits> task, MsdPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  if (!plan->counts_buckets()) return;
  SpanHistogram<Bits> histogram(shared_memory<Shared>(), task, plan);
  histogram.count();
  histogram.publish();
}

}  // namespace bucket_histogram_detail

/// Counts the keys of each bucket if the plan wants that. There are `spans` spans.
template <class Bits>
void count_bucket_sizes(const BucketHistogramTask<Bits>& task, uint32_t spans, MsdPlan<Bits>* plan,
                        cudaStream_t stream) {
  using namespace bucket_histogram_detail;
  launch_chained(bucket_histogram_kernel<Bits>, {spans, WideCounters::threads, sizeof(Shared)}, stream, task,
                 plan);
}

}  // namespace sweepsort
