// radix_onesweep.cuh - the passes of an LSD radix sort: every record to the bucket of its digit, in one sweep
// over memory a digit. Adinets & Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs",
// 2022. Work O(n) and 2n records moved for each digit that varies. Stable.
//
//     a tile's keys (digits)   2 0 2 1 0
//     1 rank in the warp       0 0 1 0 1      among its keys of that digit
//     2 counts of the tile     [2 1 2]
//     3 place in the tile      3 0 4 2 1      keys go there, in shared memory
//     4 counts of all tiles before, by look-back, + offsets of the digits
//     5 out[4 of the digit + rank among the tile's keys of it] = key, in runs of one digit
//
// Between the passes, the pairs of a large array whose digits are spread out are records, a key and its value
// side by side (pair_arrays.cuh): one run of memory a digit instead of two. The first pass reads columns, the
// last one writes them.
//
// A second launch does what is better left to a kernel that is used less. Of keys that look random only the
// leading digits are passed; then it mends what these leave, or makes passes by all of them after all
// (leading_digits.cuh). Passes by live bits are its, too (live_bits.cuh).
//
// A launch makes all its passes. A block that finds no tile of a pass left waits for those that others still
// have; they are on the device, or would not have them, so this needs no cooperative launch.
#pragma once

#include "core/key_bits.hpp"
#include "kernels/block.cuh"
#include "kernels/histogram.cuh"
#include "kernels/launch.cuh"
#include "kernels/live_bits.cuh"
#include "kernels/lookback.cuh"
#include "kernels/pair_arrays.cuh"
#include "kernels/policy.cuh"
#include "kernels/ptx.cuh"
#include "kernels/radix_rank.cuh"
#include "kernels/sort_plan.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace sweepsort {

/// The three arrays of one column (keys or values).
template <class T>
struct ColumnArrays {
  const T* in;
  T* scratch;
  T* out;

  __device__ __forceinline__ const T* source(Where where) const {
    return where == Where::in ? in : where == Where::scratch ? scratch : out;
  }
  __device__ __forceinline__ T* destination(Where where) const {
    return where == Where::scratch ? scratch : out;
  }
};

/// Whether passes can move pairs as records (not those of 12 bytes: figures at least_record_bytes) ...
template <class Bits, class Value, class Policy>
inline constexpr bool can_pass_records =
    !Policy::is_portable && sizeof(Bits) >= 4 && value_bytes<Value> == sizeof(Bits);
/// ... and may move so many.
template <class Bits, class Value, class Policy>
constexpr bool may_pass_records(uint64_t count) {
  return can_pass_records<Bits, Value, Policy> && count >= least_record_bytes / (2 * sizeof(Bits));
}

/// Whether passes can come second ...
template <class Bits, class Policy>
inline constexpr bool can_come_second = sizeof(Bits) >= 4 && !Policy::is_portable;
/// ... and may: by live bits, or ...
template <class Bits, class Policy>
constexpr bool may_come_second(uint64_t count) {
  return can_come_second<Bits, Policy> && count >= least_second_count;
}
/// ... behind passes by leading digits alone. Fewer records were not tried.
template <class Bits, class Policy>
constexpr bool may_lead(uint64_t count) {
  return can_lead<Bits, Policy> && may_come_second<Bits, Policy>(count);
}

/// Whether passes can sort pairs by the places of their keys in a list: that stands where the counts of a
/// tile will be.
template <class Bits, class Value, class Policy>
inline constexpr bool can_sort_codes =
    value_bytes<Value> != 0 && sizeof(Bits) >= 4 && !Policy::as_records
    && Policy::threads / warp_threads * digit_values * sizeof(uint32_t) >= most_listed_values * sizeof(Bits);

