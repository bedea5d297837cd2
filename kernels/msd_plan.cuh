// msd_plan.cuh - what the MSD sort decides on the device: from a sample, how to look at the keys; from their
// histogram, what to do with each bucket.
//
//     some keys ──survey──> which buckets, probably sorted? ──histogram──> decide ──> jobs, lists of buckets
//
// The plan, and the lists of buckets. msd_survey.cuh and msd_decide.cuh make them.
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "core/rounding.hpp"
#include "kernels/bucket_map.cuh"
#include "kernels/bucket_parts.cuh"

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
  /// found, if large or of pairs; for floats, the bucket around zero; between splitters, the largest buckets
  /// (which try parts first, unless keys are counted by level).
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

/// Pairs whose parts may depend on their places (PlacedParts). The kernels for others have no registers for
/// it: H200, uniform, u32+u32 2^24 387 -> 411 us, u64+u64 2^28 8.09 -> 8.31 ms. (u32+u64 was not tried.)
template <class Bits, class Value>
inline constexpr bool may_place_parts = sizeof(Bits) == 8 && value_bytes<Value> == 4;

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

/// The keys' order. If a sample is in order, all keys are checked for that order.
struct OrderPlan {
  uint32_t is_checked;
  uint32_t rises;  // neighbours in the sample do
  uint32_t falls;
  uint32_t failed;    // the keys are not in the order of guess()
  uint32_t has_ties;  // pairs in falling order have equal keys, which must keep their order

  /// What the sample tells.
  SWEEPSORT_HOST_DEVICE Guess guess() const {
    return !is_checked ? Guess::unordered
           : !falls    ? Guess::ascending
           : !rises    ? Guess::descending
                       : Guess::unordered;
  }
  /// The input is in order, and that has been checked.
  SWEEPSORT_HOST_DEVICE bool is_right() const { return guess() != Guess::unordered && !failed; }
};

/// Values that are so frequent that they are counted and taken out (frequent_values.cuh).
template <class Bits>
struct FrequentPlan {
  uint32_t is_looked_for;  // because a bucket is crowded
  uint32_t finished_finders;
  uint32_t has_top;  // `top`, as the caller stores it, is one of them
  Bits top;
  uint32_t has_zero;  // a key of zeros, as the caller stores it, is one of them
  uint32_t count;     // number of values: at first the sample's, later those that were met
};

/// Pairs: one value may be so frequent that it has a parent of its own. The keys are then divided by pieces.
template <class Bits>
struct ApartPlan {
  uint32_t exists;
  uint32_t bucket;  // the first one of that parent; it has all keys of the value and is not sorted
  uint32_t shift;   // by how much the buckets of higher keys are further up than in the map
  Bits value;       // as ordered bits
};

/// Even keys alone may be partitioned without being counted (uncounted_partition.cuh).
template <class Bits>
struct DealPlan {
  uint32_t is_planned;   // the keys seem to be even,
  uint32_t failed;       // but they turned out not to be
  uint32_t ticket;       // number of parents drawn
  uint32_t is_of_reals;  // `real` divides the keys, not the map
  RealBuckets<Bits> real;
};

/// In device memory, all zeros before a sort. Flags are words, since atomics set some of them.
template <class Bits>
struct MsdPlan {
  // Which sort is wanted.
  uint32_t with_values;
  uint32_t is_not_wanted;    // there is nothing to sort
  uint32_t is_other;         // the digest shows that another sort is better
  uint32_t maybe_few;        // the sample held few distinct values
  uint32_t has_many_values;  // the keys have more than max_listed_values values
  uint32_t is_unfit;         // the sample shows that no method here is suitable; most launches test this
                             // first
  uint32_t has_too_large;    // the histogram shows that no kernel here finishes one of the buckets
  uint32_t falls_back;       // the final result of gives_up(), for the host and the launches behind
  OrderPlan order;

