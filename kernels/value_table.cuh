// value_table.cuh - counts of values, which may lie anywhere: one hash table per block, one for all blocks,
// and the values in order with the number of keys before each. A histogram whose bins are found by open
// addressing (Knuth, "The Art of Computer Programming", vol. 3, 6.4), scanned like any other.
//
//     keys            a block's table     all tables           in order, and where each run starts
//     z c z z ...     c 1 | z 3           c 7 | k 5 | z 9      c 0 | k 7 | z 12
#pragma once

#include "core/no_value.hpp"
#include "kernels/block.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/bucket_sort.cuh"
#include "kernels/hash_slots.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/policy_buckets.cuh"
#include "kernels/sort_plan.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace value_table {

inline constexpr uint32_t threads = 1024;
inline constexpr uint32_t max_values = 4096;
inline constexpr uint32_t slots = 2 * max_values;

/// A block's table, in shared memory.
template <class Bits, uint32_t slots, uint32_t columns>
struct Counters {
  alignas(16)
      AtomicWord<Bits> keys[slots];     // zero: free. Keys that are zero are counted behind the last slot
  uint32_t counts[slots + 1][columns];  // the lanes of a warp hit different columns

  __device__ __forceinline__ void count(uint32_t slot, uint32_t times = 1) {
    atomicAdd(&counts[slot][threadIdx.x % columns], times);
  }
  __device__ __forceinline__ uint64_t sum(uint32_t slot) const {
    uint64_t sum = 0;
    for (const uint32_t column : counts[slot]) sum += column;
    return sum;
  }
};

/// The table of all blocks, in device memory; all zeros before a sort.
template <class Bits>
struct Table {
  alignas(16) AtomicWord<Bits> keys[slots];  // in groups of slots_per_load
  unsigned long long counts[slots + 1];
};

/// The values in order, in device memory.
template <class Bits>
struct ListedValues {
  alignas(16) Bits values[max_values];  // as the caller stores them
  uint64_t starts[max_values + 1];      // number of keys with lower ones of these values; behind the last:
                                        // with any
  uint32_t buckets[max_values];         // frequent values: their buckets
};

using OrderPolicy = BucketSortPolicy<threads, max_values / threads, 1, 65536>;

template <class Bits>
struct OrderShared {
  bucket_sort_detail::Shared<Bits, NoValue, OrderPolicy> bucket;
  uint64_t warp_sums[threads / warp_threads];
  uint32_t size;
};

/// One block sorts the values and scans their counts. Few values: `expansion` then says to write their runs,
/// which is done for keys alone. Frequent values: the plan gets the number of keys that are left, and each
/// value its bucket.
template <class Bits>
__device__ __forceinline__ void order_values(const Table<Bits>* table, const KeyMap<Bits>& map,
                                             OrderShared<Bits>& shared, MsdPlan<Bits>* plan,
                                             ListedValues<Bits>* listed, SortPlan<Bits>* expansion) {
  if (threadIdx.x == 0) shared.size = 0;
  __syncthreads();
  for (uint32_t s = threadIdx.x; s <= slots; s += threads) {
    if (table->counts[s] == 0) continue;
    const uint32_t at = atomicAdd(&shared.size, 1u);
    if (at < max_values) listed->values[at] = s < slots ? static_cast<Bits>(table->keys[s]) : Bits{0};
  }
  __syncthreads();
  const uint32_t size = shared.size;
  if (size > (plan->frequent.count != 0 ? max_values : max_listed_values)) {
    if (threadIdx.x == 0) plan->has_many_values = 1;
    return;
  }
  using namespace bucket_sort_detail;
  const BucketArrays<Bits, NoValue> in_place{&listed->values[0], &listed->values[0], nullptr, nullptr};
  Bucket<Bits, NoValue, OrderPolicy, Crowded::by_digits>(shared.bucket, in_place, map)
      .sort_as_one_bucket({0, size});
  __syncthreads();

  constexpr uint32_t each = max_values / threads;
  const LinearBuckets<Bits> linear = plan->linear_buckets();
  const PiecedBuckets<Bits> pieced = plan->pieced_buckets();
  uint64_t counts[each] = {};
  uint64_t sum = 0;
#pragma unroll
  for (uint32_t k = 0; k < each; ++k) {
    const uint32_t at = threadIdx.x * each + k;
    if (at >= size) break;
    const Bits value = listed->values[at];
    uint32_t slot = slots;
    if (value != 0) (void)has_slot<slots>(table->keys, value, slot);
    counts[k] = table->counts[slot];
    sum += counts[k];
    const Bits ordered = map.to_ordered(value);
    listed->buckets[at] = plan->is_pieced ? pieced(ordered) : linear(ordered);
  }
  uint64_t total = 0;
  uint64_t start = block_exclusive_sum<threads>(sum, shared.warp_sums, total);
#pragma unroll
  for (uint32_t k = 0; k < each; ++k) {
    listed->starts[threadIdx.x * each + k] = start;
    start += counts[k];
  }
  if (threadIdx.x != 0) return;
  listed->starts[max_values] = total;
  if (plan->frequent.count != 0) {
    plan->frequent.count = size;
    plan->keys -= total;
  } else {
    expansion->method = Method::counting;
    expansion->bins = size;
    expansion->list = {&listed->values[0], &listed->starts[0]};
  }
}

}  // namespace value_table

}  // namespace sweepsort