namespace onesweep_detail {

using Statuses = LookbackTable<uint32_t, digit_values>;

/// What all passes of a sort share.
template <class Bits>
struct Passes {
  uint64_t count;
  uint64_t portion_keys;
  uint32_t portions;
  uint32_t rows;      // look-back rows that every portion fills, used or not
  uint64_t* offsets;  // [place][portion + 1][digit], see Portion
  uint32_t* statuses;
  uint32_t* tickets;                 // one a place and portion
  uint32_t* finished;                // rows, in the same order
  uint4* last_record;                // of an odd number in columns, the one that has no room there
  leading_detail::State* run_state;  // of leading digits
  live_bits_detail::State<Bits>* live_state;
};

/// One portion of one pass.
struct Portion {
  uint64_t first;           // its first record
  uint64_t count;           // its records
  const uint64_t* offsets;  // where each digit's records of this portion start in the destination
  uint64_t* next_offsets;   // the same for the next portion, written by this one's last tile
};

/// Where a pass finds and leaves pairs side by side, if it `reads` or `writes` such; else it has columns.
template <class Bits, class Value, bool as_records>
struct RecordSweep {};
template <class Bits, class Value>
struct RecordSweep<Bits, Value, true> {
  RecordsInColumns<Bits, Value> from;
  RecordsInColumns<Bits, Value> to;
  bool reads;
  bool writes;
};

/// What every tile of a pass knows.
template <class Bits, class Value, bool as_records>
struct Sweep {
  const Bits* keys_from;
  Bits* keys_to;
  const Value* values_from;
  Value* values_to;
  DigitOf<Bits> digit_of;
  HotDigits hot;
  KeyMap<Bits> map;
  const BitPack<Bits>* pack;  // of passes that come second: digits are of the packed keys (live_bits.cuh)
  const Bits* list;           // if not null, digits are of the keys' places in this list (value_codes.cuh)
  uint32_t list_size;
  bool map_at_load;
  bool map_at_store;
  RecordSweep<Bits, Value, as_records> records;
};

template <class Bits, class Value, class Policy>
struct Shared {
  static constexpr uint32_t warps = Policy::threads / warp_threads;
  /// Columns pass one after the other.
  static constexpr size_t record_bytes = Policy::as_records
                                             ? sizeof(Bits) + value_bytes<Value>
                                             : std::max<size_t>(sizeof(Bits), value_bytes<Value>);

  uint64_t shift[digit_values];  // a record's place in `out` minus its place in the tile, by digit
  uint32_t warp_sums[warps];
  uint32_t tile;
  uint32_t place;          // of the present pass's digit
  uint32_t portion;        // of that pass
  uint32_t rows_finished;  // of that portion, by this block
  Sweep<Bits, Value, Policy::as_records> sweep;
  Portion borders;
  // First, if there is one, the list of values. While keys are ranked: a histogram a warp, then where in the
  // tile each warp's keys of a digit start.
  alignas(16) uint32_t warp_counts[warps][digit_values];
  // The tile in the order of its digits; of pairs that are records, the values in the tile's own order before.
  alignas(16) unsigned char records[Policy::tile * record_bytes];
};

/// The tile of one block: `Policy::keys_a_thread` records a thread, in warp-striped order (a warp's records
/// are neighbours, its lanes' records interleave), which is the order that ranks must keep. `full` tiles have
/// no record missing and are one piece of memory; testing for that once a tile and not once a key is worth a
/// fifth of the time.
template <class Bits, class Value, Ranking ranking, class Policy, bool full>
class Tile {
 public:
  using TileShared = Shared<Bits, Value, Policy>;
  using TileSweep = Sweep<Bits, Value, Policy::as_records>;
  static constexpr uint32_t keys_a_thread = Policy::keys_a_thread;
  static constexpr bool with_values = value_bytes<Value> != 0;
  static constexpr bool has_codes = can_sort_codes<Bits, Value, Policy>;
  static constexpr bool has_packs = Policy::comes_second;
  static constexpr bool as_records = Policy::as_records;

  __device__ __forceinline__ Tile(TileShared& shared, const TileSweep& sweep, uint64_t first, uint32_t size)
      : shared_(shared), sweep_(sweep), digit_of_(sweep.digit_of), first_(first), size_(size) {}

  /// The keys as the pass wants them. Pairs that are records come whole: the values go to shared memory, as
  /// registers are short. All threads, none of which uses the counts.
  __device__ __forceinline__ void load() {
    if constexpr (as_records) {
      load_pairs();
    } else {
      const Bits* const mine = sweep_.keys_from + first_ + own_index(0);
#pragma unroll
      for (uint32_t i = 0; i < keys_a_thread; ++i)
        keys_[i] = has_own(i) ? __ldcs(mine + i * warp_threads) : Bits{0};
    }
    if (!sweep_.map_at_load) return;
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) keys_[i] = sweep_.map.to_ordered(keys_[i]);
    if (has_codes && sweep_.list != nullptr) look_up_codes();
    if constexpr (has_packs) pack_keys();
  }

  /// Phase 1: each record's rank among the records of its digit in its warp.
  __device__ __forceinline__ void rank_in_warp() {
    WarpRanker<ranking> ranker(shared_.warp_counts[warp()]);
    // Behind the first pass, keys of one value are neighbours, whatever their share in the array.
    HotDigits hot = find_run(digit_of_(keys_[0]), has_own(0));
    if (!hot.share_is_high) hot = sweep_.hot;
    if (hot.share_is_high) {
#pragma unroll
      for (uint32_t i = 0; i < keys_a_thread; ++i)
        ranks_.set(i, ranker.rank_hot(hot, digit_of_(keys_[i]), has_own(i)));
      ranker.settle(hot);
    } else {
#pragma unroll
      for (uint32_t i = 0; i < keys_a_thread; ++i)
        ranks_.set(i, ranker.rank(digit_of_(keys_[i]), has_own(i)));
    }
    __syncthreads();
  }

