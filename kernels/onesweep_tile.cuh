// onesweep_tile.cuh - one tile of a pass of the LSD radix sort (radix_onesweep.cuh): moves its records to the
// places that their digits give them.
//
//     a tile's keys (digits)   2 0 2 1 0
//     1 rank in the warp       0 0 1 0 1      among its keys of that digit
//     2 counts of the tile     [2 1 2]
//     3 place in the tile      3 0 4 2 1      keys go there, in shared memory
//     4 counts of all tiles before, by look-back, + offsets of the digits (radix_onesweep.cuh, sweep_tile)
//     5 out[4 of the digit + rank among the tile's keys of it] = key, in runs of one digit
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "kernels/bisect.cuh"
#include "kernels/bit_pack.cuh"
#include "kernels/digit.cuh"
#include "kernels/lookback.cuh"
#include "kernels/pair_arrays.cuh"
#include "kernels/policy_passes.cuh"
#include "kernels/ptx.cuh"
#include "kernels/radix_rank.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace sweepsort {

/// Whether passes can sort pairs by the positions of their keys in a list. The list takes the memory of the
/// tile's records or, if the tile is small, of its counts.
template <class Policy>
inline constexpr bool tile_holds_list = Policy::tile >= max_listed_values;
template <class Bits, class Value, class Policy>
inline constexpr bool can_sort_codes = value_bytes<Value> != 0 && sizeof(Bits) >= 4 && !Policy::as_records &&
                                       (tile_holds_list<Policy> ||
                                        Policy::threads / warp_threads * digit_values * sizeof(uint32_t) >=
                                            max_listed_values * sizeof(Bits));

/// Whether a tile of columns has room for its values beside its keys, so that one loop writes both. Otherwise
/// the values follow through the memory of the keys. H100, u64+u64 by digits, AND of three, of five, us,
/// tiles of 512x10 one after the other -> 384x12 at once: 2^22 517, 519 -> 502, 499, 2^24 1,884, 1,767 ->
/// 1,861, 1,724. Other pairs lost or gained nothing (bench/notes/gpu-sort.md).
template <class Bits, class Value, class Policy>
inline constexpr bool moves_at_once = !Policy::is_portable && !Policy::as_records &&
                                      value_bytes<Value> != 0 && sizeof(Bits) + value_bytes<Value> == 16;

namespace onesweep_detail {

/// Portable sorts must also work on devices without lane order.
template <class Policy>
inline constexpr Ranking ranking_of = Policy::is_portable ? Ranking::ballot : Ranking::lane_order;

using Statuses = LookbackTable<uint32_t, digit_values>;

/// One portion of one pass.
struct Portion {
  uint64_t first;           // its first record
  uint64_t count;           // its records
  const uint64_t* offsets;  // where each digit's records of this portion start in the destination
  uint64_t* next_offsets;   // the same for the next portion, written by this one's last tile
};

/// Where a pass `reads` or `writes` pairs side by side. Otherwise it reads or writes columns.
template <class Bits, class Value, bool as_records>
struct RecordSweep {};
template <class Bits, class Value>
struct RecordSweep<Bits, Value, true> {
  RecordsInColumns<Bits, Value> from;
  RecordsInColumns<Bits, Value> to;
  bool reads;
  bool writes;
};

/// The parameters of a pass, shared by all its tiles.
template <class Bits, class Value, bool as_records>
struct Sweep {
  const Bits* keys_from;
  Bits* keys_to;
  const Value* values_from;
  Value* values_to;
  DigitOf<Bits> digit_of;
  HotDigits hot;
  KeyMap<Bits> map;
  const BitPack<Bits>* pack;  // in the second launch: digits are those of the packed keys (live_bits.cuh)
  const Bits* list;           // if not null, digits are those of the keys' positions in this list
                              // (value_codes.cuh)
  uint32_t list_size;
  bool map_at_load;
  bool map_at_store;
  RecordSweep<Bits, Value, as_records> records;
};

template <class Bits, class Value, class Policy>
struct Shared {
  static constexpr uint32_t warps = Policy::threads / warp_threads;
  static constexpr size_t record_bytes = Policy::as_records || moves_at_once<Bits, Value, Policy>
                                             ? sizeof(Bits) + value_bytes<Value>
                                             : std::max<size_t>(sizeof(Bits), value_bytes<Value>);

