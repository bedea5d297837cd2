// scan.cuh - every scan behind one call: the only switch over the enum.
//
// For elements and an operator of your own, include this header in a .cu file and call scan(). scan_op.cuh
// says what an operator must provide. All algorithms take any length, inclusive and exclusive scans, and
// operators that do not commute.
#pragma once

#include "core/scan.hpp"
#include "kernels/policy_scan.cuh"
#include "kernels/scan_blelloch.cuh"
#include "kernels/scan_hillis_steele.cuh"
#include "kernels/scan_lookback.cuh"
#include "kernels/scan_ring.cuh"
#include "kernels/scan_shuffle_chained.cuh"
#include "kernels/scan_wave.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <type_traits>

namespace sweepsort {

namespace scan_detail {

/// Arrays of up to this many tiles are scanned by SmallScan and MediumScan. Their tiles are smaller than
/// LargeScan's, which is better than idle multiprocessors (policy.cuh).
inline constexpr uint32_t max_small_tiles = 64;
inline constexpr uint32_t max_medium_tiles = 128;

/// Elements of `tiles` tiles.
template <class T, class Policy>
constexpr uint64_t elements_of(uint32_t tiles) {
  return uint64_t{tiles} * ScanLookbackTile<T, Policy>::elements;
}

/// Enough tiles for every scan of up to `size` elements.
template <class T>
uint64_t max_tiles(uint64_t size) {
  const auto tiles = [&]<class Policy>(std::type_identity<Policy>, uint64_t most) {
    return ScanLookbackTile<T, Policy>::tiles(std::min(size, most));
  };
  uint64_t most =
      std::max({tiles(std::type_identity<SmallScan>{}, elements_of<T, SmallScan>(max_small_tiles)),
                tiles(std::type_identity<MediumScan>{}, elements_of<T, MediumScan>(max_medium_tiles)),
                tiles(std::type_identity<LargeScan>{}, size)});
  if constexpr (sizeof(T) <= 8) most = std::max(most, ScanRing<T>::tiles(size));
  return most;
}

/// The memory of the scans with a look-back, whatever the size. The wave's comes first, always at the same
/// place.
template <class T>
struct Memory {
  ScanWaveMemory<T> wave;
  LookbackMemory<T> lookback;
  Memory(Workspace& workspace, uint64_t size) : wave(workspace), lookback(workspace, max_tiles<T>(size)) {}
};

template <class T, class Op>
void look_back(const ScanArrays<T>& arrays, const Op& op, const Memory<T>& memory, uint64_t ring_from_bytes,
               cudaStream_t stream) {
  if constexpr (can_scan_ring<T, Op>) {
    if (arrays.size * sizeof(T) >= ring_from_bytes && suits_scan_ring(arrays) && device_abilities().is_full())
      return scan_ring<TunedScanRing<T>>(arrays, op, memory.lookback, stream);
  }
  if constexpr (can_scan_wave<T, Op>) {
    if (suits_scan_wave(arrays)) {
      if (arrays.size <= elements_of<T, SmallScanWave<T>>(128))
        return scan_wave<SmallScanWave<T>>(arrays, op, memory.wave, stream);
      if (arrays.size <= elements_of<T, MediumScanWave<T>>(ScanWave::max_tiles))
        return scan_wave<MediumScanWave<T>>(arrays, op, memory.wave, stream);
    }
  } else {
    if (arrays.size <= elements_of<T, SmallScan>(max_small_tiles))
      return scan_lookback<SmallScan>(arrays, op, memory.lookback, stream);
    if (arrays.size <= elements_of<T, MediumScan>(max_medium_tiles))
      return scan_lookback<MediumScan>(arrays, op, memory.lookback, stream);
  }
  scan_lookback<LargeScan>(arrays, op, memory.lookback, stream);
}

[[noreturn]] inline void refuse_algorithm() { throw std::invalid_argument("not an algorithm of the GPU"); }

}  // namespace scan_detail

/// Device memory that scan() needs for up to `size` elements. A pure function. The memory is zero before the
/// first scan. It then serves any number of scans by the same algorithm of at most as many elements, one
/// after the other.
template <class T>
size_t scan_workspace_bytes(ScanAlgorithm algorithm, uint64_t size) {
  Workspace workspace;
  switch (algorithm) {
    case ScanAlgorithm::automatic:
    case ScanAlgorithm::lookback: (void)scan_detail::Memory<T>(workspace, size); break;
    case ScanAlgorithm::shuffle: (void)ChainMemory<T>(workspace); break;
    case ScanAlgorithm::blelloch:
    case ScanAlgorithm::blelloch_padded: (void)BlellochMemory<T>(workspace, size); break;
    case ScanAlgorithm::hillis_steele: (void)HillisSteeleMemory<T>(workspace, size); break;
    default: scan_detail::refuse_algorithm();
  }
  return workspace.used();
}

/// Arrays of at least this many bytes use the ring, if they suit it (docs/scans.md).
inline constexpr uint64_t scan_ring_from_bytes = (uint64_t{8} << 20) + 1;

/// Scans in stream order; neither allocates nor synchronises, and may be captured into a graph. Throws
/// std::invalid_argument for the algorithms of the CPU, CudaError if a launch fails.
template <class T, class Op>
requires ScanOperator<Op, T>
void scan(ScanAlgorithm algorithm, const ScanArrays<T>& arrays, const Op& op, Workspace workspace,
          cudaStream_t stream, uint64_t ring_from_bytes = scan_ring_from_bytes) {
  switch (algorithm) {
    case ScanAlgorithm::automatic:
    case ScanAlgorithm::lookback:
      return scan_detail::look_back(arrays, op, scan_detail::Memory<T>(workspace, arrays.size),
                                    ring_from_bytes, stream);
    case ScanAlgorithm::shuffle: return scan_shuffle_chained(arrays, op, ChainMemory<T>(workspace), stream);
    case ScanAlgorithm::blelloch:
      return scan_blelloch<PlainIndex>(arrays, op, BlellochMemory<T>(workspace, arrays.size), stream);
    case ScanAlgorithm::blelloch_padded:
      return scan_blelloch<PaddedIndex>(arrays, op, BlellochMemory<T>(workspace, arrays.size), stream);
    case ScanAlgorithm::hillis_steele:
      return scan_hillis_steele(arrays, op, HillisSteeleMemory<T>(workspace, arrays.size), stream);
    default: scan_detail::refuse_algorithm();
  }
}

}  // namespace sweepsort
