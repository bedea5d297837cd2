// team.hpp - the threads of the CPU backend: how many there are.
#pragma once

#include "core/team.hpp"

#include <cstdint>

namespace sweepsort {

/// Processors that this process may use: its affinity mask and its cgroup's quota, at least 1.
uint32_t available_threads();

}  // namespace sweepsort
