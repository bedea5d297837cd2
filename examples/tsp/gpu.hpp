// gpu.hpp - the search on the GPU, if this build has CUDA.
#pragma once

#include "sweepsort.hpp"
#include "tour.hpp"

#include <optional>

namespace tsp {

/// The shortest tour, or nothing if there is no usable GPU.
std::optional<sweepsort::Argmin<uint32_t>> shortest_on_gpu(const TourLength& length);

}  // namespace tsp
