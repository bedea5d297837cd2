// vqsort.hpp - Highway's vectorised quicksort behind a door that only unsigned integers fit through.
//
// Blacher et al., "Vectorized and performance-portable Quicksort", 2022. Never floats: Debian's version loses
// NaNs.
#pragma once

#include <cstdint>

namespace sweepsort {

/// Whether this build has VQSort and this processor vectors that make it run well (AVX2 or better).
bool vqsort_available();

/// Whether it also beats our own radix sort in a bucket of 4 or 8 byte keys on this processor.
bool vqsort_pays(uint32_t key_bytes);

/// Sorts ascending, not stable, without allocating much. Only if vqsort_available().
void vqsort(uint32_t* keys, uint64_t count);
void vqsort(uint64_t* keys, uint64_t count);

}  // namespace sweepsort
