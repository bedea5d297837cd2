// unique.cuh - stream compaction of keys in order: each distinct key once, and where its duplicates end.
// Horn, "Stream Reduction Operations for GPGPU Applications", GPU Gems 2, 2005, with the scan in the same
// launch: Merrill & Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016. Work O(n);
// reads n keys, writes each distinct key and a place.
//
//     keys        1  1  2  2  2  7
//     1 last?        *        *  *      the next key is another one, or there is none
//     2 rank         0        1  2      how many come before: by ballots in a row of a warp, by the scan's
//     3 key       1  2  7               look-back (scan_lookback.cuh) over warps and tiles
//       end       2  5  6               how many keys there are up to there
#pragma once

#include "kernels/launch.cuh"
#include "kernels/lookback.cuh"
#include "kernels/policy_scan.cuh"
#include "kernels/ptx.cuh"
#include "kernels/scan_lookback.cuh"
#include "kernels/scan_op.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// `count` keys (raw bits) whose duplicates are neighbours, and where the results go. `different` and `ends`
/// have room for `most` elements; further distinct keys are left out. *found: the number of distinct keys.
template <class Bits>
struct UniqueArrays {
  const Bits* keys;
  uint32_t count;
  Bits* different;
  uint32_t* ends;
  uint32_t most;
  uint32_t* found;
};

/// Device memory of unique(). Zeros before the first call. Then it serves any number of calls, one after the
/// other, with at most as many keys.
struct UniqueMemory : LookbackMemory<uint32_t> {
  UniqueMemory(Workspace& workspace, uint64_t max_keys)
      : LookbackMemory(workspace, UniquePolicy::tiles(max_keys)) {}
};

namespace unique_detail {

struct Shared {
  uint32_t
      warp_prefix[UniquePolicy::threads / warp_threads];  // first each warp's sum, then what comes before it
  uint32_t tile;
  uint32_t epoch;
};

template <class Bits>
__global__ __launch_bounds__(UniquePolicy::threads) void unique_kernel(UniqueArrays<Bits> arrays,
                                                                       ScanState* state,
                                                                       StatusSlot<uint32_t>* slots) {
  constexpr uint32_t rows = UniquePolicy::rows;
  auto& shared = shared_memory<Shared>();
  const uint32_t warp = threadIdx.x / warp_threads;
  const uint32_t lane = ptx::lane_id();
  if (threadIdx.x == 0) {
    shared.epoch = state->epoch;
    shared.tile = draw_ticket(&state->tickets);
  }
  __syncthreads();
  const uint32_t tile = shared.tile;

  // All loads are in flight together: beyond the last key, it is read again. (When each load had a condition,
  // and keys were compared with those that shuffles brought, 2^21 u32 keys took 22 us instead of 11.)
  const uint32_t end = arrays.count - 1;
  const uint32_t first = tile * UniquePolicy::tile + warp * rows * warp_threads + lane;
  Bits key[rows];
  Bits next[rows];
#pragma unroll
  for (uint32_t row = 0; row < rows; ++row) {
    const uint32_t at = first + row * warp_threads;
    key[row] = arrays.keys[min(at, end)];
    next[row] = arrays.keys[min(at + 1, end)];
  }
  uint32_t last[rows];  // one bit per lane
  uint32_t in_warp = 0;
#pragma unroll
  for (uint32_t row = 0; row < rows; ++row) {
    const uint32_t at = first + row * warp_threads;
    last[row] = __ballot_sync(full_warp, at == end || (at < end && key[row] != next[row]));
    in_warp += static_cast<uint32_t>(__popc(last[row]));
  }
  if (lane == 0) shared.warp_prefix[warp] = in_warp;
  __syncthreads();  // all warps' sums are there
  if (warp == 0)
    scan_lookback_detail::look_back<UniquePolicy::statuses_per_lane, uint32_t, Sum<uint32_t>>(
        shared.warp_prefix, tile, nullptr, TileStatuses<uint32_t>(slots, shared.epoch), {});
  __syncthreads();  // all warps' prefixes are there

  uint32_t before = shared.warp_prefix[warp];
#pragma unroll
  for (uint32_t row = 0; row < rows; ++row) {
    const uint32_t rank = before + static_cast<uint32_t>(__popc(last[row] & ptx::lanes_below()));
    if ((last[row] >> lane & 1) != 0 && rank < arrays.most) {
      arrays.different[rank] = key[row];
      arrays.ends[rank] = first + row * warp_threads + 1;
    }
    before += static_cast<uint32_t>(__popc(last[row]));
  }
  if (tile == gridDim.x - 1 && threadIdx.x == UniquePolicy::threads - 1) {
    *arrays.found = before;
    // The last tile has looked back, so all others have published, and thus their blocks have read the state.
    end_scan(state, shared.epoch, slots, gridDim.x);
  }
}

}  // namespace unique_detail

/// One launch. Neither allocates nor synchronises. Up to 2^31 keys.
template <class Bits>
void unique(const UniqueArrays<Bits>& arrays, const UniqueMemory& memory, cudaStream_t stream) {
  if (arrays.count == 0) return check(cudaMemsetAsync(arrays.found, 0, sizeof(*arrays.found), stream));
  const auto tiles = static_cast<uint32_t>(UniquePolicy::tiles(arrays.count));
  launch(unique_detail::unique_kernel<Bits>, {tiles, UniquePolicy::threads, sizeof(unique_detail::Shared)},
         stream, arrays, memory.state, memory.slots);
}

}  // namespace sweepsort
