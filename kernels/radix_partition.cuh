// radix_partition.cuh - one level of an MSD radix sort: every record of a parent bucket to the child bucket
// that its digit names. Stehle & Jacobsen, "A Memory Bandwidth-Efficient Hybrid Radix Sort on GPUs", 2017;
// write combining as in Satish et al., "Fast Sort on CPUs and GPUs", 2010. Work O(n), moves 2n records.
// Pairs keep their order. Keys alone have no identity and are taken as they come.
//
//     a tile of keys          bins in shared memory            out, when the tile is binned
//     2 0 2 1 0 2 ...  ────>  0 |x x . . .|            ────>   whole sectors of 32 bytes of each bin, by bulk
//       a slot each           1 |x . . . .|                    copies; what is left over moves to the front
//                             2 |x x x . .|                    and waits for the next tile
//
// A block takes its tiles one after the other. It knows from the histogram where its records start in each
// child, so blocks need not communicate. A bin has room for the share of a tile that its child may expect.
// Records that find no room are written to their place in `out` directly. So no input is sorted wrongly, only
// more slowly.
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "core/rounding.hpp"
#include "kernels/block.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/pair_arrays.cuh"
#include "kernels/partition_bins.cuh"
#include "kernels/partition_task.cuh"
#include "kernels/ptx.cuh"
#include "kernels/radix_rank.cuh"
#include "kernels/tickets.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace sweepsort {

namespace partition_detail {

/// One block's partition of one job after the other at a `level`, 0 or 1. `Buckets` gives the bucket of a
/// key.
template <class Bits, class Value, class Policy, class Buckets, uint32_t level, class Stored>
class Partition {
 public:
  using PartitionShared = Shared<Bits, Value, Policy, level, Stored>;
  static constexpr bool leaves_narrow = sizeof(Stored) < sizeof(Bits);
  static constexpr bool with_values = value_bytes<Value> != 0;
  using LevelWays = typename PartitionShared::LevelWays;
  static constexpr uint32_t granule = LevelWays::granule;
  static constexpr uint32_t keys_per_thread = Policy::keys_per_thread;
  static constexpr uint32_t batch = Policy::batch;
  /// Whether one value stands apart: it has so many records that a warp's lanes would queue up for the
  /// counter of its digit. Its parent has no other records, so the second level has no job for it.
  static constexpr bool has_apart = level == 0 && std::is_same_v<Buckets, BucketsBeside<Bits>>;
  static constexpr bool is_split = std::is_same_v<Buckets, SplitDigits<Bits>>;
  static_assert(keys_per_thread % batch == 0);

  __device__ __forceinline__ Partition(PartitionShared& shared, const PartitionTask<Bits, Value>& task,
                                       const Buckets& buckets)
      : shared_(shared), task_(task), buckets_(buckets) {
    const uint32_t children_bits = task.plan->bucket_bits - msd_digit_bits;
    shift_ = level == 0 ? children_bits : 0;
    digits_ = level == 0 ? msd_digits : 1u << children_bits;
    jobs_ = level == 0 ? static_cast<uint32_t>(ceil_divide(task.count, task.span)) : task.plan->jobs;
    // From the first level on, the arrays hold ordered bits, until the buckets are sorted. (Buckets between
    // splitters that have one value are not sorted. The second level writes their keys as the caller stores
    // them.)
    maps_at_load_ = level == 0 && !task.map.is_identity();
    maps_back_ = is_split && level == 1 && !task.map.is_identity();
    if constexpr (has_apart) digit_apart_ = task.plan->apart.bucket >> shift_;
    if (threadIdx.x == 0) {
      shared.keys_in = task.keys.source(level, *task.plan);
      shared.keys_out = reinterpret_cast<Stored*>(task.keys.destination(level, *task.plan));
    }
  }

  /// Takes the next job. Returns false if none is left.
  __device__ __forceinline__ bool take_job() {
    do {
      if (!draw_job()) return false;
    } while (with_values && level == 1 && (task_.plan->is_narrow[job_.parent] != 0) != leaves_narrow);
    if constexpr (is_split) splitters().plant(task_.splitters + ((job_.parent * digits_) << shift_), shift_);
    return true;
  }

  /// Starts the loads of the first tile's records before anything else is looked up.
  __device__ __forceinline__ void load_first_tile() {
    const Source first = source(0);
#pragma unroll
    for (uint32_t i = 0; i < keys_per_thread; i += batch) load(first, i);
  }

