// few_values.cuh - keys of few distinct values, wherever these lie: counted in a hash table, the values
// sorted, the counts written out. A counting sort (Seward 1954) whose bins are those of value_table.cuh.
// Reads n keys, writes n keys.
//
// It is tried where a sample held few values. A block that meets too many says so, everybody stops, and
// another road is taken.
#pragma once

#include "kernels/histogram.cuh"
#include "kernels/lookback.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"
#include "kernels/value_table.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace few_detail {

/// Every block calls it, its counters being zero. Values of which some were counted stay in `table` if there
/// are too many.
template <class Bits>
__device__ __forceinline__ void count_few(const Bits* keys, uint64_t count, MsdPlan<Bits>* plan,
                                          value_table::Counters<Bits>& shared,
                                          value_table::Table<Bits>* table) {
  using namespace value_table;
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
    const bool is_full =
        BlockAtomic<uint32_t>(shared.values).load(cuda::memory_order_relaxed) > most_listed_values;
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

}  // namespace few_detail

}  // namespace sweepsort
