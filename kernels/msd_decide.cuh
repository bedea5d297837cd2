// msd_decide.cuh - decides what the MSD sort does with each bucket, from counts of all keys.
//
//     counts ──scan──> offsets ──size, interval──> class ──> lists of buckets (msd_plan.cuh)
//
// O(buckets), one launch, one thread per bucket.
#pragma once

#include "kernels/bin_counts.cuh"
#include "kernels/bisect.cuh"
#include "kernels/block.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/bucket_parts.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"
#include "kernels/sort_plan.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// How buckets are finished by size: small, large and larger ones. Larger ones must have few values.
struct ClassLimits {
  uint32_t max_keys[few_valued_buckets + 1];
  uint32_t part_bits[large_buckets + 1];
  BucketClass class_by_values;  // buckets of this class become few_valued_buckets if they have few values;
                                // bucket_classes: none do
  uint32_t counts_dense;        // buckets of all classes become dense_buckets if they have even fewer values
  uint32_t may_place;           // pairs: parts may depend on places
  uint32_t min_narrow;  // pairs: smaller buckets, and large ones, have no narrow keys; 0: no bucket has
  uint32_t max_split[few_valued_buckets + 1];  // max_keys for buckets between splitters
};

/// The input of the decision, and where its results go.
struct Decision {
  BinCounts counts;              // by bucket
  BinCounts dealt_counts;        // by bucket, if the keys were dealt
  const uint8_t* has_one_value;  // by bucket, between splitters
  uint64_t* offsets;
  ClassLimits limits;
  BucketLists lists;
  const uint32_t* frequent_buckets;  // the buckets of plan->frequent.count values, in order
  const uint64_t* frequent_starts;
  bool is_between_levels = false;  // launched behind the first level, for keys that are counted by level
};

