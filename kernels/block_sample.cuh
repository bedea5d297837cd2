// block_sample.cuh - the sample in the hands of the one block that surveys it (msd_survey.cuh): its keys,
// their range, and which of them are frequent, so that no map divides them.
//
//     neighbours   ab    cd    ef    gh    i     the range is that of all;
//     keys         a      d    e      h          one of each pair is kept, four pairs per thread
//
// The survey is made in layers, each of which adds to what the one below knows of the same sample:
//
//     BlockSample ──> SurveyBuckets ──> SampleSpread ──> Survey
#pragma once

#include "core/key_bits.hpp"
#include "kernels/block.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/frequent_values.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/msd_sample.cuh"
#include "kernels/sampled_values.cuh"
#include "kernels/tickets.cuh"
#include "kernels/value_table.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace survey_detail {

/// Counters for the samples' buckets.
inline constexpr uint32_t bucket_counters = 2 * samples;
/// If keys are even, each 256th of the buckets gets 16 samples. More than uneven_group do not occur by
/// chance.
inline constexpr uint32_t groups = 256;
inline constexpr uint32_t uneven_group = 40;

/// The shared memory of all layers.
template <class Bits>
struct Shared {
  union {
    alignas(16) AtomicWord<Bits> frequent[value_table::slots];
    SampleCounts<Bits> sampled;
  };
  alignas(16) uint32_t in_bucket[bucket_counters];  // samples, here and in the next two
  alignas(16) uint32_t in_group[groups];
  alignas(16) uint32_t in_piece[max_map_pieces];
  MapPiece pieces[max_map_pieces];
  uint32_t warp_sums[threads / warp_threads];
  BucketMap<Bits> map;
  RealMap<Bits> real_map;
  Bits least[threads / warp_threads];
  Bits most[threads / warp_threads];
  SampledValues values;
  uint32_t deals;
};

/// All threads of the block call everything, here and in the other layers.
template <class Bits>
class BlockSample {
 protected:
  __device__ __forceinline__ BlockSample(Shared<Bits>& shared, const Task<Bits>& task, MsdPlan<Bits>& plan)
      : shared_(shared), task_(task), plan_(plan) {}

  /// Loads the sample, and finds its range.
  __device__ __forceinline__ void take_sample() {
    const KeyMap<Bits>& map = task_.map;
    const Neighbours<Bits>* const own = task_.sample.neighbours + threadIdx.x * samples_per_thread;
    Neighbours<Bits> pair[samples_per_thread];
#pragma unroll
    for (uint32_t k = 0; k < samples_per_thread; ++k) pair[k] = own[k];
    Bits least = static_cast<Bits>(~Bits{0});
    Bits most = 0;
    const auto meet = [&](Bits key) {
      least = min(least, key);
      most = max(most, key);
    };
#pragma unroll
    for (uint32_t k = 0; k < samples_per_thread; ++k) {
      pair[k] = {map.to_ordered(pair[k].left), map.to_ordered(pair[k].right)};
      key_[k] = k % 2 == 0 ? pair[k].left : pair[k].right;
      meet(pair[k].left);
      meet(pair[k].right);
    }
    if (threadIdx.x == threads - 1) meet(map.to_ordered(own[samples_per_thread].left));
    smallest_ = block_min<threads>(least, shared_.least);
    largest_ = block_max<threads>(most, shared_.most);
  }

  /// How often the sample met its second most frequent value.
  __device__ __forceinline__ uint32_t most_seen_besides_top() {
    uint32_t most = 0;
    for (uint32_t s = threadIdx.x; s < samples; s += threads)
      if (s != shared_.values.top_owner()) most = max(most, shared_.sampled.times[s]);
    return block_max<threads>(most, shared_.warp_sums);
  }

  /// Pairs: `value` gets a bucket of its own. The range is then divided for the other keys.
  __device__ __forceinline__ void put_apart(Bits value) {
    has_apart_ = true;
    apart_ = value;
    if (threadIdx.x != 0) return;
    plan_.apart.exists = 1;
    plan_.apart.value = value;
  }

  /// Whether a key (ordered bits) has a value that stands apart or is taken out.
  __device__ __forceinline__ bool is_frequent(Bits ordered) const {
    if (has_apart_) return ordered == apart_;
    uint32_t slot = 0;
    return has_frequent_ && frequent_detail::is_listed(shared_.frequent, plan_.frequent.has_zero != 0,
                                                       task_.map.from_ordered(ordered), slot);
  }

  /// The number of samples that are not frequent.
  __device__ __forceinline__ uint32_t count_samples_left() const {
    int left = 0;
#pragma unroll
    for (uint32_t k = 0; k < samples_per_thread; ++k) left += __syncthreads_count(!is_frequent(key_[k]));
    return static_cast<uint32_t>(left);
  }

  Shared<Bits>& shared_;
  const Task<Bits>& task_;
  MsdPlan<Bits>& plan_;
  Bits key_[samples_per_thread];  // ordered bits, as all below
  Bits smallest_;
  Bits largest_;
  bool has_frequent_ = false;  // values are taken out: those in shared_.frequent
  bool has_apart_ = false;
  Bits apart_ = 0;
};

}  // namespace survey_detail

}  // namespace sweepsort
