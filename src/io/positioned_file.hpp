// positioned_file.hpp - positioned reads and writes that loop until all is done, through the page cache or
// past it.
#pragma once

#include "core/error.hpp"
#include "io/file_descriptor.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sweepsort {

/// Which way the large pieces of a file go.
enum class Caching : uint8_t {
  use,     // through the page cache
  ask,     // reads through it where they find their pages there, writes past it
  bypass,  // past it
};

/// The same file opened twice: once through the page cache, once past it (O_DIRECT), if that is possible.
///
/// A read of a range that is mostly in the page cache goes there, any other straight to the disk: on a cold
/// file the page cache costs more time than the disk. A write goes past the cache. What is no whole page of
/// the system at the two ends of a range goes through the cache, and so never shares a page with a direct
/// piece. A buffer that is not aligned in memory is copied through a small aligned one. All calls are
/// thread-safe.
class PositionedFile {
 public:
  PositionedFile() = default;
  /// `name` is for messages. Opens the second descriptor, if it can, unless the cache is to be used.
  PositionedFile(FileDescriptor file, std::string name, Caching caching);
  PositionedFile(PositionedFile&& other) noexcept;
  PositionedFile& operator=(PositionedFile&& other) noexcept;

  int fd() const { return file_.get(); }
  const std::string& name() const { return name_; }

  /// Fills `to`; a file that ends before is an Error ("shrank").
  void read_at(uint64_t offset, std::span<std::byte> to) const;
  void write_at(uint64_t offset, std::span<const std::byte> from) const;

  /// Asks for a range to come to the page cache, where small pieces are read, and does not wait for it.
  void will_read(uint64_t offset, size_t bytes) const noexcept;

  /// Whether a read of this range would go straight to the disk.
  bool reads_past_cache(uint64_t offset, size_t bytes) const;

  /// Closes both; -1 and errno if that fails.
  int close() noexcept;

 private:
  bool use_direct() const { return direct_ && !direct_refused_.load(std::memory_order_relaxed); }
  bool is_cached(uint64_t offset, size_t bytes) const;
  /// What is_cached said of the first piece that was read of these 64 MiB: the question costs as much as half
  /// of a read of 1 MiB, and the threads that ask it wait for each other.
  bool is_region_cached(uint64_t offset, size_t bytes) const;
  void read_buffered(uint64_t offset, std::span<std::byte> to) const;
  Error ended_early(uint64_t offset) const;
  void write_buffered(uint64_t offset, std::span<const std::byte> from) const;
  bool read_direct(uint64_t offset, std::span<std::byte> to) const;
  bool write_direct(uint64_t offset, std::span<const std::byte> from) const;

  FileDescriptor file_;
  FileDescriptor direct_;
  std::string name_;
  Caching caching_ = Caching::use;
  // Some file systems accept the flag and refuse the transfer (EINVAL): from then on everything goes through
  // the cache.
  mutable std::atomic<bool> direct_refused_ = false;
  mutable std::atomic<uint64_t> last_region_ = 0;  // number + 1, and whether it is cached in the lowest bit
};

}  // namespace sweepsort
