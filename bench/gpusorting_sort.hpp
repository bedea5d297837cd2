// gpusorting_sort.hpp - GPUSorting's OneSweep, if SWEEPSORT_GPUSORTING_PATH names a checkout of it.
#pragma once

#include "bench/device_peer.hpp"

namespace sweepsort::bench {

/// Supports u32 keys alone, ascending, fewer than 2^30.
bool gpusorting_supports(const SortCase& what);
size_t gpusorting_workspace_bytes(const SortCase& what);
/// Sorts `arrays.keys_out` in place.
void gpusorting_sort(const SortCase& what, const DeviceArrays& arrays, cudaStream_t stream);

}  // namespace sweepsort::bench