  /// Phase 2, by one thread a digit: the digit's records in the tile.
  __device__ __forceinline__ uint32_t count_in_tile(uint32_t digit) const {
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t w = 0; w < TileShared::warps; ++w) sum += shared_.warp_counts[w][digit];
    return sum;
  }

  /// Phase 3, by one thread a digit: where each warp's records of the digit start in the tile.
  __device__ __forceinline__ void start_digit_at(uint32_t digit, uint32_t start) {
#pragma unroll
    for (uint32_t w = 0; w < TileShared::warps; ++w) {
      const uint32_t count = shared_.warp_counts[w][digit];
      shared_.warp_counts[w][digit] = start;
      start += count;
    }
  }

  /// Of records, before all threads meet and gather.
  __device__ __forceinline__ void fetch_values() {
    const Value* const kept = kept_values() + own_index(0);
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) values_[i] = kept[i * warp_threads];
  }

  /// Phase 4a: keys, or records, into shared memory, in the order of their digits.
  __device__ __forceinline__ void gather() {
    if constexpr (!as_records)
      gather_keys();
    else if (sweep_.records.writes)
      gather_pairs(ordered_records());
    else
      gather_pairs(ordered_columns());
  }

  /// Phase 5: runs of one digit go out, coalesced.
  __device__ __forceinline__ void write() {
    if constexpr (as_records)
      if (sweep_.records.writes) {
        write_records();
        return;
      }
    if (has_codes && sweep_.map_at_store && sweep_.list != nullptr)
      write_keys_as([this](Bits code) { return sweep_.list[code]; });
    else if (has_packs && sweep_.map_at_store)
      write_keys_as(
          [this, pack = *sweep_.pack](Bits key) { return sweep_.map.from_ordered(pack.unpack(key)); });
    else if (sweep_.map_at_store)
      write_keys_as([this](Bits key) { return sweep_.map.from_ordered(key); });
    else
      write_keys_as([](Bits key) { return key; });
  }

  /// Phases 4a and 5 once more for the values of columns, through the same shared memory.
  __device__ __forceinline__ void move_values() {
    const Value* const mine = sweep_.values_from + first_ + own_index(0);
    Value values[keys_a_thread];
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i)
      if (has_own(i)) values[i] = __ldcs(mine + i * warp_threads);
    __syncthreads();  // every key has left the shared memory
    Value* const places = reinterpret_cast<Value*>(shared_.records);
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i)
      if (has_own(i)) places[ranks_.get(i)] = values[i];
    __syncthreads();
    Value* const to = sweep_.values_to + threadIdx.x;
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i)
      if (has_place(i)) (to + shared_.shift[digits_.get(i)])[i * Policy::threads] = places[place(i)];
  }

 private:
  /// The tile's values in the order in which they were loaded ...
  __device__ __forceinline__ Value* kept_values() const { return reinterpret_cast<Value*>(shared_.records); }
  /// ... and the tile in that of its digits.
  __device__ __forceinline__ PairRecords<Bits, Value> ordered_records() const {
    return {reinterpret_cast<PairRecord<Bits, Value>*>(shared_.records)};
  }
  __device__ __forceinline__ PairColumns<Bits, Value> ordered_columns() const {
    Bits* const keys = reinterpret_cast<Bits*>(shared_.records);
    return {keys, reinterpret_cast<Value*>(keys + Policy::tile)};
  }

  __device__ __forceinline__ void load_pairs() {
    if (!sweep_.records.reads) {
      const PairColumns<const Bits, const Value> columns{sweep_.keys_from, sweep_.values_from};
      load_pairs_from([mine = columns.from(first_ + own_index(0))](uint32_t i, Bits& key, Value& value) {
        mine.template load<true>(i * warp_threads, key, value);
      });
    } else if (full) {
      load_pairs_from(
          [mine = sweep_.records.from.at(first_).from(own_index(0))](uint32_t i, Bits& key, Value& value) {
            mine.template load<true>(i * warp_threads, key, value);
          });
    } else {
      load_pairs_from([this](uint32_t i, Bits& key, Value& value) {
        sweep_.records.from.at(first_ + own_index(i)).template load<true>(0, key, value);
      });
    }
  }
  template <class Load>
  __device__ __forceinline__ void load_pairs_from(Load load) {
    Value* const kept = kept_values() + own_index(0);
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) {
      keys_[i] = Bits{0};
      Value value{};
      if (has_own(i)) load(i, keys_[i], value);
      kept[i * warp_threads] = value;
    }
  }

  template <class Pairs>
  __device__ __forceinline__ void gather_pairs(const Pairs& places) {
    const uint32_t* const starts = shared_.warp_counts[warp()];
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i)
      if (has_own(i)) places.store(starts[digit_of_(keys_[i])] + ranks_.get(i), keys_[i], values_[i]);
  }

  __device__ __forceinline__ void write_records() {
    const auto to = sweep_.records.to;
// More at once, as in the loop that writes columns: registers are spilled. 20 and 12 bytes of them in whole tiles
// of u32+u32 and u64+u64, now 8 and 4; hashed Zipf 2^24 588 -> 573 and 1,361 -> 1,350 us (H100, graph).
#pragma unroll 2
    for (uint32_t i = 0; i < keys_a_thread; ++i) {
      if (!has_place(i)) break;
      Bits key;
      Value value;
      ordered_records().template load<false>(place(i), key, value);
      to.at(shared_.shift[digit_of_(key)] + place(i)).store(0, key, value);
    }
  }

  __device__ __forceinline__ void gather_keys() {
    Bits* const places = reinterpret_cast<Bits*>(shared_.records);
    const uint32_t* const starts = shared_.warp_counts[warp()];
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) {
      const uint32_t place = starts[digit_of_(keys_[i])] + ranks_.get(i);
      if constexpr (with_values) ranks_.set(i, place);
      if (has_own(i)) places[place] = keys_[i];
    }
  }

  /// A step of all keys at a time, as registers are short.
  __device__ __forceinline__ void pack_keys() {
    const BitPack<Bits>& pack = *sweep_.pack;
    if (!pack.packs) return;
#pragma unroll
    for (Bits& key : keys_) key &= pack.live;
#pragma unroll
    for (uint32_t step = 0; step < BitPack<Bits>::steps; ++step) {
      const Bits moved = pack.moved[step];
      if (moved == 0) continue;
#pragma unroll
      for (Bits& key : keys_) key = BitPack<Bits>::close_gaps(key, moved, step);
    }
  }

  /// From ordered keys to places in the list of values, which all of them are in. The list is where the
  /// counts will be.
  __device__ __forceinline__ void look_up_codes() {
    Bits* const list = reinterpret_cast<Bits*>(shared_.warp_counts);
    const uint32_t size = sweep_.list_size;
    for (uint32_t i = threadIdx.x; i < size; i += Policy::threads)
      list[i] = sweep_.map.to_ordered(sweep_.list[i]);
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) keys_[i] = place_of(keys_[i], list, size);
    __syncthreads();
  }

  /// By bisection. Behind the last record are no keys, and so may be what is in no list: it gets any place.
  __device__ __forceinline__ static Bits place_of(Bits key, const Bits* list, uint32_t size) {
    uint32_t place = 0;
    for (uint32_t step = size; step > 1;) {
      step = (step + 1) / 2;
      const uint32_t further = place + step;
      if (further < size && list[further] <= key) place = further;
    }
    return static_cast<Bits>(place);
  }

  __device__ __forceinline__ uint32_t warp() const { return threadIdx.x / warp_threads; }
  /// Where in the tile this thread's record i comes from ...
  __device__ __forceinline__ uint32_t own_index(uint32_t i) const {
    return warp() * warp_threads * keys_a_thread + i * warp_threads + ptx::lane_id();
  }
  /// ... and which place of the ordered tile it writes out.
  __device__ __forceinline__ uint32_t place(uint32_t i) const { return i * Policy::threads + threadIdx.x; }
  __device__ __forceinline__ bool has_own(uint32_t i) const { return full || own_index(i) < size_; }
  __device__ __forceinline__ bool has_place(uint32_t i) const { return full || place(i) < size_; }

  template <class Stored>
  __device__ __forceinline__ void write_keys_as(Stored stored) {
    const Bits* const places = reinterpret_cast<const Bits*>(shared_.records);
    Bits* const to = sweep_.keys_to + threadIdx.x;
#pragma unroll as_records ? 1 : keys_a_thread  // as in write_records()
    for (uint32_t i = 0; i < keys_a_thread; ++i) {
      if (!has_place(i)) break;
      const Bits key = places[place(i)];
      const uint32_t digit = digit_of_(key);
      if constexpr (with_values && !as_records) digits_.set(i, digit);
      (to + shared_.shift[digit])[i * Policy::threads] = stored(key);
      if constexpr (as_records)
        sweep_.values_to[shared_.shift[digit] + place(i)] = ordered_columns().values[place(i)];
    }
  }

  TileShared& shared_;
  const TileSweep& sweep_;
  const DigitOf<Bits> digit_of_;
  const uint64_t first_;
  const uint32_t size_;
  Bits keys_[keys_a_thread];
  Packed16<keys_a_thread> ranks_;  // in the warp; with digits_, from phase 4a on: the place in the tile
  Packed16<with_values && !as_records ? keys_a_thread : 0> digits_;
  Value values_[as_records ? keys_a_thread : 1];
};

