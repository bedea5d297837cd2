// gpu.hpp - the search on the GPU, where this build has one.
#pragma once

#include "sweepsort.hpp"
#include "tour.hpp"

#include <optional>

namespace tsp {

/// The shortest tour, or nothing where there is no usable GPU.
std::optional<sweepsort::Argmin<uint32_t>> shortest_on_gpu(const TourLength& length);

}  // namespace tsp
