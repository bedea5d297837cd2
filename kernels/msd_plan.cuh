// msd_plan.cuh - what the MSD sort decides on the device: from a sample, how to look at the keys; from their
// histogram, what to do with each bucket.
//
//     some keys ──survey──> which buckets, probably sorted? ──histogram──> decide ──> jobs, lists of buckets
//
// The survey is in msd_survey.cuh. The decisions here are made from counts of all keys.
#pragma once

#include "core/key_bits.hpp"
#include "core/rounding.hpp"
#include "kernels/bin_counts.cuh"
#include "kernels/bisect.cuh"
#include "kernels/block.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/bucket_parts.cuh"
#include "kernels/launch.cuh"
#include "kernels/ptx.cuh"
#include "kernels/sort_plan.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

/// The most buckets of both levels together, and of one level.
inline constexpr uint32_t msd_max_buckets = 1u << 16;
inline constexpr uint32_t msd_digit_bits = 8;
inline constexpr uint32_t msd_digits = 1u << msd_digit_bits;

/// Lists of buckets, sorted in this order. A bucket that its kernel finds too crowded joins one of the last
/// two lists.
enum BucketClass : uint32_t {
  /// Sorted in small blocks: by parts (bucket_sort.cuh), or by digits if between splitters.
  small_buckets,
  /// The same in large blocks.
  large_buckets,
  /// Keys alone that span few values: small buckets are sorted by a bit vector (bucket_bits.cuh), or large
  /// and larger ones by counters (bucket_counting.cuh).
  few_valued_buckets,
  /// For pairs, in the same place: buckets whose keys were stored as their low halves (bucket_pairs.cuh).
  narrow_pair_buckets = few_valued_buckets,
  /// Keys alone that span even fewer values: counted.
  dense_buckets,
  /// Small buckets of keys alone: words of parts are crowded, as values repeat, or parts are still to be
  /// found.
  repeating_buckets,
  /// Sorted digit by digit: buckets too crowded for all of the above; buckets whose parts are still to be
  /// found, if large or of pairs; for floats, the bucket around zero; between splitters, larger buckets,
  /// which try parts.
  crowded_buckets,
  bucket_classes
};

/// log2 of the most values of a bucket of few values, and of a dense bucket; and the most keys of a bucket
/// that one block counts.
inline constexpr uint32_t few_value_bits = 16;
inline constexpr uint32_t dense_value_bits = 14;
inline constexpr uint32_t max_counted_keys = 1u << 17;

/// Whether a frequent value of pairs is worth a bucket of its own. H200, 90 % one value, ms, by LSD and CUB
/// in brackets: u64+u32 2^22 0.25 (0.41, 0.38), 2^28 7.4 (15.2, 16.8); u64+u64 2^24 0.61 (1.38, 1.42). H100,
/// u32+u32, one value 10, 50 and 90 %, the others uniform: 2^24 0.544 (0.600, 0.642), 0.504 (0.594, 0.591),
/// 0.507 (0.528, 0.561), 2^28 6.68 (8.27, 8.97), 5.63 (8.46, 8.42), 5.65 (7.12, 7.87).
template <class Bits>
inline constexpr bool may_stand_apart = sizeof(Bits) >= 4;

/// Whether crowded pairs are divided by splitters (splitters.cuh). Keys of 4 bytes need few passes, and
/// passes of keys alone are fast.
template <class Bits, class Value>
inline constexpr bool may_split = sizeof(Bits) == 8 && value_bytes<Value> != 0;

/// Jobs of the second level. A parent of at most msd_job_keys keys is one job. A larger parent is cut into 64
/// jobs, or into as many as keep each between msd_cut_keys and msd_job_keys.
SWEEPSORT_HOST_DEVICE constexpr uint64_t msd_job_keys(uint64_t count) {
  return count * 3 / (2 * msd_digits) < 1024 ? 1024 : count * 3 / (2 * msd_digits);
}
SWEEPSORT_HOST_DEVICE constexpr uint64_t msd_cut_keys(uint64_t count) { return msd_job_keys(count) / 4; }
/// The most jobs of parents that are cut, and the most jobs in all.
inline constexpr uint32_t msd_max_rows = msd_digits * 2 / 3 * (4 + 1) + 5;
inline constexpr uint32_t msd_max_jobs = msd_digits + msd_max_rows;

