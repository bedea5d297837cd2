// pages.hpp - the grids that memory and files lie on.
#pragma once

#include "core/error.hpp"

#include <cstddef>

namespace sweepsort {

/// Of file offsets and memory in reads and writes past the page cache (O_DIRECT).
inline constexpr size_t io_alignment = 4096;

/// A page of this system's memory and page cache, in bytes; a multiple of io_alignment. 4096 on x86, up to 64
/// KiB on arm64.
size_t system_page_bytes();

/// That so much memory cannot be had from the system, with a hint. `error`: errno.
Error no_memory(size_t bytes, int error);

}  // namespace sweepsort