/// One thread: what is read later comes from the second-level cache then. All that load() wants of the tile
/// that comes when a quarter of the blocks have taken their next one; and this tile's values, where these are
/// moved last. (Columns, 2^28 of the AND of five, ms: u64 12.1 -> 11.0, u32+u32 6.01 -> 5.50, u64+u64 20.6 ->
/// 19.6. A whole round ahead: 11.4, 5.72, 21.8, and with the values of that tile, too, 6.3 and 24.5: more than
/// the cache holds.)
template <class Policy, class Bits, class Value, bool as_records>
__device__ __forceinline__ void ask_ahead(const Sweep<Bits, Value, as_records>& sweep, const Portion& portion,
                                          uint32_t row, uint32_t size) {
  const uint64_t own = portion.first + uint64_t{row} * Policy::tile;
  const uint64_t next = own + uint64_t{gridDim.x / 4} * Policy::tile;
  const bool has_next = next + Policy::tile <= portion.first + portion.count;
  if constexpr (as_records) {
    if (sweep.records.reads) {
      if (has_next && sweep.records.from.are_together(next, Policy::tile))
        sweep.records.from.at(next).prefetch(0, Policy::tile);
      return;
    }
    if (has_next) ptx::prefetch(sweep.values_from + next, Policy::tile);
  } else if constexpr (value_bytes<Value> != 0) {
    ptx::prefetch(sweep.values_from + own, size);
  }
  if (has_next) ptx::prefetch(sweep.keys_from + next, Policy::tile);
}

