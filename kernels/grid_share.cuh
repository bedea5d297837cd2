// grid_share.cuh - a block's records in a sort by one cooperative launch, whose blocks meet at barriers of
// the grid. They are ranked by digit, put into digit order in shared memory, and scattered to the places that
// the counts of all blocks give (grid_counts.cuh). Then each of the buckets is sorted by one block.
// grid_sort.cuh and portioned_grid_sort.cuh use these steps.
//
//     records  | 7 1 5 2 |   ranks 0 0 0 1   stage | 1 2 | 5 | 7 |   ──> three places in the array
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "core/rounding.hpp"
#include "kernels/bucket_sort.cuh"
#include "kernels/device_span.cuh"
#include "kernels/digit.cuh"
#include "kernels/grid_counts.cuh"
#include "kernels/ptx.cuh"
#include "kernels/radix_rank.cuh"
#include "kernels/sort_arrays.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <type_traits>

namespace sweepsort {

/// The most blocks of any grid sort, and the most digits of one.
inline constexpr uint32_t max_grid_blocks = 128;
inline constexpr uint32_t max_grid_digits = 512;

/// Device memory of a grid sort besides a scratch array of `count` records. Need not be cleared.
template <class Bits>
struct GridSortWorkspace {
  DeviceSpan<uint4> counts;
  DeviceSpan<Bits> differing;  // by block: bits in which its keys differ from the first key of the array

  /// `is_wanted` false: takes nothing, and cannot be used.
  explicit GridSortWorkspace(Workspace& workspace, bool is_wanted = true)
      : counts(workspace.take<uint4>(
            is_wanted ? max_grid_blocks * max_grid_digits / GridCounts<>::columns_per_vector : 0)),
        differing(workspace.take<Bits>(is_wanted ? max_grid_blocks : 0)) {}
};

namespace grid_sort_detail {

/// A bucket may be this many times as large as the mean. A larger one would keep its block busy while all
/// others wait.
inline constexpr uint32_t crowded_bucket = 6;

/// In shared memory: records of a block in digit order, and the counts for ranking them.
template <class Bits, class Value, class Policy>
struct Stage {
  static constexpr uint32_t warps = Policy::threads / warp_threads;
  static constexpr uint32_t parts = std::max(Policy::threads / Policy::digits, 1u);
  static constexpr bool with_values = value_bytes<Value> != 0;

  uint32_t part_counts[parts][Policy::digits];
  uint32_t warp_counts[warps][Policy::digits];
  alignas(16) Bits keys[Policy::max_portion];
  alignas(16) Value values[with_values ? Policy::max_portion : 1];
};

/// The parameters of a kernel.
template <class Bits, class Value>
struct Task {
  SortArrays<Bits, Value> arrays;
  KeyMap<Bits> map;
  uint32_t share;          // records per block; the last one may have fewer
  uint32_t buckets;        // one per block, or more
  uint32_t max_in_bucket;  // the most records of a bucket
  uint4* counts;
  Bits* differing;
};

template <class Bits, class Value>
struct Column {
  Bits* keys;
  Value* values;
};

/// Whether digits are those of keys as the caller stores them, not of ordered bits.
template <class DigitOfKey>
inline constexpr bool is_of_raw_keys = requires {
  typename DigitOfKey::OfRawKeys;
};

/// GridShared has `counts`, `stage` and `bucket`. Parts: those of buckets (bucket_sort.cuh). `of_integers`:
/// no key is a float.
template <class GridShared, class Bits, class Value, class Policy, class Parts, bool of_integers = false>
class GridShare {
 protected:
  using Finish = typename Policy::Finish;
  using BucketArrays = bucket_sort_detail::BucketArrays<Bits, Value>;
  using Bucket = bucket_sort_detail::Bucket<Bits, Value, Finish, Crowded::by_digits, Parts>;
  static constexpr bool with_values = value_bytes<Value> != 0;
  static constexpr uint32_t digits = Policy::digits;
  static constexpr uint32_t keys_per_thread = Policy::keys_per_thread;
  static constexpr bool reads_twice = keys_per_thread > Policy::keys_at_once;
  static constexpr uint32_t batch = reads_twice ? Policy::keys_at_once : keys_per_thread;
  static_assert(keys_per_thread % batch == 0);
  /// Whether unsigned keys in ascending order, which need no map, are loaded by code without one. H200, us:
  /// u64 2^21 digits that alternate 159 -> 152, AND of five 153 -> 150, of three 161 -> 159, 2^20 89.4 ->
  /// 88.0, uniform as before. With the four keys per thread of 2^16 records, uniform 9.36 -> 9.43.
  static constexpr bool loads_unmapped = !of_integers || keys_per_thread >= 16;
  static_assert(Policy::threads == Finish::threads && Policy::threads % digits == 0);

