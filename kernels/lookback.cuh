// lookback.cuh - how the tiles of a single-pass scan learn the sum of all tiles before them.
// Merrill & Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016; one column per digit
// as in Adinets & Merrill, "Onesweep", 2022.
//
//     tile:     0         1        2        3
//     status: PREFIX   PARTIAL  PARTIAL    (me)    <- I add the partials of 2 and 1, and the prefix of 0
//
// A tile first publishes its own sum (PARTIAL). Then it walks back over its predecessors until one has
// published the sum of everything up to itself (PREFIX), and publishes its own prefix. No tile waits for a
// tile that has not started: a tile's number is a ticket drawn when its block runs, so every lower number
// belongs to a block that is already resident.
//
// Flag and value together are one word, of 16 bytes if the value has 8. So relaxed order suffices: no other
// memory is published through it. Wider values are stored beside their flag, which is released and acquired.
#pragma once

#include "kernels/ptx.cuh"
#include "kernels/tickets.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <cuda/atomic>

namespace sweepsort {

/// What a status holds: nothing yet, the sum of its tile, or the sum of everything up to its tile's end.
enum class Flag : uint32_t { empty = 0, partial = 1, prefix = 2 };

/// A table of statuses: one row per tile, and `columns` independent scans side by side. Word: the flag in the
/// low two bits, the value above. The table needs no clearing between scans. The meaning of the flags rotates
/// with `epoch`, so that what the last scan left behind (PREFIX in every row) reads as EMPTY in the next.
/// Before the first scan (epoch 0) all words are zero.
template <class Word, uint32_t columns>
class LookbackTable {
 public:
  static constexpr uint64_t value_bits = sizeof(Word) * 8 - 2;

  __device__ LookbackTable(Word* words, uint32_t epoch) : words_(words), empty_((2 * epoch) & 3) {}

  static constexpr uint64_t words(uint64_t rows) { return rows * columns; }

  __device__ __forceinline__ void publish_partial(uint64_t row, uint32_t column, Word sum) const {
    store(row, column, sum, Flag::partial);
  }
  __device__ __forceinline__ void publish_prefix(uint64_t row, uint32_t column, Word sum) const {
    store(row, column, sum, Flag::prefix);
  }

  /// Sum of this column over the rows before `row` (row 0: zero). The caller has published the partial of
  /// `row`. Several rows are read at once: the walk is bounded by the latency of a load, not by the number of
  /// loads.
  __device__ __forceinline__ Word sum_before(uint64_t row, uint32_t column) const {
    constexpr uint32_t in_flight = 4;
    Word sum = 0;
    uint64_t next = row;  // rows [next, row) are in `sum`
    while (next > 0) {
      Word status[in_flight];
#pragma unroll
      for (uint32_t k = 0; k < in_flight; ++k)
        status[k] = k < next ? load(next - 1 - k, column) : tag_of(Flag::prefix);
#pragma unroll
      for (uint32_t k = 0; k < in_flight; ++k) {
        const Flag flag = flag_of(status[k]);
        if (flag == Flag::empty) break;  // read again from here
        sum += status[k] >> 2;
        if (flag == Flag::prefix) return sum;
        --next;
      }
    }
    return sum;
  }

 private:
  __device__ __forceinline__ Flag flag_of(Word status) const {
    return static_cast<Flag>((static_cast<uint32_t>(status) - empty_) & 3);
  }
  __device__ __forceinline__ Word tag_of(Flag flag) const {
    return (static_cast<uint32_t>(flag) + empty_) & 3;
  }
  __device__ __forceinline__ Word load(uint64_t row, uint32_t column) const {
    return DeviceAtomic<Word>(words_[row * columns + column]).load(cuda::memory_order_relaxed);
  }
  __device__ __forceinline__ void store(uint64_t row, uint32_t column, Word sum, Flag flag) const {
    const Word word = static_cast<Word>(sum << 2) | tag_of(flag);
    DeviceAtomic<Word>(words_[row * columns + column]).store(word, cuda::memory_order_relaxed);
  }

  Word* words_;
  uint32_t empty_;
};

/// What the blocks of a scan of arrays share besides the statuses. Zeros before the first scan. Every scan
/// leaves it ready for the next, so that a captured graph can be replayed.
struct ScanState {
  uint32_t tickets;
  uint32_t epoch;
  uint64_t max_tiles;  // of any scan so far
};

/// The same, but a block learns the epoch without waiting for a ticket. Tickets only count the blocks that
/// have read it. Both are in one word, so a block that has not drawn never sees the next scan's epoch: all
/// accesses to one word have one order, and the state is made ready after the last ticket.
struct CountedScanState {
  uint64_t drawn;  // tickets in the low half, the epoch above

