// radix_onesweep.cuh - the passes of an LSD radix sort: every record to the bucket of its digit, in one sweep
// over memory per digit. Adinets & Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs",
// 2022. Work O(n); moves 2n records for each digit that varies. Stable. onesweep_tile.cuh has what happens to
// one tile, with a picture.
//
// Between the passes, the pairs of a large array whose digits are spread out are stored as records, a key and
// its value side by side (pair_arrays.cuh). A digit then has one run of memory instead of two. The first pass
// reads columns, and the last one writes columns.
//
// A second launch does what would burden the kernel of the first. If keys look random, the first launch
// passes only the leading digits. The second one then mends the remaining disorder or, if there is too much
// of it, passes all digits (leading_digits.cuh). It also makes the passes by live bits (live_bits.cuh).
//
// One launch makes all its passes. A block that finds no tile left in a pass waits for the tiles that other
// blocks have drawn. Those blocks are running, because they drew tiles, so this needs no cooperative launch.
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "core/rounding.hpp"
#include "kernels/block.cuh"
#include "kernels/histogram.cuh"
#include "kernels/launch.cuh"
#include "kernels/leading_digits.cuh"
#include "kernels/live_bits.cuh"
#include "kernels/onesweep_tile.cuh"
#include "kernels/pair_arrays.cuh"
#include "kernels/policy_passes.cuh"
#include "kernels/ptx.cuh"
#include "kernels/sort_plan.cuh"
#include "kernels/tickets.cuh"

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

/// Whether passes can move pairs as records (not pairs of 12 bytes: figures at min_record_bytes) ...
template <class Bits, class Value, class Policy>
inline constexpr bool can_pass_records =
    !Policy::is_portable && sizeof(Bits) >= 4 && value_bytes<Value> == sizeof(Bits);
/// ... and may do so for `count` pairs.
template <class Bits, class Value, class Policy>
constexpr bool may_pass_records(uint64_t count) {
  return can_pass_records<Bits, Value, Policy> && count >= min_record_bytes / (2 * sizeof(Bits));
}

/// Whether a second launch of passes is possible ...
template <class Bits, class Policy>
inline constexpr bool can_come_second = sizeof(Bits) >= 4 && !Policy::is_portable;
/// ... and may be needed: for passes by live bits, or ...
template <class Bits, class Policy>
constexpr bool may_come_second(uint64_t count) {
  return can_come_second<Bits, Policy> && count >= min_second_count;
}
/// ... after passes by leading digits alone. Smaller counts were not tried.
template <class Bits, class Policy>
constexpr bool may_lead(uint64_t count) {
  return can_lead<Bits, Policy> && may_come_second<Bits, Policy>(count);
}

