// large_arrays.cuh - for tests whose arrays only kernels can make and judge: counts beyond 31 and 32 bits,
// and a grid of any size that passes over all elements.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

inline constexpr uint64_t two_to_31 = uint64_t{1} << 31;
inline constexpr uint64_t two_to_32 = uint64_t{1} << 32;

inline constexpr uint32_t blocks = 2048;
inline constexpr uint32_t threads = 256;

__device__ inline uint64_t first_index() { return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline uint64_t grid_threads() { return uint64_t{gridDim.x} * blockDim.x; }

}  // namespace sweepsort
