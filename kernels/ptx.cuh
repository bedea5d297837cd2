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

/// Adds `addend` to `*counter` (shared memory) and returns the old value, where the lanes of a full warp that
/// add to one counter are served in lane order. The hardware does so, but its manual does not promise it: use
/// it only where lane_order_holds() has been tested (radix_rank.cuh).
__device__ __forceinline__ uint32_t lane_ordered_add(uint32_t* counter, uint32_t addend) {
#if defined(__CUDACC__)
  return atomicAdd(counter, addend);
#else
  return emulated_lane_ordered_atomic_add(counter, addend, 0xffffffffu);
#endif
}

/// 16 bytes that will not be read again: evict first.
__device__ __forceinline__ uint4 load_streaming(const uint4* at) { return __ldcs(at); }

}  // namespace sweepsort::ptx
