// grid_counts.cuh - where a block's records of each digit go, when the blocks of one launch share their
// counts: a matrix of counts in device memory, a barrier of the grid, sums of its columns. Satish, Harris &
// Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs", 2009, with the scan in every block.
//
//     digits    0  1  2  3        block 1 reads it all:     starts  0  5  9 15
//     block 0   3  1  4  0          totals  5  4  6  2      before  3  1  4  0
//     block 1   2  2  0  1                                  its records of digit 2 go to 9 + 4
//     block 2   0  1  2  1
//
// Every block sums up the whole matrix with all its threads, from the second-level cache: at most 64 KiB, or
// 128 KiB with digits of 9 bits. That costs less than the barrier that dividing the work would need.
#pragma once

#include "core/rounding.hpp"
#include "kernels/digit.cuh"
#include "kernels/ptx.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace sweepsort {

/// In shared memory: a block's counts, and what it gets from the others. The caller fills `own`.
template <uint32_t digits = digit_values>
struct GridCounts {
  /// A row of the matrix has the counts of one block, of 16 bits each. Eight columns are one vector. Vectors
  /// of the same columns lie side by side, so that a warp reads columns with coalesced loads.
  static constexpr uint32_t columns_per_vector = 8;
  static constexpr uint32_t vectors_per_row = digits / columns_per_vector;
  static constexpr uint32_t vectors_per_lane = vectors_per_row / warp_threads;  // if a warp handles a row
  static constexpr uint32_t max_counted = 0xffff;
  static_assert(vectors_per_lane * warp_threads == vectors_per_row);

  alignas(16) uint32_t own[digits];     // records of the block, or of its portion, by digit
  alignas(16) uint32_t staged[digits];  // where they start in the block's digit order
  alignas(16) uint32_t totals[digits];  // records of all blocks by digit
  alignas(16) uint32_t starts[digits];  // where they start in the array
  uint32_t before[digits];              // records of earlier blocks, and of this block's earlier portions, by
                                        // digit
  uint32_t to_array[digits];            // added to a place in the block's order, gives that in the array
  uint32_t largest;                     // records of the most frequent digit

  /// Writes the block's row, and fills `staged`. A count that does not fit 16 bits becomes the largest that
  /// does. Called by one warp.
  __device__ __forceinline__ void publish(uint4* matrix) {
    const uint4* const vectors = reinterpret_cast<const uint4*>(own);
#pragma unroll
    for (uint32_t v = ptx::lane_id(); v < vectors_per_row; v += warp_threads) {
      const uint4 a = vectors[2 * v];
      const uint4 b = vectors[2 * v + 1];
      const auto pair = [](uint32_t low, uint32_t high) {
        return min(low, max_counted) | min(high, max_counted) << 16;
      };
      matrix[v * gridDim.x + blockIdx.x] =
          make_uint4(pair(a.x, a.y), pair(a.z, a.w), pair(b.x, b.y), pair(b.z, b.w));
    }
    (void)sum_digits(own, staged);
  }

  /// Fills the rest. Called by the whole block, after a barrier of the grid. Columns from `used` on count as
  /// zero, whatever they contain. No published count is above `max_own`.
  template <uint32_t threads, uint32_t max_blocks, uint32_t max_own>
  __device__ __forceinline__ void collect(const uint4* matrix, uint32_t used) {
    for (uint32_t v = threadIdx.x / warp_threads; v < vectors_per_row; v += threads / warp_threads)
      sum_columns<max_blocks, max_own>(matrix + v * gridDim.x, v, v * columns_per_vector < used);
    __syncthreads();
    if (threadIdx.x < warp_threads) find_starts();
    __syncthreads();
  }

  /// Finds where the records of a portion go. Called by one warp, once for each portion, when all records are
  /// counted and `own` has the portion's counts.
  __device__ __forceinline__ void lay_out_portion() {
    (void)sum_digits(own, staged);
    __syncwarp();
#pragma unroll
    for (uint32_t d = ptx::lane_id(); d < digits; d += warp_threads) {
      to_array[d] = starts[d] + before[d] - staged[d];
      before[d] += own[d];
    }
  }

