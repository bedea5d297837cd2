// value_table.cuh - counts of values, wherever these lie: a hash table in each block, one for all of them,
// and the values in order with what comes before each. A histogram whose bins are found by open addressing
// (Knuth, "The Art of Computer Programming", vol. 3, 6.4), scanned like any other.
//
//     keys            a block's table     all tables           in order, and where each run starts
//     z c z z ...     c 1 | z 3           c 7 | k 5 | z 9      c 0 | k 7 | z 12
#pragma once

#include "kernels/block.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/hash_slots.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"
#include "kernels/sort_plan.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace value_table {

inline constexpr uint32_t threads = 1024;
inline constexpr uint32_t slots = 2 * most_listed_values;
inline constexpr uint32_t columns = 8;  // counters of a slot: the lanes of a warp hit different ones

/// A block's, in shared memory.
template <class Bits>
struct Counters {
  AtomicWord<Bits> keys[slots];  // zero: free. Keys that are zero are counted apart
  uint32_t counts[slots + 1][columns];
  uint32_t values;
  uint32_t passed_on;
};

/// Of all blocks, in device memory; all zeros before a sort.
template <class Bits>
struct Table {
  AtomicWord<Bits> keys[slots];
  unsigned long long counts[slots + 1];
};

/// The values in order, in device memory.
template <class Bits>
struct ListedValues {
  Bits values[slots];       // as the caller has them
  uint64_t starts[slots];   // how many keys have lower ones of these values; behind the last one: any
  uint32_t buckets[slots];  // frequent values: where they lie
};

template <class Bits>
struct OrderShared {
  Bits values[slots];  // ordered bits; beyond the last the largest there is
  uint64_t counts[slots];
  uint64_t warp_sums[threads / warp_threads];
  uint32_t size;
};

/// Batcher's bitonic sort, 1968, of the first `size` slots, a power of two and at least 64. A free slot looks
/// like the largest value: the count of zero tells it apart and puts it behind.
template <class Bits>
__device__ void sort_values(OrderShared<Bits>& shared, uint32_t size) {
  for (uint32_t block = 2; block <= size; block *= 2)
    for (uint32_t distance = block / 2; distance > 0; distance /= 2) {
      for (uint32_t pair = threadIdx.x; pair < size / 2; pair += threads) {
        const uint32_t low = pair / distance * 2 * distance + pair % distance;
        const uint32_t high = low + distance;
        const bool is_above =
            shared.values[low] > shared.values[high] ||
            (shared.values[low] == shared.values[high] && shared.counts[low] < shared.counts[high]);
        if (is_above == ((low & block) == 0)) {
          const Bits value = shared.values[low];
          const uint64_t keys = shared.counts[low];
          shared.values[low] = shared.values[high];
          shared.counts[low] = shared.counts[high];
          shared.values[high] = value;
          shared.counts[high] = keys;
        }
      }
      // Pairs of one warp stay among its 64 slots as long as both distances, this and the next, are short.
      if (distance > warp_threads || (distance == 1 && block >= 2 * warp_threads))
        __syncthreads();
      else
        __syncwarp();
    }
  __syncthreads();
}

/// One block. Few values: `expansion` tells to write their runs. Frequent ones: the plan learns how many keys
/// are left, and each value its bucket.
template <class Bits>
__global__ __launch_bounds__(threads) void order_values_kernel(const Table<Bits>* table, KeyMap<Bits> map,
                                                               MsdPlan<Bits>* plan,
                                                               ListedValues<Bits>* listed,
                                                               SortPlan<Bits>* expansion) {
  ptx::wait_for_previous_launch();
  if (!plan->has_few_values() && plan->frequent == 0) return;
  OrderShared<Bits>& shared = shared_memory<OrderShared<Bits>>();
  for (uint32_t s = threadIdx.x; s < slots; s += threads) {
    shared.values[s] = static_cast<Bits>(~Bits{0});
    shared.counts[s] = 0;
  }
  if (threadIdx.x == 0) shared.size = 0;
  __syncthreads();
  for (uint32_t s = threadIdx.x; s <= slots; s += threads) {
    const uint64_t keys = table->counts[s];
    if (keys == 0) continue;
    const uint32_t at = atomicAdd(&shared.size, 1u);
    if (at >= slots) continue;
    shared.values[at] = map.to_ordered(s < slots ? static_cast<Bits>(table->keys[s]) : Bits{0});
    shared.counts[at] = keys;
  }
  __syncthreads();
  if (shared.size >= slots) {
    if (threadIdx.x == 0) plan->has_many_values = 1;
    return;
  }
  sort_values(shared, max(1u << (32 - __clz(static_cast<int>(shared.size))), 2 * warp_threads));
  constexpr uint32_t each = slots / threads;
  uint64_t sum = 0;
  for (uint32_t k = 0; k < each; ++k) sum += shared.counts[threadIdx.x * each + k];
  uint64_t total = 0;
  uint64_t start = block_exclusive_sum<threads>(sum, shared.warp_sums, total);
  const LinearBuckets<Bits> linear{plan->map};
  const PiecedBuckets<Bits> pieced{plan->map, plan->pieces};
  for (uint32_t k = 0; k < each; ++k) {
    const uint32_t at = threadIdx.x * each + k;
    const Bits value = shared.values[at];
    listed->values[at] = map.from_ordered(value);
    listed->starts[at] = start;
    listed->buckets[at] = plan->is_pieced ? pieced(value) : linear(value);
    start += shared.counts[at];
  }
  if (threadIdx.x != 0) return;
  if (plan->frequent != 0) {
    plan->frequent = shared.size;
    plan->keys -= total;
  } else {
    expansion->road = Road::counting;
    expansion->bins = shared.size;
    expansion->bins_are_listed = 1;
  }
}

}  // namespace value_table

}  // namespace sweepsort