  uint64_t shift[digit_values];  // a record's place in `out` minus its place in the tile, by digit
  uint32_t warp_sums[warps];
  uint32_t tile;
  uint32_t digit_place;     // of the current pass
  uint32_t portion_number;  // of that pass
  uint32_t rows_finished;   // rows of that portion that this block has finished
  Sweep<Bits, Value, Policy::as_records> sweep;
  Portion portion;
  // While keys are ranked: one histogram per warp. Then: where each warp's keys of a digit start in the tile.
  alignas(16) uint32_t warp_counts[warps][digit_values];
  // The tile in digit order. Before that, the list of values, if there is one. If pairs are moved as records,
  // the values are here first, in the tile's original order.
  alignas(16) unsigned char records[Policy::tile * record_bytes];

  __device__ __forceinline__ Bits* list() {
    return tile_holds_list<Policy> ? reinterpret_cast<Bits*>(records) : reinterpret_cast<Bits*>(warp_counts);
  }
};

/// The tile of one block: `Policy::keys_per_thread` records per thread, in warp-striped order (a warp's
/// records are neighbours, its lanes' records interleave). Ranks must keep this order. A `full` tile has no
/// missing record and is contiguous in memory. Testing for missing records once per tile instead of once per
/// key saves a fifth of the time.
template <class Bits, class Value, class Policy, bool full>
class Tile {
 public:
  using TileShared = Shared<Bits, Value, Policy>;
  using TileSweep = Sweep<Bits, Value, Policy::as_records>;
  static constexpr uint32_t keys_per_thread = Policy::keys_per_thread;
  static constexpr bool with_values = value_bytes<Value> != 0;
  static constexpr bool has_codes = can_sort_codes<Bits, Value, Policy>;
  static constexpr bool has_packs = Policy::comes_second;
  static constexpr bool as_records = Policy::as_records;
  static constexpr bool at_once = moves_at_once<Bits, Value, Policy>;

  __device__ __forceinline__ Tile(TileShared& shared, const TileSweep& sweep, uint64_t first, uint32_t size)
      : shared_(shared), sweep_(sweep), digit_of_(sweep.digit_of), first_(first), size_(size) {}

  /// Loads the keys in the form that the pass sorts by. If pairs are moved as records, they are loaded whole,
  /// and the values go to shared memory, as registers are scarce. Called by all threads after they have
  /// finished with the previous tile.
  __device__ __forceinline__ void load() {
    if constexpr (as_records) {
      load_pairs();
    } else {
      const Bits* const mine = sweep_.keys_from + first_ + own_index(0);
#pragma unroll
      for (uint32_t i = 0; i < keys_per_thread; ++i)
        keys_[i] = has_own(i) ? __ldcs(mine + i * warp_threads) : Bits{0};
    }
    if (!sweep_.map_at_load) return;
#pragma unroll
    for (uint32_t i = 0; i < keys_per_thread; ++i) keys_[i] = sweep_.map.to_ordered(keys_[i]);
    if (has_codes && sweep_.list != nullptr) look_up_codes();
    if constexpr (has_packs) pack_keys();
  }

  /// Phase 1: each record's rank among the records of its digit in its warp.
  __device__ __forceinline__ void rank_in_warp() {
    WarpRanker<digit_bits, ranking_of<Policy>> ranker(shared_.warp_counts[warp()]);
    // After the first pass, keys of one value are neighbours, whatever their share of the array.
    HotDigits hot = find_run(digit_of_(keys_[0]), has_own(0));
    if (!hot.share_is_high) hot = sweep_.hot;
    if (hot.share_is_high) {
#pragma unroll
      for (uint32_t i = 0; i < keys_per_thread; ++i)
        ranks_.set(i, ranker.rank_hot(hot, digit_of_(keys_[i]), has_own(i)));
      ranker.settle(hot);
    } else {
#pragma unroll
      for (uint32_t i = 0; i < keys_per_thread; ++i)
        ranks_.set(i, ranker.rank(digit_of_(keys_[i]), has_own(i)));
    }
    __syncthreads();
  }

