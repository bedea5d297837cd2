// cuda_device.hpp - whether this build can use a CUDA device.
#pragma once

#include <string>

namespace sweepsort {

/// Throws Error if a device lacks something that the kernels of this build need. Creates no context. `name`
/// is for the message.
void require_usable(int device, const std::string& name);

/// Creates the current device's context and loads the code. Throws Error if there is no code for it.
void wake_up(int device, const std::string& name);

}  // namespace sweepsort