  /// Gives each digit its bin, and its place in `out`.
  __device__ __forceinline__ void set_up_bins() {
    const uint32_t digit = threadIdx.x;
    const bool has_digit = digit < digits_;
    uint64_t start = 0;
    uint32_t own = 0;
    if (has_digit) {
      const uint32_t child = job_.parent * digits_ + digit;
      start = first_of(child);
      if constexpr (leaves_narrow) shared_.keys_beyond[digit] = first_narrow_key<Bits, Value>(start) - start;
      if (job_.has_row) {
        const uint32_t* const column = task_.job_counts + digit;
#pragma unroll 16
        for (uint32_t r = job_.row - job_.rows_before; r < job_.row; ++r) start += column[r * msd_digits];
        own = column[job_.row * msd_digits];
      } else {
        own = static_cast<uint32_t>(first_of(child + 1) - start);
      }
    }
    const float share = static_cast<float>(Policy::tile) * static_cast<float>(own) /
                        static_cast<float>(max(job_.count, uint64_t{Policy::tile}));
    const uint32_t capacity = has_digit ? bin_capacity<granule>(share) : 0;
    uint32_t total = 0;
    const uint32_t begin = block_exclusive_sum<Policy::threads>(capacity, shared_.warp_sums, total);
    if (digit < msd_digits) {
      const uint32_t gap = static_cast<uint32_t>(start % granule);
      shared_.out[digit] = start - gap;
      shared_.begin[digit] = begin;
      shared_.next[digit] = slot::make(begin + gap, capacity - gap);
      shared_.gap[digit] = gap;
    }
    if (digit == 0) shared_.begin[msd_digits] = total;
    __syncthreads();
  }

  /// Bins one tile after the other, and empties the bins after each.
  __device__ __forceinline__ void bin_tiles() {
    const uint64_t tiles = ceil_divide(job_.count, Policy::tile);
    for (uint64_t tile = 0; tile < tiles; ++tile) {
      const uint64_t left = job_.count - tile * Policy::tile;
      const Source next = source(tile + 1);
      if (threadIdx.x == 0) ask_for(tile + 1);
      if (left >= Policy::tile)
        bin_tile<true>(Policy::tile, next);
      else
        bin_tile<false>(static_cast<uint32_t>(left), next);
      ptx::shared_writes_visible_to_bulk_copies();
      __syncthreads();
      // All warps share the bins, because the copies that the lanes of one warp start go out one after the
      // other.
      constexpr uint32_t bins_per_warp = msd_digits * warp_threads / Policy::threads;
      static_assert(bins_per_warp >= 1 && bins_per_warp <= warp_threads);
      const uint32_t bin = threadIdx.x / warp_threads * bins_per_warp + ptx::lane_id();
      if (ptx::lane_id() < bins_per_warp && bin < digits_) empty_bin(bin, tile + 1 == tiles);
      __syncthreads();
    }
  }

 private:
  __device__ __forceinline__ bool draw_job() {
    __syncthreads();  // the previous job is done
    if (threadIdx.x == 0) shared_.job = draw_ticket(&task_.plan->tickets[level + leaves_narrow]);
    __syncthreads();
    if (shared_.job >= jobs_) return false;
    if (level == 0) {
      const uint64_t first = shared_.job * task_.span;
      job_ = {.first = first,
              .count = task_.plan->frequent.count != 0 ? task_.rest_counts[shared_.job]
                                                       : min(task_.span, task_.count - first),
              .parent = 0,
              .row = shared_.job,
              .rows_before = shared_.job,
              .has_row = 1};
    } else {
      job_ = task_.jobs[shared_.job];
    }
    return true;
  }

  __device__ __forceinline__ uint64_t first_of(uint32_t child) const {
    const uint32_t bucket = child << shift_;
    return bucket < (1u << task_.plan->bucket_bits) ? task_.offsets[bucket] : task_.plan->keys;
  }

  /// The index in a tile of this thread's i-th record. The order is warp-striped: a warp's records are
  /// neighbours, and its lanes' records interleave. Stable ranks must keep this order.
  __device__ __forceinline__ static uint32_t own_index(uint32_t i) {
    const uint32_t warp = threadIdx.x / warp_threads;
    return (warp * keys_per_thread + i) * warp_threads + ptx::lane_id();
  }