  __device__ __forceinline__ uint32_t epoch() {
    return static_cast<uint32_t>(DeviceAtomic<uint64_t>(drawn).load(cuda::memory_order_relaxed) >> 32);
  }
  __device__ __forceinline__ uint32_t draw_ticket() {
    return static_cast<uint32_t>(DeviceAtomic<uint64_t>(drawn).fetch_add(1, cuda::memory_order_relaxed));
  }
};

/// The number of scans that the tag of a status tells apart. A tag says which scan wrote the status, and its
/// Flag.
inline constexpr uint32_t epochs = 1u << 30;

/// Where a tile leaves its status, for elements of any size. Up to 8 bytes, tag and value are stored as one.
/// Larger elements have a place for either kind of value, since a reader may still read the first while the
/// second is written.
template <class T>
struct StatusSlot {
  alignas(16) uint32_t tag;
  T values[2];
};
template <class T>
requires(sizeof(T) <= 4) struct StatusSlot<T> {
  uint64_t word;
};
template <class T>
requires(sizeof(T) == 8) struct StatusSlot<T> {
  ptx::Pair pair;
};

/// One status per tile, for one scan of elements T at a time. Zeros before the first scan (epoch 0). It needs
/// no clearing between scans, because a tag from another epoch counts as empty.
template <class T>
class TileStatuses {
 public:
  __device__ TileStatuses(StatusSlot<T>* slots, uint32_t epoch) : slots_(slots), epoch_(epoch) {}

  /// `flag`: the sum of this tile alone (partial), or of everything up to its end (prefix).
  __device__ __forceinline__ void publish(uint64_t tile, Flag flag, const T& value) const {
    const uint32_t tag = epoch_ * 4 + static_cast<uint32_t>(flag);
    StatusSlot<T>& slot = slots_[tile];
    if constexpr (sizeof(T) <= 4) {
      DeviceAtomic<uint64_t>(slot.word).store(uint64_t{tag} << 32 | word_of(value),
                                              cuda::memory_order_relaxed);
    } else if constexpr (sizeof(T) == 8) {
      ptx::Pair pair{tag, 0};
      memcpy(&pair.second, &value, sizeof(T));
      ptx::store_relaxed(&slot.pair, pair);
    } else {
      slot.values[flag == Flag::prefix] = value;
      DeviceAtomic<uint32_t>(slot.tag).store(tag, cuda::memory_order_release);
    }
  }

  /// Everything before `tile` (tile > 0), combined in order. The calling warp looks at 32 * each tiles at
  /// once; the highest lane looks at the nearest ones. It waits for those that it needs.
  template <uint32_t each, class Op>
  __device__ __forceinline__ T look_back(uint64_t tile, const Op& op) const {
    T sum = op.identity();
    for (uint64_t end = tile;; end -= each * warp_threads) {  // `sum` is that of the tiles [end, tile)
      bool found = false;
      const T before = sum_of_window<each>(end, op, found);
      sum = op(before, sum);
      if (found) return sum;
    }
  }

  /// The partials of the tiles [first, last), combined by a commutative operator. Waits for all of them. The
  /// whole warp calls it.
  template <class Op>
  __device__ __forceinline__ T sum_of_partials(uint64_t first, uint64_t last, const Op& op) const {
    bool is_late = false;
    return sum_of_partials<forever>(first, last, op, is_late);
  }

  /// The same, but a tile that is still empty after `patience` more loads `is_late`. Then the result means
  /// nothing. A lane only knows of some tiles.
  template <uint32_t patience, class Op>
  __device__ __forceinline__ T sum_of_partials(uint64_t first, uint64_t last, const Op& op,
                                               bool& is_late) const {
    constexpr uint32_t each = 5;  // all blocks of a GPU with 160 multiprocessors in one round of loads
    T sum = op.identity();
    for (uint64_t begin = first; begin < last; begin += each * warp_threads) {
      Status mine[each];
      const uint64_t my_first = begin + ptx::lane_id();  // neighbours share a sector
#pragma unroll
      for (uint32_t k = 0; k < each; ++k)
        if (my_first + k * warp_threads < last) mine[k] = load(my_first + k * warp_threads);
#pragma unroll
      for (uint32_t k = 0; k < each; ++k) {
        const uint64_t tile = my_first + k * warp_threads;
        if (tile >= last) continue;
        if constexpr (patience == forever) {
          while (mine[k].flag == Flag::empty) mine[k] = load(tile);
        } else {
          for (uint32_t i = 0; i < patience && mine[k].flag == Flag::empty; ++i) mine[k] = load(tile);
          if (mine[k].flag == Flag::empty) {
            is_late = true;
            continue;  // the value in an old status may be invalid for this operator
          }
        }
        sum = op(sum, mine[k].value);
      }
    }
    // Uses the overload for sums, if there is one, where nothing else is done meanwhile.
    if constexpr (patience == forever) return warp_reduce<T, Op>(sum, op);
    return warp_reduce(sum, op);
  }

  /// Whether a tile has published anything. `value` gets what it has published last.
  __device__ __forceinline__ bool has_published(uint64_t tile, T& value) const {
    const Status status = load(tile);
    value = status.value;
    return status.flag != Flag::empty;
  }

