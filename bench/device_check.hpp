// device_check.hpp - is a sorted array on the GPU right? The referee is CUB's stable sort of order-preserving
// bits, which knows neither our kernels nor CUB's own idea of signs and floats.
#pragma once

#include "bench/device_peer.hpp"

#include <cuda_runtime_api.h>

namespace sweepsort::bench {

/// Memory that the referee's sort needs for a case.
size_t referee_workspace_bytes(const SortCase& what);

/// Whether the referee can sort the case: keys of any type; values of 4 bytes for keys of 4 and 8, of 8 for
/// keys of 8.
bool referee_supports(const SortCase& what);

/// Writes the one right answer to `sorted.keys_out` and `sorted.values_out`. `spare` holds as many bytes as
/// the keys and is overwritten; it may be no other array of the call.
void referee_sort(const SortCase& what, const DeviceArrays& sorted, void* spare, cudaStream_t stream);

/// Whether two arrays are equal bit for bit. Waits for the answer. `flag`: one word of device memory.
bool equal_on_device(const void* a, const void* b, uint64_t bytes, DeviceSpan<uint32_t> flag,
                     cudaStream_t stream);

/// Whether keys stand in the order that a peer promises. Waits for the answer.
bool ordered_on_device(const SortCase& what, FloatOrder float_order, const void* keys,
                       DeviceSpan<uint32_t> flag, cudaStream_t stream);

/// values[i] = i, in values of 4 or 8 bytes.
void number_values(const SortCase& what, void* values, cudaStream_t stream);

}  // namespace sweepsort::bench
