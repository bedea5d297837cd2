// sample_spread.cuh - how a sample spreads over the buckets that a survey makes (msd_survey.cuh): evenly, or
// so that one of them is crowded, or that keys clump together inside them.
//
//     samples in groups of buckets    2 1 1 2 1 1    do they differ by chance? then the keys are even
//     in buckets                      0 1 9 0 0 1    does one have many more than by chance? it is crowded
//     in parts of buckets, a bit each 1 0 1 1 0 1    do many meet in a bit? then they clump
#pragma once

#include "kernels/block.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/hash_slots.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/msd_sample.cuh"
#include "kernels/survey_buckets.cuh"
#include "kernels/vector16.cuh"

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>

namespace sweepsort {

namespace survey_detail {

/// Fewer than this many of 4,096 samples meet in one of 8,192 counters by chance.
inline constexpr uint32_t min_crowded = 12;

/// From this many keys on, 4,096 samples no longer tell whether keys clump together.
inline constexpr uint64_t clumps_below = uint64_t{1} << 26;

/// The counter for the samples of a bucket, one of 2^bits, which are no fewer than the counters. All counters
/// have as many buckets, which are scattered. (With scattering_hash() they had 0 to 23 of 65,536 buckets
/// instead of 8, and samples that crowd nowhere came up to the limit. So f32 2^28 of a normal distribution
/// went by LSD: 3.68 ms instead of 2.79.)
SWEEPSORT_HOST_DEVICE constexpr uint32_t counter_of_bucket(uint32_t bucket, uint32_t bits) {
  // Permutations of the numbers of `bits` bits, and the leading bits of the last one.
  const uint32_t mixed = (bucket ^ bucket >> bits / 2) * 0x85ebca6b & ((1u << bits) - 1);
  return (mixed ^ mixed >> bits / 2) * 0x9e3779b1 << (32 - bits) >> (32 - std::countr_zero(bucket_counters));
}

/// What the counters of samples tell.
template <class Bits, bool of_floats>
class SampleSpread : protected SurveyBuckets<Bits, of_floats> {
 protected:
  using Sample = BlockSample<Bits>;
  using Sample::is_frequent;
  using Sample::key_;
  using Sample::plan_;
  using Sample::shared_;
  using Sample::task_;

  using Buckets = SurveyBuckets<Bits, of_floats>;
  using Buckets::Buckets;
  using Buckets::piece_bits;
  using Buckets::with_buckets;

  /// The counter for the samples of a bucket or cell. Some of these share a counter by chance. The number is
  /// hashed because samples of keys close to order lie at equal distances. (With the number modulo 8,192, 16
  /// samples of an organ pipe's 2^28 doubles met.)
  __device__ __forceinline__ static uint32_t counter_of(uint32_t number) {
    return scattering_hash<std::countr_zero(bucket_counters)>(number);
  }

  /// Whether one of the counters that `slot_of` names, each for up to `buckets` buckets, has far more samples
  /// than by chance. True only if one of its buckets has four times as many keys as any kernel finishes. Then
  /// the histogram can be skipped.
  template <class Slot>
  __device__ __forceinline__ bool finds_crowd(uint32_t buckets, Slot slot_of) {
    uint32_t most = 0;
#pragma unroll
    for (uint32_t k = 0; k < samples_per_thread; ++k)
      if (!is_frequent(key_[k])) most = max(most, atomicAdd(&shared_.in_bucket[slot_of(key_[k])], 1u) + 1);
    return __syncthreads_or(most >= buckets * min_crowded &&
                            most * (task_.count / samples) > uint64_t{buckets} * 4 * task_.max_keys) != 0;
  }

  /// The same for buckets that are still to be made, by pieces. Even if one piece had all buckets, they would
  /// be no narrower than a cell, so at most two buckets share a cell.
  template <class Map>
  __device__ __forceinline__ bool is_crowded_in_any_pieces(const Map& map, uint32_t bucket_bits) {
    const uint32_t cell_bits = piece_bits() + bucket_bits;
    const bool crowded =
        finds_crowd(2, [&](Bits key) { return counter_of(map.word_of(key) >> (32 - cell_bits)); });
    clear(shared_.in_bucket, bucket_counters);
    __syncthreads();
    return crowded;
  }