  __device__ __forceinline__ GridShare(GridShared& shared, const Task<Bits, Value>& task)
      : shared_(shared), task_(task), count_(static_cast<uint32_t>(task.arrays.count)) {}

  /// For integers, one exclusive or: H200, us, i64 2^16 10.1 -> 9.3, 2^20 25.9 -> 23.9 with buckets of
  /// ordered bits.
  __device__ __forceinline__ Bits to_ordered(Bits raw) const {
    if constexpr (of_integers) return static_cast<Bits>(raw ^ task_.map.flip);
    return task_.map.to_ordered(raw);
  }
  __device__ __forceinline__ Bits from_ordered(Bits ordered) const {
    if constexpr (of_integers) return to_ordered(ordered);
    return task_.map.from_ordered(ordered);
  }

  /// Chooses the records for what follows: `size` records of at most `most`, from `begin` on.
  __device__ __forceinline__ void take(uint32_t begin, uint32_t size, uint32_t most) {
    size_ = size;
    rows_ = ceil_divide(most, Policy::threads);
    const uint32_t first_own = threadIdx.x / warp_threads * rows_ * warp_threads + ptx::lane_id();
    first_ = begin + first_own;
    own_rows_ = first_own < size ? min(rows_, ceil_divide(size - first_own, warp_threads)) : 0;
  }

  /// The order is warp-striped: a warp's records are neighbours, and its lanes' records interleave. Stable
  /// ranks must keep this order. A thread's i-th record is at first_ + i * warp_threads.
  __device__ __forceinline__ bool has_own(uint32_t i) const { return i < own_rows_; }

  /// Keys in registers and in the stage are ordered bits, unless digits are of raw keys.
  template <bool are_raw = false>
  __device__ __forceinline__ void load(const Bits* keys) {
    source_ = keys;
    if constexpr (!reads_twice) load_batch<are_raw>(0);
  }

  template <bool are_raw>
  __device__ __forceinline__ void load_batch(uint32_t first) {
    const Bits* const own = source_ + first_;
#pragma unroll
    for (uint32_t i = 0; i < batch; ++i)
      if (has_own(first + i)) keys_[i] = own[(first + i) * warp_threads];
    if constexpr (!are_raw) {
      if (loads_unmapped && task_.map.is_identity()) return;
#pragma unroll
      for (uint32_t i = 0; i < batch; ++i) keys_[i] = to_ordered(keys_[i]);
    }
  }

  __device__ __forceinline__ void load_values(const Value* values, uint32_t first) {
    if constexpr (with_values) {
      const Value* const own = values + first_;
#pragma unroll
      for (uint32_t i = 0; i < batch; ++i)
        if (has_own(first + i)) values_[i] = own[(first + i) * warp_threads];
    }
  }

  /// Calls body(first) when keys_ holds this thread's keys from number `first` on. The whole warp calls it.
  template <bool are_raw = false, class Body>
  __device__ __forceinline__ void for_batches(Body body) {
#pragma unroll
    for (uint32_t first = 0; first < keys_per_thread; first += batch) {
      if (first >= rows_) continue;
      if constexpr (reads_twice) load_batch<are_raw>(first);
      body(first);
    }
  }

  /// Keys alone: a shared atomic gives each key its rank.
  template <class DigitOfKey>
  __device__ __forceinline__ void rank_as_they_come(const DigitOfKey& digit_of,
                                                    Packed16<keys_per_thread>& ranks) {
    for_batches<is_of_raw_keys<DigitOfKey>>([&](uint32_t first) {
#pragma unroll
      for (uint32_t i = 0; i < batch; ++i)
        if (has_own(first + i)) ranks.set(first + i, atomicAdd(&shared_.counts.own[digit_of(keys_[i])], 1u));
    });
  }