/// Keys in a chunk of a bucket that was not counted (uncounted_partition.cuh), if they are stored as
/// `Stored`.
template <class Stored>
inline constexpr uint32_t dealt_chunk = 512 / sizeof(Stored);

/// The low half of a key. It tells a key from all others of its bucket, if the bucket spans no more values
/// than this.
template <class Bits>
using NarrowKey = std::conditional_t<sizeof(Bits) == 4, uint16_t, uint32_t>;

/// Restores a key that is at least `lowest`, and above it by less than the number of values of a narrow key.
template <class Bits>
__device__ __forceinline__ Bits widen(NarrowKey<Bits> narrow, Bits lowest) {
  using Narrow = NarrowKey<Bits>;
  return static_cast<Bits>(lowest + static_cast<Narrow>(narrow - static_cast<Narrow>(lowest)));
}

/// The number of records that advances all addresses by whole sectors, if the keys are stored as `Stored`.
template <class Stored, class Value>
inline constexpr uint32_t granule_of = 32 / (value_bytes<Value> == 0
                                                 ? sizeof(Stored)
                                                 : std::min(sizeof(Stored), sizeof(Value)));

/// Pairs whose keys the second level of the partition may leave narrow (bucket_pairs.cuh). With 8-byte keys,
/// 2^28 u64+u64 records, none of them narrow, took 8.67 ms instead of 8.45: the other kernels lost registers.
template <class Bits, class Value>
inline constexpr bool leaves_narrow_pairs = sizeof(Bits) == 4 && value_bytes<Value> != 0;

/// For pairs: the index of a bucket's first narrow key, counted in narrow keys from the beginning of the
/// array. The bucket begins with record `first`. Its narrow keys lie among the bytes that its keys will take,
/// if it has at least granule_of<NarrowKey, Value> keys. They are as far from a whole granule as its values.
template <class Bits, class Value>
__device__ __forceinline__ uint64_t first_narrow_key(uint64_t first) {
  constexpr uint64_t step = granule_of<NarrowKey<Bits>, Value>;
  return first + round_up(first, step);
}

enum class Guess : uint32_t { unordered, ascending, descending };

/// A part of one parent's keys that one block partitions. The children of a parent are its digits.
struct PartitionJob {
  uint64_t first;        // its first key
  uint64_t count;        // its keys
  uint32_t parent;       // bucket of the level above that contains it
  uint32_t row;          // of job_counts: its keys by digit
  uint32_t rows_before;  // number of earlier jobs of the same parent; their rows come directly before its own
  uint32_t has_row;      // 0: the job is its whole parent, and the buckets' offsets give its counts
};

