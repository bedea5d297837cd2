// bytes.hpp - sizes and counts as people write them, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sweepsort {

/// A number of bytes: a separate type, so that it is never mistaken for a count of keys.
struct Bytes {
  uint64_t value = 0;
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
};

/// The default size limit of one transfer between files, memory and devices.
inline constexpr size_t default_chunk_bytes = 8u << 20;
/// Maximum number of threads that read or write. Each has a buffer, and more threads would not be faster.
inline constexpr uint32_t max_io_workers = 16;

/// "4096", "2^20", "1e6", "4G" and "4GiB" (powers of 1024), "4GB" and "4kB" (powers of 1000). Throws
/// UsageError that names `option` and `text` for anything else, an overflow included.
Bytes parse_bytes(std::string_view text, std::string_view option);

/// "1000", "1_000_000", "1e9", "2.5e6", "2^28", "2^28+3", also the suffixes K M G T (powers of 1000 for
/// counts, as in "10M keys"). The value must be a whole number below 2^64. Throws UsageError like
/// parse_bytes.
uint64_t parse_count(std::string_view text, std::string_view option);

/// "1.5 GiB", "17 bytes": for people.
std::string format_bytes(Bytes bytes);

/// "268,435,456": for people.
std::string format_count(uint64_t count);

}  // namespace sweepsort