  // Into which buckets.
  uint64_t keys;         // keys that are divided into buckets: all but those of frequent values
  uint32_t bucket_bits;  // 2^bucket_bits buckets
  // What divides the keys that are counted: `map`; or pieces of it, which follow the keys' distribution, for
  // floats also pieces of `real_map`, of their values; or splitters. (One enumeration for these would be
  // shorter, but nvcc orders the machine code of a switch otherwise: bench/notes/gpu-sort.md, "What one file
  // does to all kernels".)
  uint32_t is_pieced;
  uint32_t has_real_pieces;
  uint32_t is_split;             // pairs; the map means nothing
  uint32_t counts_by_level;      // between splitters: buckets are counted and decided behind the first level
  uint32_t splits_if_too_large;  // if a bucket is too large, splitters are better than other sorts
  uint32_t counted_spans;        // of keys between splitters
  uint32_t piece_bits;           // 2^piece_bits pieces
  BucketMap<Bits> map;
  RealMap<Bits> real_map;
  FrequentPlan<Bits> frequent;
  ApartPlan<Bits> apart;
  DealPlan<Bits> deal;

  // What the histogram found.
  Bits most;            // the largest of all keys, if their values are counted
  Bits min_inverted;    // ~least: zero before the first key
  uint32_t has_beyond;  // some keys that were counted are beyond the map's range
  uint32_t has_narrow;  // pairs: some parents' keys are left as NarrowKey

  // The second level, and the buckets.
  uint32_t jobs;
  uint32_t tickets[3];  // jobs drawn: of the first level, of the second, of the second where it leaves narrow
                        // keys
  uint32_t listed[bucket_classes];
  uint32_t is_narrow[msd_digits];  // by parent: the keys of its buckets were left as NarrowKey
  MapPiece pieces[max_map_pieces];
  uint32_t order_ticket;  // rows of keys drawn to check their order; far from what the checking blocks read

  __device__ __forceinline__ LinearBuckets<Bits> linear_buckets() const { return {map}; }
  /// The buckets of keys that are dealt: linear in their bits or in their values.
  template <class Buckets>
  __device__ __forceinline__ Buckets buckets() const {
    if constexpr (divides_reals<Buckets>)
      return deal.real;
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
    return {pieced_buckets(copy), apart.value, apart.shift};
  }

  /// A bucket of the map is too large: there will be 2^bits buckets between splitters.
  __device__ void split_instead(uint32_t bits) {
    is_split = 1;
    counts_by_level = 1;
    is_pieced = 0;
    apart.exists = 0;
    has_too_large = 0;
    bucket_bits = bits;
    for (uint32_t& buckets : listed) buckets = 0;
  }

  /// The bucket of the map whose keys are in `bucket`.
  SWEEPSORT_HOST_DEVICE uint32_t bucket_of_map(uint32_t bucket) const {
    return apart.exists && bucket > apart.bucket ? bucket - apart.shift : bucket;
  }
  SWEEPSORT_HOST_DEVICE bool tries_few_values() const { return maybe_few && !is_other && !order.is_right(); }
  SWEEPSORT_HOST_DEVICE bool has_few_values() const { return tries_few_values() && !has_many_values; }
  /// Nothing is left to do, or nothing by the methods below.
  SWEEPSORT_HOST_DEVICE bool is_settled() const {
    return is_not_wanted || is_other || order.is_right() || has_few_values();
  }
  SWEEPSORT_HOST_DEVICE bool tries_deal() const { return deal.is_planned && !is_settled(); }
  /// After the kernels of uncounted_partition.cuh: the keys lie in chunks, their counts are known, and the
  /// counted partition is not wanted.
  SWEEPSORT_HOST_DEVICE bool was_dealt() const { return tries_deal() && !deal.failed; }
  /// Buckets are intervals of floats' values. Buckets that are close to each other have about the same width.
  SWEEPSORT_HOST_DEVICE bool is_of_reals() const {
    return was_dealt() ? deal.is_of_reals != 0 : is_pieced && has_real_pieces;
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

}  // namespace sweepsort
