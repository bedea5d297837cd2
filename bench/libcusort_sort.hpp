// libcusort_sort.hpp - libcusort's radix sort, if SWEEPSORT_LIBCUSORT_PATH names a checkout of it.
#pragma once

#include "bench/device_peer.hpp"

#include <string>

namespace sweepsort::bench {

/// Supports unsigned keys, ascending, with the same values as for CUB; each type takes seconds to compile.
bool libcusort_supports(const SortCase& what);
size_t libcusort_workspace_bytes(const SortCase& what);
void libcusort_sort(const SortCase& what, const DeviceArrays& arrays, cudaStream_t stream);

/// "1.0.0".
std::string libcusort_version();

}  // namespace sweepsort::bench
