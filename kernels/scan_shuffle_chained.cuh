// scan_shuffle_chained.cuh - prefix scan by warp shuffles, with a carry handed from tile to tile.
// Inside a warp: Hillis & Steele, "Data Parallel Algorithms", 1986, in registers. Between tiles: the chained
// scan of Yan, Long & Zhang, "StreamScan", 2013. Work O(n log 32), depth O(n / tile); moves 2n elements.
//
//     lane:   0   1   2   3          tile:  0 ──carry──> 1 ──carry──> 2 ──carry──> ...
//             a   b   c   d          ready counter:  1          2          3
//             a  ab  bc  cd
//             a  ab abc abcd         a tile waits until the counter says that it is its turn
//
// One pass over memory, but every tile waits for the one before it. So a scan takes at least the time of n /
// tile hand-overs. scan_lookback.cuh breaks that chain.
#pragma once

#include "kernels/launch.cuh"
#include "kernels/policy_scan.cuh"
#include "kernels/scan_lookback.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// Device memory of the chained scan. Zeros before the first scan; every scan leaves it ready for the next.
template <class T>
struct ChainMemory {
  struct Chain {
    uint32_t tickets;
    uint32_t ready;  // the tile whose turn it is: its carry is there
    T carry;         // everything before tile `ready`, combined
  };
  Chain* chain;

  explicit ChainMemory(Workspace& workspace) : chain(workspace.take<Chain>(1).data()) {}
};

namespace scan_shuffle_chained_detail {

template <class T>
using Tile = ScanLookbackTile<T, ScanPolicy<1024, 4, 1>>;

/// Waits for the tile's turn, passes the carry on, and returns what comes before the tile. Called by one
/// thread.
template <class T, class Op>
__device__ __forceinline__ T hand_over(typename ChainMemory<T>::Chain* chain, uint32_t tile, uint32_t tiles,
                                       const T& tile_sum, const T* initial, const Op& op) {
  const DeviceAtomic<uint32_t> ready(chain->ready);
  while (ready.load(cuda::memory_order_acquire) != tile) {
  }
  T before = chain->carry;
  if (tile == 0) before = initial != nullptr ? *initial : static_cast<T>(op.identity());
  if (tile == tiles - 1) {  // no other tile is left: back to the beginning
    chain->tickets = 0;
    ready.store(0, cuda::memory_order_relaxed);
  } else {
    chain->carry = op(before, tile_sum);
    ready.store(tile + 1, cuda::memory_order_release);
  }
  return before;
}

template <class T, class Op>
static __global__ __launch_bounds__(1024) void scan_shuffle_chained_kernel(
    ScanArrays<T> arrays, Op op, bool vectors, typename ChainMemory<T>::Chain* chain) {
  using Tile = scan_shuffle_chained_detail::Tile<T>;
  auto& shared = shared_memory<typename Tile::Shared>();
  const uint32_t warp = threadIdx.x / warp_threads;
  const uint32_t lane = ptx::lane_id();
  if (threadIdx.x == 0) shared.tile = draw_ticket(&chain->tickets);
  __syncthreads();
  const uint64_t tile = shared.tile;
  const uint64_t first = tile * Tile::elements + warp * Tile::Rows::elements;
  const bool whole = vectors && (tile + 1) * Tile::elements <= arrays.size;

  typename Tile::Rows rows;
  rows.load(arrays.in, first, arrays.size, whole, op.identity());
  const T sum = rows.scan(op);
  if (lane == 0) shared.warp_prefix[warp] = sum;
  __syncthreads();  // each warp's sum is there
  if (warp == 0) {
    const T inclusive = warp_inclusive_scan(shared.warp_prefix[lane], op);
    const T tile_sum = shuffle_from(inclusive, warp_threads - 1);
    T before = op.identity();
    if (lane == 0) before = hand_over(chain, shared.tile, gridDim.x, tile_sum, arrays.initial, op);
    before = shuffle_from(before, 0);
    shared.warp_prefix[lane] = op(before, warp_exclusive_from_inclusive(inclusive, op));
  }
  __syncthreads();  // what comes before each warp is there
  const T up_to_end = rows.finish(shared.warp_prefix[warp], op, arrays.exclusive);
  rows.store(arrays.out, first, arrays.size, whole);
  const bool at_end = tile == gridDim.x - 1 && threadIdx.x == blockDim.x - 1;
  if (at_end && arrays.total != nullptr) *arrays.total = up_to_end;
}

}  // namespace scan_shuffle_chained_detail

/// Scans arrays. Neither allocates nor synchronises.
template <class T, class Op>
void scan_shuffle_chained(const ScanArrays<T>& arrays, const Op& op, const ChainMemory<T>& memory,
                          cudaStream_t stream) {
  using namespace scan_shuffle_chained_detail;
  launch(scan_shuffle_chained_kernel<T, Op>,
         {static_cast<uint32_t>(Tile<T>::tiles(arrays.size)), 1024, sizeof(typename Tile<T>::Shared)}, stream,
         arrays, op, is_vector_aligned(arrays.in) && is_vector_aligned(arrays.out), memory.chain);
}

}  // namespace sweepsort
