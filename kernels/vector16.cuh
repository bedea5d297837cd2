// vector16.cuh - the units in which device memory is best read and written: vectors of 16 bytes, the most
// that one load or store of a thread moves, and sectors of 32 bytes, the least that memory moves.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// The number of keys, or values, in a vector and in a sector.
template <class T>
inline constexpr uint32_t elements_per_vector = sizeof(uint4) / sizeof(T);
template <class T>
inline constexpr uint32_t elements_per_sector = 32 / sizeof(T);

/// Loaded and stored as `whole`, at addresses aligned to 16 bytes.
template <class T>
union Vector16 {
  uint4 whole;
  T elements[elements_per_vector<T>];
};

}  // namespace sweepsort
