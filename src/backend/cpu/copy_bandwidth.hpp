// copy_bandwidth.hpp - how fast this machine copies and reads memory: the yardsticks beside bytes per second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sweepsort {

/// Smaller arrays may be in a cache.
inline constexpr size_t min_yardstick_bytes = 256u << 20;

/// Bytes/s read + written by `threads` threads that copy `from` to `to`; the best of five copies. Arrays that
/// are measured give the fairest yardstick: last-level caches of today hold much of 256 MiB. Others are made
/// where these are smaller than that.
double measure_copy_bandwidth(uint32_t threads, std::span<const std::byte> from = {},
                              std::span<std::byte> to = {});

/// The same of a read alone.
double measure_read_bandwidth(uint32_t threads, std::span<const std::byte> from = {});

}  // namespace sweepsort
