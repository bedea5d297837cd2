// spill_file.hpp - a file without a name, for data that does not fit in memory and is not needed after the
// process.
#pragma once

#include "io/positioned_file.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sweepsort {

/// Space on a disk: O_TMPFILE, or if the file system lacks it, a hidden file whose name is removed as soon as
/// it is open. It disappears with the process, whatever ends it.
class SpillFile {
 public:
  /// Throws Error if `directory` is not writable. `allow_anonymous`: false to test without O_TMPFILE.
  explicit SpillFile(const std::string& directory, Caching caching = Caching::bypass,
                     bool allow_anonymous = true);

  /// Takes the disk space for [0, bytes); [0, size) is taken already.
  void reserve(uint64_t bytes);

  void read_at(uint64_t offset, std::span<std::byte> to) const { file_.read_at(offset, to); }
  void write_at(uint64_t offset, std::span<const std::byte> from) const { file_.write_at(offset, from); }
  void will_read(uint64_t offset, size_t bytes) const { file_.will_read(offset, bytes); }
  /// Throws Error if data written through the page cache did not reach the disk; reads since then may have
  /// been wrong. Waits only for writes that are in progress.
  void check_written() const;

 private:
  PositionedFile file_;
  uint64_t size_ = 0;
};

}  // namespace sweepsort
