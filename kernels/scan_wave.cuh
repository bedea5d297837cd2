// scan_wave.cuh - prefix scan of a short array, of which every multiprocessor gets one tile, all at the same
// time. The protocol is Merrill & Garland's (2016) without its chain: tiles publish only their own sums, and
// every block adds up those before its own. Work O(n + tiles^2); moves 2n elements. Commutative operators,
// elements of 1 to 8 bytes, `in` and `out` do not overlap.
//
//     tile 0:  load  sum ──publish──┐  scan          store
//     tile 1:  load  sum ──publish──┼─ scan  + 0     store
//     tile 2:  load  sum ──publish──┘  scan  + 0, 1  store
//
// What takes time here is a series of trips to the second-level cache. So a block's number is its tile,
// without a ticket to wait for, and the sum is published before the tile is scanned.
//
// But nothing promises that the blocks before a block run. A block that has waited long for a sum adds up
// that tile itself. So a scan ends in whatever order the blocks run: Smith, Levien & Owens, "Decoupled
// Fallback", 2025. That is why this scan cannot work in place: the late tile might be overwritten already.
#pragma once

#include "kernels/policy_scan.cuh"
#include "kernels/scan_lookback.cuh"

#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>

namespace sweepsort {

/// The most tiles of such a scan, and the number of copies of their statuses. All blocks look at once, and a
/// single copy would lie in one slice of the cache (2^20 u32: 4.7 us with one copy, 3.7 with eight).
struct ScanWave {
  static constexpr uint32_t max_tiles = 256;
  static constexpr uint32_t copies = 8;
  static constexpr uint32_t statuses = copies * max_tiles;
};

/// Device memory of scans in one wave. Zeros before the first scan; reusable for any number of scans, one
/// after the other. For elements that have no such scan, it takes almost nothing.
template <class T>
struct ScanWaveMemory {
  CountedScanState* state;
  StatusSlot<T>* slots;