  /// Ranks the records in each warp. warp_counts then has how many records of a digit earlier warps have, and
  /// the block's counts those of all its warps.
  template <class DigitOfKey>
  __device__ __forceinline__ void rank_in_order(const DigitOfKey& digit_of,
                                                Packed16<keys_per_thread>& ranks) {
    static_assert(!is_of_raw_keys<DigitOfKey>);
    auto& stage = shared_.stage;
    WarpRanker<Policy::digit_bits> ranker(stage.warp_counts[threadIdx.x / warp_threads]);
    HotDigits hot{};
    for_batches([&](uint32_t first) {
      if (first == 0) hot = find_hot_digits<Policy::digit_bits>(digit_of(keys_[0]), has_own(0));
#pragma unroll
      for (uint32_t i = 0; i < batch; ++i) {
        if (first + i >= rows_) continue;
        const uint32_t digit = digit_of(keys_[i]);
        const bool is_there = has_own(first + i);
        ranks.set(first + i,
                  hot.share_is_high ? ranker.rank_hot(hot, digit, is_there) : ranker.rank(digit, is_there));
      }
    });
    if (hot.share_is_high) ranker.settle(hot);
    __syncthreads();
    // A thread sums up one digit over a part of the warps.
    using BlockStage = Stage<Bits, Value, Policy>;
    constexpr uint32_t warps_per_part = BlockStage::warps / BlockStage::parts;
    const uint32_t digit = threadIdx.x % digits;
    const uint32_t part = threadIdx.x / digits;
    uint32_t(*const rows)[digits] = stage.warp_counts + part * warps_per_part;
    uint32_t records[warps_per_part];
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t w = 0; w < warps_per_part; ++w) sum += records[w] = rows[w][digit];
    stage.part_counts[part][digit] = sum;
    __syncthreads();
    uint32_t below = 0;
#pragma unroll
    for (uint32_t p = 0; p + 1 < BlockStage::parts; ++p)
      if (p < part) below += stage.part_counts[p][digit];
    if (part + 1 == BlockStage::parts) shared_.counts.own[digit] = below + sum;
#pragma unroll
    for (uint32_t w = 0; w < warps_per_part; ++w) {
      rows[w][digit] = below;
      below += records[w];
    }
  }

  /// Puts records with known ranks into digit order. `stable`: rank_in_order() has ranked them.
  template <bool stable, class DigitOfKey>
  __device__ __forceinline__ void put_in_stage(const DigitOfKey& digit_of,
                                               const Packed16<keys_per_thread>& ranks,
                                               const Value* values_in) {
    const uint32_t warp = threadIdx.x / warp_threads;
    for_batches<is_of_raw_keys<DigitOfKey>>([&](uint32_t first) {
      if constexpr (reads_twice) load_values(values_in, first);
      // By digits, several places are computed before the first of their records is stored, because the
      // compiler does not know that the stage's keys are not its counts. Other methods got slower by this.
      constexpr bool by_digits = std::is_same_v<DigitOfKey, DigitOf<Bits>>;
      constexpr uint32_t at_once = by_digits && batch % 2 == 0 ? 2 : 1;
#pragma unroll
      for (uint32_t some = 0; some < batch; some += at_once) {
        uint32_t places[at_once];
#pragma unroll
        for (uint32_t k = 0; k < at_once; ++k) {
          const uint32_t i = some + k;
          if (!has_own(first + i)) continue;
          const uint32_t digit = digit_of(keys_[i]);
          places[k] = shared_.counts.staged[digit] + ranks.get(first + i);
          if constexpr (stable) places[k] += shared_.stage.warp_counts[warp][digit];
        }
#pragma unroll
        for (uint32_t k = 0; k < at_once; ++k) {
          const uint32_t i = some + k;
          if (!has_own(first + i)) continue;
          shared_.stage.keys[places[k]] = keys_[i];
          if constexpr (with_values) shared_.stage.values[places[k]] = values_[i];
        }
      }
    });
  }

