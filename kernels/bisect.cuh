// bisect.cuh - binary search in ascending elements.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// Index of the last of `size` ascending elements that is at most `key`; 0 if none is. `size` is at least 1.
/// The number of steps depends on `size` alone, so lanes that search together stay together.
template <class T>
__device__ __forceinline__ uint32_t last_at_most(const T* ascending, uint32_t size, T key) {
  uint32_t last = 0;
  for (uint32_t step = size; step > 1;) {
    step = (step + 1) / 2;
    const uint32_t further = last + step;
    if (further < size && ascending[further] <= key) last = further;
  }
  return last;
}

/// The same for several keys, each step for all of them, so that their loads are in flight at once.
template <class T, uint32_t n>
__device__ __forceinline__ void last_at_most(const T* ascending, uint32_t size, const T (&keys)[n],
                                             uint32_t (&last)[n]) {
#pragma unroll
  for (uint32_t& of_key : last) of_key = 0;
  for (uint32_t step = size; step > 1;) {
    step = (step + 1) / 2;
#pragma unroll
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t further = last[i] + step;
      if (further < size && ascending[further] <= keys[i]) last[i] = further;
    }
  }
}

/// Index of the first of `size` ascending elements that is at least `key`; `size` if none is.
template <class T>
__device__ __forceinline__ uint32_t first_at_least(const T* ascending, uint32_t size, T key) {
  uint32_t low = 0;
  while (low < size) {
    const uint32_t middle = (low + size) / 2;
    if (ascending[middle] < key)
      low = middle + 1;
    else
      size = middle;
  }
  return low;
}

}  // namespace sweepsort
