// pages.hpp - alignment of memory and file offsets.
#pragma once

#include "core/error.hpp"

#include <cstddef>

namespace sweepsort {

/// Alignment of file offsets and memory for reads and writes that bypass the page cache (O_DIRECT).
inline constexpr size_t io_alignment = 4096;

/// A page of this system's memory and page cache, in bytes; a multiple of io_alignment. 4096 on x86, up to 64
/// KiB on arm64.
size_t system_page_bytes();

/// The error for memory that the system does not grant, with a hint. `error` is an errno.
Error no_memory(size_t bytes, int error);

}  // namespace sweepsort
