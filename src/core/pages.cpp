// pages.cpp - asks sysconf for the page size.
#include "core/pages.hpp"

#include "core/bytes.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace sweepsort {

size_t system_page_bytes() {
  static const size_t bytes =
      std::max(io_alignment, static_cast<size_t>(std::max(::sysconf(_SC_PAGESIZE), 0L)));
  return bytes;
}

Error no_memory(size_t bytes, int error) {
  return Error(
      "cannot allocate " + format_bytes(Bytes{bytes}) + " of memory: " + std::strerror(error),
      "free some memory, or raise the limits (ulimit -v, -d, cgroup); a sort does with less by --memory");
}

}  // namespace sweepsort
