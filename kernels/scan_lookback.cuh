// scan_lookback.cuh - prefix scan in one pass over memory, with decoupled look-back.
// Merrill & Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016. Work O(n), depth
// O(log n) in a tile plus the look-back; moves 2n elements.
//
//     tile:   0        1        2        3
//     state: PREFIX  PARTIAL  PARTIAL   (me)   <- one warp adds 2 and 1, and stops at 0
//
// Works for any element type and any associative operator, because elements are always combined in order. A
// block scans its tile in registers while the look-back waits, so a tile is read once and written once.
#pragma once

#include "core/rounding.hpp"
#include "kernels/launch.cuh"
#include "kernels/lookback.cuh"
#include "kernels/scan_op.cuh"
#include "kernels/scan_rows.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// The arguments of every scan in this folder. `in` may be `out`. `initial` (device memory) comes before
/// everything; null: nothing does. `total`, if not null, gets `initial` and all elements combined. `initial`
/// and `total` are different elements, and neither is in one of the arrays.
template <class T>
struct ScanArrays {
  const T* in;
  T* out;
  uint64_t size;
  bool exclusive;
  const T* initial;
  T* total;
};

/// Device memory of the scans with a look-back. Zeros before the first scan. Reusable for any number of
/// scans, one after the other, with the same T and at most as many tiles.
template <class T>
struct LookbackMemory {
  ScanState* state;
  StatusSlot<T>* slots;

  LookbackMemory(Workspace& workspace, uint64_t tiles)
      : state(workspace.take<ScanState>(1).data()), slots(workspace.take<StatusSlot<T>>(tiles).data()) {}
};

template <class T, class Policy>
struct ScanLookbackTile {
  using Rows = ScanRows<T, Policy::rows>;
  static constexpr uint32_t warps = Policy::threads / warp_threads;
  static constexpr uint32_t elements = warps * Rows::elements;

  struct Shared {
    T warp_prefix[warps];  // first each warp's sum, then what comes before the warp
    uint32_t tile;
    uint32_t epoch;
  };

  /// At least one tile, which passes `initial` on to `total`.
  static constexpr uint64_t tiles(uint64_t size) { return size == 0 ? 1 : ceil_divide(size, elements); }
};

namespace scan_lookback_detail {

/// Replaces the warps' sums by what comes before each warp, in the tile and in all tiles before it. Called by
/// one warp.
template <uint32_t each, class T, class Op, uint32_t warps>
__device__ __forceinline__ void look_back(T (&warp_prefix)[warps], uint64_t tile, const T* initial,
                                          const TileStatuses<T>& statuses, const ScanTerms<T, Op>& terms) {
  const auto op = terms.inner();
  const uint32_t lane = ptx::lane_id();
  const T inclusive =
      warp_inclusive_scan(lane < warps ? warp_prefix[lane] : static_cast<T>(op.identity()), op);
  const T tile_sum = shuffle_from(inclusive, warp_threads - 1);
  T before = op.identity();
  if (tile == 0) {
    if (initial != nullptr) before = terms.enter(*initial);
  } else {
    if (lane == 0) statuses.publish(tile, Flag::partial, tile_sum);
    before = statuses.template look_back<each>(tile, op);
  }
  if (lane == 0) statuses.publish(tile, Flag::prefix, op(before, tile_sum));
  const T in_tile = warp_exclusive_from_inclusive(inclusive, op);
  if (lane < warps) warp_prefix[lane] = op(before, in_tile);
}

template <class T, class Op, class Policy>
__global__ __launch_bounds__(Policy::threads) void scan_lookback_kernel(ScanArrays<T> arrays, Op op,
                                                                        bool vectors, ScanState* state,
                                                                        StatusSlot<T>* slots) {
  using Tile = ScanLookbackTile<T, Policy>;
  auto& shared = shared_memory<typename Tile::Shared>();
  const uint32_t warp = threadIdx.x / warp_threads;
  if (threadIdx.x == 0) {
    shared.epoch = state->epoch;
    shared.tile = draw_ticket(&state->tickets);
  }
  __syncthreads();
  const uint64_t tile = shared.tile;
  const uint64_t first = tile * Tile::elements + warp * Tile::Rows::elements;
  const bool whole = vectors && (tile + 1) * Tile::elements <= arrays.size;

  typename Tile::Rows rows;
  const ScanTerms<T, Op> terms{op};
  const auto inner = terms.inner();
  rows.load(arrays.in, first, arrays.size, whole, op.identity());
  rows.enter(terms);
  const T sum = rows.scan(inner);
  if (ptx::lane_id() == 0) shared.warp_prefix[warp] = sum;
  __syncthreads();  // all warps' sums are there
  if (warp == 0)
    look_back<Policy::statuses_per_lane>(shared.warp_prefix, tile, arrays.initial,
                                         TileStatuses<T>(slots, shared.epoch), terms);
  __syncthreads();  // all warps' prefixes are there
  const T up_to_end = rows.finish(shared.warp_prefix[warp], inner, arrays.exclusive);
  rows.leave(terms);
  rows.store(arrays.out, first, arrays.size, whole);

  const bool at_end = tile == gridDim.x - 1 && threadIdx.x == Policy::threads - 1;
  if (at_end && arrays.total != nullptr) *arrays.total = terms.leave(up_to_end);
  // The last tile has looked back, so all others have published, and thus their blocks have read the state.
  if (at_end) end_scan(state, shared.epoch, slots, gridDim.x);
}

}  // namespace scan_lookback_detail

/// Scans with tiles of one policy. Neither allocates nor synchronises.
template <class Policy, class T, class Op>
void scan_lookback(const ScanArrays<T>& arrays, const Op& op, const LookbackMemory<T>& memory,
                   cudaStream_t stream) {
  using Tile = ScanLookbackTile<T, Policy>;
  const auto tiles = static_cast<uint32_t>(Tile::tiles(arrays.size));
  launch(scan_lookback_detail::scan_lookback_kernel<T, Op, Policy>,
         {tiles, Policy::threads, sizeof(typename Tile::Shared)}, stream, arrays, op,
         is_vector_aligned(arrays.in) && is_vector_aligned(arrays.out), memory.state, memory.slots);
}

}  // namespace sweepsort
