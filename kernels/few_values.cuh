// few_values.cuh - keys of few distinct values, which may lie anywhere: they are counted in a hash table, the
// values are sorted, and each is written as often as it occurs (for pairs: value_codes.cuh). A counting sort
// (Seward 1954) whose bins are those of value_table.cuh. Reads n keys, writes n keys.
//
// It is tried if a sample held few values. A block that meets too many says so. Then all blocks stop, and
// another method is used.
#pragma once

#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"
#include "kernels/tickets.cuh"
#include "kernels/value_table.cuh"
#include "kernels/vector16.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace few_detail {

inline constexpr uint32_t slots = 2 * max_listed_values;

template <class Bits>
struct Shared {
  value_table::Counters<Bits, slots, 8> counters;
  uint32_t values;
};

/// Every block calls it, with its counters zero. If there are too many values, those that were counted stay
/// in `table`. Not inlined, because beside the kernel's other code it is slower: H100, 2^28 u32 of 2, 16 and
/// 256 values, us of that launch, inlined 573, 578, 718, not inlined 538, 544, 680.
template <class Bits>
__device__ __noinline__ void count_few(const Bits* keys, uint64_t count, MsdPlan<Bits>* plan,
                                       Shared<Bits>& shared, value_table::Table<Bits>* table) {
  using value_table::threads;
  const DeviceAtomic<uint32_t> failed(plan->has_many_values);
  constexpr uint32_t width = elements_per_vector<Bits>;
  constexpr uint32_t in_flight = 4;
  bool fits = true;
  const auto take = [&](Bits key) {
    uint32_t slot = slots;
    uint32_t taken = 0;
    if (key != 0) fits &= find_slot<slots>(shared.counters.keys, key, slot, taken);
    if (taken != 0) atomicAdd(&shared.values, taken);
    shared.counters.count(slot);
  };
  const uint64_t vectors = count / width;
  const uint4* const body = reinterpret_cast<const uint4*>(keys);
  for (uint64_t row = uint64_t{blockIdx.x} * threads * in_flight; row < vectors;
       row += uint64_t{gridDim.x} * threads * in_flight) {
    Vector16<Bits> vector[in_flight];
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u)
      if (row + u * threads + threadIdx.x < vectors)
        vector[u].whole = ptx::load_streaming(body + row + u * threads + threadIdx.x);
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u) {
      if (row + u * threads + threadIdx.x >= vectors) break;
#pragma unroll
      for (const Bits key : vector[u].elements) take(key);
    }
    const bool is_full =
        BlockAtomic<uint32_t>(shared.values).load(cuda::memory_order_relaxed) > max_listed_values;
    if (!fits || is_full) failed.store(1, cuda::memory_order_relaxed);
    if (__syncthreads_or(failed.load(cuda::memory_order_relaxed)) != 0) return;
  }
  if (blockIdx.x == 0 && threadIdx.x < count % width) take(keys[vectors * width + threadIdx.x]);
  if (!fits) failed.store(1, cuda::memory_order_relaxed);
  __syncthreads();

  for (uint32_t s = threadIdx.x; s <= slots; s += threads) {
    const uint64_t sum = shared.counters.sum(s);
    if (sum == 0) continue;
    uint32_t slot = value_table::slots;
    uint32_t taken = 0;
    const Bits key = s < slots ? static_cast<Bits>(shared.counters.keys[s]) : Bits{0};
    if (key != 0 && !find_slot<value_table::slots, slots_per_load<Bits>>(table->keys, key, slot, taken))
      failed.store(1, cuda::memory_order_relaxed);
    if (failed.load(cuda::memory_order_relaxed) != 0) return;
    atomicAdd(&table->counts[slot], static_cast<unsigned long long>(sum));
  }
}

}  // namespace few_detail

}  // namespace sweepsort
