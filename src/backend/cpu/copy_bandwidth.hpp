// copy_bandwidth.hpp - how fast this machine copies and reads memory: the yardsticks beside bytes a second.
#pragma once

#include <cstdint>

namespace sweepsort {

/// Bytes/s read + written by `threads` threads that copy an array far beyond the caches; the best of five
/// copies.
double measure_copy_bandwidth(uint32_t threads);

/// The same of a read alone.
double measure_read_bandwidth(uint32_t threads);

}  // namespace sweepsort
