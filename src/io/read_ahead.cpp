// read_ahead.cpp - advice in small pieces, so that it ends soon.
#include "io/read_ahead.hpp"

#include <fcntl.h>

#include <algorithm>
#include <stop_token>
#include <utility>

namespace sweepsort {
namespace {

/// Some milliseconds of a disk. The call waits where the disk has enough to do.
constexpr uint64_t piece_bytes = 8u << 20;

void read_ahead(const std::stop_token& stop, const std::vector<const InputFile*>& files, uint64_t left) {
  for (const InputFile* file : files)
    for (uint64_t at = 0; !file->is_stream() && at < file->size(); at += piece_bytes) {
      const uint64_t bytes = std::min({piece_bytes, file->size() - at, left});
      if (stop.stop_requested() || bytes == 0) return;
      (void)::posix_fadvise(file->fd(), static_cast<off_t>(at), static_cast<off_t>(bytes),
                            POSIX_FADV_WILLNEED);
      left -= bytes;
    }
}

}  // namespace

ReadAhead::ReadAhead(std::vector<const InputFile*> files, uint64_t most_bytes)
    : thread_([files = std::move(files), most_bytes](const std::stop_token& stop) {
        read_ahead(stop, files, most_bytes);
      }) {}

}  // namespace sweepsort