 private:
  /// One warp adds up eight columns: all rows, and those of earlier blocks. Each lane takes every 32nd row.
  template <uint32_t max_blocks, uint32_t max_own>
  __device__ __forceinline__ void sum_columns(const uint4* columns, uint32_t v, bool is_wanted) {
    constexpr uint32_t rows_per_lane = ceil_divide(max_blocks, warp_threads);
    static_assert(max_own <= max_counted);
    uint4 counts[rows_per_lane];
#pragma unroll
    for (uint32_t r = 0; r < rows_per_lane; ++r) {
      const uint32_t row = r * warp_threads + ptx::lane_id();
      counts[r] = is_wanted && row < gridDim.x ? columns[row] : make_uint4(0, 0, 0, 0);
    }
    // Sums of two columns share one word as long as they fit.
    constexpr uint32_t rows_per_sum = std::min(rows_per_lane, max_counted / max_own);
    uint32_t sums[16] = {};
#pragma unroll
    for (uint32_t first = 0; first < rows_per_lane; first += rows_per_sum) {
#pragma unroll
      for (uint32_t p = 0; p < 4; ++p) {
        uint32_t all = 0;
        uint32_t lower = 0;
#pragma unroll
        for (uint32_t r = first; r < min(first + rows_per_sum, rows_per_lane); ++r) {
          const uint32_t pair = p == 0   ? counts[r].x
                                : p == 1 ? counts[r].y
                                : p == 2 ? counts[r].z
                                         : counts[r].w;
          all += pair;
          lower += r * warp_threads + ptx::lane_id() < blockIdx.x ? pair : 0;
        }
        sums[2 * p] += all & 0xffff;
        sums[2 * p + 1] += all >> 16;
        sums[8 + 2 * p] += lower & 0xffff;
        sums[8 + 2 * p + 1] += lower >> 16;
      }
    }
    const uint32_t sum = warp_sums_of_16(sums);
    const uint32_t which = ptx::lane_id() / 2;
    uint32_t* const to = which < columns_per_vector ? totals : before;
    to[v * columns_per_vector + which % columns_per_vector] = sum;
  }

  /// Called by one warp.
  __device__ __forceinline__ void find_starts() {
    const uint32_t mine = sum_digits(totals, starts);
    const uint32_t most = warp_max(mine);
    if (ptx::lane_id() == 0) largest = most;
    __syncwarp();
#pragma unroll
    for (uint32_t d = ptx::lane_id(); d < digits; d += warp_threads)
      to_array[d] = starts[d] + before[d] - staged[d];
  }

  /// Makes the exclusive sums. Returns the largest of the lane's counts. Called by one warp.
  __device__ __forceinline__ static uint32_t sum_digits(const uint32_t (&counts)[digits],
                                                        uint32_t (&sums)[digits]) {
    constexpr uint32_t quads = 2 * vectors_per_lane;
    const uint4* const vectors = reinterpret_cast<const uint4*>(counts) + quads * ptx::lane_id();
    uint4 own_counts[quads];
    uint32_t sum = 0;
    uint32_t most = 0;
#pragma unroll
    for (uint32_t q = 0; q < quads; ++q) {
      const uint4 four = own_counts[q] = vectors[q];
      sum += four.x + four.y + four.z + four.w;
      most = max(most, max(max(four.x, four.y), max(four.z, four.w)));
    }
    uint32_t start = warp_inclusive_sum(sum) - sum;
    uint4* const out = reinterpret_cast<uint4*>(sums) + quads * ptx::lane_id();
#pragma unroll
    for (uint32_t q = 0; q < quads; ++q) {
      const uint4 four = own_counts[q];
      out[q] = make_uint4(start, start + four.x, start + four.x + four.y, start + four.x + four.y + four.z);
      start += four.x + four.y + four.z + four.w;
    }
    return most;
  }
};

}  // namespace sweepsort
