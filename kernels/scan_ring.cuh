// scan_ring.cuh - prefix scan at the speed of a copy: decoupled look-back behind a ring of asynchronous
// loads. The protocol is Merrill & Garland's (2016) without its chain: tiles publish only their own sums. A
// block remembers what came before its last tile, so it adds only the tiles in between. Work O(n); moves 2n
// elements. Commutative operators, elements of 1 to 8 bytes, 16-byte aligned arrays.
//
//     warp 0     load       ring of stages  |t+4|t+5| t |t+1|t+2|t+3|  one bulk load each
//     warp 1     reduce     publish the sum of a tile as soon as it is there, ahead of its scan
//     warp 2     look back  add the sums that all blocks published since this block's last tile
//     warps 3..  scan       take the tile into registers (the stage is free again), wait for the
//                           prefix, store
//
// Every lane waits for every tile, in order, and arrives when it has read its part. This is necessary because
// a barrier knows only the parity of its phase: a warp two phases early or late would wait for the wrong one.
//
// What limits a scan with one tile per block is that all warps wait for the look-back with their tile in
// registers, while no load is in flight. Here the next tiles load meanwhile, and their sums are published.
#pragma once

#include "core/rounding.hpp"
#include "kernels/policy_scan.cuh"
#include "kernels/scan_lookback.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace sweepsort {

/// The geometry, and the shared memory by which the warps of a block communicate.
template <class T, class Policy = TunedScanRing<T>>
struct ScanRing {
  static constexpr uint32_t stages = Policy::stages;
  static constexpr uint32_t scanners = Policy::scan_warps;
  static constexpr uint32_t rows = Policy::rows;
  static constexpr uint32_t load_warp = 0;
  static constexpr uint32_t reduce_warp = 1;
  static constexpr uint32_t look_back_warp = 2;
  static constexpr uint32_t first_scanner = 3;
  static constexpr uint32_t threads = (first_scanner + scanners) * warp_threads;
  using Rows = ScanRows<T, rows>;
  static constexpr uint32_t elements = scanners * Rows::elements;
  static constexpr uint32_t bytes = elements * sizeof(T);
  /// A prefix outlives the stage that its tile was loaded into: the next tile in the stage may be reduced
  /// before the slowest scanner has read the prefix. After two rounds of the ring, it has read it.
  static constexpr uint32_t slots = 2 * stages;
  static constexpr uint32_t no_tile = 0xffffffffu;

  struct Shared {
    alignas(128) Vector<T> stage[stages][scanners * Rows::vectors];
    ptx::SharedBarrier loaded[stages];  // the tile has arrived
    ptx::SharedBarrier filled;          // of the last tile, the part that no bulk load brings has arrived
    ptx::SharedBarrier taken[stages];   // all warps are done with the stage
    ptx::SharedBarrier ready[slots];    // prefix and warp_before are set
    T prefix[slots];
    T warp_before[slots][scanners];  // in the tile, before each scanner's part
    uint32_t tile[stages];
    uint32_t epoch;
  };
  static_assert(sizeof(Shared) <= 195 * 1024);  // beyond this, the next carve-out takes cache that stores
                                                // need

  static constexpr uint64_t tiles(uint64_t size) { return ceil_divide(size, elements); }
};

