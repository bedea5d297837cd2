// frequent_survey.cuh - which values are so frequent that the other keys are sorted without them. A larger
// sample shows them, for keys alone that the survey found crowded (msd_survey.cuh).
//
//     places of 32 bytes ──each key by its hash──> a finder's keys ──> counted by a block: its frequent values
//                                                                          │ the last block
//                                                   the survey once more: buckets of the others
#pragma once

#include "kernels/block.cuh"
#include "kernels/hash_slots.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/msd_sample.cuh"
#include "kernels/msd_survey.cuh"
#include "kernels/ptx.cuh"
#include "kernels/sampled_values.cuh"
#include "kernels/tickets.cuh"
#include "kernels/value_table.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace sweepsort {

namespace survey_detail {

/// The sample for finding frequent values: one key in frequent_share, at most max_frequent_samples keys.
inline constexpr uint32_t frequent_share = 512;
inline constexpr uint32_t max_frequent_samples = 1u << 19;
/// A value is frequent if it fills a quarter of the largest bucket, as several values may share a bucket.
inline constexpr uint32_t frequent_part = 4;
/// Blocks that find frequent values. Each counts the values with its own hashes.
inline constexpr uint32_t finder_bits = 7;
inline constexpr uint32_t finders = 1u << finder_bits;
/// Slots for values in each of these blocks.
inline constexpr uint32_t finder_slots = 2 * samples;

/// The number of places from which the larger sample is taken.
template <class Bits>
constexpr uint32_t frequent_places(uint64_t count) {
  const uint64_t wanted =
      std::min<uint64_t>(count / frequent_share, max_frequent_samples) / keys_per_place<Bits>;
  return std::max(static_cast<uint32_t>(wanted / threads), 1u) * threads;
}

/// The larger sample in device memory, divided by finder.
template <class Bits>
struct FrequentSample {
  Bits* keys;         // those of finder f begin at f * max_keys
  uint32_t* sizes;    // how many keys each finder would have; all zeros before
  uint32_t places;    // places of 32 bytes from which the sample is taken
  uint32_t max_keys;  // of one finder
};

/// The finder that counts a value. The hash uses other bits than find_slot.
template <class Bits>
__device__ __forceinline__ uint32_t finder_of(Bits key) {
  return hash<finder_bits>(static_cast<Bits>(key ^ (key >> (sizeof(Bits) * 4))));
}

struct SampleShared {
  uint32_t sizes[finders];
  uint32_t firsts[finders];
};

/// Each thread takes half a place, and gives each key to the finder that counts it.
template <class Bits>
__global__ __launch_bounds__(sample_threads) void sample_kernel(Task<Bits> task, FrequentSample<Bits> sample,
                                                                const MsdPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  if (!plan->frequent.is_looked_for) return;
  SampleShared& shared = shared_memory<SampleShared>();
  if (threadIdx.x < finders) shared.sizes[threadIdx.x] = 0;
  __syncthreads();
  HalfPlace<Bits> keys;
  keys.load(task, uint64_t{blockIdx.x} * sample_threads + threadIdx.x, sample.places);
  // The most frequent value is known, and not counted again: all lanes would want its counter.
  const bool has_top = plan->frequent.has_top != 0;
  const Bits top = plan->frequent.top;
  uint32_t rank[HalfPlace<Bits>::width];
  keys.for_each([&](uint32_t k, Bits key) {
    if (!has_top || key != top) rank[k] = atomicAdd(&shared.sizes[finder_of(key)], 1u);
  });
  __syncthreads();
  if (threadIdx.x < finders)
    shared.firsts[threadIdx.x] = atomicAdd(&sample.sizes[threadIdx.x], shared.sizes[threadIdx.x]);
  __syncthreads();
  keys.for_each([&](uint32_t k, Bits key) {
    if (has_top && key == top) return;
    const uint32_t finder = finder_of(key);
    const uint32_t at = shared.firsts[finder] + rank[k];
    if (at < sample.max_keys) sample.keys[uint64_t{finder} * sample.max_keys + at] = key;
  });
}

/// What one finder has counted.
template <class Bits>
struct FinderShared {
  alignas(16) AtomicWord<Bits> values[finder_slots];  // zero: free
  alignas(16) uint32_t seen[finder_slots];
  uint32_t warp_sums[threads / warp_threads];
};

/// One of `finders` blocks. All its threads call every function.
template <class Bits>
class Finder {
 public:
  __device__ __forceinline__ Finder(FinderShared<Bits>& shared, const Task<Bits>& task, MsdPlan<Bits>& plan,
                                    value_table::Table<Bits>& table)
      : shared_(shared), task_(task), plan_(plan), table_(table) {}