  __device__ __forceinline__ typename LevelWays::In in() const {
    if constexpr (LevelWays::from_records)
      return records_of<Bits, Value>(shared_.keys_in);
    else
      return {shared_.keys_in, task_.values_in};
  }
  /// `keys_beyond`: of the digit that the keys have.
  __device__ __forceinline__ typename LevelWays::Out out(uint64_t keys_beyond) const {
    if constexpr (LevelWays::to_records)
      return records_of<Bits, Value>(shared_.keys_out);
    else
      return {shared_.keys_out + keys_beyond, task_.values_out};
  }

  /// Where this thread finds its records of a tile.
  struct Source {
    typename LevelWays::In first;
    uint32_t records;  // of the tile; 0 behind the last tile
  };
  __device__ __forceinline__ Source source(uint64_t tile) const {
    const uint64_t begin = min(tile * Policy::tile, job_.count);
    return {in().from(job_.first + begin + own_index(0)),
            static_cast<uint32_t>(min(job_.count - begin, uint64_t{Policy::tile}))};
  }

  /// Prefetches a tile's records into the second-level cache, all at once. Their loads start one by one, as
  /// registers become free. Called by one thread. (2^28 uniform, ms: u32 2.77 -> 2.74, u64 4.74 -> 4.68,
  /// u32+u32 5.16 -> 5.08, u64+u32 8.15 -> 7.57, u64+u64 9.57 -> 9.25. A tile earlier: 2.87, 4.96, 5.49;
  /// u64+u64 9.64.)
  __device__ __forceinline__ void ask_for(uint64_t tile) const {
    const uint64_t begin = min(tile * Policy::tile, job_.count);
    const uint32_t records = static_cast<uint32_t>(min(job_.count - begin, uint64_t{Policy::tile}));
    in().prefetch(job_.first + begin, records);
  }

  /// Starts the loads of the records [first, first + batch). Those of the next tile start as soon as the
  /// current ones have left their registers.
  __device__ __forceinline__ void load(const Source& from, uint32_t first) {
    if (task_.outgrows_cache() && from.records == Policy::tile) {
#pragma unroll
      for (uint32_t i = first; i < first + batch; ++i) load_record<false>(from, i);
    } else if (from.records == Policy::tile) {
#pragma unroll
      for (uint32_t i = first; i < first + batch; ++i) load_record<true>(from, i);
    } else if (from.records != 0) {
#pragma unroll
      for (uint32_t i = first; i < first + batch; ++i)
        if (own_index(i) < from.records) load_record<true>(from, i);
    }
  }
  template <bool streaming>
  __device__ __forceinline__ void load_record(const Source& from, uint32_t i) {
    from.first.template load<streaming>(i * warp_threads, keys_[i], values_[with_values ? i : 0]);
  }

  /// The digit of a record in registers.
  __device__ __forceinline__ uint32_t digit_of(uint32_t i) const {
    if constexpr (has_apart)
      if (keys_[i] == buckets_.value) return digit_apart_;
    if constexpr (is_split)
      return split_.get(i);
    else
      return (buckets_(keys_[i]) >> shift_) & (digits_ - 1);
  }

  /// The splitters of the job. Those of the last job are no longer in use.
  __device__ __forceinline__ SplitterTree<Bits> splitters() const {
    static_assert(sizeof(shared_.pieces) >= msd_digits * sizeof(Bits));
    const uint32_t bits = level == 0 ? msd_digit_bits : task_.plan->bucket_bits - msd_digit_bits;
    return {reinterpret_cast<Bits*>(shared_.pieces), bits};
  }
  __device__ __forceinline__ void find_digits() {
    uint32_t digit[keys_per_thread];
    splitters().find(keys_, digit);
#pragma unroll
    for (uint32_t i = 0; i < keys_per_thread; ++i) split_.set(i, digit[i]);
  }

  template <bool full>
  __device__ __forceinline__ void bin_tile(uint32_t size, const Source& next) {
    if (maps_at_load_ && task_.map.is_xor()) {
      const Bits mask = task_.map.flip;
#pragma unroll
      for (uint32_t i = 0; i < keys_per_thread; ++i) keys_[i] ^= mask;
    } else if (maps_at_load_) {
#pragma unroll
      for (uint32_t i = 0; i < keys_per_thread; ++i) keys_[i] = task_.map.to_ordered(keys_[i]);
    }
    if constexpr (is_split) find_digits();
    if constexpr (with_values)
      bin_in_order<full>(size, next);
    else
      bin_as_they_come<full>(size, next);
  }

