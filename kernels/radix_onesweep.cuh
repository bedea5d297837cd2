// radix_onesweep.cuh - one pass of an LSD radix sort: every record to the bucket of its digit, in one sweep
// over memory. Adinets & Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022.
// Work O(n), moves 2n records. Stable.
//
//     tile of keys (by digit):   2 0 2 1 0            each tile
//     1 rank inside the warp     0 0 1 0 1            1..3 learns where its keys stand among its own of that
//     digit, 2 counts of the tile       [2 1 2]              4    where its digits start in `out` (look-back
//     over the tiles), 3 place inside the tile    3 0 4 2 1            5    and writes runs of one digit from
//     shared memory 4 counts of all tiles before + bucket offsets 5 out[offset[digit] + place among the
//     tile's keys of that digit] = key
#pragma once

#include "core/key_bits.hpp"
#include "kernels/block.cuh"
#include "kernels/histogram.cuh"
#include "kernels/launch.cuh"
#include "kernels/lookback.cuh"
#include "kernels/policy.cuh"
#include "kernels/radix_rank.cuh"
#include "kernels/sort_plan.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace sweepsort {

/// "No value": the Value of keys alone.
struct NoValue {};

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

namespace onesweep_detail {

using Statuses = LookbackTable<uint32_t, digit_values>;

/// What a launch is told besides the arrays: one portion of one pass.
struct Portion {
  uint32_t place;   // which digit
  uint32_t number;  // of this portion among `portions`
  uint32_t portions;
  uint64_t first;           // its first record
  uint64_t count;           // its records
  uint32_t rows;            // look-back rows that every portion fills, used or not
  const uint64_t* offsets;  // where each digit's records of this portion start in the destination
  uint64_t* next_offsets;   // the same for the next portion, written by this one's last tile
  uint32_t* statuses;
  uint32_t* ticket;
};

template <class Bits, class Value, class Policy>
struct Shared {
  static constexpr uint32_t warps = Policy::threads / warp_threads;
  static constexpr size_t record_bytes =
      std::max(sizeof(Bits), std::is_same_v<Value, NoValue> ? 1 : sizeof(Value));

  uint64_t
      destination[digit_values];  // where the tile's first key of a digit goes, minus its place in the tile
  uint32_t warp_sums[warps + 1];
  uint32_t tile;
  // While keys are ranked: a histogram a warp, then where in the tile each warp's keys of a digit start.
  uint32_t warp_counts[warps][digit_values];
  alignas(16) unsigned char records[Policy::tile * record_bytes];  // the tile in the order of its digits
};

/// The tile of one block: `Policy::keys_a_thread` records a thread, in warp-striped order (a warp's records
/// are neighbours, its lanes' records interleave), which is the order that ranks must keep.
template <class Bits, class Value, Ranking ranking, class Policy>
class Tile {
 public:
  static constexpr uint32_t keys_a_thread = Policy::keys_a_thread;
  static constexpr bool with_values = !std::is_same_v<Value, NoValue>;

  __device__ Tile(Shared<Bits, Value, Policy>& shared, uint32_t shift, uint64_t first, uint64_t count)
      : shared_(shared),
        shift_(shift),
        first_(first),
        size_(static_cast<uint32_t>(min(count, uint64_t{Policy::tile}))) {}

  __device__ __forceinline__ void load_keys(const Bits* source, const KeyMap<Bits>& map) {
    const Bits* const mine = source + first_ + warp_first() + ptx::lane_id();
    if (is_full()) {
#pragma unroll
      for (uint32_t i = 0; i < keys_a_thread; ++i) keys_[i] = __ldcs(mine + i * warp_threads);
    } else {
#pragma unroll
      for (uint32_t i = 0; i < keys_a_thread; ++i)
        keys_[i] = index(i) < size_ ? __ldcs(mine + i * warp_threads) : Bits{0};
    }
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) keys_[i] = map.to_ordered(keys_[i]);
  }