 private:
  static constexpr uint32_t forever = 0xffffffffu;

  struct Status {
    Flag flag;
    T value;
  };
  static __device__ __forceinline__ uint32_t word_of(const T& value) {
    uint32_t word = 0;
    memcpy(&word, &value, sizeof(T));
    return word;
  }

  __device__ __forceinline__ Flag flag_of(uint32_t tag) const {
    return tag / 4 == epoch_ ? static_cast<Flag>(tag % 4) : Flag::empty;
  }

  __device__ __forceinline__ Status load(uint64_t tile) const {
    StatusSlot<T>& slot = slots_[tile];
    Status status;
    if constexpr (sizeof(T) <= 4) {
      const uint64_t word = DeviceAtomic<uint64_t>(slot.word).load(cuda::memory_order_relaxed);
      status.flag = flag_of(static_cast<uint32_t>(word >> 32));
      memcpy(&status.value, &word, sizeof(T));
    } else if constexpr (sizeof(T) == 8) {
      const ptx::Pair pair = ptx::load_relaxed(&slot.pair);
      status.flag = flag_of(static_cast<uint32_t>(pair.first));
      memcpy(&status.value, &pair.second, sizeof(T));
    } else {
      status.flag = flag_of(DeviceAtomic<uint32_t>(slot.tag).load(cuda::memory_order_acquire));
      if (status.flag != Flag::empty) status.value = slot.values[status.flag == Flag::prefix];
    }
    return status;
  }

  /// The combination of the tiles [end - 32 * each, end), or of those from the last prefix among them on.
  /// `found` says whether there is a prefix. Before tile 0 there is one: the identity.
  template <uint32_t each, class Op>
  __device__ __forceinline__ T sum_of_window(uint64_t end, const Op& op, bool& found) const {
    const uint32_t lane = ptx::lane_id();
    const uint32_t from_end = (warp_threads - lane) * each;
    for (;;) {
      Status mine[each];
#pragma unroll
      for (uint32_t k = 0; k < each; ++k) {
        const bool exists = from_end - k <= end;
        mine[k] = exists ? load(end - from_end + k) : Status{Flag::prefix, static_cast<T>(op.identity())};
      }
      T part = op.identity();
      bool has_prefix = false;
      bool has_gap = false;
#pragma unroll
      for (uint32_t k = each; k-- > 0;) {
        if (has_prefix || has_gap) continue;
        has_gap = mine[k].flag == Flag::empty;
        has_prefix = mine[k].flag == Flag::prefix;
        if (!has_gap) part = op(mine[k].value, part);
      }
      const uint32_t prefixes = __ballot_sync(full_warp, has_prefix);
      const uint32_t nearest =
          prefixes == 0 ? 0 : 31 - static_cast<uint32_t>(__clz(static_cast<int>(prefixes)));
      const uint32_t gaps = __ballot_sync(full_warp, has_gap);
      if ((gaps >> nearest) != 0) continue;
      found = prefixes != 0;
      return ordered_sum(lane < nearest ? static_cast<T>(op.identity()) : part, op);
    }
  }

  /// Combines all lanes' values in lane order; every lane gets the result.
  template <class Op>
  static __device__ __forceinline__ T ordered_sum(const T& value, const Op& op) {
    return shuffle_from(warp_inclusive_scan(value, op), warp_threads - 1);
  }

  StatusSlot<T>* slots_;
  uint32_t epoch_;
};

/// Makes `state` ready for the next scan. One thread of a scan of `tiles` tiles calls it, after every block
/// has read the epoch and drawn its last ticket. Epochs repeat after 2^30 scans. Until then, every status
/// that no scan has overwritten is wiped; each scan wipes one.
template <class T>
__device__ __forceinline__ void end_scan(ScanState* state, uint32_t epoch, StatusSlot<T>* slots,
                                         uint64_t tiles) {
  const uint64_t max_tiles = state->max_tiles < tiles ? tiles : state->max_tiles;
  const uint64_t row = epoch % max_tiles;
  if (row >= tiles) slots[row] = StatusSlot<T>{};
  state->max_tiles = max_tiles;
  state->epoch = (epoch + 1) % epochs;
  state->tickets = 0;
}

/// Makes `state` ready for the next scan. The thread that has drawn the last ticket calls it. There are
/// `rows` statuses, and the scan has published those for which `is_published(row)`. As above, one of the
/// others is wiped.
template <class T, class IsPublished>
__device__ __forceinline__ void end_scan(CountedScanState* state, uint32_t epoch, StatusSlot<T>* slots,
                                         uint32_t rows, const IsPublished& is_published) {
  const uint32_t row = epoch % rows;
  if (!is_published(row)) slots[row] = StatusSlot<T>{};
  const uint64_t next = uint64_t{(epoch + 1) % epochs} << 32;
  DeviceAtomic<uint64_t>(state->drawn).store(next, cuda::memory_order_relaxed);
}

}  // namespace sweepsort