/// All that happens to one tile.
template <class Bits, class Value, Ranking ranking, class Policy, bool full>
__device__ __noinline__ void sweep_tile(Statuses statuses, uint32_t row, uint32_t size) {
  auto& shared = shared_memory<Shared<Bits, Value, Policy>>();
  const auto& sweep = shared.sweep;
  const auto& portion = shared.borders;
  Tile<Bits, Value, ranking, Policy, full> tile(shared, sweep, portion.first + uint64_t{row} * Policy::tile,
                                                size);
  if (threadIdx.x == 0) ask_ahead<Policy>(sweep, portion, row, size);
  tile.load();
  tile.rank_in_warp();

  const uint32_t digit = threadIdx.x;
  uint32_t in_tile = 0;
  if (digit < digit_values) {
    in_tile = tile.count_in_tile(digit);
    statuses.publish_partial(row, digit, in_tile);
  }
  uint32_t total = 0;
  const uint32_t start = block_exclusive_sum<Policy::threads>(in_tile, shared.warp_sums, total);
  if (digit < digit_values) tile.start_digit_at(digit, start);
  if constexpr (Policy::as_records) tile.fetch_values();
  __syncthreads();
  tile.gather();

  if (digit < digit_values) {
    const uint32_t before = statuses.sum_before(row, digit);
    statuses.publish_prefix(row, digit, before + in_tile);
    const uint64_t destination = portion.offsets[digit] + before;
    shared.shift[digit] = destination - start;
    if (uint64_t{row} * Policy::tile + size == portion.count)
      portion.next_offsets[digit] = destination + in_tile;
  }
  __syncthreads();
  tile.write();
  if constexpr (value_bytes<Value> != 0 && !Policy::as_records) tile.move_values();
}

/// The portion's tiles one after another: a block draws tickets until none is left. The tickets behind the
/// last tile are rows without keys, which are only marked, so that every row is left in the same state.
template <class Bits, class Value, Ranking ranking, class Policy>
__device__ __forceinline__ void sweep_portion(Shared<Bits, Value, Policy>& shared, const Portion& portion,
                                              const Statuses& statuses, uint32_t rows, uint32_t* tickets) {
  while (true) {
    if (threadIdx.x == 0) {
      shared.tile = draw_ticket(tickets);
      shared.rows_finished += shared.tile < rows;
    }
    __syncthreads();  // also: the previous tile has left the shared memory
    const uint32_t row = shared.tile;
    if (row >= rows) return;
    const uint64_t first = uint64_t{row} * Policy::tile;
    bool is_whole = first + Policy::tile <= portion.count;
    if constexpr (Policy::as_records)
      if (shared.sweep.records.reads)
        is_whole = is_whole && shared.sweep.records.from.are_together(portion.first + first, Policy::tile);
    if (is_whole) {
      sweep_tile<Bits, Value, ranking, Policy, true>(statuses, row, Policy::tile);
    } else if (first < portion.count) {
      const uint32_t size = static_cast<uint32_t>(min(portion.count - first, uint64_t{Policy::tile}));
      sweep_tile<Bits, Value, ranking, Policy, false>(statuses, row, size);
    } else {
      if (threadIdx.x < digit_values) statuses.publish_prefix(row, threadIdx.x, 0);
      __syncthreads();  // every thread knows its row before the next is drawn
    }
  }
}

/// Says that this block has finished `mine` of the `rows`, and waits for the others. One thread, between two
/// barriers of its block: what a pass wrote the next one reads.
__device__ __forceinline__ void wait_for_rows(uint32_t* finished, uint32_t mine, uint32_t rows) {
  const DeviceAtomic<uint32_t> all(*finished);
  if (all.fetch_add(mine, cuda::memory_order_acq_rel) + mine != rows)
    while (all.load(cuda::memory_order_acquire) != rows) {
    }
}

