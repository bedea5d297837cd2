// referee.hpp - thrust::sort as a second opinion on a finished sort (--validate thrust).
//
// The only place of the product that calls it; it sorts nothing that gets written.
#pragma once

#include "core/key_type.hpp"

#include <cstddef>
#include <optional>
#include <span>

namespace sweepsort {

/// Throws Error where this build has no Thrust.
void require_referee();

/// Sorts `keys` in place by thrust::sort: on CUDA device `device`, or by its host back end where there is
/// none given, the build has no CUDA or the device has too little memory. Throws what Thrust does where the
/// device fails.
void referee_sort(std::span<std::byte> keys, KeyType type, Order order, std::optional<int> device);

}  // namespace sweepsort