  /// Phase 2, one thread per digit: the number of the digit's records in the tile.
  __device__ __forceinline__ uint32_t count_in_tile(uint32_t digit) const {
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t w = 0; w < TileShared::warps; ++w) sum += shared_.warp_counts[w][digit];
    return sum;
  }

  /// Phase 3, one thread per digit: where each warp's records of the digit start in the tile.
  __device__ __forceinline__ void start_digit_at(uint32_t digit, uint32_t start) {
#pragma unroll
    for (uint32_t w = 0; w < TileShared::warps; ++w) {
      const uint32_t count = shared_.warp_counts[w][digit];
      shared_.warp_counts[w][digit] = start;
      start += count;
    }
  }

  /// If pairs are moved as records: takes the values from shared memory, before the barrier that precedes
  /// gather().
  __device__ __forceinline__ void fetch_values() {
    const Value* const kept = kept_values() + own_index(0);
#pragma unroll
    for (uint32_t i = 0; i < keys_per_thread; ++i) values_[i] = kept[i * warp_threads];
  }

  /// The second half of phase 3: keys, or records, go to their places in the tile, in shared memory.
  __device__ __forceinline__ void gather() {
    if constexpr (!as_records) {
      gather_keys();
      if constexpr (at_once) gather_values(ordered_columns().values);
    } else if (sweep_.records.writes)
      gather_pairs(ordered_records());
    else
      gather_pairs(ordered_columns());
  }

  /// Phase 5: writes runs of one digit, coalesced.
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

  /// The second half of phase 3, and phase 5, again for the values of columns, through the same memory.
  __device__ __forceinline__ void move_values() {
    Value* const places = reinterpret_cast<Value*>(shared_.records);
    gather_values(places);
    __syncthreads();
    Value* const to = sweep_.values_to + threadIdx.x;
#pragma unroll
    for (uint32_t i = 0; i < keys_per_thread; ++i)
      if (has_place(i)) (to + shared_.shift[digits_.get(i)])[i * Policy::threads] = places[place(i)];
  }

