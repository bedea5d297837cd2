// portioned_grid_sort.cuh - the sort of pairs that are too many for the blocks of a grid to hold
// (grid_sort.cuh). It takes one cooperative launch, too, but every block takes its share portion by portion.
// Pairs keep their order.
//
//     block 0  | portion | portion |  counts of all,   ─ rank, scatter ─ rank, scatter ─┐  buckets ─ sort ─> out
//     block 1  | portion | portion |  where each goes  ─ rank, scatter ─ rank, scatter ─┴  buckets ─ sort ─> out
//
// The buckets divide the range of the keys evenly (bucket_map.cuh), as a sample shows it. Keys that are in
// order from end to end, few, repeated or crowded are left to other methods. The sample (even_sample.cuh) or
// the counts show that before any record has moved. Moves 4n records, and reads their keys once more, or
// twice if a portion is more than the registers hold.
//
// Stehle & Jacobsen, 2017, with one level; the counts as in Satish, Harris & Garland, 2009.
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "core/rounding.hpp"
#include "kernels/bucket_map.cuh"
#include "kernels/bucket_parts.cuh"
#include "kernels/bucket_sort.cuh"
#include "kernels/even_sample.cuh"
#include "kernels/grid_counts.cuh"
#include "kernels/grid_share.cuh"
#include "kernels/launch.cuh"
#include "kernels/policy_even_grid.cuh"
#include "kernels/ptx.cuh"
#include "kernels/radix_rank.cuh"
#include "kernels/sort_arrays.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

template <class Bits, class Value>
inline constexpr bool has_portioned_grid_sort = !std::is_void_v<PortionedGridSort<Bits, Value>>;

namespace portioned_grid_detail {

using grid_sort_detail::Column;
using grid_sort_detail::GridShare;
using grid_sort_detail::Stage;
using grid_sort_detail::Task;

template <class Bits, class Value, class Policy>
struct Shared {
  using Buckets = LinearBuckets<Bits>;

  Buckets bucket_of;
  GridCounts<Policy::digits> counts;
  union {
    even_sample::Shared<Buckets, Policy::threads, 1> sample;
    Stage<Bits, Value, Policy> stage;
    bucket_sort_detail::Shared<Bits, Value, typename Policy::Finish> bucket;
  };
};

template <class Bits, class Value, class Policy>
using Share = GridShare<Shared<Bits, Value, Policy>, Bits, Value, Policy, BucketParts>;

template <class Bits, class Value, class Policy>
class Sort : Share<Bits, Value, Policy> {
 public:
  using Base = Share<Bits, Value, Policy>;
  using SortShared = Shared<Bits, Value, Policy>;

  __device__ __forceinline__ Sort(SortShared& shared, const Task<Bits, Value>& task) : Base(shared, task) {}

  /// Returns false if nothing was written. Every block gets the same result.
  __device__ __forceinline__ bool sort() {
    const SortArrays<Bits, Value>& arrays = task_.arrays;
    const Column<Bits, Value> scratch{arrays.keys_scratch, arrays.values_scratch};
    if (!even_sample::finds_even_keys(arrays.keys_in, count_, task_.map, task_.buckets,
                                      min_even_values<Bits, Value>(count_), shared_.sample,
                                      shared_.bucket_of))
      return false;
    const Buckets bucket_of = shared_.bucket_of;
    count(bucket_of);
    if (shared_.counts.largest > task_.max_in_bucket) return false;
    for_portions([&] { scatter_portion(bucket_of, scratch); });
    ptx::grid_sync();
    this->template sort_buckets<InMemory::ordered>(scratch);
    return true;
  }

 private:
  using Buckets = LinearBuckets<Bits>;
  using Base::batch;
  using Base::count_;
  using Base::for_batches;
  using Base::has_own;
  using Base::keys_;
  using Base::load;
  using Base::load_values;
  using Base::rank_in_order;
  using Base::reads_twice;
  using Base::shared_;
  using Base::take;
  using Base::task_;
  using Base::values_;

  template <class Body>
  __device__ __forceinline__ void for_portions(Body body) {
    const uint32_t first = blockIdx.x * task_.share;
    const uint32_t size = min(task_.share, count_ - first);
#pragma unroll 1
    for (uint32_t begin = 0; begin < size; begin += Policy::max_portion) {
      take(first + begin, min(size - begin, Policy::max_portion), Policy::max_portion);
      // Otherwise those of the portion before stay live, and registers spill.
#pragma unroll
      for (Bits& key : keys_) key = 0;
      if constexpr (value_bytes<Value> != 0) {
#pragma unroll
        for (Value& value : values_) value = Value{};
      }
      load(task_.arrays.keys_in);
      body();
    }
  }