namespace onesweep_detail {

/// What all passes of a sort share.
template <class Bits>
struct Passes {
  uint64_t count;
  uint64_t portion_keys;
  uint32_t portions;
  uint32_t rows;      // look-back rows that every portion fills, used or not
  uint64_t* offsets;  // [place][portion + 1][digit], see Portion
  uint32_t* statuses;
  uint32_t* tickets;                 // one per place and portion
  uint32_t* finished;                // finished rows, one count per place and portion
  uint4* last_record;                // if an odd number of records lies in columns: the last record, which
                                     // has no room there
  leading_detail::State* run_state;  // of passes by leading digits
  live_bits_detail::State<Bits>* live_state;
};

/// Prefetches into the second-level cache what is read later: all that load() wants of the tile a quarter of
/// a round ahead (the one drawn when gridDim.x / 4 more tiles have been drawn). If values are moved last,
/// this tile's values are prefetched, too. Called by one thread. (Columns, 2^28 of the AND of five, ms: u64
/// 12.1 -> 11.0, u32+u32 6.01 -> 5.50, u64+u64 20.6 -> 19.6. A whole round ahead: 11.4, 5.72, 21.8. With the
/// values of that tile, too: 6.3 and 24.5, which is more than the cache holds.)
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

/// Processes one tile, from load to write.
template <class Bits, class Value, class Policy, bool full>
__device__ __noinline__ void sweep_tile(Statuses statuses, uint32_t row, uint32_t size) {
  auto& shared = shared_memory<Shared<Bits, Value, Policy>>();
  const auto& sweep = shared.sweep;
  const auto& portion = shared.portion;
  Tile<Bits, Value, Policy, full> tile(shared, sweep, portion.first + uint64_t{row} * Policy::tile, size);
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
  if constexpr (value_bytes<Value> != 0 && !Policy::as_records && !moves_at_once<Bits, Value, Policy>)
    tile.move_values();
}

/// Processes the portion's tiles: a block draws tickets until none is left. Tickets beyond the last tile are
/// rows without keys. Their statuses are only published, so that every row is left in the same state.
template <class Bits, class Value, class Policy>
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
      sweep_tile<Bits, Value, Policy, true>(statuses, row, Policy::tile);
    } else if (first < portion.count) {
      const uint32_t size = static_cast<uint32_t>(min(portion.count - first, uint64_t{Policy::tile}));
      sweep_tile<Bits, Value, Policy, false>(statuses, row, size);
    } else {
      if (threadIdx.x < digit_values) statuses.publish_prefix(row, threadIdx.x, 0);
      __syncthreads();  // every thread knows its row before the next is drawn
    }
  }
}

/// Reports that this block has finished `mine` of the `rows`, and waits until all rows are finished, because
/// the next pass reads what this one wrote. Called by one thread, between two barriers of its block.
__device__ __forceinline__ void wait_for_rows(uint32_t* finished, uint32_t mine, uint32_t rows) {
  const DeviceAtomic<uint32_t> all(*finished);
  if (all.fetch_add(mine, cuda::memory_order_acq_rel) + mine != rows)
    while (all.load(cuda::memory_order_acquire) != rows) {
    }
}

/// The records of an array between the passes. They take the memory of both columns, which is contiguous in
/// the scratch array. The result for Where::in is never used, because the input is in columns.
template <class Bits, class Value>
__device__ __forceinline__ RecordsInColumns<Bits, Value> records_at(Where where,
                                                                    const ColumnArrays<Bits>& keys,
                                                                    const ColumnArrays<Value>& values,
                                                                    const Passes<Bits>& passes) {
  using Record = PairRecord<Bits, Value>;
  if (where == Where::scratch) return RecordsInColumns<Bits, Value>(reinterpret_cast<Record*>(keys.scratch));
  return {{keys.out, values.out}, passes.count, reinterpret_cast<Record*>(passes.last_record)};
}

/// The pass as planned. But if the leading digits did not suffice, all places are live. Their number is even,
/// so the result stays where it is. The look-backs of these passes continue behind those of the first passes.
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

/// Makes the current portion of the current pass.
template <class Bits, class Value, class Policy>
__device__ __forceinline__ void set_up_and_sweep_portion(Shared<Bits, Value, Policy>& shared,
                                                         const ColumnArrays<Bits>& keys,
                                                         const ColumnArrays<Value>& values,
                                                         const Passes<Bits>& passes,
                                                         const SortPlan<Bits>& plan) {
  const uint32_t place = shared.digit_place;
  const uint32_t number = shared.portion_number;
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
    shared.portion = {.first = first,
                      .count = min(passes.portion_keys, passes.count - first),
                      .offsets = offsets,
                      .next_offsets = offsets + digit_values};
  }
  __syncthreads();
  // When this number was kept in shared memory, the kernel spilled 8 bytes of registers.
  const Statuses statuses(passes.statuses, pass_at<Policy>(plan, place).index * passes.portions + number);
  sweep_portion<Bits, Value, Policy>(shared, shared.portion, statuses, passes.rows, &passes.tickets[index]);
}

/// Mends what the passes by leading digits left out of order. Returns false if that is too much; then all
/// passes follow. Called by the whole grid. Not inlined, because the passes need the registers.
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