  /// Lists those values with this block's hashes that alone fill a good part of the largest bucket, as far as
  /// the larger sample shows them.
  __device__ __forceinline__ void list_own_values(const FrequentSample<Bits>& sample) {
    const uint64_t times =
        uint64_t{sample.places} * keys_per_place<Bits> * task_.max_bucket_keys / task_.count;
    const uint32_t least = max(static_cast<uint32_t>(times / frequent_part), min_times);
    clear(shared_.values, finder_slots);
    clear(shared_.seen, finder_slots);
    __syncthreads();
    const Bits* const own = sample.keys + uint64_t{blockIdx.x} * sample.max_keys;
    const uint32_t size = min(sample.sizes[blockIdx.x], sample.max_keys);
    uint32_t zeros = 0;
    for (uint32_t i = threadIdx.x; i < size; i += threads) {
      const Bits key = own[i];
      uint32_t slot = 0;
      uint32_t taken = 0;
      if (key == 0)
        ++zeros;
      else if (find_slot<finder_slots>(shared_.values, key, slot, taken))
        atomicAdd(&shared_.seen[slot], 1u);
    }
    const bool zero_is_frequent = block_sum<threads>(zeros, shared_.warp_sums) >= least;
    uint32_t listed = 0;
    uint32_t slot = 0;
    for (uint32_t s = threadIdx.x; s < finder_slots; s += threads)
      if (shared_.seen[s] >= least) list(static_cast<Bits>(shared_.values[s]), slot, listed);
    const bool has_top = plan_.frequent.has_top != 0;
    const Bits top = plan_.frequent.top;
    if (threadIdx.x == 0 && finder_of(top) == blockIdx.x && has_top && top != 0) list(top, slot, listed);
    if (threadIdx.x == 0 && finder_of(Bits{0}) == blockIdx.x && (zero_is_frequent || (has_top && top == 0))) {
      plan_.frequent.has_zero = 1;
      ++listed;
    }
    if (listed != 0) atomicAdd(&plan_.frequent.count, listed);
  }

 private:
  /// Counts too many values if the table is full: such a table is not used.
  __device__ __forceinline__ void list(Bits key, uint32_t& slot, uint32_t& listed) {
    if (!find_slot<value_table::slots, slots_per_load<Bits>>(table_.keys, key, slot, listed))
      listed += value_table::slots;
  }

  FinderShared<Bits>& shared_;
  const Task<Bits>& task_;
  MsdPlan<Bits>& plan_;
  value_table::Table<Bits>& table_;
};

template <class Bits>
constexpr size_t finder_bytes() {
  return std::max(sizeof(FinderShared<Bits>), sizeof(Shared<Bits>));
}

/// The last block to finish surveys the keys that are left.
template <class Bits>
__global__ __launch_bounds__(threads) void find_frequent_kernel(Task<Bits> task, FrequentSample<Bits> sample,
                                                                MsdPlan<Bits>* plan,
                                                                value_table::Table<Bits>* table) {
  ptx::wait_for_previous_launch();
  if (!plan->frequent.is_looked_for) return;
  Finder<Bits> finder(shared_memory<FinderShared<Bits>>(), task, *plan, *table);
  finder.list_own_values(sample);
  if (!completes(plan->frequent.finished_finders, 1, finders)) return;
  const uint32_t listed = plan->frequent.count;
  __syncthreads();  // all threads have read it
  if (listed == 0) return;
  const bool pays = listed <= value_table::max_values &&
                    Survey<Bits>(shared_memory<Shared<Bits>>(), task, *plan, *table).divide_rest();
  if (threadIdx.x != 0) return;
  if (pays)
    plan->is_unfit = 0;
  else
    plan->frequent.count = 0;
}

}  // namespace survey_detail

/// Looks for frequent values in a larger sample if the plan wants that, and surveys the other keys.
/// `memory` has room for task.count keys, `sizes` for a number per finder, zero before.
template <class Bits>
void find_frequent_values(const survey_detail::Task<Bits>& task, Bits* memory, uint32_t* sizes,
                          MsdPlan<Bits>* plan, value_table::Table<Bits>* table, cudaStream_t stream) {
  using namespace survey_detail;
  const FrequentSample<Bits> sample{
      .keys = memory,
      .sizes = sizes,
      .places = frequent_places<Bits>(task.count),
      .max_keys = static_cast<uint32_t>(std::min<uint64_t>(task.count / finders, 1u << 31))};
  launch_chained(sample_kernel<Bits>,
                 {2 * sample.places / sample_threads, sample_threads, sizeof(SampleShared)}, stream, task,
                 sample, static_cast<const MsdPlan<Bits>*>(plan));
  launch_chained(find_frequent_kernel<Bits>, {finders, threads, finder_bytes<Bits>()}, stream, task, sample,
                 plan, table);
}

}  // namespace sweepsort