  /// Keys alone: a shared atomic gives each key a slot. The atomics of several keys are in flight at once.
  template <bool full>
  __device__ __forceinline__ void bin_as_they_come(uint32_t size, const Source& next) {
#pragma unroll
    for (uint32_t b = 0; b < keys_per_thread; b += batch) {
      uint32_t digit[batch];
      uint32_t taken[batch];
#pragma unroll
      for (uint32_t i = 0; i < batch; ++i) {
        digit[i] = digit_of(b + i);
        if (full || own_index(b + i) < size) taken[i] = atomicAdd(&shared_.next[digit[i]], slot::after(0, 1));
      }
#pragma unroll
      for (uint32_t i = 0; i < batch; ++i)
        if (full || own_index(b + i) < size) put(digit[i], taken[i], keys_[b + i], values_[0]);
      load(next, b);
    }
  }

  /// Ranks this warp's records of a tile among those of their digits.
  template <bool full>
  __device__ __forceinline__ void rank_in_warp(uint32_t size, Packed16<keys_per_thread>& ranks) {
    WarpRanker<> ranker(shared_.warp_counts[threadIdx.x / warp_threads]);
    HotDigits hot{};
    if constexpr (has_apart) hot = {.share_is_high = 1, .digits = {digit_apart_, digit_apart_}};
    // Between splitters, a frequent value fills most of its parent.
    if constexpr (is_split && level == 1) hot = find_run(digit_of(0), full || own_index(0) < size);
    if (hot.share_is_high) {
#pragma unroll
      for (uint32_t i = 0; i < keys_per_thread; ++i)
        ranks.set(i, ranker.rank_hot(hot, digit_of(i), full || own_index(i) < size));
      ranker.settle(hot);
      return;
    }
#pragma unroll
    for (uint32_t i = 0; i < keys_per_thread; ++i)
      ranks.set(i, ranker.rank(digit_of(i), full || own_index(i) < size));
  }

  /// Pairs: ranks in the warp, then a scan over the warps, so that equal digits keep their order.
  template <bool full>
  __device__ __forceinline__ void bin_in_order(uint32_t size, const Source& next) {
    const uint32_t warp = threadIdx.x / warp_threads;
    Packed16<keys_per_thread> ranks;
    rank_in_warp<full>(size, ranks);
    __syncthreads();
    if (threadIdx.x < digits_) {
      uint32_t records[PartitionShared::warps];
#pragma unroll
      for (uint32_t w = 0; w < PartitionShared::warps; ++w) records[w] = shared_.warp_counts[w][threadIdx.x];
      uint32_t begin = shared_.next[threadIdx.x];
#pragma unroll
      for (uint32_t w = 0; w < PartitionShared::warps; ++w) {
        shared_.warp_counts[w][threadIdx.x] = begin;
        begin = slot::after(begin, records[w]);
      }
      shared_.next[threadIdx.x] = begin;
    }
    __syncthreads();
#pragma unroll
    for (uint32_t b = 0; b < keys_per_thread; b += batch) {
      uint32_t digit[batch];
      uint32_t taken[batch];
#pragma unroll
      for (uint32_t i = 0; i < batch; ++i) {
        digit[i] = digit_of(b + i);
        taken[i] = slot::after(shared_.warp_counts[warp][digit[i]], ranks.get(b + i));
      }
#pragma unroll
      for (uint32_t i = 0; i < batch; ++i)
        if (full || own_index(b + i) < size) put(digit[i], taken[i], keys_[b + i], values_[b + i]);
      load(next, b);
    }
  }

  __device__ __forceinline__ void put(uint32_t digit, uint32_t taken, Bits key, const Value& value) {
    if constexpr (is_split && level == 1)
      if (maps_back_ && task_.has_one_value[job_.parent * digits_ + digit] != 0)
        key = task_.map.from_ordered(key);
    if (slot::has_room(taken))
      shared_.bins().store(slot::number(taken), static_cast<Stored>(key), value);
    else
      out(keys_beyond(digit)).store(place_without_room(digit, taken), static_cast<Stored>(key), value);
  }

  __device__ __forceinline__ uint64_t keys_beyond(uint32_t digit) const {
    return leaves_narrow ? shared_.keys_beyond[leaves_narrow ? digit : 0] : 0;
  }

