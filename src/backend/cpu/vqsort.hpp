// vqsort.hpp - Highway's vectorised quicksort, restricted to unsigned integers.
//
// Blacher et al., "Vectorized and performance-portable Quicksort", 2022. Not used for floats, because
// Debian's version loses NaNs.
#pragma once

#include <cstdint>

namespace sweepsort {

/// Whether this build has VQSort and this processor has vectors on which it runs well (AVX2 or better).
bool vqsort_available();

/// Whether it is also faster than our own radix sort in a bucket of 4 or 8 byte keys on this processor.
bool vqsort_pays(uint32_t key_bytes);

/// Sorts in ascending order; not stable; allocates little. Call only if vqsort_available().
void vqsort(uint32_t* keys, uint64_t count);
void vqsort(uint64_t* keys, uint64_t count);

}  // namespace sweepsort
