// emulated_msd.hpp - takes the product's MSD sorts out of a program for the emulator. They begin at more
// records than it has time for, and are half of what cuda_sort.cu compiles. msd_sort_test runs the same
// kernels in small.
#pragma once

#include "kernels/radix_msd.cuh"

#include <stdexcept>

namespace sweepsort {

// These are no templates and are therefore preferred to one.
#define SWEEPSORT_WITHOUT_MSD(Bits, Value)                                          \
  inline void radix_msd(const SortArrays<Bits, Value>&, const MsdSettings<Bits>&,   \
                        const MsdWorkspace<Bits, Value>&, cudaStream_t) {           \
    throw std::logic_error("this test has too many records for its emulated sort"); \
  }
SWEEPSORT_WITHOUT_MSD(uint32_t, NoValue)
SWEEPSORT_WITHOUT_MSD(uint64_t, NoValue)
SWEEPSORT_WITHOUT_MSD(uint32_t, uint32_t)
SWEEPSORT_WITHOUT_MSD(uint32_t, uint64_t)
SWEEPSORT_WITHOUT_MSD(uint64_t, uint32_t)
SWEEPSORT_WITHOUT_MSD(uint64_t, uint64_t)
#undef SWEEPSORT_WITHOUT_MSD

}  // namespace sweepsort
