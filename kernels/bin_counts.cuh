// bin_counts.cuh - counts by bin in device memory, to which many blocks add their own.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// Counts, initially zero: one word per bin, or half a word if no count can exceed it. Then one atomic adds
/// to two bins. H200, 65,536 bins of 132 blocks, us: words 26, halves 14, and 10 if the blocks begin at
/// different bins.
struct BinCounts {
  unsigned long long* words;  // one per bin
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
  /// Adds to an even bin and the next one.
  __device__ __forceinline__ void add(uint32_t bin, uint32_t keys, uint32_t next_keys) const {
    if (are_halves) {
      if ((keys | next_keys) != 0)
        atomicAdd(&words[bin / 2], static_cast<unsigned long long>(next_keys) << 32 | keys);
    } else {
      if (keys != 0) add(bin, keys);
      if (next_keys != 0) add(bin + 1, next_keys);
    }
  }
  /// Adds what a block has counted, keys_of(bin), to `bins` bins, an even number. Its first `threads` threads
  /// do it. Each block begins at another bin, because otherwise all would wait for the same words.
  template <class KeysOf>
  __device__ __forceinline__ void add_all(uint32_t bins, uint32_t threads, KeysOf keys_of) const {
    const uint32_t pairs = bins / 2;
    const uint32_t first_pair = blockIdx.x * pairs / gridDim.x;
    for (uint32_t i = threadIdx.x; i < pairs; i += threads) {
      const uint32_t bin = 2 * ((first_pair + i) % pairs);
      add(bin, keys_of(bin), keys_of(bin + 1));
    }
  }
};

}  // namespace sweepsort