  explicit ScanWaveMemory(Workspace& workspace)
      : state(workspace.take<CountedScanState>(1).data()),
        slots(workspace.take<StatusSlot<T>>(sizeof(T) <= 8 ? ScanWave::statuses : 0).data()) {}
};

namespace scan_wave_detail {

/// What comes before `tile` if some tile is late: one warp adds up the tiles that have published nothing yet.
template <class Tile, class T, class Op>
__device__ __forceinline__ T sum_without_waiting(const T* in, uint64_t tile, const TileStatuses<T>& statuses,
                                                 const ScanTerms<T, Op>& terms) {
  const auto op = terms.inner();
  T sum = op.identity();
  for (uint64_t before = 0; before < tile; ++before) {
    T of_tile;
    if (!__all_sync(full_warp, statuses.has_published(before, of_tile))) {
      of_tile = op.identity();
      for (uint32_t at = ptx::lane_id(); at < Tile::elements; at += warp_threads)
        of_tile = op(of_tile, terms.enter(in[before * Tile::elements + at]));
      of_tile = warp_reduce(of_tile, op);
    }
    sum = op(sum, of_tile);
  }
  return sum;
}

template <class T, class Op, class Policy>
__global__ __launch_bounds__(Policy::threads,
                             Policy::blocks_each) void scan_wave_kernel(ScanArrays<T> arrays, Op op,
                                                                        bool vectors, CountedScanState* state,
                                                                        StatusSlot<T>* slots) {
  using Tile = ScanLookbackTile<T, Policy>;
  auto& shared = shared_memory<typename Tile::Shared>();
  const uint32_t lane = ptx::lane_id();
  const uint32_t warp = threadIdx.x / warp_threads;
  const uint32_t tile = blockIdx.x;
  const uint64_t first = uint64_t{tile} * Tile::elements + warp * Tile::Rows::elements;
  const bool whole = vectors && uint64_t{tile + 1} * Tile::elements <= arrays.size;
  ptx::wait_for_previous_launch();
  ptx::let_next_launch_begin();

  const bool counts = threadIdx.x == Policy::threads - 1;
  if (threadIdx.x == 0) shared.epoch = state->epoch();
  typename Tile::Rows rows;
  const ScanTerms<T, Op> terms{op};
  const auto inner = terms.inner();
  rows.load(arrays.in, first, arrays.size, whole, op.identity());
  rows.enter(terms);
  const T warp_sum = rows.sum(inner);
  if (lane == 0) shared.warp_prefix[warp] = warp_sum;
  __syncthreads();  // all warps' sums are there

  // Counts that the block has read the epoch, while nobody waits for it.
  const uint32_t ticket = counts && gridDim.x > 1 ? state->draw_ticket() : 0;
  if (warp == 0) {
    const T mine = lane < Tile::warps ? shared.warp_prefix[lane] : static_cast<T>(inner.identity());
    const T tile_sum = warp_reduce(mine, inner);
    if (lane < ScanWave::copies)
      TileStatuses<T>(slots + lane * ScanWave::max_tiles, shared.epoch)
          .publish(tile, Flag::partial, tile_sum);
    const T in_tile = warp_exclusive_from_inclusive(warp_inclusive_scan(mine, inner), inner);
    (void)rows.scan(inner);
    const TileStatuses<T> statuses(slots + tile % ScanWave::copies * ScanWave::max_tiles, shared.epoch);
    bool is_late = false;
    T before = statuses.template sum_of_partials<scan_wave_patience>(0, tile, inner, is_late);
    if (__any_sync(full_warp, is_late)) before = sum_without_waiting<Tile>(arrays.in, tile, statuses, terms);
    if (arrays.initial != nullptr) before = inner(terms.enter(*arrays.initial), before);
    if (lane < Tile::warps) shared.warp_prefix[lane] = inner(before, in_tile);
  } else {
    (void)rows.scan(inner);
  }
  __syncthreads();  // all warps' prefixes are there
  const T up_to_end = rows.finish(shared.warp_prefix[warp], inner, arrays.exclusive);
  rows.leave(terms);
  rows.store(arrays.out, first, arrays.size, whole);

  if (counts && tile == gridDim.x - 1 && arrays.total != nullptr) *arrays.total = terms.leave(up_to_end);
  if (counts && ticket == gridDim.x - 1)
    end_scan(state, shared.epoch, slots, ScanWave::statuses,
             [](uint32_t row) { return row % ScanWave::max_tiles < gridDim.x; });
}

}  // namespace scan_wave_detail

/// Whether this scan exists for these elements and this operator.
template <class T, class Op>
inline constexpr bool can_scan_wave = Op::is_commutative && sizeof(T) <= 8;

/// Whether it takes these arrays: it must be able to read `in` after some of `out` has been written.
template <class T>
bool suits_scan_wave(const ScanArrays<T>& arrays) {
  return arrays.in + arrays.size <= arrays.out || arrays.out + arrays.size <= arrays.in;
}

/// Scans arrays that suit it, of up to ScanWave::max_tiles tiles. Neither allocates nor synchronises.
template <class Policy, class T, class Op>
void scan_wave(const ScanArrays<T>& arrays, const Op& op, const ScanWaveMemory<T>& memory,
               cudaStream_t stream) {
  using Tile = ScanLookbackTile<T, Policy>;
  const auto tiles = static_cast<uint32_t>(Tile::tiles(arrays.size));
  if (tiles > ScanWave::max_tiles) throw std::length_error("too many tiles for a scan in one wave");
  launch_chained(scan_wave_detail::scan_wave_kernel<T, Op, Policy>,
                 {tiles, Policy::threads, sizeof(typename Tile::Shared)}, stream, arrays, op,
                 is_vector_aligned(arrays.in) && is_vector_aligned(arrays.out), memory.state, memory.slots);
}

}  // namespace sweepsort
