// referee.hpp - thrust::sort as a second opinion on a finished sort (--validate thrust).
//
// This is the only place in the product that calls Thrust; its result is never written.
#pragma once

#include "core/bytes.hpp"
#include "core/key_type.hpp"

#include <cstddef>
#include <optional>
#include <span>

namespace sweepsort {

/// Throws Error if this build has no Thrust.
void require_referee();

/// Sorts `keys` in place with thrust::sort on CUDA device `device`, in `room` bytes of its memory. Uses
/// Thrust's host back end if no device is given, the build has no CUDA, or these bytes are too few. If the
/// device fails, throws what Thrust throws.
void referee_sort(std::span<std::byte> keys, KeyType type, Order order, std::optional<int> device,
                  Bytes room);

}  // namespace sweepsort