namespace scan_ring_detail {

/// The k-th tile of a block: its stage and its slot.
template <class Ring>
struct Turn {
  uint32_t stage;
  uint32_t stage_parity;
  uint32_t slot;
  uint32_t slot_parity;
  __device__ explicit Turn(uint32_t k)
      : stage(k % Ring::stages),
        stage_parity(k / Ring::stages & 1),
        slot(k % Ring::slots),
        slot_parity(k / Ring::slots & 1) {}
};

/// The number of the tile in a stage, for all lanes. One lane reads it (2^28 u64: 1.040 ms; if each lane
/// does, 1.0425).
template <class Ring>
__device__ __forceinline__ uint32_t tile_in(const typename Ring::Shared& shared, uint32_t stage) {
  return __shfl_sync(full_warp, ptx::lane_id() == 0 ? shared.tile[stage] : 0, 0);
}

/// Loads the last tile, which is not whole: what exists, and `fill` behind it.
template <class Ring, class T>
__device__ __forceinline__ void load_part(typename Ring::Shared& shared, uint32_t stage, const T* from,
                                          uint64_t count, const T& fill) {
  T* const to = shared.stage[stage][0].at;
  const auto in_bulk = static_cast<uint32_t>(count * sizeof(T) / 16 * 16);
  for (uint64_t at = in_bulk / sizeof(T) + ptx::lane_id(); at < Ring::elements; at += warp_threads)
    to[at] = at < count ? from[at] : fill;
  // Once per scan. A __syncwarp would do, but compute-sanitizer tracks what was written only through such
  // barriers.
  ptx::barrier_arrive(&shared.filled);
  ptx::barrier_wait(&shared.filled, 0);
  __syncwarp();
  if (ptx::lane_id() != 0) return;
  if (in_bulk > 0)
    ptx::bulk_load_and_arrive(to, from, in_bulk, &shared.loaded[stage]);
  else
    ptx::barrier_arrive(&shared.loaded[stage]);
}

/// Draws tiles and loads them. Two tickets are in flight, since drawing one takes as long as half a tile. In
/// the end, tells every warp that there are no more tiles.
template <class Ring, class T, class Op>
__device__ __forceinline__ void load_tiles(typename Ring::Shared& shared, const ScanArrays<T>& arrays,
                                           uint32_t tiles, const Op& op, ScanState* state,
                                           StatusSlot<T>* slots) {
  const bool leads = ptx::lane_id() == 0;
  uint32_t next = leads ? draw_ticket(&state->tickets) : 0;
  uint32_t next_but_one = leads ? draw_ticket(&state->tickets) : 0;
  uint32_t tile = 0;
  for (uint32_t k = 0; tile < tiles; ++k) {
    const Turn<Ring> turn(k);
    tile = __shfl_sync(full_warp, next, 0);
    next = next_but_one;
    if (leads && tile < tiles) next_but_one = draw_ticket(&state->tickets);
    ptx::barrier_wait(&shared.taken[turn.stage], turn.stage_parity ^ 1);
    __syncwarp();  // otherwise the stage could be taken again before a lane has seen that it was
    const uint64_t first = uint64_t{tile} * Ring::elements;
    if (leads) shared.tile[turn.stage] = tile < tiles ? tile : Ring::no_tile;
    if (tile >= tiles) {
      if (leads) ptx::barrier_arrive(&shared.loaded[turn.stage]);
    } else if (first + Ring::elements <= arrays.size) {
      if (leads)
        ptx::bulk_load_and_arrive(shared.stage[turn.stage], arrays.in + first, Ring::bytes,
                                  &shared.loaded[turn.stage]);
    } else {
      load_part<Ring>(shared, turn.stage, arrays.in + first, arrays.size - first, op.identity());
    }
    __syncwarp();
  }
  // A block draws one ticket per tile and two more: this was the last ticket of all.
  if (leads && next_but_one == tiles + 2 * gridDim.x - 1) end_scan(state, shared.epoch, slots, tiles);
}

/// Adds up every tile and publishes its sum. One warp keeps up, because all its sums are in flight at once.
template <class Ring, class T, class Op>
__device__ __forceinline__ void reduce_tiles(typename Ring::Shared& shared, const TileStatuses<T>& statuses,
                                             const Op& op) {
  const uint32_t lane = ptx::lane_id();
  for (uint32_t k = 0;; ++k) {
    const Turn<Ring> turn(k);
    ptx::barrier_wait(&shared.loaded[turn.stage], turn.stage_parity);
    const uint32_t tile = tile_in<Ring>(shared, turn.stage);
    if (tile == Ring::no_tile) return;
    T mine = op.identity();  // lane i: the sum of scanner i's part
#pragma unroll
    for (uint32_t part = 0; part < Ring::scanners; ++part) {
      T sum = op.identity();
#pragma unroll
      for (uint32_t row = 0; row < Ring::rows; ++row) {
        const Vector<T> vector =
            shared.stage[turn.stage][part * Ring::Rows::vectors + row * warp_threads + lane];
#pragma unroll
        for (uint32_t at = 0; at < vector_elements<T>; ++at) sum = op(sum, vector.at[at]);
      }
      sum = warp_reduce<T, Op>(sum, op);  // by shuffles, all parts at once
      if (lane == part) mine = sum;
    }
    const T inclusive = warp_inclusive_scan(mine, op);
    const T before = warp_exclusive_from_inclusive(inclusive, op);
    if (lane == Ring::scanners - 1) statuses.publish(tile, Flag::partial, inclusive);
    if (lane < Ring::scanners) {
      shared.warp_before[turn.slot][lane] = before;
      ptx::barrier_arrive(&shared.ready[turn.slot]);
    }
    ptx::barrier_arrive(&shared.taken[turn.stage]);
  }
}

/// Finds what comes before each of the block's tiles.
template <class Ring, class T, class Op>
__device__ __forceinline__ void look_back(typename Ring::Shared& shared, const T* initial,
                                          const TileStatuses<T>& statuses, const Op& op) {
  T before = initial != nullptr ? *initial : static_cast<T>(op.identity());
  uint32_t seen = 0;  // tiles that `before` includes
  for (uint32_t k = 0;; ++k) {
    const Turn<Ring> turn(k);
    ptx::barrier_wait(&shared.loaded[turn.stage], turn.stage_parity);
    const uint32_t tile = tile_in<Ring>(shared, turn.stage);
    if (tile == Ring::no_tile) return;
    ptx::barrier_arrive(&shared.taken[turn.stage]);
    before = op(before, statuses.sum_of_partials(seen, tile, op));
    seen = tile;
    if (ptx::lane_id() == 0) {
      shared.prefix[turn.slot] = before;
      ptx::barrier_arrive(&shared.ready[turn.slot]);
    }
    __syncwarp();  // no lane waits for the next tile before lane 0 has arrived
  }
}

/// Scans one part of each tile and stores it.
template <class Ring, class T, class Op>
__device__ __forceinline__ void scan_tiles(typename Ring::Shared& shared, const ScanArrays<T>& arrays,
                                           uint32_t tiles, uint32_t part, const Op& op) {
  for (uint32_t k = 0;; ++k) {
    const Turn<Ring> turn(k);
    ptx::barrier_wait(&shared.loaded[turn.stage], turn.stage_parity);
    const uint32_t tile = tile_in<Ring>(shared, turn.stage);
    if (tile == Ring::no_tile) return;
    typename Ring::Rows rows;
    rows.load(shared.stage[turn.stage] + part * Ring::Rows::vectors);
    ptx::barrier_arrive(&shared.taken[turn.stage]);
    (void)rows.scan(op);

    ptx::barrier_wait(&shared.ready[turn.slot], turn.slot_parity);
    const T prefix = op(shared.prefix[turn.slot], shared.warp_before[turn.slot][part]);
    const T up_to_end = rows.finish(prefix, op, arrays.exclusive);
    const uint64_t first = uint64_t{tile} * Ring::elements + part * Ring::Rows::elements;
    rows.store(arrays.out, first, arrays.size, first + Ring::Rows::elements <= arrays.size);
    const bool at_end = tile == tiles - 1 && part == Ring::scanners - 1 && ptx::lane_id() == warp_threads - 1;
    if (at_end && arrays.total != nullptr) *arrays.total = up_to_end;
  }
}

template <class Ring, class T, class Op>
__global__ __launch_bounds__(Ring::threads, 1) void scan_ring_kernel(ScanArrays<T> arrays, Op op,
                                                                     uint32_t tiles, ScanState* state,
                                                                     StatusSlot<T>* slots) {
  if (ptx::is_before_90()) return;
  auto& shared = shared_memory<typename Ring::Shared>();
  const uint32_t warp = threadIdx.x / warp_threads;
  if (threadIdx.x == 0) {
    shared.epoch = state->epoch;
    ptx::barrier_init(&shared.filled, warp_threads);
    for (uint32_t stage = 0; stage < Ring::stages; ++stage) {
      ptx::barrier_init(&shared.loaded[stage], 1);
      // All lanes of the reduce, look-back and scan warps arrive.
      ptx::barrier_init(&shared.taken[stage], (2 + Ring::scanners) * warp_threads);
    }
    for (uint32_t slot = 0; slot < Ring::slots; ++slot)
      ptx::barrier_init(&shared.ready[slot], Ring::scanners + 1);  // those that write there arrive
    ptx::barriers_visible();
  }
  __syncthreads();
  const TileStatuses<T> statuses(slots, shared.epoch);
  if (warp == Ring::load_warp)
    load_tiles<Ring>(shared, arrays, tiles, op, state, slots);
  else if (warp == Ring::reduce_warp)
    reduce_tiles<Ring>(shared, statuses, op);
  else if (warp == Ring::look_back_warp)
    look_back<Ring>(shared, arrays.initial, statuses, op);
  else
    scan_tiles<Ring>(shared, arrays, tiles, warp - Ring::first_scanner, op);
}

}  // namespace scan_ring_detail

/// Whether the ring takes these elements and this operator: one warp must be able to add up all that a
/// multiprocessor scans.
template <class T, class Op>
inline constexpr bool can_scan_ring =
    Op::is_commutative && !is_slow<Op> && sizeof(T) <= 8 && 16 % sizeof(T) == 0;

/// Whether the ring takes these arrays.
template <class T>
bool suits_scan_ring(const ScanArrays<T>& arrays) {
  return arrays.size > 0 && is_vector_aligned(arrays.in) && is_vector_aligned(arrays.out);
}

/// Scans arrays that suit the ring. Neither allocates nor synchronises.
template <class Policy, class T, class Op>
void scan_ring(const ScanArrays<T>& arrays, const Op& op, const LookbackMemory<T>& memory,
               cudaStream_t stream) {
  using Ring = ScanRing<T, Policy>;
  const auto tiles = static_cast<uint32_t>(Ring::tiles(arrays.size));
  launch(scan_ring_detail::scan_ring_kernel<Ring, T, Op>,
         {std::min(tiles, multiprocessors()), Ring::threads, sizeof(typename Ring::Shared)}, stream, arrays,
         op, tiles, memory.state, memory.slots);
}

}  // namespace sweepsort
