// copy_bandwidth.hpp - how fast this machine copies and reads memory, as a yardstick for bytes per second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sweepsort {

/// Smaller arrays may be in a cache.
inline constexpr size_t min_yardstick_bytes = 256u << 20;

/// Bytes/s (read + written) of `threads` threads that copy `from` to `to`; the best of five copies. The
/// arrays of the actual measurement give the fairest yardstick, because today's last-level caches hold much
/// of 256 MiB. If they are smaller than that, other arrays are allocated.
double measure_copy_bandwidth(uint32_t threads, std::span<const std::byte> from = {},
                              std::span<std::byte> to = {});

/// Bytes/s of reads; the best of five.
double measure_read_bandwidth(uint32_t threads, std::span<const std::byte> from = {});

}  // namespace sweepsort