/// Plans the passes by live bits. Called by the whole grid. Not inlined, for the same reason.
template <class Policy, class Bits>
__device__ __noinline__ void plan_packed_passes(const Bits* keys, const Passes<Bits>& passes,
                                                SortPlan<Bits>& plan) {
  using Packer = live_bits_detail::Packer<Bits, Policy::threads>;
  Packer packer(shared_memory<typename Packer::PackerShared>(), keys, passes.count, plan, passes.offsets,
                uint64_t{passes.portions + 1} * digit_values, *passes.live_state);
  packer.run();
}

/// Shared memory per block, in bytes. The second launch may begin with other work, which needs its own.
template <class Bits, class Value, class Policy>
constexpr size_t shared_bytes() {
  constexpr size_t of_passes = sizeof(Shared<Bits, Value, Policy>);
  if constexpr (Policy::comes_second)
    return std::max(of_passes, sizeof(live_bits_detail::Shared<Bits, Policy::threads>));
  return of_passes;
}

template <class Bits, class Value, class Policy>
__global__ __launch_bounds__(Policy::threads, Policy::blocks_per_multiprocessor) void onesweep_kernel(
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
  if (threadIdx.x == 0) shared.digit_place = shared.portion_number = shared.rows_finished = 0;
  __syncthreads();
  // What lives from pass to pass is in shared memory: in registers it would take the place of keys.
  while (shared.digit_place < digit_places<Bits>) {
    set_up_and_sweep_portion<Bits, Value, Policy>(shared, keys, values, passes, *plan);
    __syncthreads();
    if (threadIdx.x == 0) {
      const RadixPass pass = pass_at<Policy>(*plan, shared.digit_place);
      const bool is_last_portion = !pass.live || shared.portion_number + 1 == passes.portions;
      const bool is_last = pass.live && pass.last && is_last_portion;
      if (pass.live && !is_last)
        wait_for_rows(&passes.finished[shared.digit_place * passes.portions + shared.portion_number],
                      shared.rows_finished, passes.rows);
      shared.rows_finished = 0;
      shared.portion_number = is_last_portion ? 0 : shared.portion_number + 1;
      shared.digit_place = is_last ? digit_places<Bits> : shared.digit_place + is_last_portion;
    }
    __syncthreads();
  }
}

}  // namespace onesweep_detail

/// Device memory of the passes of one sort. Tickets, finished and states must be zero before each sort. The
/// statuses must be zero when the passes begin (clear_statuses).
template <class Bits, class Value, class Policy = TunedOnesweep<Bits, Value>>
struct OnesweepWorkspace {
  uint64_t portion_keys;  // a whole number of tiles
  uint32_t portions;
  uint32_t rows;
  DeviceSpan<uint32_t> statuses;
  DeviceSpan<uint32_t> tickets;
  DeviceSpan<uint32_t> finished;
  DeviceSpan<uint64_t> offsets;   // [place][portion + 1][digit]
  DeviceSpan<uint4> last_record;  // large enough for any pair that may be a record
  DeviceSpan<leading_detail::State> run_state;
  DeviceSpan<live_bits_detail::State<Bits>> live_state;

  /// Most tiles of a portion: the number of its keys must fit a status.
  static constexpr uint64_t max_portion_tiles =
      ((uint64_t{1} << onesweep_detail::Statuses::value_bits) - 1) / Policy::tile;

