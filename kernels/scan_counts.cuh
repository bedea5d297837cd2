// scan_counts.cuh - exclusive scan of a histogram into bucket offsets, in one pass and in place.
// Merrill & Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016. Work O(n), moves 2n
// counts.
//
//     counts:   3  0  2  7  1        offsets:   0  3  3  5  12
#pragma once

#include "core/rounding.hpp"
#include "kernels/block.cuh"
#include "kernels/launch.cuh"
#include "kernels/lookback.cuh"
#include "kernels/ptx.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace scan_counts_detail {

inline constexpr uint32_t threads = 256;
inline constexpr uint32_t counts_per_thread = 8;
inline constexpr uint32_t tile = threads * counts_per_thread;

using Statuses = LookbackTable<uint64_t, 1>;

struct Shared {
  uint64_t warp_sums[threads / warp_threads];
  uint64_t before;
  uint32_t ticket;
};

static __global__ __launch_bounds__(threads) void scan_counts_kernel(uint64_t* counts, uint64_t size,
                                                                     uint64_t* words, uint32_t* tickets,
                                                                     const uint32_t* wanted) {
  ptx::wait_for_previous_launch();
  if (wanted != nullptr && *wanted == 0) return;
  Shared& shared = shared_memory<Shared>();
  if (threadIdx.x == 0) shared.ticket = draw_ticket(tickets);
  __syncthreads();
  const uint64_t row = shared.ticket;
  const uint64_t first = row * tile + threadIdx.x * counts_per_thread;

  uint64_t mine[counts_per_thread];
  uint64_t sum = 0;
#pragma unroll
  for (uint32_t k = 0; k < counts_per_thread; ++k) {
    mine[k] = first + k < size ? counts[first + k] : 0;
    sum += mine[k];
  }
  uint64_t tile_sum = 0;
  const uint64_t before_me = block_exclusive_sum<threads>(sum, shared.warp_sums, tile_sum);

  if (threadIdx.x == 0) {
    const Statuses statuses(words, 0);
    statuses.publish_partial(row, 0, tile_sum);
    shared.before = statuses.sum_before(row, 0);
    statuses.publish_prefix(row, 0, shared.before + tile_sum);
  }
  __syncthreads();
  uint64_t offset = shared.before + before_me;
#pragma unroll
  for (uint32_t k = 0; k < counts_per_thread; ++k) {
    if (first + k < size) counts[first + k] = offset;
    offset += mine[k];
  }
}

}  // namespace scan_counts_detail

/// Device memory that scan_counts needs; all zeros before each call.
struct ScanCountsWorkspace {
  DeviceSpan<uint64_t> statuses;
  DeviceSpan<uint32_t> ticket;

  static constexpr uint64_t tiles(uint64_t size) { return ceil_divide(size, scan_counts_detail::tile); }
  ScanCountsWorkspace(Workspace& workspace, uint64_t size)
      : statuses(workspace.take<uint64_t>(tiles(size))), ticket(workspace.take<uint32_t>(1)) {}
};

/// counts[i] becomes the sum of all counts before i. Sums stay below 2^62. Does nothing if `wanted` (device
/// memory) is not null and *wanted is zero.
inline void scan_counts(DeviceSpan<uint64_t> counts, const uint32_t* wanted,
                        const ScanCountsWorkspace& workspace, cudaStream_t stream) {
  using namespace scan_counts_detail;
  launch_chained(scan_counts_kernel,
                 {static_cast<uint32_t>(ScanCountsWorkspace::tiles(counts.size())), threads, sizeof(Shared)},
                 stream, counts.data(), counts.size(), workspace.statuses.data(), workspace.ticket.data(),
                 wanted);
}

}  // namespace sweepsort
