// device_check.hpp - checks a sorted array on the GPU. The referee is CUB's stable sort of order-preserving
// bits, which depends neither on our kernels nor on CUB's handling of signs and floats.
#pragma once

#include "bench/device_peer.hpp"

#include <cuda_runtime_api.h>

namespace sweepsort::bench {

/// The workspace that the referee's sort needs for a case.
size_t referee_workspace_bytes(const SortCase& what);

/// Whether the referee can sort the case: keys of any type; 4-byte values with keys of 4 and 8 bytes, 8-byte
/// values with keys of 8 bytes.
bool referee_supports(const SortCase& what);

/// Writes the only right result to `sorted.keys_out` and `sorted.values_out`. `spare` is as large as the keys
/// and is overwritten; it must not be another array of the call.
void referee_sort(const SortCase& what, const DeviceArrays& sorted, void* spare, cudaStream_t stream);

/// Whether two arrays are equal bit for bit. Waits for the result. `flag`: one word of device memory.
bool equal_on_device(const void* a, const void* b, uint64_t bytes, DeviceSpan<uint32_t> flag,
                     cudaStream_t stream);

/// Whether keys are in the order that a peer promises. Waits for the result.
bool ordered_on_device(const SortCase& what, FloatOrder float_order, const void* keys,
                       DeviceSpan<uint32_t> flag, cudaStream_t stream);

/// Sets values[i] = i, for values of 4 or 8 bytes.
void number_values(const SortCase& what, void* values, cudaStream_t stream);

}  // namespace sweepsort::bench