template <class Bits>
struct MsdPlan {
  BucketMap<Bits> map;
  RealBuckets<Bits> real;       // if `is_real`: divides keys that are not counted, in place of `map`
  RealMap<Bits> real_map;       // if `has_real_pieces`: divides keys that are counted, in place of `map`
  uint64_t keys;                // keys that are divided into buckets: all but those of frequent values
  uint32_t bucket_bits;         // 2^bucket_bits buckets
  uint32_t is_pieced;           // the buckets follow the keys' distribution: `pieces`
  uint32_t has_real_pieces;     // if so: pieces of floats' values, not of their bits
  uint32_t is_split;            // the buckets lie between splitters, and `map` means nothing
  uint32_t piece_bits;          // 2^this pieces
  uint32_t looks_for_frequent;  // values, because a bucket is crowded
  uint32_t finished_finders;
  uint32_t has_top;  // `top`, as the caller stores it, is a frequent value
  Bits top;
  uint32_t frequent;  // number of values that are counted and taken out: at first the sample's, later those
                      // that were met
  uint32_t zero_is_frequent;  // a key of zeros, as the caller stores it, is one of them
  uint32_t has_apart;         // pairs: one value is so frequent that it has a parent of its own; `is_pieced`
  uint32_t bucket_apart;      // the first bucket of that parent; it has all keys of the value and is not
                              // sorted
  uint32_t apart_further;     // by how much the buckets of higher keys are further up than in the map
  Bits apart;                 // that value, as ordered bits
  Bits most;                  // the largest of all keys, if their values are counted
  Bits min_inverted;          // ~least: zero before the first key, like all of a plan
  uint32_t checks_order;      // if the sample is in order, the keys are checked for that order
  uint32_t sample_rises;      // whether neighbours in the sample rise, or fall
  uint32_t sample_falls;
  uint32_t deals;          // the keys seem to be even, and are partitioned without being counted;
  uint32_t deal_failed;    // but they turned out not to be even
  uint32_t deal_ticket;    // number of parents drawn
  uint32_t is_real;        // `real` divides the keys that are dealt, not `map`
  uint32_t is_not_wanted;  // there is nothing to sort
  uint32_t with_values;
  uint32_t is_other;         // the digest shows that another sort is better
  uint32_t maybe_few;        // the sample held few distinct values
  uint32_t has_many_values;  // the keys have more than max_listed_values values
  uint32_t guess_failed;     // the keys are not in the order of guess()
  uint32_t has_ties;         // pairs in falling order have equal keys, which must keep their order
  uint32_t has_beyond;       // some keys that were counted are beyond the map's range
  uint32_t has_narrow;       // pairs: some parents' keys are left as NarrowKey
  uint32_t is_unfit;         // the sample shows that no method here is suitable; most launches test this
                             // first
  uint32_t has_too_large;    // the histogram shows that no kernel here finishes one of the buckets
  uint32_t falls_back;       // the final result of gives_up(), for the host and the launches behind
  uint32_t jobs;             // number of jobs of the second level
  uint32_t tickets[3];       // jobs drawn: of the first level, of the second, of the second where it leaves
                             // narrow keys
  uint32_t listed[bucket_classes];
  uint32_t is_narrow[msd_digits];  // by parent: the keys of its buckets were left as NarrowKey
  MapPiece pieces[max_map_pieces];
  uint32_t guess_ticket;  // rows of keys drawn to check the guess; far from what the checking blocks read

  __device__ __forceinline__ LinearBuckets<Bits> linear_buckets() const { return {map}; }
  /// The buckets of keys that are dealt: linear in their bits or in their values.
  template <class Buckets>
  __device__ __forceinline__ Buckets buckets() const {
    if constexpr (divides_reals<Buckets>)
      return real;
    else
      return linear_buckets();
  }
  /// `copy`: a copy of `pieces`.
  __device__ __forceinline__ PiecedBuckets<Bits> pieced_buckets(const MapPiece* copy) const {
    return {map, copy, piece_bits};
  }
  __device__ __forceinline__ PiecedBuckets<Bits> pieced_buckets() const { return pieced_buckets(pieces); }
  __device__ __forceinline__ PiecedBuckets<Bits, RealMap<Bits>> real_pieces(const MapPiece* copy) const {
    return {real_map, copy, piece_bits};
  }
  __device__ __forceinline__ BucketsBeside<Bits> buckets_beside(const MapPiece* copy) const {
    return {pieced_buckets(copy), apart, apart_further};
  }