  /// Counts the records of each bucket, for this block and for all.
  __device__ __forceinline__ void count(const Buckets& bucket_of) {
    auto& counts = shared_.counts;
    for (uint32_t b = threadIdx.x; b < Policy::digits; b += Policy::threads) counts.own[b] = 0;
    __syncthreads();
    for_portions([&] {
      bool is_run = false;
      for_batches([&](uint32_t first) {
        if (first == 0) is_run = find_run(bucket_of(keys_[0]), has_own(0)).share_is_high != 0;
#pragma unroll
        for (uint32_t i = 0; i < batch; ++i) {
          const uint32_t bucket = bucket_of(keys_[i]);
          const bool is_there = has_own(first + i);
          if (is_run)
            count_run(bucket, is_there);
          else if (is_there)
            atomicAdd(&counts.own[bucket], 1u);
        }
      });
    });
    __syncthreads();
    if (threadIdx.x < warp_threads) counts.publish(task_.counts);
    ptx::grid_sync();
    constexpr uint32_t max_own = std::min(Policy::max_share, GridCounts<>::max_counted);
    counts.template collect<Policy::threads, Policy::max_blocks, max_own>(task_.counts, task_.buckets);
  }

  /// If keys are close to order, lanes would queue up for a counter. So the keys of the first lane's bucket
  /// are counted together.
  __device__ __forceinline__ void count_run(uint32_t bucket, bool is_there) {
    const uint32_t first = __shfl_sync(full_warp, bucket, 0);
    const uint32_t run = __ballot_sync(full_warp, is_there && bucket == first);
    if (is_there && bucket != first) atomicAdd(&shared_.counts.own[bucket], 1u);
    if (ptx::lane_id() == 0 && run != 0)
      atomicAdd(&shared_.counts.own[first], static_cast<uint32_t>(__popc(run)));
  }

  __device__ __forceinline__ void scatter_portion(const Buckets& bucket_of,
                                                  const Column<Bits, Value>& scratch) {
    const Value* const values = task_.arrays.values_in;
    Packed16<Policy::keys_per_thread> ranks;
    rank_in_order(bucket_of, ranks);  // synchronises after the portion before
    if constexpr (!reads_twice) load_values(values, 0);
    __syncthreads();
    if (threadIdx.x < warp_threads) shared_.counts.lay_out_portion();
    __syncthreads();
    this->template put_in_stage<true>(bucket_of, ranks, values);
    __syncthreads();
    this->template scatter<true>(bucket_of, scratch);
  }
};

template <class Bits, class Value, class Policy>
__global__ __launch_bounds__(Policy::threads, 1) void portioned_grid_sort_kernel(Task<Bits, Value> task,
                                                                                 uint32_t* falls_back) {
  if (ptx::is_before_90()) return;
  Sort<Bits, Value, Policy> sort(shared_memory<Shared<Bits, Value, Policy>>(), task);
  if (!sort.sort() && blockIdx.x == 0 && threadIdx.x == 0) *falls_back = 1;
}

}  // namespace portioned_grid_detail

/// Records that a portioned grid sort takes on the current device; 0 if its blocks cannot wait for each other
/// there.
template <class Bits, class Value, class Policy = PortionedGridSort<Bits, Value>>
uint64_t portioned_grid_capacity() {
  if (!can_cooperate(sizeof(portioned_grid_detail::Shared<Bits, Value, Policy>))) return 0;
  return uint64_t{std::min(multiprocessors(), Policy::max_blocks)} * Policy::max_share;
}

/// Sorts up to portioned_grid_capacity pairs in one launch. If it cannot, it writes 1 to *falls_back (device
/// memory, 0 before), and writes nothing else except to the scratch arrays. keys_out may be keys_in, then
/// values_out is values_in. All arrays are aligned to 16 bytes.
template <class Policy, class Bits, class Value>
void portioned_grid_sort(const SortArrays<Bits, Value>& arrays, KeyMap<Bits> map,
                         const GridSortWorkspace<Bits>& workspace, uint32_t* falls_back,
                         cudaStream_t stream) {
  using namespace portioned_grid_detail;
  if (arrays.count == 0) return;
  Task<Bits, Value> task = grid_sort_detail::task_of<Policy>(arrays, map, workspace);
  // The rest of a bucket's room is for chance, and for the keys that buckets at the ends of the range lack.
  constexpr uint64_t usual = Policy::Finish::max_keys - Policy::Finish::max_keys / 13;
  const uint64_t wanted = ceil_divide(arrays.count, usual);
  const uint64_t each = ceil_divide(wanted, blocks_of(task));
  task.buckets = static_cast<uint32_t>(std::min<uint64_t>(each * blocks_of(task), Policy::digits));
  task.max_in_bucket = Policy::Finish::max_keys;
  launch_cooperative(portioned_grid_sort_kernel<Bits, Value, Policy>,
                     {blocks_of(task), Policy::threads, sizeof(Shared<Bits, Value, Policy>)}, stream, task,
                     falls_back);
}

}  // namespace sweepsort
