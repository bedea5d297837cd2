// cub_sort.hpp - cub::DeviceRadixSort behind one call; its kernels are compiled in separate translation
// units.
#pragma once

#include "bench/device_peer.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

namespace sweepsort::bench {

/// The type of the key count that is passed to CUB. CUB selects different kernels for each, and neither is
/// always faster.
enum class CubIndex : uint8_t { int32, int64 };

/// Whether this build has CUB's sort for the case, and the index type is large enough for its count.
bool cub_supports(const SortCase& what, CubIndex index);
size_t cub_workspace_bytes(const SortCase& what, CubIndex index);
void cub_sort(const SortCase& what, CubIndex index, const DeviceArrays& arrays, cudaStream_t stream);

/// "3.0.1".
std::string cub_version();

}  // namespace sweepsort::bench
