// page_cache.hpp - what of a file is in memory, and out with it.
#pragma once

#include "catch.hpp"
#include "io/file_descriptor.hpp"
#include "io/parallel_chunks.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace sweepsort::test {

/// Evicts a file from the page cache, so that a read has to go to the disk; in vain in a tmpfs.
inline void make_cold(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY));
  ::fsync(file.get());
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
}

/// How much of a file is in the page cache, in whole pages.
inline size_t cached_bytes(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY));
  const size_t bytes = std::filesystem::file_size(path);
  void* const view = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.get(), 0);
  REQUIRE(view != MAP_FAILED);
  std::vector<unsigned char> pages((bytes + io_alignment - 1) / io_alignment);
  REQUIRE(::mincore(view, bytes, pages.data()) == 0);
  ::munmap(view, bytes);
  const auto there = std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; });
  return static_cast<size_t>(there) * io_alignment;
}

}  // namespace sweepsort::test
