// thrust_sort.hpp - thrust::sort with its temporary memory taken from the workspace.
#pragma once

#include "bench/device_peer.hpp"

namespace sweepsort::bench {

/// Keys alone, ascending, of the types that people sort most: each type costs the compiler seconds.
bool thrust_supports(const SortCase& what);
size_t thrust_workspace_bytes(const SortCase& what);
/// Sorts `arrays.keys_out` in place.
void thrust_sort(const SortCase& what, const DeviceArrays& arrays, cudaStream_t stream);

}  // namespace sweepsort::bench