  /// Records of one digit are neighbours in the stage, and are written together: as the caller stores them
  /// or, if `as_staged`, as they are in the stage.
  template <bool as_staged, class DigitOfKey>
  __device__ __forceinline__ void scatter(const DigitOfKey& digit_of, Column<Bits, Value> to) {
    static_assert(as_staged || !is_of_raw_keys<DigitOfKey>);
#pragma unroll 8
    for (uint32_t i = 0; i < keys_per_thread; ++i) {
      const uint32_t at = i * Policy::threads + threadIdx.x;
      if (at >= size_) break;
      const Bits key = shared_.stage.keys[at];
      const uint32_t place = shared_.counts.to_array[digit_of(key)] + at;
      to.keys[place] = as_staged ? key : from_ordered(key);
      if constexpr (with_values) to.values[place] = shared_.stage.values[at];
    }
  }

  /// Sorts the records that scatter<true> wrote.
  template <InMemory keys>
  __device__ __forceinline__ void sort_buckets(Column<Bits, Value> from) {
    const BucketArrays arrays{from.keys, task_.arrays.keys_out, from.values, task_.arrays.values_out};
    Bucket bucket(shared_.bucket, arrays, task_.map);
    for (uint32_t b = blockIdx.x; b < task_.buckets; b += gridDim.x) {
      if (shared_.counts.totals[b] == 0) continue;
      bucket.template sort_as_one_bucket<keys>({shared_.counts.starts[b], shared_.counts.totals[b]});
    }
  }

  GridShared& shared_;
  const Task<Bits, Value>& task_;
  uint32_t count_;

  uint32_t size_ = 0;      // number of current records: the block's, or its portion's
  uint32_t rows_ = 0;      // the most of them per thread
  uint32_t first_ = 0;     // this thread's first record in the array
  uint32_t own_rows_ = 0;  // number of this thread's records
  const Bits* source_ = nullptr;
  Bits keys_[batch] = {};
  Value values_[with_values ? batch : 1] = {};
};

/// The most blocks that can wait for each other on the current device, within the policy's limit.
template <class Policy>
uint32_t blocks_at_most() {
  const uint32_t together = Policy::in_cluster ? device_abilities().cluster_blocks : multiprocessors();
  return std::min(together, Policy::max_blocks);
}

/// The task for up to grid_capacity records.
template <class Policy, class Bits, class Value>
Task<Bits, Value> task_of(const SortArrays<Bits, Value>& arrays, KeyMap<Bits> map,
                          const GridSortWorkspace<Bits>& workspace) {
  static_assert(Policy::max_blocks <= max_grid_blocks && Policy::digits <= max_grid_digits);
  const uint64_t max_blocks = blocks_at_most<Policy>();
  const uint64_t wanted = ceil_divide(arrays.count, Policy::min_share);
  const uint64_t blocks = std::min(max_blocks, wanted);
  // A share is a whole number of warps of records, so that the blocks' loads begin at lines of memory.
  const uint64_t share = round_up(ceil_divide(arrays.count, blocks), warp_threads);
  if (share > Policy::max_share) throw std::length_error("more records than the blocks of the grid hold");
  // With large shares, buckets are smaller, so that there is room for some that are larger than others.
  const uint64_t buckets =
      share > Policy::Finish::max_keys / 2 ? std::min<uint64_t>(2 * blocks, Policy::digits) : blocks;
  const uint64_t max_in_bucket =
      std::min<uint64_t>(Policy::Finish::max_keys,
                         std::max<uint64_t>(crowded_bucket * (arrays.count / buckets), Policy::threads));
  return {.arrays = arrays,
          .map = map,
          .share = static_cast<uint32_t>(share),
          .buckets = static_cast<uint32_t>(buckets),
          .max_in_bucket = static_cast<uint32_t>(max_in_bucket),
          .counts = workspace.counts.data(),
          .differing = workspace.differing.data()};
}

template <class Bits, class Value>
uint32_t blocks_of(const Task<Bits, Value>& task) {
  return static_cast<uint32_t>(ceil_divide(task.arrays.count, task.share));
}

}  // namespace grid_sort_detail

}  // namespace sweepsort