 private:
  /// The tile's values in the order in which they were loaded ...
  __device__ __forceinline__ Value* kept_values() const { return reinterpret_cast<Value*>(shared_.records); }
  /// ... and the tile in digit order.
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
    for (uint32_t i = 0; i < keys_per_thread; ++i) {
      keys_[i] = Bits{0};
      Value value{};
      if (has_own(i)) load(i, keys_[i], value);
      kept[i * warp_threads] = value;
    }
  }

  /// Computes several places before it stores the first of their pairs, because the compiler does not know
  /// that these stores leave the counts alone. H100, 2^28 u64+u64 and u32+u32, Zipf 22.90 -> 22.63 and 8.45
  /// -> 8.41 ms. Keys alone lose by this, because more of them are in flight.
  template <class Pairs>
  __device__ __forceinline__ void gather_pairs(const Pairs& places) {
    constexpr uint32_t in_flight = 4;
    const uint32_t* const starts = shared_.warp_counts[warp()];
#pragma unroll
    for (uint32_t first = 0; first < keys_per_thread; first += in_flight) {
      uint32_t place[in_flight];
#pragma unroll
      for (uint32_t i = first; i < min(first + in_flight, keys_per_thread); ++i)
        place[i - first] = starts[digit_of_(keys_[i])] + ranks_.get(i);
#pragma unroll
      for (uint32_t i = first; i < min(first + in_flight, keys_per_thread); ++i)
        if (has_own(i)) places.store(place[i - first], keys_[i], values_[i]);
    }
  }

  __device__ __forceinline__ void write_records() {
    const auto to = sweep_.records.to;
// With more unrolling, as in the loop that writes columns, registers spill: 20 and 12 bytes in whole tiles of
// u32+u32 and u64+u64, now 8 and 4. Hashed Zipf 2^24 588 -> 573 and 1,361 -> 1,350 us (H100, graph).
#pragma unroll 2
    for (uint32_t i = 0; i < keys_per_thread; ++i) {
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
    for (uint32_t i = 0; i < keys_per_thread; ++i) {
      const uint32_t place = starts[digit_of_(keys_[i])] + ranks_.get(i);
      if constexpr (with_values) ranks_.set(i, place);
      if (has_own(i)) places[place] = keys_[i];
    }
  }

  /// Moves the values of columns to the places of their keys.
  __device__ __forceinline__ void gather_values(Value* places) const {
    const Value* const mine = sweep_.values_from + first_ + own_index(0);
    Value values[keys_per_thread];
#pragma unroll
    for (uint32_t i = 0; i < keys_per_thread; ++i)
      if (has_own(i)) values[i] = __ldcs(mine + i * warp_threads);
    if constexpr (!at_once) __syncthreads();  // every key has left the shared memory
#pragma unroll
    for (uint32_t i = 0; i < keys_per_thread; ++i)
      if (has_own(i)) places[ranks_.get(i)] = values[i];
  }

  /// Makes each step for all keys before the next step, as registers are scarce.
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

  /// Replaces ordered keys by their positions in the list of values, which contains all of them. Entries
  /// behind the last record may hold keys that are not in the list; any position will do for them. All keys
  /// of a thread search side by side. When they searched one after the other, 2^24 u32+u32 of 16 and 1,000
  /// values took 220 and 416 us, not 207 and 389 (H200, graph).
  __device__ __forceinline__ void look_up_codes() {
    Bits* const list = shared_.list();
    const uint32_t size = sweep_.list_size;
    for (uint32_t i = threadIdx.x; i < size; i += Policy::threads)
      list[i] = sweep_.map.to_ordered(sweep_.list[i]);
    __syncthreads();
    uint32_t codes[keys_per_thread];
    last_at_most(list, size, keys_, codes);
#pragma unroll
    for (uint32_t i = 0; i < keys_per_thread; ++i) keys_[i] = codes[i];
    __syncthreads();
  }

  __device__ __forceinline__ uint32_t warp() const { return threadIdx.x / warp_threads; }
  /// The index in the tile of this thread's record i ...
  __device__ __forceinline__ uint32_t own_index(uint32_t i) const {
    return warp() * warp_threads * keys_per_thread + i * warp_threads + ptx::lane_id();
  }
  /// ... and the place in the ordered tile of the i-th record that it writes.
  __device__ __forceinline__ uint32_t place(uint32_t i) const { return i * Policy::threads + threadIdx.x; }
  __device__ __forceinline__ bool has_own(uint32_t i) const { return full || own_index(i) < size_; }
  __device__ __forceinline__ bool has_place(uint32_t i) const { return full || place(i) < size_; }

  template <class Stored>
  __device__ __forceinline__ void write_keys_as(Stored stored) {
    const Bits* const places = reinterpret_cast<const Bits*>(shared_.records);
    Bits* const to = sweep_.keys_to + threadIdx.x;
#pragma unroll as_records ? 1 : keys_per_thread  // as in write_records()
    for (uint32_t i = 0; i < keys_per_thread; ++i) {
      if (!has_place(i)) break;
      const Bits key = places[place(i)];
      const uint32_t digit = digit_of_(key);
      if constexpr (has_digits) digits_.set(i, digit);
      (to + shared_.shift[digit])[i * Policy::threads] = stored(key);
      if constexpr (as_records || at_once)
        sweep_.values_to[shared_.shift[digit] + place(i)] = ordered_columns().values[place(i)];
    }
  }

  static constexpr bool has_digits = with_values && !as_records && !at_once;

  TileShared& shared_;
  const TileSweep& sweep_;
  const DigitOf<Bits> digit_of_;
  const uint64_t first_;
  const uint32_t size_;
  Bits keys_[keys_per_thread];
  Packed16<keys_per_thread> ranks_;  // in the warp; with digits_, from phase 3 on: the place in the tile
  Packed16<has_digits ? keys_per_thread : 0> digits_;
  Value values_[as_records ? keys_per_thread : 1];
};

}  // namespace onesweep_detail

}  // namespace sweepsort