/// Between the passes, records have the memory of both columns. In the scratch array that is one piece. What
/// it says of the input, nobody asks: there are columns.
template <class Bits, class Value>
__device__ __forceinline__ RecordsInColumns<Bits, Value> records_at(Where where,
                                                                    const ColumnArrays<Bits>& keys,
                                                                    const ColumnArrays<Value>& values,
                                                                    const Passes<Bits>& passes) {
  using Record = PairRecord<Bits, Value>;
  if (where == Where::scratch) return RecordsInColumns<Bits, Value>(reinterpret_cast<Record*>(keys.scratch));
  return {{keys.out, values.out}, passes.count, reinterpret_cast<Record*>(passes.last_record)};
}

/// Those of the plan. But where leading digits did not do, all places are live, an even number, so that the result
/// stays where it is; their look-backs go on where those of the first ones ended.
template <class Policy, class Bits>
__device__ __forceinline__ RadixPass pass_at(const SortPlan<Bits>& plan, uint32_t place) {
  RadixPass pass = plan.passes[place];
  if (Policy::comes_second && plan.leading_digits != 0) {
    static_assert(!Policy::comes_second || digit_places<Bits> % 2 == 0);
    const bool reads_out = (place % 2 == 0) == (plan.copy_back == 0);
    pass.live = 1;
    pass.index = plan.leading_digits + place;
    pass.source = reads_out ? Where::out : Where::scratch;
    pass.destination = reads_out ? Where::scratch : Where::out;
    pass.first = place == 0;
    pass.last = place + 1 == digit_places<Bits>;
  }
  return pass;
}

/// The present portion of the present pass.
template <class Bits, class Value, Ranking ranking, class Policy>
__device__ __forceinline__ void sweep_portion_of_pass(Shared<Bits, Value, Policy>& shared,
                                                      const ColumnArrays<Bits>& keys,
                                                      const ColumnArrays<Value>& values,
                                                      const Passes<Bits>& passes,
                                                      const SortPlan<Bits>& plan) {
  const uint32_t place = shared.place;
  const uint32_t number = shared.portion;
  const uint32_t index = place * passes.portions + number;
  if (!pass_at<Policy>(plan, place).live) return;
  if (threadIdx.x == 0) {
    const RadixPass pass = pass_at<Policy>(plan, place);
    const bool maps = !plan.pass_map.is_identity() || plan.list.values != nullptr ||
                      (Policy::comes_second && plan.pack.packs != 0);
    shared.sweep = {.keys_from = keys.source(pass.source),
                    .keys_to = keys.destination(pass.destination),
                    .values_from = values.source(pass.source),
                    .values_to = values.destination(pass.destination),
                    .digit_of = DigitOf<Bits>(place),
                    .hot = pass.hot,
                    .map = plan.pass_map,
                    .pack = &plan.pack,
                    .list = plan.list.values,
                    .list_size = plan.bins,
                    .map_at_load = maps && pass.first,
                    .map_at_store = maps && pass.last,
                    .records = {}};
    if constexpr (Policy::as_records)
      shared.sweep.records = {.from = records_at(pass.source, keys, values, passes),
                              .to = records_at(pass.destination, keys, values, passes),
                              .reads = !pass.first,
                              .writes = !pass.last};
    const uint64_t first = number * passes.portion_keys;
    uint64_t* const offsets = passes.offsets + (uint64_t{index} + place) * digit_values;
    shared.borders = {.first = first,
                      .count = min(passes.portion_keys, passes.count - first),
                      .offsets = offsets,
                      .next_offsets = offsets + digit_values};
  }
  __syncthreads();
  // Kept in shared memory, the number made the kernel spill 8 bytes of registers.
  const Statuses statuses(passes.statuses, pass_at<Policy>(plan, place).index * passes.portions + number);
  sweep_portion<Bits, Value, ranking, Policy>(shared, shared.borders, statuses, passes.rows,
                                              &passes.tickets[index]);
}

/// What the passes by leading digits left out of order is mended. False: too much is, and all passes follow.
/// The whole grid. Not inlined: the passes need the registers.
template <class Policy, class Bits, class Value>
__device__ __noinline__ bool mend(const ColumnArrays<Bits>& keys, const ColumnArrays<Value>& values,
                                  const Passes<Bits>& passes, const SortPlan<Bits>& plan) {
  const Where home = plan.copy_back ? Where::scratch : Where::out;
  const Where free = plan.copy_back ? Where::out : Where::scratch;
  using Mender = leading_detail::Mender<Bits, Value, Policy>;
  using MenderShared = typename Mender::MenderShared;
  auto& shared = shared_memory<Shared<Bits, Value, Policy>>();
  static_assert(sizeof(MenderShared) <= sizeof(shared.records));
  const uint32_t shift = (digit_places<Bits> - plan.leading_digits) * digit_bits;
  Mender mender(reinterpret_cast<MenderShared&>(shared.records), keys.destination(home),
                values.destination(home), passes.count, plan.pass_map, shift, *passes.run_state,
                reinterpret_cast<leading_detail::Run*>(keys.destination(free)));
  const uint32_t looked_at = mender.find_runs();
  if (threadIdx.x == 0) wait_for_rows(&passes.run_state->rows_checked, looked_at, mender.rows(passes.count));
  __syncthreads();
  if (mender.is_hopeless()) return false;
  mender.mend_runs();
  return true;
}

