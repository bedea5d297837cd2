// scan_blelloch.cuh - the work-efficient scan: an up-sweep and a down-sweep over a tree in shared memory.
// Blelloch, "Prefix Sums and Their Applications", 1990; for GPUs, and padded against bank conflicts: Harris,
// Sengupta & Owens, "Parallel Prefix Sum (Scan) with CUDA", GPU Gems 3, ch. 39, 2007. Work O(n), depth O(log
// n); moves 4n elements: each tile is read and written, and again when what comes before it is added.
//
//     up-sweep    3   1   7   0      down-sweep    3   4   7   0     the root becomes the identity
//                 3   4   7   7                    3   0   7   4     then each node gives its value to its left
//                 3   4   7  11                    0   3   4  11     child, and that + the left sum to its right
//
// A block scans one tile of 2048 elements, or of 512 wide ones, as shared memory is scarce on older devices.
// The tiles' sums are scanned in the same way, recursively, so any length will do.
#pragma once

#include "core/rounding.hpp"
#include "kernels/device_abilities.cuh"
#include "kernels/launch.cuh"
#include "kernels/scan_lookback.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// The index of a tree node in shared memory.
struct PlainIndex {
  __host__ __device__ static constexpr uint32_t of(uint32_t node) { return node; }
};

/// One place is left out after every 32, the number of banks. Nodes 2^k apart, which the sweeps access at the
/// same time, then lie in different banks.
struct PaddedIndex {
  __host__ __device__ static constexpr uint32_t of(uint32_t node) { return node + node / 32; }
};

/// Device memory for the sums of the tiles, for the sums of the tiles of these, and so on.
template <class T>
struct BlellochMemory {
  static constexpr uint32_t tile = sizeof(T) <= 16 ? 2048 : 512;
  static constexpr uint32_t max_levels = 6;  // 512^6 elements
  T* sums[max_levels];

  static constexpr uint64_t tiles(uint64_t size) { return size == 0 ? 1 : ceil_divide(size, tile); }

  BlellochMemory(Workspace& workspace, uint64_t size) {
    uint32_t level = 0;
    for (uint64_t count = tiles(size); count > 1; count = tiles(count))
      sums[level++] = workspace.take<T>(count).data();
  }
};

namespace scan_blelloch_detail {

/// Each thread takes two elements.
template <class T, class Index, class Op>
__device__ __forceinline__ T sweep_up_and_down(T* tree, const Op& op) {
  constexpr uint32_t tile = BlellochMemory<T>::tile;
  uint32_t distance = 1;
  for (uint32_t nodes = tile / 2; nodes > 0; nodes /= 2, distance *= 2) {
    __syncthreads();  // the level below is complete
    if (threadIdx.x < nodes) {
      const uint32_t left = Index::of(distance * (2 * threadIdx.x + 1) - 1);
      const uint32_t right = Index::of(distance * (2 * threadIdx.x + 2) - 1);
      tree[right] = op(tree[left], tree[right]);
    }
  }
  __syncthreads();
  const T sum = tree[Index::of(tile - 1)];
  __syncthreads();  // all threads have the sum before the root is overwritten
  if (threadIdx.x == 0) tree[Index::of(tile - 1)] = op.identity();
  for (uint32_t nodes = 1; nodes < tile; nodes *= 2) {
    distance /= 2;
    __syncthreads();  // the level above is complete
    if (threadIdx.x < nodes) {
      const uint32_t left = Index::of(distance * (2 * threadIdx.x + 1) - 1);
      const uint32_t right = Index::of(distance * (2 * threadIdx.x + 2) - 1);
      const T before = tree[right];
      tree[right] = op(before, tree[left]);
      tree[left] = before;
    }
  }
  __syncthreads();
  return sum;
}

/// Scans every tile by itself and stores its sum in `sums`. A single tile (`sums` is null) also gets what
/// comes before it.
template <class T, class Index, class Op>
static __global__ __launch_bounds__(BlellochMemory<T>::tile / 2) void scan_tiles_kernel(ScanArrays<T> arrays,
                                                                                        Op op, T* sums) {
  constexpr uint32_t tile = BlellochMemory<T>::tile;
  T* const tree = &shared_memory<T>();
  const uint64_t first = uint64_t{blockIdx.x} * tile;
  T mine[2];
  for (uint32_t half = 0; half < 2; ++half) {
    const uint32_t at = threadIdx.x + half * (tile / 2);
    mine[half] = first + at < arrays.size ? arrays.in[first + at] : static_cast<T>(op.identity());
    tree[Index::of(at)] = mine[half];
  }
  const T sum = sweep_up_and_down<T, Index>(tree, op);
  T before = op.identity();
  if (sums == nullptr) {
    if (arrays.initial != nullptr) before = *arrays.initial;
    if (threadIdx.x == 0 && arrays.total != nullptr) *arrays.total = op(before, sum);
  } else if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
  }
  for (uint32_t half = 0; half < 2; ++half) {
    const uint32_t at = threadIdx.x + half * (tile / 2);
    if (first + at >= arrays.size) continue;
    const T exclusive = op(before, tree[Index::of(at)]);
    arrays.out[first + at] = arrays.exclusive ? exclusive : op(exclusive, mine[half]);
  }
}

/// Combines every element of a tile with what the scan of the tiles' sums found to come before the tile.
template <class T, class Op>
static __global__ __launch_bounds__(BlellochMemory<T>::tile /
                                    2) void add_before_kernel(T* out, uint64_t size, const T* before, Op op) {
  constexpr uint32_t tile = BlellochMemory<T>::tile;
  for (uint32_t half = 0; half < 2; ++half) {
    const uint64_t at = uint64_t{blockIdx.x} * tile + half * (tile / 2) + threadIdx.x;
    if (at < size) out[at] = op(before[blockIdx.x], out[at]);
  }
}

template <class Index, class T, class Op>
void scan_level(const ScanArrays<T>& arrays, const Op& op, const BlellochMemory<T>& memory, uint32_t level,
                cudaStream_t stream) {
  constexpr uint32_t tile = BlellochMemory<T>::tile;
  const uint64_t tiles = BlellochMemory<T>::tiles(arrays.size);
  constexpr size_t shared_bytes = sizeof(T) * (Index::of(tile - 1) + 1);
  static_assert(shared_bytes <= DeviceAbilities::min_shared_bytes);
  const LaunchShape shape{static_cast<uint32_t>(tiles), tile / 2, shared_bytes};
  T* const sums = tiles > 1 ? memory.sums[level] : nullptr;
  launch(scan_tiles_kernel<T, Index, Op>, shape, stream, arrays, op, sums);
  if (tiles == 1) return;
  const ScanArrays<T> level_above{sums, sums, tiles, true, arrays.initial, arrays.total};
  scan_level<Index>(level_above, op, memory, level + 1, stream);
  launch(add_before_kernel<T, Op>, {shape.blocks, tile / 2}, stream, arrays.out, arrays.size,
         static_cast<const T*>(sums), op);
}

}  // namespace scan_blelloch_detail

/// Scans arrays of fewer than 2^42 elements, or 2^40 of more than 16 bytes each. Index: PlainIndex or
/// PaddedIndex. Neither allocates nor synchronises.
template <class Index, class T, class Op>
void scan_blelloch(const ScanArrays<T>& arrays, const Op& op, const BlellochMemory<T>& memory,
                   cudaStream_t stream) {
  scan_blelloch_detail::scan_level<Index>(arrays, op, memory, 0, stream);
}

}  // namespace sweepsort
