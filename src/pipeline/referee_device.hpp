// referee_device.hpp - the referee's sort on a GPU; only in builds with CUDA.
#pragma once

#include "core/key_type.hpp"

#include <cstddef>
#include <span>

namespace sweepsort {

/// Sorts `keys` (host memory) in place with thrust::sort on CUDA device `device`. Throws what Thrust throws
/// (a std::exception) if the device fails, for example because it has too little memory.
void referee_sort_on_device(std::span<std::byte> keys, KeyType type, Order order, int device);

}  // namespace sweepsort
