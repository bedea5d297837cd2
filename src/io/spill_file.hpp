// spill_file.hpp - a file without a name for data that must outlive the memory and not the process.
#pragma once

#include "io/positioned_file.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sweepsort {

/// Space on a disk: O_TMPFILE, or where a file system has no such thing a hidden file whose name is removed
/// as soon as it is open. Gone with the process, whatever ends it.
class SpillFile {
 public:
  /// Throws Error if nothing can be written in `directory`. `allow_anonymous`: false for tests of the other
  /// way.
  explicit SpillFile(const std::string& directory, Caching caching = Caching::bypass,
                     bool allow_anonymous = true);

  /// Takes the disk space for [0, bytes), of which [0, size) is taken already.
  void reserve(uint64_t bytes);

  void read_at(uint64_t offset, std::span<std::byte> to) const { file_.read_at(offset, to); }
  void write_at(uint64_t offset, std::span<const std::byte> from) const { file_.write_at(offset, from); }
  void will_read(uint64_t offset, size_t bytes) const { file_.will_read(offset, bytes); }
  /// Throws Error if something that went through the page cache did not reach the disk: it may have been read
  /// wrong since. Waits for no more than what is on its way there.
  void check_written() const;

 private:
  PositionedFile file_;
  uint64_t size_ = 0;
};

}  // namespace sweepsort
