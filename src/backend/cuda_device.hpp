// cuda_device.hpp - whether this build can use a CUDA device.
#pragma once

#include <string>

namespace sweepsort {

/// Throws Error if a device has not what the kernels of this build need. Costs no context. `name`: for the
/// message.
void require_usable(int device, const std::string& name);

/// Creates the current device's context and loads code; throws Error if there is none for it.
void wake_up(int device, const std::string& name);

}  // namespace sweepsort
