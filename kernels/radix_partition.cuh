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
#include "kernels/ptx.cuh"
#include "kernels/radix_rank.cuh"
#include "kernels/tickets.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

/// Keys for which the second-level cache is asked to keep the ends of bins, if the arrays are larger than the
/// cache. Measured with values; counted keys alone were not timed by themselves.
template <class Bits>
inline constexpr bool may_outgrow_cache = sizeof(Bits) == 8;

/// Whether lines of the second-level cache that a tile leaves partly written are displaced before the next
/// tile comes. H200, uniform records in columns, us, streaming loads and stores without a hint -> plain loads
/// and stores to be kept: u64+u32 2^21 146 -> 158, 2^22 218 -> 222, 2^23 337 -> 329, 2^24 562 -> 540, 2^28
/// 7,300 -> 6,830; u64+u64 2^21 148 -> 153, 2^22 as before, 2^23 356 -> 349, 2^28 8,540 -> 8,220; u32+u32
/// 2^21 121 -> 132, 2^24 405 -> 399, 2^28 4,440 -> 4,470.
template <class Bits, class Value>
constexpr bool outgrows_cache(uint64_t count) {
  return may_outgrow_cache<Bits> && count * (sizeof(Bits) + value_bytes<Value>) > uint64_t{64} << 20;
}

/// The three arrays of the keys. All keys move from `in` to `scratch` to `out`. If the frequent ones were
/// taken out, the others were left in `scratch`, and move to `out` and back.
template <class Bits>
struct KeyArrays {
  const Bits* in;
  Bits* scratch;
  Bits* out;

  __device__ __forceinline__ const Bits* source(uint32_t level, const MsdPlan<Bits>& plan) const {
    if (plan.frequent.count != 0) return level == 0 ? scratch : out;
    return level == 0 ? in : scratch;
  }
  __device__ __forceinline__ Bits* destination(uint32_t level, const MsdPlan<Bits>& plan) const {
    return (level == 0) == (plan.frequent.count != 0) ? out : scratch;
  }
};

/// The arrays that both levels of the sort read and write, and the tables that say where records go.
template <class Bits, class Value>
struct PartitionLevel {
  KeyArrays<Bits> keys;
  const Value* values_in;  // first level
  Value* values_out;       // second level
  uint64_t count;
  uint64_t span;                // first level: records per job
  const uint32_t* rest_counts;  // first level, if the frequent keys were taken out: records of each job
  const uint64_t* offsets;      // of all buckets
  const Bits* splitters;
  const uint8_t* has_one_value;  // by bucket, between splitters
  const PartitionJob* jobs;      // second level
  const uint32_t* job_counts;
  MsdPlan<Bits>* plan;
  KeyMap<Bits> map;
  bool outgrows;  // see outgrows_cache()

  __device__ __forceinline__ bool outgrows_cache() const { return may_outgrow_cache<Bits> && outgrows; }
};

