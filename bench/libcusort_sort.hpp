// libcusort_sort.hpp - libcusort's radix sort, where SWEEPSORT_LIBCUSORT_PATH names a checkout of it.
#pragma once

#include "bench/device_peer.hpp"

#include <string>

namespace sweepsort::bench {

/// Unsigned keys, ascending, with the values that CUB is measured with: each type costs the compiler seconds.
bool libcusort_supports(const SortCase& what);
size_t libcusort_workspace_bytes(const SortCase& what);
void libcusort_sort(const SortCase& what, const DeviceArrays& arrays, cudaStream_t stream);

/// "1.0.0".
std::string libcusort_version();

}  // namespace sweepsort::bench
