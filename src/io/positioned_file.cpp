// positioned_file.cpp - the loops around pread and pwrite.
#include "io/positioned_file.hpp"

#include "core/error.hpp"
#include "core/pages.hpp"
#include "core/rounding.hpp"
#include "io/system_error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace sweepsort {
namespace {

constexpr size_t bounce_bytes = 1u << 20;

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// One aligned buffer per thread, allocated when first needed.
std::span<std::byte> bounce_buffer() {
  thread_local std::unique_ptr<std::byte, FreeMemory> buffer;
  if (!buffer) buffer.reset(static_cast<std::byte*>(std::aligned_alloc(io_alignment, bounce_bytes)));
  if (!buffer) throw std::bad_alloc();
  return {buffer.get(), bounce_bytes};
}

bool is_aligned(const void* memory) { return reinterpret_cast<uintptr_t>(memory) % io_alignment == 0; }

/// Splits a byte range of a file into [head][whole pages][tail].
struct AlignedSplit {
  size_t head;
  size_t middle;
  AlignedSplit(uint64_t offset, size_t bytes) {
    const size_t page = system_page_bytes();
    head = std::min(bytes, static_cast<size_t>((page - offset % page) % page));
    middle = (bytes - head) / page * page;
  }
};

/// For a longer write the kernel allocates pieces of memory of that size, and a virtual machine's host takes
/// back free pieces of that size first. Writing 1 GiB of runs took 3.4 s in writes of 1 MiB, and 0.6 s in
/// writes of this size.
constexpr size_t max_cached_write_bytes = 64u << 10;

/// Smaller transfers past the page cache cost more than they save.
constexpr size_t min_direct_bytes = 64u << 10;

}  // namespace

PositionedFile::PositionedFile(FileDescriptor file, std::string name, Caching caching)
    : file_(std::move(file)), name_(std::move(name)), caching_(caching) {
  if (caching == Caching::use) return;
  // Open a second file description through /proc, because a duplicated descriptor would share its flags with
  // the first.
  const int access = ::fcntl(file_.get(), F_GETFL) & O_ACCMODE;
  direct_ = FileDescriptor(
      retried([&] { return ::open(path_of(file_.get()).c_str(), access | O_DIRECT | O_CLOEXEC); }));
}

PositionedFile::PositionedFile(PositionedFile&& other) noexcept { *this = std::move(other); }

PositionedFile& PositionedFile::operator=(PositionedFile&& other) noexcept {
  file_ = std::move(other.file_);
  direct_ = std::move(other.direct_);
  name_ = std::move(other.name_);
  caching_ = other.caching_;
  direct_refused_ = other.direct_refused_.load();
  last_region_ = other.last_region_.load();
  return *this;
}

int PositionedFile::close() noexcept {
  const int direct = direct_.close();
  const int file = file_.close();
  return file != 0 ? file : direct;
}

bool PositionedFile::is_cached(uint64_t offset, size_t bytes) const {
  const size_t page_bytes = system_page_bytes();
  const uint64_t first = offset / page_bytes * page_bytes;
  const size_t length = static_cast<size_t>(offset - first) + bytes;
  // The mapping is never accessed, so no page is read, and a file that shrinks does no harm.
  void* const view = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, file_.get(), static_cast<off_t>(first));
  if (view == MAP_FAILED) return true;
  std::vector<unsigned char> pages(ceil_divide(length, page_bytes));
  // For other users' files the kernel reports every page as cached. The buffered read that follows is always
  // correct.
  const bool known = ::mincore(view, length, pages.data()) == 0;
  ::munmap(view, length);
  const auto there = std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; });
  return !known || static_cast<size_t>(there) * 2 >= pages.size();
}

bool PositionedFile::is_region_cached(uint64_t offset, size_t bytes) const {
  constexpr uint64_t region_bytes = 64u << 20;
  const uint64_t region = offset / region_bytes + 1;  // 0: nothing known yet
  const uint64_t known = last_region_.load(std::memory_order_relaxed);
  if (known >> 1 == region) return (known & 1) != 0;
  const bool cached = is_cached(offset, bytes);
  last_region_.store(region << 1 | (cached ? 1u : 0u), std::memory_order_relaxed);
  return cached;
}

/// The error for an early end: the file was truncated, or its system does not know its size, as in /sys.
InputError PositionedFile::ended_early(uint64_t offset) const {
  struct stat now {};
  if (::fstat(file_.get(), &now) == 0 && static_cast<uint64_t>(now.st_size) > offset)
    return InputError(fmt::format("{}: ends at byte {}, but its size says {}", name_, offset, now.st_size),
                      "pipe it in: cat FILE | sweepsort ... -");
  return InputError(fmt::format("{}: the file ends at byte {}: it shrank while it was read", name_, offset),
                    "try again when nobody is writing to it");
}

