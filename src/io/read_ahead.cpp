// read_ahead.cpp - advice in small pieces, so that it ends soon.
#include "io/read_ahead.hpp"

#include <fcntl.h>

#include <algorithm>
#include <stop_token>
#include <system_error>

namespace sweepsort {
namespace {

/// Some milliseconds of a disk. The call waits where the disk has enough to do.
constexpr uint64_t piece_bytes = 8u << 20;

void read_ahead(const std::stop_token& stop, const std::vector<ReadAhead::Part>& parts, uint64_t left) {
  for (const ReadAhead::Part& part : parts) {
    for (uint64_t at = 0; at < part.bytes && left > 0 && !stop.stop_requested();) {
      const uint64_t bytes = std::min({piece_bytes, part.bytes - at, left});
      (void)::posix_fadvise(part.file->fd(), static_cast<off_t>(part.first_byte + at),
                            static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
      at += bytes;
      left -= bytes;
    }
  }
}

}  // namespace

ReadAhead::ReadAhead(const std::vector<Part>& parts, uint64_t most_bytes) {
  if (parts.empty()) return;
  try {
    thread_ = std::jthread(
        [parts, most_bytes](const std::stop_token& stop) { read_ahead(stop, parts, most_bytes); });
  } catch (const std::system_error&) {  // no more threads: they are read when it is their turn
  }
}

}  // namespace sweepsort