/// Plans the passes by live bits. The whole grid. Not inlined, either.
template <class Policy, class Bits>
__device__ __noinline__ void plan_packed_passes(const Bits* keys, const Passes<Bits>& passes,
                                                SortPlan<Bits>& plan) {
  using Packer = live_bits_detail::Packer<Bits, Policy::threads>;
  Packer packer(shared_memory<typename Packer::PackerShared>(), keys, passes.count, plan, passes.offsets,
                uint64_t{passes.portions + 1} * digit_values, *passes.live_state);
  packer.run();
}

/// Of a block, in bytes: those that come second may begin with other things.
template <class Bits, class Value, class Policy>
constexpr size_t shared_bytes() {
  constexpr size_t of_passes = sizeof(Shared<Bits, Value, Policy>);
  if constexpr (Policy::comes_second)
    return std::max(of_passes, sizeof(live_bits_detail::Shared<Bits, Policy::threads>));
  return of_passes;
}

template <class Bits, class Value, Ranking ranking, class Policy>
__global__ __launch_bounds__(Policy::threads, Policy::blocks_a_multiprocessor) void onesweep_kernel(
    const __grid_constant__ ColumnArrays<Bits> keys, const __grid_constant__ ColumnArrays<Value> values,
    const __grid_constant__ Passes<Bits> passes, SortPlan<Bits>* plan) {
  if (ptx::is_before_90() && !Policy::is_portable) return;
  ptx::wait_for_previous_launch();
  if constexpr (Policy::comes_second) {
    if (plan->leading_digits == 0 && plan->pack.packs == 0) return;
    if (plan->pack.packs != 0) {
      plan_packed_passes<Policy>(keys.in, passes, *plan);
    } else if constexpr (can_lead<Bits, Policy>) {
      if (mend<Policy>(keys, values, passes, *plan)) return;
    }
  } else {
    if (!plan->scatters || (plan->as_records != 0) != Policy::as_records) return;
  }
  auto& shared = shared_memory<Shared<Bits, Value, Policy>>();
  if (threadIdx.x == 0) shared.place = shared.portion = shared.rows_finished = 0;
  __syncthreads();
  // What lives from pass to pass is in shared memory: in registers it would displace keys.
  while (shared.place < digit_places<Bits>) {
    sweep_portion_of_pass<Bits, Value, ranking, Policy>(shared, keys, values, passes, *plan);
    __syncthreads();
    if (threadIdx.x == 0) {
      const RadixPass pass = pass_at<Policy>(*plan, shared.place);
      const bool is_last_portion = !pass.live || shared.portion + 1 == passes.portions;
      const bool is_last = pass.live && pass.last && is_last_portion;
      if (pass.live && !is_last)
        wait_for_rows(&passes.finished[shared.place * passes.portions + shared.portion], shared.rows_finished,
                      passes.rows);
      shared.rows_finished = 0;
      shared.portion = is_last_portion ? 0 : shared.portion + 1;
      shared.place = is_last ? digit_places<Bits> : shared.place + is_last_portion;
    }
    __syncthreads();
  }
}

}  // namespace onesweep_detail

/// Device memory of the passes of one sort; tickets, finished and states must be zero before each sort, the statuses
/// when it begins (clear_statuses).
template <class Bits, class Value, class Policy_ = TunedOnesweep<Bits, Value>>
struct OnesweepWorkspace {
  using Policy = Policy_;

  uint64_t portion_keys;  // a whole number of tiles
  uint32_t portions;
  uint32_t rows;
  DeviceSpan<uint32_t> statuses;
  DeviceSpan<uint32_t> tickets;
  DeviceSpan<uint32_t> finished;
  DeviceSpan<uint64_t> offsets;   // [place][portion + 1][digit]
  DeviceSpan<uint4> last_record;  // any of those that may be records fits
  DeviceSpan<leading_detail::State> run_state;
  DeviceSpan<live_bits_detail::State<Bits>> live_state;