namespace partition_detail {

/// A bin's room for deviations, in tenths of a standard deviation.
inline constexpr uint32_t tenths_of_deviation = 27;

/// Slots of a bin whose child is expected to get `share` records of a tile. They include room for deviations,
/// for what was left over, and for the gap before an unaligned start.
template <uint32_t granule_>
__device__ __forceinline__ uint32_t bin_capacity(float share) {
  const uint32_t room =
      static_cast<uint32_t>(share + tenths_of_deviation / 10.0f * sqrtf(share)) + granule_ + 3;
  return round_up(room, granule_);
}

/// Slots of all bins together: the sum of bin_capacity, which is largest if all shares are equal. The square
/// roots of 256 equal shares add up to 16 times the square root of a tile.
static_assert(msd_digits == 16 * 16);
template <class Policy, uint32_t granule_>
inline constexpr uint32_t slots =
    Policy::tile +
    tenths_of_deviation* root_rounded_up(Policy::tile) * 16 / 10 + msd_digits*(2 * granule_ + 4);

/// The low half of a word is a slot's number. The high half, signed, is how many slots its bin still has. So
/// one atomic addition takes a slot and tells whether there was room. The numbers of slots without room may
/// pass 2^16 and begin again; the carry does not make room.
namespace slot {
__device__ __forceinline__ uint32_t make(uint32_t number, uint32_t left) { return number | left << 16; }
__device__ __forceinline__ uint32_t number(uint32_t slot) { return slot & 0xffff; }
/// How many slots `slot` is behind the slot with the number `begin`.
__device__ __forceinline__ uint32_t distance(uint32_t begin, uint32_t slot) {
  return (slot - begin) & 0xffff;
}
__device__ __forceinline__ bool has_room(uint32_t slot) { return static_cast<int32_t>(slot) > 0xffff; }
/// The slot `records` further on.
__device__ __forceinline__ uint32_t after(uint32_t slot, uint32_t records) {
  return slot + records * 0xffff0001u;
}
}  // namespace slot

/// Where a level, 0 or 1, takes its records from and where it puts them. `Stored`: the type in which keys are
/// stored.
template <class Bits, class Value, uint32_t level, class Stored>
struct Ways {
  static constexpr bool with_values = value_bytes<Value> != 0;
  static constexpr bool from_records = with_values && level == 1;
  static constexpr bool to_records = with_values && level == 0;
  using In = std::conditional_t<from_records, PairRecords<Bits, Value>, PairColumns<const Bits, const Value>>;
  using Out = std::conditional_t<to_records, PairRecords<Bits, Value>, PairColumns<Stored, Value>>;
  /// The number of records that advances the addresses in all columns by whole sectors.
  static constexpr uint32_t granule =
      to_records ? PairRecord<Bits, Value>::granule : granule_of<Stored, Value>;
};

template <class Bits, class Value, class Policy, uint32_t level, class Stored = Bits>
struct Shared {
  using LevelWays = Ways<Bits, Value, level, Stored>;
  static constexpr bool with_values = LevelWays::with_values;
  static constexpr uint32_t warps = with_values ? Policy::threads / warp_threads : 1;
  static constexpr uint32_t bin_slots = slots<Policy, LevelWays::granule>;
  static_assert(bin_slots < 1u << 16 && Policy::tile <= 1u << 15);

  uint64_t out[msd_digits];  // where in `out` the first slot of a bin goes; whole granules
  uint64_t keys_beyond[sizeof(Stored) == sizeof(Bits) ? 1 : msd_digits];  // narrow: how much further its keys
                                                                          // are
  uint32_t next[msd_digits];       // the next slot of each bin, and how many slots it has left: see slot
  uint32_t begin[msd_digits + 1];  // the first slot of each bin
  uint32_t gap[msd_digits];        // slots at its front that stand for records of other blocks or bins
  uint32_t warp_sums[Policy::threads / warp_threads];
  uint32_t job;
  const Bits* keys_in;  // input of this level; for the second level of pairs: the records
  Stored* keys_out;
  // Also the splitters of a level. The bins of pairs leave no room for more.
  alignas(8) MapPiece pieces[with_values ? 1u << coarse_piece_bits : max_map_pieces];
  uint32_t warp_counts[warps][msd_digits];  // pairs: one histogram per warp, then where its records of a
                                            // digit go
  alignas(128) Stored keys[LevelWays::to_records ? 1 : bin_slots];
  alignas(128) Value values[with_values && !LevelWays::to_records ? bin_slots : 1];
  alignas(128) PairRecord<Bits, Value> records[LevelWays::to_records ? bin_slots : 1];

  __device__ __forceinline__ typename LevelWays::Out bins() {
    if constexpr (LevelWays::to_records)
      return {records};
    else
      return {keys, values};
  }
};

/// The array of keys between the levels: it holds pairs, as records.
template <class Bits, class Value>
__device__ __forceinline__ PairRecords<Bits, Value> records_of(const Bits* keys) {
  return {reinterpret_cast<PairRecord<Bits, Value>*>(const_cast<Bits*>(keys))};
}

template <class Bits, class Value, class Policy, class Buckets, uint32_t level_number, class Stored>
class Partition {
 public:
  using PartitionShared = Shared<Bits, Value, Policy, level_number, Stored>;
  static constexpr bool leaves_narrow = sizeof(Stored) < sizeof(Bits);
  static constexpr bool with_values = value_bytes<Value> != 0;
  using LevelWays = typename PartitionShared::LevelWays;
  static constexpr uint32_t granule = LevelWays::granule;
  static constexpr uint32_t keys_per_thread = Policy::keys_per_thread;
  static constexpr uint32_t batch = Policy::batch;
  /// One value has so many records that a warp's lanes would queue up for the counter of its digit. Its
  /// parent has no other records, so the second level has no job for it.
  static constexpr bool has_apart = level_number == 0 && std::is_same_v<Buckets, BucketsBeside<Bits>>;
  static constexpr bool is_split = std::is_same_v<Buckets, SplitDigits<Bits>>;
  static_assert(keys_per_thread % batch == 0);

