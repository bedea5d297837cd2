// cuda_unique.hpp - stream compaction of sorted chunks behind one type-erased call.
#pragma once

#include "core/key_type.hpp"
#include "kernels/device_span.cuh"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace sweepsort {

/// Keys in device memory of which equal ones are neighbours, and where each of them goes once, with the
/// number of keys up to the last one that equals it. `different` and `ends` have room for `most` of them;
/// *found: how many there are, which may be more if the keys were in no order. All of this is device memory.
struct DeviceUnique {
  KeyType type = KeyType::u32;
  const void* keys = nullptr;
  uint32_t count = 0;
  void* different = nullptr;
  uint32_t* ends = nullptr;
  uint32_t most = 0;
  uint32_t* found = nullptr;
};

/// Device memory that device_unique needs besides the arrays for up to so many keys. Pure. Zeros before the
/// first call; then good for any number, one after the other.
size_t device_unique_workspace_bytes(uint64_t max_keys);

/// In stream order; neither allocates nor synchronises. Throws CudaError if the launch fails. `workspace`,
/// made for `max_keys` keys or more, has nothing taken from it yet.
void device_unique(const DeviceUnique& arrays, uint64_t max_keys, Workspace workspace, cudaStream_t stream);

}  // namespace sweepsort
