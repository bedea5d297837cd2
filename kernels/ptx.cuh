// ptx.cuh - everything that CUDA C++ cannot say or the emulator must be told: each piece with its portable
// twin.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort::ptx {

/// Number of this thread inside its warp.
__device__ __forceinline__ uint32_t lane_id() {
#if defined(__CUDA_ARCH__)
  uint32_t lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
#else
  return threadIdx.x % 32;
#endif
}

/// One bit for every lane below this one.
__device__ __forceinline__ uint32_t lanes_below() {
#if defined(__CUDA_ARCH__)
  uint32_t mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
#else
  return (1u << lane_id()) - 1;
#endif
}

/// Adds 1 to `*counter` (shared memory) for each lane that is `present` and returns the old value, where
/// lanes that add to one counter are served in lane order. The whole warp calls it. The hardware does so, but
/// its manual does not promise it: use it only on a device where test_lane_order() found no exception
/// (radix_rank.cuh).
__device__ __forceinline__ uint32_t lane_ordered_increment(uint32_t* counter, bool present) {
#if defined(__CUDACC__)
  return present ? atomicAdd(counter, 1u) : 0u;
#else
  return emulated_lane_ordered_atomic_add(counter, present ? 1u : 0u, 0xffffffffu);
#endif
}

/// 16 bytes that will not be read again: evict first.
__device__ __forceinline__ uint4 load_streaming(const uint4* at) { return __ldcs(at); }

}  // namespace sweepsort::ptx