  /// Counts the samples in each group of the 2^bucket_bits buckets. Returns whether this thread has found one
  /// with too many.
  __device__ __forceinline__ bool count_groups(const LinearBuckets<Bits>& linear, uint32_t bucket_bits) {
    bool is_uneven = false;
#pragma unroll
    for (uint32_t k = 0; k < samples_per_thread; ++k) {
      if (is_frequent(key_[k])) continue;
      const uint32_t group = linear(key_[k]) >> (bucket_bits - 8);
      is_uneven |= atomicAdd(&shared_.in_group[group], 1u) >= uneven_group;
    }
    return is_uneven;
  }

  /// Whether chance explains how the numbers of samples differ from group to group: the sum of their squares
  /// is at most six standard deviations above its mean (Pearson's test).
  __device__ __forceinline__ bool groups_are_even() {
    __syncthreads();
    const uint32_t in_group = threadIdx.x < groups ? shared_.in_group[threadIdx.x] : 0;
    constexpr uint32_t mean = samples / groups;
    constexpr uint32_t deviation = 362;  // mean * sqrt(2 * groups)
    static_assert(mean == 16 && groups == 256);
    return block_sum<threads>(in_group * in_group, shared_.warp_sums) <= samples * (mean + 1) + 6 * deviation;
  }

  /// Whether keys clump together inside the buckets, so that these would be sorted digit by digit. Many
  /// samples then meet in the same part of a bucket. H200, 5,000 networks of 256 addresses, u64 2^23 keys,
  /// CUB in brackets: 1.86 ms if the buckets are sorted, 0.52 by LSD (0.60).
  __device__ __forceinline__ bool find_clumps() {
    constexpr uint32_t bits = 18;
    static_assert(bucket_counters * 32 == 1u << bits);
    // The number of samples that meet in a bit by chance, plus seven standard deviations.
    constexpr uint32_t chance = samples / 2 * samples >> bits;
    constexpr uint32_t allowed = chance + 7 * 6;
    static_assert(chance <= 6 * 6);
    clear(shared_.in_bucket, bucket_counters);
    __syncthreads();
    uint32_t met = 0;
    with_buckets([&](const auto& buckets) {
#pragma unroll
      for (uint32_t k = 0; k < samples_per_thread; ++k) {
        const uint32_t bit = scattering_hash<bits>(buckets.part_of_word(buckets.map.word_of(key_[k])));
        const bool counts = !is_frequent(key_[k]);
        const uint32_t before = counts ? atomicOr(&shared_.in_bucket[bit / 32], 1u << bit % 32) : 0;
        met += static_cast<uint32_t>(__syncthreads_count((before >> bit % 32 & 1) != 0));
      }
    });
    return met > allowed;
  }

  /// Looks for crowded buckets again, in a larger sample: taking keys out in vain costs more than this.
  /// Within one half of a place, neighbours that share a bucket count once, because in keys close to order
  /// all of them share one.
  __device__ __forceinline__ bool is_crowded_at_places() {
    __syncthreads();
    clear(shared_.in_bucket, bucket_counters);
    __syncthreads();
    uint32_t max_in_bucket = 0;
    const uint32_t bucket_bits = plan_.bucket_bits;
    with_buckets([&](const auto& bucket_of) {
      task_.sample.template for_halves<piece_places>([&](const Vector16<Bits>& half) {
        uint32_t before = bucket_counters;
#pragma unroll
        for (const Bits key : half.elements) {
          const Bits ordered = task_.map.to_ordered(key);
          const uint32_t counter = counter_of_bucket(bucket_of(ordered), bucket_bits);
          if (counter == before || is_frequent(ordered)) continue;
          before = counter;
          max_in_bucket = max(max_in_bucket, atomicAdd(&shared_.in_bucket[counter], 1u) + 1);
        }
      });
    });
    constexpr uint32_t in_all = piece_places * keys_per_place<Bits>;
    constexpr uint32_t mean = in_all / bucket_counters;
    constexpr uint32_t chance = 20;  // seven standard deviations of a counter, as all have as many buckets
    static_assert(mean <= 8);
    const uint64_t allowed = uint64_t{task_.max_keys} * in_all / task_.count;
    return __syncthreads_or(max_in_bucket > allowed + mean + chance) != 0;
  }
};

}  // namespace survey_detail

}  // namespace sweepsort
