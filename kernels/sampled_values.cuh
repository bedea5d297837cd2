// sampled_values.cuh - how often each value of the survey's sample is met (msd_survey.cuh).
//
//     number    0   1   2   3   4
//     sample    7   3   7   9   7
//     owner     4   1   4   3   4      the last sample of the same value
//     times     -   1   -   1   3      by owner: 3 distinct values, 2 of them single; 7 was seen most
#pragma once

#include "kernels/hash_slots.cuh"
#include "kernels/msd_sample.cuh"
#include "kernels/ptx.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>

namespace sweepsort {

namespace survey_detail {

/// A value is not sampled this often by chance.
inline constexpr uint32_t min_times = 8;

/// What the counts of all values tell.
struct SampledValues {
  uint32_t distinct;
  uint32_t singles;    // values that were sampled once
  uint32_t most_seen;  // the owner of a value in the low bits, how often the value was sampled above

  /// The owner of the value that was sampled most often, and how often that was.
  __device__ __forceinline__ uint32_t top_owner() const { return most_seen % samples; }
  __device__ __forceinline__ uint32_t top_times() const { return most_seen / samples; }
};

/// How often each value of a sample is met. All samples of a value agree on one of them, its owner. The owner
/// is the sample with the highest number among those that hash to the same slot, if it has the value.
/// Otherwise they try again with another hash. (Slots that hold keys, claimed by compare and swap, took
/// 12,000 to 19,000 cycles for 8-byte keys, H100. This was timed in whole sorts only, together with
/// collect_kernel.)
template <class Bits>
struct SampleCounts {
  static constexpr uint32_t slots = 4 * samples;

  uint32_t owners[slots];  // its number + 1
  Bits keys[samples];
  uint32_t times[samples];  // by owner
};

/// The number in SampleCounts of a thread's k-th sample.
__device__ __forceinline__ uint32_t number_of(uint32_t k) { return k * threads + threadIdx.x; }

/// Counts the values of the sample, four of whose keys a thread has. `owners`, `times` and `values` are zeros
/// before. Called by all threads of a block.
template <class Bits>
__device__ __forceinline__ void count_values(SampleCounts<Bits>& sampled, SampledValues& values,
                                             const Bits (&key)[samples_per_thread]) {
  uint32_t owner[samples_per_thread];
  uint32_t open = 0;
#pragma unroll
  for (uint32_t k = 0; k < samples_per_thread; ++k) {
    sampled.keys[number_of(k)] = key[k];
    owner[k] = number_of(k);
    open |= 1u << k;
  }
  for (uint32_t round = 0; round < max_tries; ++round) {
    uint32_t slot[samples_per_thread];
#pragma unroll
    for (uint32_t k = 0; k < samples_per_thread; ++k) {
      slot[k] = hash<std::countr_zero(SampleCounts<Bits>::slots)>(static_cast<Bits>(key[k] + round));
      if ((open >> k & 1) != 0) atomicMax(&sampled.owners[slot[k]], number_of(k) + 1);
    }
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < samples_per_thread; ++k) {
      if ((open >> k & 1) == 0) continue;
      const uint32_t found = sampled.owners[slot[k]] - 1;
      if (sampled.keys[found] != key[k]) continue;
      owner[k] = found;
      open ^= 1u << k;
    }
    if (__syncthreads_or(static_cast<int>(open)) == 0) break;
  }

  // Neighbours of one value are counted together. Otherwise the atomics for keys in order would queue up
  // for one counter.
  uint32_t times = 1;
#pragma unroll
  for (uint32_t k = 0; k < samples_per_thread; ++k) {
    if (k + 1 < samples_per_thread && owner[k] == owner[(k + 1) % samples_per_thread]) {
      ++times;
    } else {
      atomicAdd(&sampled.times[owner[k]], times);
      times = 1;
    }
  }
  __syncthreads();

  uint32_t distinct = 0;
  uint32_t singles = 0;
  uint32_t most_seen = 0;
#pragma unroll
  for (uint32_t k = 0; k < samples_per_thread; ++k) {
    const uint32_t seen = sampled.times[number_of(k)];
    distinct += seen != 0;
    singles += seen == 1;
    most_seen = max(most_seen, seen * samples + number_of(k));
  }
  distinct = ptx::warp_sum(distinct);
  singles = ptx::warp_sum(singles);
  most_seen = warp_max(most_seen);
  if (ptx::lane_id() == 0) {
    atomicAdd(&values.distinct, distinct);
    atomicAdd(&values.singles, singles);
    atomicMax(&values.most_seen, most_seen);
  }
  __syncthreads();
}

}  // namespace survey_detail

}  // namespace sweepsort
