// cuda_unique.hpp - stream compaction of sorted chunks behind one type-erased call.
#pragma once

#include "core/key_type.hpp"
#include "kernels/device_span.cuh"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace sweepsort {

/// Sorted keys in device memory (equal keys are adjacent), and where to write the distinct keys. For each,
/// `ends` gets the number of keys up to and including the last one equal to it. `different` and `ends` have
/// room for `most` entries. *found gets the number of distinct keys, which may be larger if the keys were not
/// in order. Everything is in device memory.
struct DeviceUnique {
  KeyType type = KeyType::u32;
  const void* keys = nullptr;
  uint32_t count = 0;
  void* different = nullptr;
  uint32_t* ends = nullptr;
  uint32_t most = 0;
  uint32_t* found = nullptr;
};

/// Device memory that device_unique needs besides the arrays, for up to `max_keys` keys. Pure. The memory
/// must be zero before the first call; after that it can be used for any number of consecutive calls.
size_t device_unique_workspace_bytes(uint64_t max_keys);

/// Runs in stream order, without allocating or synchronising. Throws CudaError if the launch fails.
/// `workspace` was made for at least `max_keys` keys, and nothing may have been taken from it yet.
void device_unique(const DeviceUnique& arrays, uint64_t max_keys, Workspace workspace, cudaStream_t stream);

}  // namespace sweepsort
