// cuda_sort.hpp - the kernels' sorts behind one type-erased call, compiled once for all users (backend,
// tests, bench).
#pragma once

#include "core/algorithm.hpp"
#include "core/key_type.hpp"
#include "kernels/device_span.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// One sort of arrays in device memory. `keys_out` may be `keys_in` (and `values_out` `values_in`) but must
/// not overlap it otherwise. Inputs that are not outputs are not changed. All pointers are aligned to 16
/// bytes.
struct DeviceSort {
  KeyType type = KeyType::u32;
  Order order = Order::ascending;
  SortAlgorithm algorithm = SortAlgorithm::automatic;
  uint64_t count = 0;
  uint32_t value_bytes = 0;  // 0 (keys alone), 4 or 8 (stable)
  const void* keys_in = nullptr;
  void* keys_out = nullptr;
  const void* values_in = nullptr;
  void* values_out = nullptr;
  // For tests: algorithms that would not be used on this device or for this size.
  // use the code path for devices that cannot run every kernel or lack lane order
  bool force_portable = false;
  uint64_t portion_keys = 0;  // keys in a portion of a pass (policy.cuh); 0: the tuned number
};

/// The minimum that a device needs to run the sorts of this build. Known without a device.
struct DeviceNeeds {
  uint32_t compute;       // compute capability, 75 is 7.5
  uint32_t shared_bytes;  // per block
};
DeviceNeeds device_sort_needs();

/// Device memory that device_sort needs besides the arrays. Pure; depends on type, count, value_bytes and
/// portion_keys.
size_t device_sort_workspace_bytes(const DeviceSort& sort);

/// Sorts on the current device in stream order. Neither allocates nor synchronises, except in the first sort
/// on a device, which tests how the device orders shared atomics. Every choice that depends on the data is
/// made on the device. Throws CudaError if a launch fails. Nothing may have been taken from `workspace` yet.
void device_sort(const DeviceSort& sort, Workspace workspace, cudaStream_t stream);

/// device_sort in steps, for keys that arrive in chunks: begin; digest for each chunk (in any order, on any
/// streams that are ordered with `begin` and `finish`); digest_borders with the first index of every chunk;
/// finish.
void device_sort_begin(const DeviceSort& sort, Workspace workspace, cudaStream_t stream);
void device_sort_digest(const DeviceSort& sort, uint64_t first, uint64_t count, Workspace workspace,
                        cudaStream_t stream);
void device_sort_digest_borders(const DeviceSort& sort, DeviceSpan<const uint64_t> starts,
                                Workspace workspace, cudaStream_t stream);
void device_sort_finish(const DeviceSort& sort, Workspace workspace, cudaStream_t stream);

/// What a sort decided; waits for it. `unsuitable`: a counting sort was requested for keys whose range is too
/// wide, and nothing was written.
struct DeviceSortOutcome {
  enum class Algorithm : uint8_t { already_sorted, reversed, counting, radix, msd, block, grid, unsuitable };
  Algorithm algorithm = Algorithm::already_sorted;
  uint32_t live_digits = 0;
};
DeviceSortOutcome device_sort_outcome(const DeviceSort& sort, Workspace workspace, cudaStream_t stream);

}  // namespace sweepsort