namespace decide_detail {

inline constexpr uint32_t decide_threads = 1024;

struct DecideShared {
  uint64_t warp_sums[2][decide_threads / warp_threads];
  uint32_t is_wide[decide_threads / 2];  // by parent of this block's buckets: its keys are not left narrow
};

/// Appends this lane's `bucket` to a list if `is_member`: one atomic per warp.
__device__ __forceinline__ void append(BucketList list, uint32_t* length, const ListedBucket& bucket,
                                       bool is_member) {
  const uint32_t members = __ballot_sync(full_warp, is_member);
  if (members == 0) return;
  uint32_t at = 0;
  if (ptx::lane_id() == 0) at = atomicAdd(length, static_cast<uint32_t>(__popc(members)));
  at = __shfl_sync(full_warp, at, 0);
  if (is_member) *list.at(at + static_cast<uint32_t>(__popc(members & ptx::lanes_below()))) = bucket;
}

/// How many keys were taken out in front of a bucket, or has_frequent_value if it has some of its own.
template <class Bits>
__device__ __forceinline__ uint64_t taken_out_before(const Decision& decision, const MsdPlan<Bits>& plan,
                                                     uint32_t bucket) {
  if (plan.frequent.count == 0) return 0;
  const uint32_t value = first_at_least(decision.frequent_buckets, plan.frequent.count, bucket);
  const bool has_value = value < plan.frequent.count && decision.frequent_buckets[value] == bucket;
  return has_value ? has_frequent_value : decision.frequent_starts[value];
}

/// The lowest key for widen(). If all keys have the same high half, it is the lowest with that half, so that
/// no carry occurs.
template <class Bits>
__device__ __forceinline__ uint64_t lowest_to_widen(const KeyInterval<Bits>& interval) {
  constexpr auto low = static_cast<Bits>(static_cast<NarrowKey<Bits>>(~0u));
  return ((interval.first ^ interval.last) & ~low) == 0 ? interval.first & ~low : interval.first;
}

/// Whether a bit vector suits a small bucket of few values (bucket_bits.cuh). Most of the vector must be
/// used. Of evenly spread keys, so few must come late that at most one bucket in ten is left alone.
__device__ __forceinline__ bool is_sparse(uint64_t size, uint32_t range) {
  return range >> (few_value_bits - 1) != 0 && size <= range / 14;
}

/// Whether an interval of floats contains most exponents, judged by its last key's distance from the first.
template <class Bits>
__device__ __forceinline__ bool has_all_exponents(Bits range) {
  return range >> (sizeof(Bits) * 8 - 2) != 0;
}

/// Whether `size` pairs are sorted faster by PlacedParts: there are eight of 2^bits parts or more for each
/// value of the interval, and not as many pairs as values, which mostly means that each value is there once.
template <class Bits>
__device__ __forceinline__ bool pays_to_place(const KeyInterval<Bits>& interval, uint64_t size,
                                              uint32_t bits) {
  const auto all_above = static_cast<Bits>(interval.last - interval.first);
  return !interval.is_open && all_above >> (bits - 3) == 0 && size > 1 && size != uint64_t{all_above} + 1;
}

/// Parts for pairs with narrow keys. bucket_pairs.cuh sorts by the key's distance from
/// lowest_to_widen(interval), and then by the pair's place.
template <class Bits>
__device__ __forceinline__ BucketParts parts_of_narrow_pairs(const KeyInterval<Bits>& interval,
                                                             uint32_t bits) {
  const auto lowest = static_cast<Bits>(lowest_to_widen(interval));
  const auto first = static_cast<uint32_t>(interval.first - lowest) << 16;
  const auto last = static_cast<uint32_t>(interval.last - lowest) << 16 | 0xffff;
  return BucketParts::over(first, last, bits);
}

/// Whether all buckets of this bucket's parent may be narrow. If so, the plan is told, too. Called by the
/// whole block, one thread per bucket. A block may have more threads than the plan has buckets: threads
/// beyond the last bucket pass `may_be_narrow` false.
template <class Bits>
__device__ __forceinline__ bool leaves_narrow(DecideShared& shared, uint32_t bucket, bool may_be_narrow,
                                              MsdPlan<Bits>* plan) {
  const uint32_t children_bits = plan->bucket_bits - msd_digit_bits;
  uint32_t& is_wide = shared.is_wide[threadIdx.x >> children_bits];
  const bool is_first = threadIdx.x % (1u << children_bits) == 0;
  if (is_first) is_wide = 0;
  __syncthreads();
  if (!may_be_narrow) is_wide = 1;
  __syncthreads();
  const bool is_narrow = is_wide == 0;
  if (is_first && is_narrow) {
    plan->is_narrow[bucket >> children_bits] = 1;
    atomicOr(&plan->has_narrow, 1u);
  }
  return is_narrow;
}

/// The offset of a bucket of `size` keys, from the counts of all buckets before it. Called by the whole
/// block, one thread per bucket.
__device__ __forceinline__ uint64_t offset_of(const BinCounts& counts, uint64_t size, DecideShared& shared) {
  uint64_t before_mine = 0;  // keys in buckets of lower blocks
#pragma unroll 8
  for (uint32_t row = 0; row < blockIdx.x; ++row)
    before_mine += counts.at(row * decide_threads + threadIdx.x);
  uint64_t before = 0;
  (void)block_exclusive_sum<decide_threads>(before_mine, shared.warp_sums[0], before);
  uint64_t all = 0;
  return before + block_exclusive_sum<decide_threads>(size, shared.warp_sums[1], all);
}

/// If each bucket is a value: plans to write each value as often as it was counted.
template <class Bits>
__device__ __forceinline__ void plan_expansion(const MsdPlan<Bits>& plan, SortPlan<Bits>* expansion) {
  expansion->method = Method::counting;
  expansion->bins = msd_max_buckets;
  expansion->minimum = plan.least();
  expansion->first_bin = static_cast<uint32_t>(plan.least() - plan.map.lowest) % msd_max_buckets;
}

/// How a bucket is finished.
struct Finish {
  uint32_t which = bucket_classes;  // a BucketClass; bucket_classes: it has no keys, or is sorted already
  ListedBucket listed = {};
  bool is_too_large = false;  // for all kernels
  bool may_be_narrow = false;
  BucketParts narrow_parts = {};  // its parts, if it is narrow
};

/// The class by size alone. From few_valued_buckets on, the keys must have few values.
__device__ __forceinline__ uint32_t class_of_size(const ClassLimits& limits, uint64_t size) {
  uint32_t size_class = small_buckets;
  while (size_class <= few_valued_buckets && size > limits.max_keys[size_class]) ++size_class;
  return size_class;
}

/// For a bucket between splitters. Its interval is not known.
__device__ __forceinline__ Finish finish_between_splitters(const ClassLimits& limits, uint32_t bucket,
                                                           uint64_t offset, uint64_t size) {
  if (size > limits.max_split[few_valued_buckets]) return {.is_too_large = true};
  return {.which = size <= limits.max_split[small_buckets]   ? small_buckets
                   : size <= limits.max_split[large_buckets] ? large_buckets
                                                             : crowded_buckets,
          .listed = {.first = offset,
                     .taken_out_before = 0,
                     .size = static_cast<uint32_t>(size),
                     .number = static_cast<uint16_t>(bucket),
                     .is_narrow = 0,
                     .parts = BucketParts::not_known()}};
}

/// The interval of keys that a bucket may have.
template <class Bits>
__device__ __forceinline__ KeyInterval<Bits> interval_of_bucket(const MsdPlan<Bits>& plan, uint32_t bucket) {
  if (plan.is_of_reals())
    return plan.was_dealt() ? interval_of(plan.deal.real, bucket)
                            : interval_of(plan.real_pieces(plan.pieces), bucket);
  const uint32_t of_map = plan.bucket_of_map(bucket);
  const auto interval = plan.is_pieced ? interval_of(plan.pieced_buckets(), of_map)
                                       : interval_of(plan.linear_buckets(), of_map);
  const bool is_closed = !plan.was_dealt() && !plan.has_beyond && !plan.apart.exists;
  return is_closed ? closed(interval, plan.map) : interval;
}

/// For a bucket of the map: chooses by its size and its interval.
template <class Bits>
__device__ __forceinline__ Finish finish_interval(const Decision& decision, const MsdPlan<Bits>& plan,
                                                  uint32_t bucket, uint64_t offset, uint64_t size) {
  const ClassLimits& limits = decision.limits;
  const bool was_dealt = plan.was_dealt();
  const uint32_t size_class = class_of_size(limits, size);
  if (size_class > (was_dealt ? large_buckets : few_valued_buckets)) return {.is_too_large = true};

  const auto interval = interval_of_bucket(plan, bucket);
  const auto all_above = static_cast<Bits>(interval.last - interval.first);
  const bool spans_few_values = all_above >> few_value_bits == 0;
  const ValueSpan few{static_cast<uint32_t>(interval.first), static_cast<uint32_t>(all_above)};
  if (size_class == few_valued_buckets && !spans_few_values) return {.is_too_large = true};
  uint32_t which = size_class;
  if (spans_few_values && !interval.is_open) {
    if (limits.counts_dense && few.range >> dense_value_bits == 0 && plan.frequent.count == 0)
      which = dense_buckets;
    else if (which == limits.class_by_values &&
             (which != small_buckets || (is_sparse(size, few.range) && plan.frequent.count == 0)))
      which = few_valued_buckets;
  }
  // For the floats around zero: most of the interval consists of numbers so small that few keys are there.
  if (plan.is_of_reals() && !interval.is_open && has_all_exponents(all_above)) which = crowded_buckets;

  Finish finish{
      .which = which,
      .listed = {.first = offset,
                 .taken_out_before = was_dealt || plan.with_values ? lowest_to_widen(interval)
                                                                   : taken_out_before(decision, plan, bucket),
                 .size = static_cast<uint32_t>(size),
                 .number = static_cast<uint16_t>(bucket),
                 .is_narrow = static_cast<uint16_t>(
                     was_dealt && plan.is_narrow[bucket >> (plan.bucket_bits - msd_digit_bits)] != 0),
                 .parts = {}}};
  if (which > large_buckets)
    finish.listed.few = few;
  else if (limits.may_place && !plan.is_of_reals() && pays_to_place(interval, size, limits.part_bits[which]))
    finish.listed.parts = BucketParts::over_places(interval.first, interval.last, static_cast<uint32_t>(size),
                                                   limits.part_bits[which]);
  else
    finish.listed.parts = BucketParts::of(interval, limits.part_bits[which]);
  if (which == small_buckets && limits.min_narrow != 0 && size >= limits.min_narrow) {
    finish.may_be_narrow = all_above <= static_cast<NarrowKey<Bits>>(~0u) && !plan.is_of_reals();
    if (finish.may_be_narrow)
      finish.narrow_parts = parts_of_narrow_pairs(interval, limits.part_bits[small_buckets]);
  }
  return finish;
}

/// The list that a bucket joins.
template <class Bits>
__device__ __forceinline__ uint32_t list_of(const Finish& finish, const MsdPlan<Bits>& plan) {
  if (finish.which > large_buckets) return finish.which;
  // The kernels that take most buckets do not find parts.
  if (!finish.listed.parts.are_known() && !plan.is_split)
    return finish.which == small_buckets && !plan.with_values ? repeating_buckets : crowded_buckets;
  // If some values are frequent, others repeat.
  return finish.which == small_buckets && plan.frequent.count != 0 ? repeating_buckets : finish.which;
}

/// One thread per bucket: finds where it lies, which kernel finishes it, and in which parts.
template <class Bits>
__global__ __launch_bounds__(decide_threads) void decide_kernel(const __grid_constant__ Decision decision,
                                                                MsdPlan<Bits>* plan,
                                                                SortPlan<Bits>* expansion) {
  ptx::wait_for_previous_launch();
  if (plan->is_unfit || plan->is_settled()) return;  // nothing was counted
  if ((plan->counts_by_level != 0) != decision.is_between_levels) return;
  DecideShared& shared = shared_memory<DecideShared>();
  const uint32_t buckets = 1u << plan->bucket_bits;
  const uint32_t bucket = blockIdx.x * decide_threads + threadIdx.x;
  if (blockIdx.x * decide_threads >= buckets) return;

  const BinCounts counts = plan->was_dealt() ? decision.dealt_counts : decision.counts;
  const uint64_t size = bucket < buckets ? counts.at(bucket) : 0;
  const uint64_t offset = offset_of(counts, size, shared);
  if (bucket < buckets) decision.offsets[bucket] = offset;
  if (plan->counts_values()) {
    if (bucket == 0) plan_expansion(*plan, expansion);
    return;
  }

  // Sorted by the partitions already.
  const bool is_sorted = plan->is_split ? size != 0 && decision.has_one_value[bucket] != 0
                                        : plan->apart.exists && bucket == plan->apart.bucket;
  Finish finish;
  if (size != 0 && !is_sorted)
    finish = plan->is_split ? finish_between_splitters(decision.limits, bucket, offset, size)
                            : finish_interval(decision, *plan, bucket, offset, size);

  const bool may_be_narrow = finish.may_be_narrow || (size == 0 && bucket < buckets);
  if (decision.limits.min_narrow != 0 && leaves_narrow(shared, bucket, may_be_narrow, plan) && size != 0) {
    finish.which = narrow_pair_buckets;
    finish.listed.is_narrow = 1;
    finish.listed.parts = finish.narrow_parts;
  }

  const uint32_t list = list_of(finish, *plan);
#pragma unroll
  for (uint32_t c = 0; c < bucket_classes; ++c)
    append(decision.lists[static_cast<BucketClass>(c)], &plan->listed[c], finish.listed, list == c);
  if (__syncthreads_or(finish.is_too_large) != 0 && threadIdx.x == 0) atomicOr(&plan->has_too_large, 1u);
}

}  // namespace decide_detail

/// Finds where each bucket lies, and lists it for the kernel that finishes it, unless the plan needs no
/// buckets. If each bucket is a value, `expansion` plans the runs instead.
template <class Bits>
void decide(const Decision& decision, MsdPlan<Bits>* plan, SortPlan<Bits>* expansion, cudaStream_t stream) {
  using namespace decide_detail;
  launch_chained(decide_kernel<Bits>,
                 {msd_max_buckets / decide_threads, decide_threads, sizeof(DecideShared)}, stream, decision,
                 plan, expansion);
}

}  // namespace sweepsort