  /// The bucket of the map whose keys are in `bucket`.
  SWEEPSORT_HOST_DEVICE uint32_t bucket_of_map(uint32_t bucket) const {
    return has_apart && bucket > bucket_apart ? bucket - apart_further : bucket;
  }
  /// What the sample tells about the keys' order.
  SWEEPSORT_HOST_DEVICE Guess guess() const {
    return !checks_order   ? Guess::unordered
           : !sample_falls ? Guess::ascending
           : !sample_rises ? Guess::descending
                           : Guess::unordered;
  }
  /// The input is in order, and that has been checked.
  SWEEPSORT_HOST_DEVICE bool is_in_order() const { return guess() != Guess::unordered && !guess_failed; }
  SWEEPSORT_HOST_DEVICE bool tries_few_values() const { return maybe_few && !is_other && !is_in_order(); }
  SWEEPSORT_HOST_DEVICE bool has_few_values() const { return tries_few_values() && !has_many_values; }
  /// Nothing is left to do, or nothing by the methods below.
  SWEEPSORT_HOST_DEVICE bool is_settled() const {
    return is_not_wanted || is_other || is_in_order() || has_few_values();
  }
  SWEEPSORT_HOST_DEVICE bool tries_deal() const { return deals && !is_settled(); }
  /// After the kernels of uncounted_partition.cuh: the keys lie in chunks, their counts are known, and the
  /// counted partition is not wanted.
  SWEEPSORT_HOST_DEVICE bool was_dealt() const { return tries_deal() && !deal_failed; }
  /// Buckets are intervals of floats' values. Buckets that are close to each other have about the same width.
  SWEEPSORT_HOST_DEVICE bool divides_values() const {
    return was_dealt() ? is_real : is_pieced && has_real_pieces;
  }
  /// A histogram of the buckets is wanted.
  SWEEPSORT_HOST_DEVICE bool counts_buckets() const {
    return !is_unfit && !is_split && !is_settled() && !was_dealt();
  }
  /// Whether each bucket is meant to hold one value. A value's bucket is its distance from `map.lowest`,
  /// modulo the number of buckets, so the sample need not tell where the values begin.
  SWEEPSORT_HOST_DEVICE bool has_value_buckets() const {
    return !with_values && map.is_exact(msd_max_buckets);
  }
  SWEEPSORT_HOST_DEVICE Bits least() const { return static_cast<Bits>(~min_inverted); }
  SWEEPSORT_HOST_DEVICE bool counts_values() const {
    return !is_unfit && !is_settled() && has_value_buckets() && most - least() < msd_max_buckets;
  }
  SWEEPSORT_HOST_DEVICE bool misses_values() const {
    return has_value_buckets() && most - least() >= msd_max_buckets;
  }
  SWEEPSORT_HOST_DEVICE bool partitions() const {
    return !is_unfit && !has_too_large && !is_settled() && !counts_values() && !misses_values();
  }
  SWEEPSORT_HOST_DEVICE bool partitions_by_counts() const { return partitions() && !was_dealt(); }
  /// No method here is suitable.
  SWEEPSORT_HOST_DEVICE bool gives_up() const {
    return is_other || (!is_settled() && !counts_values() && (is_unfit || has_too_large || misses_values()));
  }
};

/// log2 of the best number of buckets for `count` keys, with `bucket_keys` keys per bucket. There are two
/// levels, the first one of 8 bits.
SWEEPSORT_HOST_DEVICE constexpr uint32_t msd_bucket_bits(uint64_t count, uint32_t bucket_keys) {
  uint32_t bits = msd_digit_bits + 1;
  while (bits < 2 * msd_digit_bits && count > uint64_t{bucket_keys} << bits) ++bits;
  return bits;
}

/// Replaces the number of frequent keys in lower buckets if the bucket has frequent keys of its own. Its
/// other keys then wait where they are sorted.
inline constexpr uint64_t has_frequent_value = ~uint64_t{0};

/// The values that a bucket of few values may have.
struct ValueSpan {
  uint32_t lowest;  // low bits of the lowest value
  uint32_t range;   // distance from the lowest to the highest value
};

/// All that a block needs to know of a bucket to sort it.
struct alignas(16) ListedBucket {
  uint64_t first;  // its first key, where the last partition left it; if it was dealt, where it goes
  union {
    uint64_t taken_out_before;  // frequent keys in lower buckets, or has_frequent_value
    uint64_t lowest;            // pairs, or dealt keys: widen() restores a key from its narrow one and this
  };
  uint32_t size;
  uint16_t number;
  uint16_t is_narrow;  // its keys were left as NarrowKey
  union {
    BucketParts parts;
    ValueSpan few;  // keys alone, few_valued_buckets or dense_buckets
  };
};

/// The buckets of a class, plan->listed[which] of them.
struct BucketList {
  ListedBucket* first;
  int32_t step;  // from one to the next
  BucketClass which;

  SWEEPSORT_HOST_DEVICE ListedBucket* at(uint32_t entry) const { return first + int64_t{step} * entry; }
};

/// All lists. Each array of msd_max_buckets entries holds two lists, which grow from its ends. No bucket is
/// in both of them. A dense bucket may become a crowded one, but only when all dense ones are sorted.
struct BucketLists {
  static constexpr uint32_t entries = bucket_classes / 2 * msd_max_buckets;
  ListedBucket* memory;

  SWEEPSORT_HOST_DEVICE BucketList operator[](BucketClass which) const {
    switch (which) {
      case small_buckets: return from_front(0, which);
      case few_valued_buckets: return from_back(0, which);
      case large_buckets: return from_front(1, which);
      case repeating_buckets: return from_back(1, which);
      case dense_buckets: return from_front(2, which);
      default: return from_back(2, which);  // crowded_buckets
    }
  }