void PositionedFile::read_buffered(uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = ::pread(file_.get(), to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error_at(name_, "read", offset, errno);
    if (got == 0) throw ended_early(offset);
    offset += static_cast<uint64_t>(got);
    to = to.subspan(static_cast<size_t>(got));
  }
}

bool PositionedFile::read_direct(uint64_t offset, std::span<std::byte> to) const {
  const bool straight = is_aligned(to.data());
  while (!to.empty()) {
    const std::span<std::byte> place =
        straight ? to : bounce_buffer().first(std::min(to.size(), bounce_bytes));
    const ssize_t got = ::pread(direct_.get(), place.data(), place.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EINVAL) return false;
    if (got < 0) throw system_error_at(name_, "read", offset, errno);
    // A short read that is not aligned occurs at the end of a file that shrank; the buffered read then
    // reports it.
    const size_t whole = static_cast<size_t>(got) / io_alignment * io_alignment;
    if (whole == 0) {
      read_buffered(offset, to);
      return true;
    }
    if (!straight) std::memcpy(to.data(), place.data(), whole);
    offset += whole;
    to = to.subspan(whole);
  }
  return true;
}

void PositionedFile::will_read(uint64_t offset, size_t bytes) const noexcept {
  (void)::posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                        POSIX_FADV_WILLNEED);
}

bool PositionedFile::reads_past_cache(uint64_t offset, size_t bytes) const {
  const AlignedSplit split(offset, bytes);
  if (!use_direct() || split.middle < min_direct_bytes) return false;
  return caching_ != Caching::ask || !is_region_cached(offset, bytes);
}

void PositionedFile::read_at(uint64_t offset, std::span<std::byte> to) const {
  if (!reads_past_cache(offset, to.size())) return read_buffered(offset, to);
  const AlignedSplit split(offset, to.size());
  read_buffered(offset, to.first(split.head));
  if (!read_direct(offset + split.head, to.subspan(split.head, split.middle))) {
    direct_refused_ = true;
    return read_buffered(offset, to);
  }
  read_buffered(offset + split.head + split.middle, to.subspan(split.head + split.middle));
}

void PositionedFile::write_buffered(uint64_t offset, std::span<const std::byte> from) const {
  while (!from.empty()) {
    // A file that should bypass the cache but cannot gets large writes: its system may have no cache, and
    // then each write costs a round trip.
    const size_t most = caching_ == Caching::use ? max_cached_write_bytes : from.size();
    const ssize_t put =
        ::pwrite(file_.get(), from.data(), std::min(from.size(), most), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    // Without this, a write of 0 bytes would be repeated forever.
    if (put <= 0) throw system_error_at(name_, "write", offset, put < 0 ? errno : EIO);
    offset += static_cast<uint64_t>(put);
    from = from.subspan(static_cast<size_t>(put));
  }
}

bool PositionedFile::write_direct(uint64_t offset, std::span<const std::byte> from) const {
  const bool straight = is_aligned(from.data());
  while (!from.empty()) {
    std::span<const std::byte> piece = from;
    if (!straight) {
      piece = bounce_buffer().first(std::min(from.size(), bounce_bytes));
      std::memcpy(bounce_buffer().data(), from.data(), piece.size());
    }
    const ssize_t put = ::pwrite(direct_.get(), piece.data(), piece.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EINVAL) return false;
    if (put < 0) throw system_error_at(name_, "write", offset, errno);
    // A short write may end off the alignment grid. Writing its last block again as a whole keeps the next
    // write aligned.
    const size_t whole = static_cast<size_t>(put) / io_alignment * io_alignment;
    if (whole == 0) return false;
    offset += whole;
    from = from.subspan(whole);
  }
  return true;
}

void PositionedFile::write_at(uint64_t offset, std::span<const std::byte> from) const {
  const AlignedSplit split(offset, from.size());
  if (!use_direct() || split.middle < min_direct_bytes) return write_buffered(offset, from);
  write_buffered(offset, from.first(split.head));
  if (!write_direct(offset + split.head, from.subspan(split.head, split.middle))) {
    direct_refused_ = true;
    return write_buffered(offset, from);
  }
  write_buffered(offset + split.head + split.middle, from.subspan(split.head + split.middle));
}

}  // namespace sweepsort