  /// Phase 1: each record's rank among the records of its digit in its warp.
  __device__ __forceinline__ void rank_in_warp() {
    uint32_t* const counts = shared_.warp_counts[warp()];
    for (uint32_t d = ptx::lane_id(); d < digit_values; d += warp_threads) counts[d] = 0;
    __syncwarp();
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i)
      ranks_.set(i,
                 rank_by_warp<ranking, digit_bits>(counts, digit(keys_[i]), is_full() || index(i) < size_));
    __syncthreads();
  }

  /// Phase 2, by one thread a digit: the digit's records in the tile; warp_counts becomes their places,
  /// counted from the tile's first record of the digit.
  __device__ __forceinline__ uint32_t sum_over_warps(uint32_t digit) {
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t w = 0; w < shared_.warps; ++w) {
      const uint32_t count = shared_.warp_counts[w][digit];
      shared_.warp_counts[w][digit] = sum;
      sum += count;
    }
    return sum;
  }

  /// Phase 3: places count from the tile's first record.
  __device__ __forceinline__ void start_digit_at(uint32_t digit, uint32_t digit_first) {
#pragma unroll
    for (uint32_t w = 0; w < shared_.warps; ++w) shared_.warp_counts[w][digit] += digit_first;
  }

  /// Phase 4a: keys into shared memory, in the order of their digits.
  __device__ __forceinline__ void gather_keys() {
    Bits* const places = reinterpret_cast<Bits*>(shared_.records);
    const uint32_t* const starts = shared_.warp_counts[warp()];
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) {
      const uint32_t place = starts[digit(keys_[i])] + ranks_.get(i);
      if constexpr (with_values) ranks_.set(i, place);
      if (is_full() || index(i) < size_) places[place] = keys_[i];
    }
  }

  /// Phase 5: runs of one digit go out, coalesced.
  __device__ __forceinline__ void write_keys(Bits* destination, const KeyMap<Bits>& map) {
    const Bits* const places = reinterpret_cast<const Bits*>(shared_.records);
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) {
      const uint32_t place = i * Policy::threads + threadIdx.x;
      if (!is_full() && place >= size_) break;
      const Bits key = places[place];
      const uint32_t key_digit = digit(key);
      if constexpr (with_values) digits_.set(i, key_digit);
      destination[shared_.destination[key_digit] + place] = map.from_ordered(key);
    }
  }

  /// Phases 4a and 5 once more for the values, through the same shared memory.
  __device__ __forceinline__ void move_values(const Value* source, Value* destination) {
    const Value* const mine = source + first_ + warp_first() + ptx::lane_id();
    Value values[keys_a_thread];
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i)
      if (is_full() || index(i) < size_) values[i] = __ldcs(mine + i * warp_threads);
    __syncthreads();  // every key has left the shared memory
    Value* const places = reinterpret_cast<Value*>(shared_.records);
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i)
      if (is_full() || index(i) < size_) places[ranks_.get(i)] = values[i];
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) {
      const uint32_t place = i * Policy::threads + threadIdx.x;
      if (is_full() || place < size_)
        destination[shared_.destination[digits_.get(i)] + place] = places[place];
    }
  }

 private:
  __device__ __forceinline__ uint32_t warp() const { return threadIdx.x / warp_threads; }
  __device__ __forceinline__ uint32_t warp_first() const { return warp() * warp_threads * keys_a_thread; }
  __device__ __forceinline__ uint32_t index(uint32_t i) const {
    return warp_first() + i * warp_threads + ptx::lane_id();
  }
  __device__ __forceinline__ bool is_full() const { return size_ == Policy::tile; }
  __device__ __forceinline__ uint32_t digit(Bits key) const {
    return static_cast<uint32_t>(key >> shift_) & (digit_values - 1);
  }

  Shared<Bits, Value, Policy>& shared_;
  const uint32_t shift_;
  const uint64_t first_;
  const uint32_t size_;
  Bits keys_[keys_a_thread];
  Packed16<keys_a_thread> ranks_;  // in the warp; with values, from phase 4a on: the place in the tile
  Packed16<with_values ? keys_a_thread : 0> digits_;
};

