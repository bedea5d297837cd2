// scan_shuffle_chained.cuh - prefix scan by warp shuffles, with a carry handed from tile to tile.
// Inside a warp: Hillis & Steele, "Data Parallel Algorithms", 1986, with registers for memory. Between tiles:
// the chained scan of Yan, Long & Zhang, "StreamScan", 2013. Work O(n log 32), depth O(n / tile); moves 2n
// elements.
//
//     lane:   0   1   2   3          tile:  0 ──carry──> 1 ──carry──> 2 ──carry──> ...
//             a   b   c   d          ready counter:  1          2          3
//             a  ab  bc  cd
//             a  ab abc abcd         a tile waits until the counter says that it is its turn
//
// One pass over memory, but every tile waits for the one before it: the time of a hand-over, n / tile times,
// is the floor. scan_lookback.cuh breaks that chain.
#pragma once

#include "kernels/launch.cuh"
#include "kernels/scan_lookback.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// Device memory of the chained scan; zeros before the first scan, and left so by every scan.
template <class T>
struct ChainMemory {
  struct Chain {
    uint32_t tickets;
    uint32_t ready;  // tiles whose carry is there
    T carry;         // everything before tile `ready`, combined
  };
  Chain* chain;

  explicit ChainMemory(Workspace& workspace) : chain(workspace.take<Chain>(1).data()) {}
};

namespace scan_shuffle_chained_detail {

inline constexpr uint32_t threads = 1024;
inline constexpr uint32_t warps = threads / warp_threads;

template <class T>
struct Shared {
  T warp_prefix[warps];
  uint32_t tile;
};

/// One thread: waits for its turn, passes the carry on, and returns what comes before its tile.
template <class T, class Op>
__device__ __forceinline__ T hand_over(typename ChainMemory<T>::Chain* chain, uint32_t tile, uint32_t tiles,
                                       const T& tile_sum, const T* initial, const Op& op) {
  const DeviceAtomic<uint32_t> ready(chain->ready);
  while (ready.load(cuda::memory_order_acquire) != tile) {
  }
  T before = chain->carry;
  if (tile == 0) before = initial != nullptr ? *initial : static_cast<T>(op.identity());
  if (tile == tiles - 1) {  // nobody else is left: back to the beginning
    chain->tickets = 0;
    ready.store(0, cuda::memory_order_relaxed);
  } else {
    chain->carry = op(before, tile_sum);
    ready.store(tile + 1, cuda::memory_order_release);
  }
  return before;
}

template <class T, class Op>
static __global__ __launch_bounds__(threads) void scan_shuffle_chained_kernel(
    ScanArrays<T> arrays, Op op, typename ChainMemory<T>::Chain* chain) {
  auto& shared = shared_memory<Shared<T>>();
  const uint32_t warp = threadIdx.x / warp_threads;
  const uint32_t lane = ptx::lane_id();
  if (threadIdx.x == 0) shared.tile = draw_ticket(&chain->tickets);
  __syncthreads();
  const uint32_t tile = shared.tile;
  const uint64_t at = uint64_t{tile} * threads + threadIdx.x;

  const T mine = at < arrays.size ? arrays.in[at] : static_cast<T>(op.identity());
  const T in_warp = warp_inclusive_scan(mine, op);
  if (lane == warp_threads - 1) shared.warp_prefix[warp] = in_warp;
  __syncthreads();  // one value a warp is there
  if (warp == 0) {
    const T inclusive = warp_inclusive_scan(shared.warp_prefix[lane], op);
    const T tile_sum = shuffle_from(inclusive, warp_threads - 1);
    T before = op.identity();
    if (lane == 0) before = hand_over(chain, tile, gridDim.x, tile_sum, arrays.initial, op);
    before = shuffle_from(before, 0);
    shared.warp_prefix[lane] = op(before, warp_exclusive_from_inclusive(inclusive, op));
  }
  __syncthreads();  // what comes before each warp is there
  const T before_lane = warp_exclusive_from_inclusive(in_warp, op);
  const T before_me = op(shared.warp_prefix[warp], before_lane);
  const T up_to_me = op(before_me, mine);
  if (at < arrays.size) arrays.out[at] = arrays.exclusive ? before_me : up_to_me;
  if (tile == gridDim.x - 1 && threadIdx.x == threads - 1 && arrays.total != nullptr)
    *arrays.total = up_to_me;
}

}  // namespace scan_shuffle_chained_detail

/// Scans arrays of up to 2^41 elements. Neither allocates nor synchronises.
template <class T, class Op>
void scan_shuffle_chained(const ScanArrays<T>& arrays, const Op& op, const ChainMemory<T>& memory,
                          cudaStream_t stream) {
  using namespace scan_shuffle_chained_detail;
  const uint64_t tiles = arrays.size == 0 ? 1 : (arrays.size + threads - 1) / threads;
  launch(scan_shuffle_chained_kernel<T, Op>, {static_cast<uint32_t>(tiles), threads, sizeof(Shared<T>)},
         stream, arrays, op, memory.chain);
}

}  // namespace sweepsort
