// bin_counts.cuh - counts by bin in device memory, to which many blocks add what they have counted.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// From all zeros on: a word a bin, or half of one if no count can be larger than that holds. Then one atomic
/// adds to two bins. H200, 65,536 bins of 132 blocks, us: words 26, halves 14, and 10 if the blocks begin at
/// different bins.
struct BinCounts {
  unsigned long long* words;  // as many as bins
  bool are_halves;

  __device__ __forceinline__ uint64_t at(uint32_t bin) const {
    return are_halves ? reinterpret_cast<const uint32_t*>(words)[bin] : words[bin];
  }
  __device__ __forceinline__ void add(uint32_t bin, uint32_t keys) const {
    if (are_halves)
      atomicAdd(&words[bin / 2], static_cast<unsigned long long>(keys) << bin % 2 * 32);
    else
      atomicAdd(&words[bin], static_cast<unsigned long long>(keys));
  }
  /// To an even bin and the next one.
  __device__ __forceinline__ void add(uint32_t bin, uint32_t keys, uint32_t next_keys) const {
    if (are_halves) {
      if ((keys | next_keys) != 0)
        atomicAdd(&words[bin / 2], static_cast<unsigned long long>(next_keys) << 32 | keys);
    } else {
      if (keys != 0) add(bin, keys);
      if (next_keys != 0) add(bin + 1, next_keys);
    }
  }
};

}  // namespace sweepsort