  /// `has_statuses` false: these are still to be set, to status_words().
  OnesweepWorkspace(Workspace& workspace, uint64_t count, uint64_t largest_portion, bool has_statuses = true)
      : portion_keys(std::max<uint64_t>(largest_portion / Policy::tile, 1) * Policy::tile),
        portions(static_cast<uint32_t>(std::max<uint64_t>((count + portion_keys - 1) / portion_keys, 1))),
        rows(static_cast<uint32_t>((std::min(count, portion_keys) + Policy::tile - 1) / Policy::tile)),
        statuses(workspace.take<uint32_t>(has_statuses ? status_words() : 0)),
        tickets(workspace.take<uint32_t>(passes(count) * portions)),
        finished(workspace.take<uint32_t>(passes(count) * portions)),
        offsets(workspace.take<uint64_t>(digit_places<Bits> * offsets_stride())),
        last_record(workspace.take<uint4>(can_pass_records<Bits, Value, Policy> ? 1 : 0)),
        run_state(workspace.take<leading_detail::State>(may_lead<Bits, Policy>(count) ? 1 : 0)),
        live_state(
            workspace.take<live_bits_detail::State<Bits>>(may_come_second<Bits, Policy>(count) ? 1 : 0)) {}

  /// Those by all places, and those that come second.
  static constexpr uint64_t passes(uint64_t count) {
    return digit_places<Bits> * (may_come_second<Bits, Policy>(count) ? 2 : 1);
  }

  uint64_t status_words() const { return onesweep_detail::Statuses::words(rows); }
  /// Distance of two digit places in `offsets`.
  uint64_t offsets_stride() const { return uint64_t{portions + 1} * digit_values; }
};

namespace onesweep_detail {
template <class Vector>
__global__ void clear_statuses_kernel(Vector* vectors, uint64_t count, const uint32_t* wanted) {
  ptx::wait_for_previous_launch();
  if (wanted != nullptr && *wanted == 0) return;
  for (uint64_t v = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; v < count;
       v += uint64_t{gridDim.x} * blockDim.x)
    vectors[v] = Vector{};
}
}  // namespace onesweep_detail

/// For statuses that were not cleared with the rest of a workspace. Not if *wanted, in device memory, is
/// zero.
template <class Bits, class Value, class Policy>
void clear_statuses(const OnesweepWorkspace<Bits, Value, Policy>& workspace, const uint32_t* wanted,
                    cudaStream_t stream) {
  const DeviceSpan<uint32_t>& statuses = workspace.statuses;
  launch_chained(onesweep_detail::clear_statuses_kernel<uint4>, {multiprocessors() * 2, 1024}, stream,
                 reinterpret_cast<uint4*>(statuses.data()),
                 statuses.size() * sizeof(uint32_t) / sizeof(uint4), wanted);
}

namespace onesweep_detail {
template <class Policy, Ranking ranking, class Bits, class Value>
void launch_passes(const ColumnArrays<Bits>& keys, const ColumnArrays<Value>& values,
                   const Passes<Bits>& passes, SortPlan<Bits>* plan, cudaStream_t stream) {
  constexpr size_t bytes = shared_bytes<Bits, Value, Policy>();
  const auto kernel = onesweep_kernel<Bits, Value, ranking, Policy>;
  const uint32_t most = resident_blocks(kernel, Policy::threads, bytes);
  const uint32_t blocks = std::min(passes.rows, most);
  launch_chained(kernel, {blocks, Policy::threads, bytes}, stream, keys, values, passes, plan);
}
}  // namespace onesweep_detail

/// All passes that the plan has, from its source arrays to its destinations, least significant digit first.
/// Where the plan may want records (SortTask), keys.scratch has room for both columns.
template <Ranking ranking, class Bits, class Value, class Policy>
void radix_onesweep(const ColumnArrays<Bits>& keys, const ColumnArrays<Value>& values, uint64_t count,
                    SortPlan<Bits>* plan, const OnesweepWorkspace<Bits, Value, Policy>& workspace,
                    cudaStream_t stream) {
  using namespace onesweep_detail;
  const Passes<Bits> passes{.count = count,
                            .portion_keys = workspace.portion_keys,
                            .portions = workspace.portions,
                            .rows = workspace.rows,
                            .offsets = workspace.offsets.data(),
                            .statuses = workspace.statuses.data(),
                            .tickets = workspace.tickets.data(),
                            .finished = workspace.finished.data(),
                            .last_record = workspace.last_record.data(),
                            .run_state = workspace.run_state.data(),
                            .live_state = workspace.live_state.data()};
  launch_passes<Policy, ranking>(keys, values, passes, plan, stream);
  if constexpr (can_pass_records<Bits, Value, Policy>)
    if (may_pass_records<Bits, Value, Policy>(count))
      launch_passes<AsRecords<Policy>, ranking>(keys, values, passes, plan, stream);
  if constexpr (can_come_second<Bits, Policy>)
    if (may_come_second<Bits, Policy>(count)) {
      Passes<Bits> second = passes;
      second.tickets += uint64_t{digit_places<Bits>} * workspace.portions;
      second.finished += uint64_t{digit_places<Bits>} * workspace.portions;
      launch_passes<ComesSecond<Policy>, ranking>(keys, values, second, plan, stream);
    }
}

}  // namespace sweepsort