  __device__ __forceinline__ Partition(PartitionShared& shared, const PartitionLevel<Bits, Value>& level,
                                       const Buckets& buckets)
      : shared_(shared), level_(level), buckets_(buckets) {
    const uint32_t children_bits = level.plan->bucket_bits - msd_digit_bits;
    shift_ = level_number == 0 ? children_bits : 0;
    digits_ = level_number == 0 ? msd_digits : 1u << children_bits;
    jobs_ =
        level_number == 0 ? static_cast<uint32_t>(ceil_divide(level.count, level.span)) : level.plan->jobs;
    // From the first level on, the arrays hold ordered bits, until the buckets are sorted. (Buckets between
    // splitters that have one value are not sorted. The second level writes their keys as the caller stores
    // them.)
    maps_at_load_ = level_number == 0 && !level.map.is_identity();
    maps_back_ = is_split && level_number == 1 && !level.map.is_identity();
    if constexpr (has_apart) digit_apart_ = level.plan->apart.bucket >> shift_;
    if (threadIdx.x == 0) {
      shared.keys_in = level.keys.source(level_number, *level.plan);
      shared.keys_out = reinterpret_cast<Stored*>(level.keys.destination(level_number, *level.plan));
    }
  }

  /// Takes the next job. Returns false if none is left.
  __device__ __forceinline__ bool take_job() {
    do {
      if (!draw_job()) return false;
    } while (with_values && level_number == 1 && (level_.plan->is_narrow[job_.parent] != 0) != leaves_narrow);
    if constexpr (is_split) splitters().plant(level_.splitters + ((job_.parent * digits_) << shift_), shift_);
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
        const uint32_t* const column = level_.job_counts + digit;
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

  __device__ __forceinline__ void run() {
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
    if (threadIdx.x == 0) shared_.job = draw_ticket(&level_.plan->tickets[level_number + leaves_narrow]);
    __syncthreads();
    if (shared_.job >= jobs_) return false;
    if (level_number == 0) {
      const uint64_t first = shared_.job * level_.span;
      job_ = {.first = first,
              .count = level_.plan->frequent.count != 0 ? level_.rest_counts[shared_.job]
                                                        : min(level_.span, level_.count - first),
              .parent = 0,
              .row = shared_.job,
              .rows_before = shared_.job,
              .has_row = 1};
    } else {
      job_ = level_.jobs[shared_.job];
    }
    return true;
  }

  __device__ __forceinline__ uint64_t first_of(uint32_t child) const {
    const uint32_t bucket = child << shift_;
    return bucket < (1u << level_.plan->bucket_bits) ? level_.offsets[bucket] : level_.plan->keys;
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
      return {shared_.keys_in, level_.values_in};
  }
  /// `keys_beyond`: of the digit that the keys have.
  __device__ __forceinline__ typename LevelWays::Out out(uint64_t keys_beyond) const {
    if constexpr (LevelWays::to_records)
      return records_of<Bits, Value>(shared_.keys_out);
    else
      return {shared_.keys_out + keys_beyond, level_.values_out};
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
    if (level_.outgrows_cache() && from.records == Policy::tile) {
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
    const uint32_t bits = level_number == 0 ? msd_digit_bits : level_.plan->bucket_bits - msd_digit_bits;
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
    if (maps_at_load_ && level_.map.is_xor()) {
      const Bits mask = level_.map.flip;
#pragma unroll
      for (uint32_t i = 0; i < keys_per_thread; ++i) keys_[i] ^= mask;
    } else if (maps_at_load_) {
#pragma unroll
      for (uint32_t i = 0; i < keys_per_thread; ++i) keys_[i] = level_.map.to_ordered(keys_[i]);
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
    if constexpr (is_split && level_number == 1) hot = find_run(digit_of(0), full || own_index(0) < size);
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
    if constexpr (is_split && level_number == 1)
      if (maps_back_ && level_.has_one_value[job_.parent * digits_ + digit] != 0)
        key = level_.map.from_ordered(key);
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
                        if (level_.outgrows_cache())
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
  const PartitionLevel<Bits, Value>& level_;
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

template <class Policy, class Bits, class Value, uint32_t level_number, class Stored, class Buckets>
__device__ __forceinline__ void partition(Shared<Bits, Value, Policy, level_number, Stored>& shared,
                                          const PartitionLevel<Bits, Value>& level, const Buckets& buckets) {
  Partition<Bits, Value, Policy, Buckets, level_number, Stored> partition(shared, level, buckets);
  while (partition.take_job()) {
    partition.load_first_tile();
    partition.set_up_bins();
    partition.run();
  }
}

/// Second level: the records of the value that stands apart are in order already. They move to their final
/// place.
template <class Bits, class Value>
__device__ __forceinline__ void move_apart(const PartitionLevel<Bits, Value>& level) {
  const MsdPlan<Bits>& plan = *level.plan;
  const uint64_t first = level.offsets[plan.apart.bucket];
  const uint64_t end = level.offsets[plan.apart.bucket + 1];
  const auto records = records_of<Bits, Value>(level.keys.source(1, plan));
  const PairColumns<Bits, Value> to{level.keys.destination(1, plan), level.values_out};
  const Bits raw = level.map.from_ordered(plan.apart.value);
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
template <class Policy, class Bits, class Value, uint32_t level_number, class Stored>
__device__ __noinline__ void partition_beside(Shared<Bits, Value, Policy, level_number, Stored>& shared,
                                              const PartitionLevel<Bits, Value>& level) {
  if constexpr (sizeof(Stored) == sizeof(Bits)) move_apart(level);
  partition(shared, level, level.plan->buckets_beside(shared.pieces));
}

/// For the second level of pairs: takes the parents whose keys are to be left as `Stored`. `of_floats`:
/// pieces may be of values. (When the kernels of integers could do that, too, a level of 2^22 normal u64 keys
/// took 48 us instead of 36.)
template <class Bits, class Value, class Policy, uint32_t level_number, bool of_floats, class Stored = Bits>
__global__ __launch_bounds__(Policy::threads, Policy::blocks_per_multiprocessor) void partition_kernel(
    const __grid_constant__ PartitionLevel<Bits, Value> level) {
  if (ptx::is_before_90()) return;
  ptx::wait_for_previous_launch();
  if (level_number == 0 && blockIdx.x == 0 && threadIdx.x == 0)
    level.plan->falls_back = level.plan->gives_up();  // the first kernel after the last decision
  if (!level.plan->partitions_by_counts()) return;
  if (sizeof(Stored) < sizeof(Bits) && !level.plan->has_narrow) return;
  auto& shared = shared_memory<Shared<Bits, Value, Policy, level_number, Stored>>();
  if constexpr (may_split<Bits, Value>)
    if (level.plan->is_split) return partition(shared, level, SplitDigits<Bits>{});
  if (level.plan->is_pieced) {
    for (uint32_t p = threadIdx.x; p < 1u << level.plan->piece_bits; p += Policy::threads)
      shared.pieces[p] = level.plan->pieces[p];  // take_job() synchronises
    if constexpr (value_bytes<Value> != 0 && may_stand_apart<Bits>)
      if (level.plan->apart.exists) {
        if constexpr (level_number == 1)
          return partition_beside(shared, level);
        else
          return partition(shared, level, level.plan->buckets_beside(shared.pieces));
      }
    if constexpr (of_floats)
      if (level.plan->has_value_pieces)
        return partition(shared, level, level.plan->real_pieces(shared.pieces));
    partition(shared, level, level.plan->pieced_buckets(shared.pieces));
  } else {
    partition(shared, level, level.plan->linear_buckets());
  }
}

}  // namespace partition_detail

/// Partitions by the first digit (level_number 0) or the second (1), if the plan wants that. For pairs, the
/// second level has a launch of its own for the parents whose keys are to be left as `Stored`.
template <class Policy, uint32_t level_number, class Stored = void, class Bits, class Value>
void partition(const PartitionLevel<Bits, Value>& level, cudaStream_t stream) {
  using namespace partition_detail;
  using Keys = std::conditional_t<std::is_void_v<Stored>, Bits, Stored>;
  const LaunchShape shape{multiprocessors() * Policy::blocks_per_multiprocessor, Policy::threads,
                          sizeof(Shared<Bits, Value, Policy, level_number, Keys>)};
  if constexpr (std::is_same_v<Keys, Bits>)
    if (level.map.is_of_floats())
      return launch_chained(partition_kernel<Bits, Value, Policy, level_number, true>, shape, stream, level);
  launch_chained(partition_kernel<Bits, Value, Policy, level_number, false, Keys>, shape, stream, level);
}

}  // namespace sweepsort
