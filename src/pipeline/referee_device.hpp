// referee_device.hpp - the referee's sort on a GPU; only in builds with CUDA.
#pragma once

#include "core/bytes.hpp"
#include "core/key_type.hpp"

#include <cstddef>
#include <span>

namespace sweepsort {

/// Sorts `keys` (host memory) in place with thrust::sort on CUDA device `device`, in at most `room` bytes of
/// its memory. Throws std::bad_alloc, with `keys` unchanged, if these are too few, or the device has not so
/// much; another std::exception if the device fails.
void referee_sort_on_device(std::span<std::byte> keys, KeyType type, Order order, int device, Bytes room);

}  // namespace sweepsort
