// positioned_file.hpp - reads and writes at positions, repeated until all bytes are done, through the page
// cache or past it.
#pragma once

#include "core/error.hpp"
#include "io/file_descriptor.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sweepsort {

/// How the large pieces of a file are transferred.
enum class Caching : uint8_t {
  use,     // through the page cache
  ask,     // reads go through the cache if their pages are there; writes go past it
  bypass,  // past it
};

/// One file opened twice: once through the page cache and, if possible, once past it (O_DIRECT).
///
/// A read of a range that is mostly in the page cache goes through the cache; any other read goes directly to
/// the disk, because on a cold file the page cache costs more time than the disk. A write goes past the
/// cache. The parts of a range at its two ends that are not whole pages of the system always go through the
/// cache, so they never share a page with a direct transfer. If a buffer is not aligned in memory, data is
/// copied through a small aligned buffer. All calls are thread-safe.
class PositionedFile {
 public:
  PositionedFile() = default;
  /// `name` is for messages. Opens the second descriptor if possible, unless `caching` is `use`.
  PositionedFile(FileDescriptor file, std::string name, Caching caching);
  PositionedFile(PositionedFile&& other) noexcept;
  PositionedFile& operator=(PositionedFile&& other) noexcept;

  int fd() const { return file_.get(); }
  const std::string& name() const { return name_; }

  /// Fills `to`. Throws Error ("shrank") if the file ends before.
  void read_at(uint64_t offset, std::span<std::byte> to) const;
  void write_at(uint64_t offset, std::span<const std::byte> from) const;

  /// Asks the system to load a range, from which small pieces will be read, into the page cache. Does not
  /// wait.
  void will_read(uint64_t offset, size_t bytes) const noexcept;

  /// Whether a read of this range would go straight to the disk.
  bool reads_past_cache(uint64_t offset, size_t bytes) const;

  /// Closes both descriptors; returns -1 with errno if that fails.
  int close() noexcept;

 private:
  bool use_direct() const { return direct_ && !direct_refused_.load(std::memory_order_relaxed); }
  bool is_cached(uint64_t offset, size_t bytes) const;
  /// The answer of is_cached for the first piece that was read in the same 64 MiB. Asking costs half as much
  /// as a read of 1 MiB, and threads that ask wait for each other.
  bool is_region_cached(uint64_t offset, size_t bytes) const;
  void read_buffered(uint64_t offset, std::span<std::byte> to) const;
  InputError ended_early(uint64_t offset) const;
  void write_buffered(uint64_t offset, std::span<const std::byte> from) const;
  bool read_direct(uint64_t offset, std::span<std::byte> to) const;
  bool write_direct(uint64_t offset, std::span<const std::byte> from) const;

  FileDescriptor file_;
  FileDescriptor direct_;
  std::string name_;
  Caching caching_ = Caching::use;
  // Some file systems accept the flag but refuse the transfer (EINVAL). From then on everything goes through
  // the cache.
  mutable std::atomic<bool> direct_refused_ = false;
  // region number + 1, and in the lowest bit whether it is cached
  mutable std::atomic<uint64_t> last_region_ = 0;
};

}  // namespace sweepsort