  __device__ __forceinline__ uint64_t place_without_room(uint32_t digit, uint32_t taken) const {
    return shared_.out[digit] + slot::distance(shared_.begin[digit], taken);
  }

  /// Writes slots [from, to) of the bin that begins at slot `begin`, to `first` and what follows it. The ends
  /// are written one by one, the whole sectors between them as one bulk copy per column. These copies are in
  /// flight when this returns.
  __device__ __forceinline__ void write_slots(uint32_t begin, const typename LevelWays::Out& first,
                                              uint32_t from, uint32_t to) const {
    const uint32_t body = round_up(from, granule);
    const uint32_t body_end = to / granule * granule;
    const auto bins = shared_.bins();
    const auto write = [&](uint32_t s) {
      Stored key;
      Value value;
      bins.template load<false>(begin + s, key, value);
      first.store(s, key, value);
    };
    for (uint32_t s = from; s < min(body, to); ++s) write(s);
    if (body < body_end)
      first.copy_from(bins, begin + body, body, body_end - body,
                      [&](void* there, const void* here, uint32_t bytes) {
                        if (task_.outgrows_cache())
                          ptx::bulk_store_to_keep(there, here, bytes);
                        else
                          ptx::bulk_store(there, here, bytes);
                      });
    for (uint32_t s = max(body_end, body); s < to; ++s) write(s);
  }

  /// Writes what fills whole sectors (at a job's end: everything), and keeps the rest for the next tile.
  __device__ __forceinline__ void empty_bin(uint32_t digit, bool is_last) {
    const uint32_t begin = shared_.begin[digit];
    const uint32_t capacity = shared_.begin[digit + 1] - begin;
    const uint32_t used = slot::distance(begin, shared_.next[digit]);
    const uint32_t gap = shared_.gap[digit];
    const uint64_t first = shared_.out[digit];
    const bool is_over = used > capacity;
    const uint32_t to = is_over ? capacity : is_last ? used : used / granule * granule;
    if (to > gap) write_slots(begin, out(keys_beyond(digit)).from(first), gap, to);
    ptx::bulk_stores_commit();
    ptx::bulk_stores_have_read();
    if (is_last) return;
    const uint32_t kept = used % granule;
    // The slots behind the kept ones are free.
    if (!is_over && to > 0 && kept > 0) shared_.bins().template move<granule>(begin + to, begin);
    // Records that found no room are in `out` already: the next ones begin behind them.
    if (is_over || to > 0) shared_.gap[digit] = is_over ? kept : 0;
    shared_.out[digit] = first + (used - kept);
    shared_.next[digit] = slot::make(begin + kept, capacity - kept);
  }

  PartitionShared& shared_;
  const PartitionTask<Bits, Value>& task_;
  Buckets buckets_;
  PartitionJob job_;
  uint32_t shift_;
  uint32_t digits_;
  uint32_t jobs_;
  bool maps_at_load_;
  bool maps_back_;        // between splitters, second level: maps keys of buckets that are not sorted
  uint32_t digit_apart_;  // of the value apart
  Bits keys_[keys_per_thread] = {};
  Value values_[with_values ? keys_per_thread : 1];
  Packed16<is_split ? keys_per_thread : 0> split_;  // digits
};

/// Partitions jobs until none is left.
template <class Policy, class Bits, class Value, uint32_t level, class Stored, class Buckets>
__device__ __forceinline__ void run_jobs(Shared<Bits, Value, Policy, level, Stored>& shared,
                                         const PartitionTask<Bits, Value>& task, const Buckets& buckets) {
  Partition<Bits, Value, Policy, Buckets, level, Stored> block(shared, task, buckets);
  while (block.take_job()) {
    block.load_first_tile();
    block.set_up_bins();
    block.bin_tiles();
  }
}

/// Second level: the records of the value that stands apart are in order already. They move to their final
/// place.
template <class Bits, class Value>
__device__ __forceinline__ void move_apart(const PartitionTask<Bits, Value>& task) {
  const MsdPlan<Bits>& plan = *task.plan;
  const uint64_t first = task.offsets[plan.apart.bucket];
  const uint64_t end = task.offsets[plan.apart.bucket + 1];
  const auto records = records_of<Bits, Value>(task.keys.source(1, plan));
  const PairColumns<Bits, Value> to{task.keys.destination(1, plan), task.values_out};
  const Bits raw = task.map.from_ordered(plan.apart.value);
  constexpr uint32_t in_flight = 128 / PairRecord<Bits, Value>::bytes;
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  uint64_t row = first / warp_threads * warp_threads + uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; row < end; row += step * in_flight) {
    Value value[in_flight];
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u) {
      const uint64_t i = row + u * step;
      Bits key;
      if (i >= first && i < end) records.template load<true>(i, key, value[u]);
    }
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u) {
      const uint64_t i = row + u * step;
      if (i >= first && i < end) to.store(i, raw, value[u]);
    }
  }
}