 private:
  SWEEPSORT_HOST_DEVICE BucketList from_front(uint32_t array, BucketClass which) const {
    return {memory + array * msd_max_buckets, 1, which};
  }
  SWEEPSORT_HOST_DEVICE BucketList from_back(uint32_t array, BucketClass which) const {
    return {memory + (array + 1) * msd_max_buckets - 1, -1, which};
  }
};

namespace msd_plan_detail {

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

/// How buckets are finished by size: small, large and larger ones. Larger ones must have few values.
struct ClassLimits {
  uint32_t max_keys[few_valued_buckets + 1];
  uint32_t part_bits[large_buckets + 1];
  BucketClass set_apart;  // buckets of this class become few_valued_buckets if they have few values;
                          // bucket_classes: none do
  uint32_t counts_dense;  // buckets of all classes become dense_buckets if they have even fewer values
  uint32_t min_narrow;    // pairs: smaller buckets, and large ones, have no narrow keys; 0: no bucket has
  uint32_t max_split[large_buckets + 1];  // max_keys for buckets between splitters
};

/// The input of the decision, and where its results go.
struct Decision {
  BinCounts counts;              // by bucket
  BinCounts dealt_counts;        // by bucket, if the keys were dealt
  const uint8_t* has_one_value;  // by bucket, between splitters
  uint64_t* offsets;
  ClassLimits limits;
  BucketLists lists;
  const uint32_t* frequent_buckets;  // the buckets of plan->frequent values, in order
  const uint64_t* frequent_starts;
};

/// How many keys were taken out in front of a bucket, or has_frequent_value if it has some of its own.
template <class Bits>
__device__ __forceinline__ uint64_t taken_out_before(const Decision& decision, const MsdPlan<Bits>& plan,
                                                     uint32_t bucket) {
  if (plan.frequent == 0) return 0;
  const uint32_t value = first_at_least(decision.frequent_buckets, plan.frequent, bucket);
  const bool has_value = value < plan.frequent && decision.frequent_buckets[value] == bucket;
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
  if (class_of_size(limits, size) > large_buckets) return {.is_too_large = true};
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
  if (plan.divides_values())
    return plan.was_dealt() ? interval_of(plan.real, bucket)
                            : interval_of(plan.real_pieces(plan.pieces), bucket);
  const uint32_t of_map = plan.bucket_of_map(bucket);
  const auto interval = plan.is_pieced ? interval_of(plan.pieced_buckets(), of_map)
                                       : interval_of(plan.linear_buckets(), of_map);
  const bool is_closed = !plan.was_dealt() && !plan.has_beyond && !plan.has_apart;
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
    if (limits.counts_dense && few.range >> dense_value_bits == 0 && plan.frequent == 0)
      which = dense_buckets;
    else if (which == limits.set_apart &&
             (which != small_buckets || (is_sparse(size, few.range) && plan.frequent == 0)))
      which = few_valued_buckets;
  }
  // For the floats around zero: most of the interval consists of numbers so small that few keys are there.
  if (plan.divides_values() && !interval.is_open && has_all_exponents(all_above)) which = crowded_buckets;

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
  if (which <= large_buckets)
    finish.listed.parts = BucketParts::of(interval, limits.part_bits[which]);
  else
    finish.listed.few = few;
  if (which == small_buckets && limits.min_narrow != 0 && size >= limits.min_narrow) {
    finish.may_be_narrow = all_above <= static_cast<NarrowKey<Bits>>(~0u) && !plan.divides_values();
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
  return finish.which == small_buckets && plan.frequent != 0 ? repeating_buckets : finish.which;
}

/// One thread per bucket: finds where it lies, which kernel finishes it, and in which parts.
template <class Bits>
__global__ __launch_bounds__(decide_threads) void decide_kernel(const __grid_constant__ Decision decision,
                                                                MsdPlan<Bits>* plan,
                                                                SortPlan<Bits>* expansion) {
  ptx::wait_for_previous_launch();
  if (plan->is_unfit || plan->is_settled()) return;  // nothing was counted
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
                                        : plan->has_apart && bucket == plan->bucket_apart;
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

}  // namespace msd_plan_detail

}  // namespace sweepsort
