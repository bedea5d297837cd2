// few_values.cuh - keys of few distinct values, wherever these lie: counted in a hash table, the values
// sorted, the counts written out. A counting sort (Seward 1954) whose bins are found by open addressing
// (Knuth, "The Art of Computer Programming", vol. 3, 6.4). Reads n keys, writes n keys.
//
//     keys            a block's table     all tables           out
//     z c z z ...     c 1 | z 3           c 7 | k 5 | z 9      c..c k..k z..z
//
// It is tried where a sample held few values. A block that meets too many says so, everybody stops, and
// another road is taken.
#pragma once

#include "kernels/counting_sort.cuh"
#include "kernels/hash_slots.cuh"
#include "kernels/histogram.cuh"
#include "kernels/launch.cuh"
#include "kernels/lookback.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace few_detail {

inline constexpr uint32_t threads = 1024;
inline constexpr uint32_t slots = 2 * few_values;
inline constexpr uint32_t columns = 8;  // counters of a slot: the lanes of a warp hit different ones

template <class Bits>
struct CountShared {
  AtomicWord<Bits> keys[slots];  // zero: free. Keys that are zero are counted apart
  uint32_t counts[slots + 1][columns];
  uint32_t values;
};

/// The table of all blocks, in device memory; all zeros before a sort.
template <class Bits>
struct Table {
  AtomicWord<Bits> keys[slots];
  unsigned long long counts[slots + 1];
};

template <class Bits>
__global__ __launch_bounds__(threads) void count_few_kernel(const Bits* keys, uint64_t count,
                                                            MsdPlan<Bits>* plan, Table<Bits>* table) {
  ptx::wait_for_previous_launch();
  if (!plan->tries_few_values()) return;
  CountShared<Bits>& shared = shared_memory<CountShared<Bits>>();
  for (uint32_t i = threadIdx.x; i < sizeof(shared) / 4; i += threads)
    reinterpret_cast<uint32_t*>(&shared)[i] = 0;
  __syncthreads();

  const DeviceAtomic<uint32_t> failed(plan->has_many_values);
  constexpr uint32_t width = digest_detail::keys_a_vector<Bits>;
  constexpr uint32_t in_flight = 4;
  const uint32_t column = threadIdx.x % columns;
  bool fits = true;
  const auto take = [&](Bits key) {
    uint32_t slot = slots;
    uint32_t taken = 0;
    if (key != 0) fits &= find_slot<slots>(shared.keys, key, slot, taken);
    if (taken != 0) atomicAdd(&shared.values, taken);
    atomicAdd(&shared.counts[slot][column], 1u);
  };
  const uint64_t vectors = count / width;
  const uint4* const body = reinterpret_cast<const uint4*>(keys);
  for (uint64_t row = uint64_t{blockIdx.x} * threads * in_flight; row < vectors;
       row += uint64_t{gridDim.x} * threads * in_flight) {
    digest_detail::Vector<Bits> vector[in_flight];
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u)
      if (row + u * threads + threadIdx.x < vectors)
        vector[u].whole = ptx::load_streaming(body + row + u * threads + threadIdx.x);
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u) {
      if (row + u * threads + threadIdx.x >= vectors) break;
#pragma unroll
      for (const Bits key : vector[u].keys) take(key);
    }
    const bool is_full = BlockAtomic<uint32_t>(shared.values).load(cuda::memory_order_relaxed) > few_values;
    if (!fits || is_full) failed.store(1, cuda::memory_order_relaxed);
    if (__syncthreads_or(failed.load(cuda::memory_order_relaxed)) != 0) return;
  }
  if (blockIdx.x == 0 && threadIdx.x < count % width) take(keys[vectors * width + threadIdx.x]);
  if (!fits) failed.store(1, cuda::memory_order_relaxed);
  __syncthreads();

  for (uint32_t s = threadIdx.x; s <= slots; s += threads) {
    uint64_t sum = 0;
    for (uint32_t c = 0; c < columns; ++c) sum += shared.counts[s][c];
    if (sum == 0) continue;
    uint32_t slot = slots;
    uint32_t taken = 0;
    if (s < slots && !find_slot<slots>(table->keys, static_cast<Bits>(shared.keys[s]), slot, taken))
      failed.store(1, cuda::memory_order_relaxed);
    if (failed.load(cuda::memory_order_relaxed) != 0) return;
    atomicAdd(&table->counts[slot], static_cast<unsigned long long>(sum));
  }
}