/// Second level, if a value stands apart. Not inlined: as a part of the kernel it made the other paths spill,
/// too (272 bytes of u32+u32 instead of 24). H200, 2^24 u32+u32, us: normal keys 461 -> 438, 90 % one value
/// 341 -> 357.
template <class Policy, class Bits, class Value, uint32_t level, class Stored>
__device__ __noinline__ void partition_beside(Shared<Bits, Value, Policy, level, Stored>& shared,
                                              const PartitionTask<Bits, Value>& task) {
  if constexpr (sizeof(Stored) == sizeof(Bits)) move_apart(task);
  run_jobs(shared, task, task.plan->buckets_beside(shared.pieces));
}

/// For the second level of pairs: takes the parents whose keys are to be left as `Stored`. `of_floats`:
/// pieces may be of values. (When the kernels of integers could do that, too, a level of 2^22 normal u64 keys
/// took 48 us instead of 36.)
template <class Bits, class Value, class Policy, uint32_t level, bool of_floats, class Stored = Bits>
__global__ __launch_bounds__(Policy::threads, Policy::blocks_per_multiprocessor) void partition_kernel(
    const __grid_constant__ PartitionTask<Bits, Value> task) {
  if (ptx::is_before_90()) return;
  ptx::wait_for_previous_launch();
  // The first kernel after the last decision. It may come between the levels.
  constexpr bool may_be_first = level == 0 || may_split<Bits, Value>;
  if (may_be_first && blockIdx.x == 0 && threadIdx.x == 0) task.plan->falls_back = task.plan->gives_up();
  if (!task.plan->partitions_by_counts()) return;
  if (sizeof(Stored) < sizeof(Bits) && !task.plan->has_narrow) return;
  auto& shared = shared_memory<Shared<Bits, Value, Policy, level, Stored>>();
  if constexpr (may_split<Bits, Value>)
    if (task.plan->is_split) return run_jobs(shared, task, SplitDigits<Bits>{});
  if (task.plan->is_pieced) {
    for (uint32_t p = threadIdx.x; p < 1u << task.plan->piece_bits; p += Policy::threads)
      shared.pieces[p] = task.plan->pieces[p];  // take_job() synchronises
    if constexpr (value_bytes<Value> != 0 && may_stand_apart<Bits>)
      if (task.plan->apart.exists) {
        if constexpr (level == 1)
          return partition_beside(shared, task);
        else
          return run_jobs(shared, task, task.plan->buckets_beside(shared.pieces));
      }
    if constexpr (of_floats)
      if (task.plan->has_real_pieces) return run_jobs(shared, task, task.plan->real_pieces(shared.pieces));
    run_jobs(shared, task, task.plan->pieced_buckets(shared.pieces));
  } else {
    run_jobs(shared, task, task.plan->linear_buckets());
  }
}

}  // namespace partition_detail

/// Partitions by the first digit (`level` 0) or the second (1), if the plan wants that. For pairs, the
/// second level has a launch of its own for the parents whose keys are to be left as `Stored`.
template <class Policy, uint32_t level, class Stored = void, class Bits, class Value>
void partition(const PartitionTask<Bits, Value>& task, cudaStream_t stream) {
  using namespace partition_detail;
  using Keys = std::conditional_t<std::is_void_v<Stored>, Bits, Stored>;
  const LaunchShape shape{multiprocessors() * Policy::blocks_per_multiprocessor, Policy::threads,
                          sizeof(Shared<Bits, Value, Policy, level, Keys>)};
  if constexpr (std::is_same_v<Keys, Bits>)
    if (task.map.is_of_floats())
      return launch_chained(partition_kernel<Bits, Value, Policy, level, true>, shape, stream, task);
  launch_chained(partition_kernel<Bits, Value, Policy, level, false, Keys>, shape, stream, task);
}

}  // namespace sweepsort
