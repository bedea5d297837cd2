// thrust_sort.hpp - thrust::sort with its temporary memory taken from the workspace.
#pragma once

#include "bench/device_peer.hpp"

namespace sweepsort::bench {

/// Supports keys alone, ascending, of the most common types; each type takes seconds to compile.
bool thrust_supports(const SortCase& what);
size_t thrust_workspace_bytes(const SortCase& what);
/// Sorts `arrays.keys_out` in place.
void thrust_sort(const SortCase& what, const DeviceArrays& arrays, cudaStream_t stream);

}  // namespace sweepsort::bench
