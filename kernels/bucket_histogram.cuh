// bucket_histogram.cuh - how many keys each of up to 65,536 buckets has, in one read.
// Shams & Kennedy, 2007. Reads n keys.
//
//     block 0 | block 1 | ...      each block counts a span of neighbouring keys in its shared memory, and
//     \__span_/                    leaves behind: its counts added to all others', and how many keys of its
//                                  span have each leading digit
//
// With the latter a block that later partitions the same span knows where in each bucket its keys go.
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

namespace bucket_histogram_detail {

struct Shared {
  WideCounters counters;
  MapPiece pieces[most_map_pieces];
  uint64_t most[WideCounters::threads / warp_threads];
  uint64_t least_inverted[WideCounters::threads / warp_threads];
  uint32_t handed_over[msd_digits];  // keys by leading digit that were counted in device memory
};
static_assert(WideCounters::bins == msd_most_buckets);

/// Where the keys are, and where their counts go.
template <class Bits>
struct Task {
  const Bits* keys;
  const Bits* rest;  // those that are not frequent; each span begins where it does in `keys`
  const uint32_t* rest_counts;
  uint64_t count;
  uint64_t span;  // keys a block: a whole number of vectors
  KeyMap<Bits> map;
  BinCounts counts;       // by bucket
  uint32_t* span_counts;  // by block and leading digit
};

/// Block b counts the keys [b * span, (b + 1) * span).
template <class Bits>
__global__ __launch_bounds__(WideCounters::threads) void bucket_histogram_kernel(Task<Bits> task,
                                                                                 MsdPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  if (!plan->counts_buckets()) return;
  Shared& shared = shared_memory<Shared>();
  if (threadIdx.x < msd_digits) shared.handed_over[threadIdx.x] = 0;

  // What is written here is read behind the barrier in count().
  const uint32_t bucket_bits = plan->bucket_bits;
  const KeyMap<Bits>& map = task.map;
  const uint64_t first = min(blockIdx.x * task.span, task.count);
  const bool is_rest = plan->frequent != 0;
  const uint64_t size = is_rest ? task.rest_counts[blockIdx.x] : min(task.span, task.count - first);
  const Bits* const own = (is_rest ? task.rest : task.keys) + first;
  const auto hand_over = [&](uint32_t bucket) {
    task.counts.add(bucket, WideCounters::half);
    atomicAdd(&shared.handed_over[bucket >> (bucket_bits - msd_digit_bits)], WideCounters::half);
  };
  const BucketMap<Bits> map_of_keys = plan->map;
  const LinearBuckets<Bits> linear = plan->linear_buckets();
  const PiecedBuckets<Bits> pieced = plan->pieced_buckets(shared.pieces);
  const bool is_pieced = plan->is_pieced != 0;
  const bool has_apart = may_stand_apart<Bits> && plan->has_apart != 0;
  for (uint32_t p = threadIdx.x; is_pieced && p < 1u << plan->piece_bits; p += blockDim.x)
    shared.pieces[p] = plan->pieces[p];
  const uint32_t shift = sizeof(Bits) * 8 - bucket_bits;
  if (map_of_keys.is_leading_bits() && map.is_xor() && !is_pieced && !has_apart) {
    const Bits mask = map.flip;
    const auto bucket_of = [&](Bits key) {
      return static_cast<uint32_t>(static_cast<Bits>(key ^ mask) >> shift);
    };
    shared.counters.count(own, size, bucket_of, hand_over);
  } else if (plan->has_value_buckets()) {
    Bits most = 0;
    Bits least_inverted = 0;
    const auto bucket_of = [&](Bits key) {
      const Bits ordered = map.to_ordered(key);
      most = max(most, ordered);
      least_inverted = max(least_inverted, static_cast<Bits>(~ordered));
      return static_cast<uint32_t>(ordered - map_of_keys.lowest) % msd_most_buckets;
    };
    shared.counters.count(own, size, bucket_of, hand_over);
    constexpr uint32_t threads = WideCounters::threads;
    most = static_cast<Bits>(block_max<threads, uint64_t>(most, shared.most));
    least_inverted = static_cast<Bits>(block_max<threads, uint64_t>(least_inverted, shared.least_inverted));
    if (threadIdx.x == 0) {
      using Word = AtomicWord<Bits>;
      atomicMax(reinterpret_cast<Word*>(&plan->most), static_cast<Word>(most));
      atomicMax(reinterpret_cast<Word*>(&plan->least_inverted), static_cast<Word>(least_inverted));
    }
  } else if (has_apart) {
    const BucketsBeside<Bits> beside = plan->buckets_beside(shared.pieces);
    const Bits apart = map.from_ordered(plan->apart);
    const auto is_apart = [=](Bits key) { return key == apart; };
    const auto bucket_of = [&](Bits key) { return beside(map.to_ordered(key)); };
    const uint32_t keys = shared.counters.count_beside(own, size, is_apart, bucket_of, hand_over);
    if (threadIdx.x == 0) {
      const uint32_t bucket = plan->bucket_apart;
      task.counts.add(bucket, keys);
      atomicAdd(&shared.handed_over[bucket >> (bucket_bits - msd_digit_bits)], keys);
    }
    __syncthreads();
  } else if (is_pieced && plan->has_real_pieces) {
    const auto real_pieces = plan->real_pieces(shared.pieces);
    const auto bucket_of = [&](Bits key) { return real_pieces(map.to_ordered(key)); };
    shared.counters.count(own, size, bucket_of, hand_over);
  } else {
    bool is_beyond = false;
    const auto bucket_of = [&](Bits key) {
      const Bits ordered = map.to_ordered(key);
      is_beyond |= !map_of_keys.contains(ordered);
      return is_pieced ? pieced(ordered) : linear(ordered);
    };
    shared.counters.count(own, size, bucket_of, hand_over);
    if (__any_sync(full_warp, is_beyond) && ptx::lane_id() == 0) atomicOr(&plan->has_beyond, 1u);
  }

  task.counts.add_all(1u << bucket_bits, blockDim.x,
                      [&](uint32_t bucket) { return shared.counters.at(bucket); });
  const uint32_t children = 1u << (bucket_bits - msd_digit_bits);
  for (uint32_t digit = threadIdx.x / warp_threads; digit < msd_digits; digit += blockDim.x / warp_threads) {
    uint32_t sum = 0;
    for (uint32_t child = ptx::lane_id(); child < children; child += warp_threads)
      sum += shared.counters.at(digit * children + child);
    sum = ptx::warp_sum(sum);
    if (ptx::lane_id() == 0)
      task.span_counts[blockIdx.x * msd_digits + digit] = sum + shared.handed_over[digit];
  }
}

}  // namespace bucket_histogram_detail

}  // namespace sweepsort