/// The portion's tiles one after another: a block draws tickets until none is left. The tickets behind the
/// last tile are rows without keys, which are only marked, so that every row leaves the launch in the same
/// state.
template <class Bits, class Value, Ranking ranking, class Policy>
__global__ __launch_bounds__(Policy::threads, Policy::blocks_a_multiprocessor) void onesweep_kernel(
    ColumnArrays<Bits> keys, ColumnArrays<Value> values, Portion portion, const SortPlan<Bits>* plan) {
  const RadixPass pass = plan->passes[portion.place];
  if (!plan->scatters || !pass.live) return;

  using TileShared = Shared<Bits, Value, Policy>;
  TileShared& shared = shared_memory<TileShared>();
  const Statuses statuses(portion.statuses, pass.index * portion.portions + portion.number);
  const KeyMap<Bits> load_map = pass.first ? plan->pass_map : KeyMap<Bits>{};
  const KeyMap<Bits> store_map = pass.last ? plan->pass_map : KeyMap<Bits>{};
  const uint32_t tiles = static_cast<uint32_t>((portion.count + Policy::tile - 1) / Policy::tile);

  while (true) {
    if (threadIdx.x == 0) shared.tile = draw_ticket(portion.ticket);
    __syncthreads();  // also: the previous tile has left the shared memory
    const uint32_t row = shared.tile;
    if (row >= portion.rows) return;
    if (row >= tiles) {
      if (threadIdx.x < digit_values) statuses.publish_prefix(row, threadIdx.x, 0);
      __syncthreads();
      continue;
    }
    const uint64_t first = uint64_t{row} * Policy::tile;
    Tile<Bits, Value, ranking, Policy> tile(shared, portion.place * digit_bits, portion.first + first,
                                            portion.count - first);
    tile.load_keys(keys.source(pass.source), load_map);
    tile.rank_in_warp();

    const uint32_t digit = threadIdx.x;
    uint32_t in_tile = 0;
    if (digit < digit_values) {
      in_tile = tile.sum_over_warps(digit);
      statuses.publish_partial(row, digit, in_tile);
    }
    uint32_t total = 0;
    const uint32_t digit_first = block_exclusive_sum<Policy::threads>(in_tile, shared.warp_sums, total);
    if (digit < digit_values) tile.start_digit_at(digit, digit_first);
    __syncthreads();
    tile.gather_keys();

    if (digit < digit_values) {
      const uint32_t before = statuses.sum_before(row, digit);
      statuses.publish_prefix(row, digit, before + in_tile);
      shared.destination[digit] = portion.offsets[digit] + before - digit_first;
      if (row == tiles - 1) portion.next_offsets[digit] = portion.offsets[digit] + before + in_tile;
    }
    __syncthreads();
    tile.write_keys(keys.destination(pass.destination), store_map);
    if constexpr (!std::is_same_v<Value, NoValue>)
      tile.move_values(values.source(pass.source), values.destination(pass.destination));
  }
}

}  // namespace onesweep_detail

/// Device memory of the passes of one sort; statuses and tickets are all zeros before each sort.
template <class Bits, class Value>
struct OnesweepWorkspace {
  using Policy = TunedOnesweep<sizeof(Bits), std::is_same_v<Value, NoValue> ? 0 : sizeof(Value)>;

  uint64_t portion_keys;  // a whole number of tiles
  uint32_t portions;
  uint32_t rows;
  DeviceSpan<uint32_t> statuses;
  DeviceSpan<uint32_t> tickets;  // one a pass and portion
  DeviceSpan<uint64_t> offsets;  // [place][portion + 1][digit]

  OnesweepWorkspace(Workspace& workspace, uint64_t count, uint64_t largest_portion)
      : portion_keys(std::max<uint64_t>(largest_portion / Policy::tile, 1) * Policy::tile),
        portions(static_cast<uint32_t>(std::max<uint64_t>((count + portion_keys - 1) / portion_keys, 1))),
        rows(static_cast<uint32_t>((std::min(count, portion_keys) + Policy::tile - 1) / Policy::tile)),
        statuses(workspace.take<uint32_t>(onesweep_detail::Statuses::words(rows))),
        tickets(workspace.take<uint32_t>(uint64_t{digit_places<Bits>} * portions)),
        offsets(workspace.take<uint64_t>(digit_places<Bits> * offsets_stride())) {}

  /// Distance of two digit places in `offsets`.
  uint64_t offsets_stride() const { return uint64_t{portions + 1} * digit_values; }
};

/// One pass over digit `place`, if the plan has it: from the plan's source array to its destination.
template <class Bits, class Value, Ranking ranking>
void radix_onesweep(const ColumnArrays<Bits>& keys, const ColumnArrays<Value>& values, uint64_t count,
                    uint32_t place, const SortPlan<Bits>* plan,
                    const OnesweepWorkspace<Bits, Value>& workspace, cudaStream_t stream) {
  using namespace onesweep_detail;
  using Policy = typename OnesweepWorkspace<Bits, Value>::Policy;
  constexpr size_t shared_bytes = sizeof(Shared<Bits, Value, Policy>);
  const auto kernel = onesweep_kernel<Bits, Value, ranking, Policy>;
  const uint32_t blocks = std::min(workspace.rows, resident_blocks(kernel, Policy::threads, shared_bytes));
  for (uint32_t number = 0; number < workspace.portions; ++number) {
    const uint64_t first = number * workspace.portion_keys;
    uint64_t* const offsets =
        workspace.offsets.data() + place * workspace.offsets_stride() + uint64_t{number} * digit_values;
    const Portion portion{.place = place,
                          .number = number,
                          .portions = workspace.portions,
                          .first = first,
                          .count = std::min(workspace.portion_keys, count - first),
                          .rows = workspace.rows,
                          .offsets = offsets,
                          .next_offsets = offsets + digit_values,
                          .statuses = workspace.statuses.data(),
                          .ticket = workspace.tickets.data() + uint64_t{place} * workspace.portions + number};
    launch(kernel, {blocks, Policy::threads, shared_bytes}, stream, keys, values, portion, plan);
  }
}

}  // namespace sweepsort