  /// If `has_statuses` is false, the caller still has to set `statuses`, to status_words() words.
  OnesweepWorkspace(Workspace& workspace, uint64_t count, uint64_t largest_portion, bool has_statuses = true)
      : portion_keys(std::clamp<uint64_t>(largest_portion / Policy::tile, 1, max_portion_tiles) *
                     Policy::tile),
        portions(static_cast<uint32_t>(std::max<uint64_t>(ceil_divide(count, portion_keys), 1))),
        rows(static_cast<uint32_t>(ceil_divide(std::min(count, portion_keys), Policy::tile))),
        statuses(workspace.take<uint32_t>(has_statuses ? status_words() : 0)),
        tickets(workspace.take<uint32_t>(passes(count) * portions)),
        finished(workspace.take<uint32_t>(passes(count) * portions)),
        offsets(workspace.take<uint64_t>(digit_places<Bits> * offsets_stride())),
        last_record(workspace.take<uint4>(can_pass_records<Bits, Value, Policy> ? 1 : 0)),
        run_state(workspace.take<leading_detail::State>(may_lead<Bits, Policy>(count) ? 1 : 0)),
        live_state(
            workspace.take<live_bits_detail::State<Bits>>(may_come_second<Bits, Policy>(count) ? 1 : 0)) {}

  /// Passes by all places, plus those of the second launch.
  static constexpr uint64_t passes(uint64_t count) {
    return digit_places<Bits> * (may_come_second<Bits, Policy>(count) ? 2 : 1);
  }

  uint64_t status_words() const { return onesweep_detail::Statuses::words(rows); }
  /// Distance between two digit places in `offsets`.
  uint64_t offsets_stride() const { return uint64_t{portions + 1} * digit_values; }
};

namespace onesweep_detail {
static __global__ void clear_statuses_kernel(uint4* vectors, uint64_t count, const uint32_t* wanted) {
  ptx::wait_for_previous_launch();
  if (wanted != nullptr && *wanted == 0) return;
  for (uint64_t v = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; v < count;
       v += uint64_t{gridDim.x} * blockDim.x)
    vectors[v] = uint4{};
}
}  // namespace onesweep_detail

/// Clears statuses that were not cleared with the rest of the workspace. Does nothing if *wanted (device
/// memory) is zero.
template <class Bits, class Value, class Policy>
void clear_statuses(const OnesweepWorkspace<Bits, Value, Policy>& workspace, const uint32_t* wanted,
                    cudaStream_t stream) {
  const DeviceSpan<uint32_t>& statuses = workspace.statuses;
  launch_chained(onesweep_detail::clear_statuses_kernel, {multiprocessors() * 2, 1024}, stream,
                 reinterpret_cast<uint4*>(statuses.data()),
                 statuses.size() * sizeof(uint32_t) / sizeof(uint4), wanted);
}

namespace onesweep_detail {
template <class Policy, class Bits, class Value>
void launch_passes(const ColumnArrays<Bits>& keys, const ColumnArrays<Value>& values,
                   const Passes<Bits>& passes, SortPlan<Bits>* plan, cudaStream_t stream) {
  constexpr size_t bytes = shared_bytes<Bits, Value, Policy>();
  const auto kernel = onesweep_kernel<Bits, Value, Policy>;
  const uint32_t most = resident_blocks(kernel, Policy::threads, bytes);
  const uint32_t blocks = std::min(passes.rows, most);
  launch_chained(kernel, {blocks, Policy::threads, bytes}, stream, keys, values, passes, plan);
}
}  // namespace onesweep_detail

/// Makes all passes of the plan, from its source arrays to its destinations, least significant digit first.
/// If the plan may choose records (SortTask), keys.scratch has room for both columns.
template <class Bits, class Value, class Policy>
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
  launch_passes<Policy>(keys, values, passes, plan, stream);
  if constexpr (can_pass_records<Bits, Value, Policy>)
    if (may_pass_records<Bits, Value, Policy>(count))
      launch_passes<AsRecords<Policy>>(keys, values, passes, plan, stream);
  if constexpr (can_come_second<Bits, Policy>)
    if (may_come_second<Bits, Policy>(count)) {
      Passes<Bits> second = passes;
      second.tickets += uint64_t{digit_places<Bits>} * workspace.portions;
      second.finished += uint64_t{digit_places<Bits>} * workspace.portions;
      launch_passes<ComesSecond<Policy>>(keys, values, second, plan, stream);
    }
}

}  // namespace sweepsort