template <class Bits>
struct OrderShared {
  Bits values[slots];  // ordered bits; beyond the last the largest there is
  uint64_t counts[slots];
  uint64_t warp_sums[threads / warp_threads];
  uint32_t size;
};

/// One block: the table's values in order, and where the run of each begins (Batcher's bitonic sort, 1968).
template <class Bits>
__global__ __launch_bounds__(threads) void order_few_kernel(const Table<Bits>* table, KeyMap<Bits> map,
                                                            MsdPlan<Bits>* plan, Bits* values,
                                                            uint64_t* offsets, SortPlan<Bits>* expansion) {
  ptx::wait_for_previous_launch();
  if (!plan->has_few_values()) return;
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
  if (shared.size > slots) {
    if (threadIdx.x == 0) plan->has_many_values = 1;
    return;
  }
  for (uint32_t block = 2; block <= slots; block *= 2)
    for (uint32_t distance = block / 2; distance > 0; distance /= 2) {
      for (uint32_t pair = threadIdx.x; pair < slots / 2; pair += threads) {
        const uint32_t low = pair / distance * 2 * distance + pair % distance;
        const uint32_t high = low + distance;
        // A free slot looks like the largest value: the count of zero tells it apart and puts it behind.
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
      __syncthreads();
    }
  constexpr uint32_t each = slots / threads;
  uint64_t sum = 0;
  for (uint32_t k = 0; k < each; ++k) sum += shared.counts[threadIdx.x * each + k];
  uint64_t total = 0;
  uint64_t offset = block_exclusive_sum<threads>(sum, shared.warp_sums, total);
  for (uint32_t k = 0; k < each; ++k) {
    const uint32_t at = threadIdx.x * each + k;
    values[at] = map.from_ordered(shared.values[at]);
    offsets[at] = offset;
    offset += shared.counts[at];
  }
  if (threadIdx.x == 0) {
    expansion->road = Road::counting;
    expansion->bins = shared.size;
  }
}

}  // namespace few_detail

/// Device memory; all zeros before each sort.
template <class Bits>
struct FewValuesWorkspace {
  DeviceSpan<few_detail::Table<Bits>> table;
  DeviceSpan<SortPlan<Bits>> expansion;
  DeviceSpan<Bits> values;
  DeviceSpan<uint64_t> offsets;

  FewValuesWorkspace(Workspace& workspace, bool is_wanted)
      : table(workspace.take<few_detail::Table<Bits>>(is_wanted)),
        expansion(workspace.take<SortPlan<Bits>>(is_wanted)),
        values(workspace.take<Bits>(is_wanted ? few_detail::slots : 0)),
        offsets(workspace.take<uint64_t>(is_wanted ? few_detail::slots : 0)) {}
};

/// Sorts keys alone if plan->tries_few_values(); it did if plan->has_few_values() then. `out` may be `in`.
template <class Bits>
void sort_few_values(DeviceSpan<const Bits> in, DeviceSpan<Bits> out, KeyMap<Bits> map, MsdPlan<Bits>* plan,
                     const FewValuesWorkspace<Bits>& workspace, cudaStream_t stream) {
  using namespace few_detail;
  launch_chained(count_few_kernel<Bits>, {multiprocessors(), threads, sizeof(CountShared<Bits>)}, stream,
                 in.data(), in.size(), plan, workspace.table.data());
  launch_chained(order_few_kernel<Bits>, {1, threads, sizeof(OrderShared<Bits>)}, stream,
                 static_cast<const Table<Bits>*>(workspace.table.data()), map, plan, workspace.values.data(),
                 workspace.offsets.data(), workspace.expansion.data());
  counting_detail::expand(workspace.offsets.data(), 0, out, map,
                          static_cast<const SortPlan<Bits>*>(workspace.expansion.data()), stream,
                          static_cast<const Bits*>(workspace.values.data()));
}

}  // namespace sweepsort
