// spill_space.hpp - one row of bytes on several disks, for data that must outlive the memory and not the
// process.
//
//     a file in directory 0   | stripe 0 | stripe 2 | stripe 4 |
//     a file in directory 1   | stripe 1 | stripe 3 |
//
// Where a directory's share is longer than a file may be, it has several files, one behind the other.
#pragma once

#include "io/spill_file.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sweepsort {

/// ext4 ends a file at 16 TiB.
inline constexpr uint64_t max_spill_file_bytes = uint64_t{4} << 40;

class SpillSpace {
 public:
  /// `stripe_bytes` and `max_file_bytes` are multiples of io_alignment. Nothing is created yet.
  SpillSpace(std::vector<std::string> directories, uint64_t stripe_bytes, Caching caching,
             bool allow_anonymous, uint64_t max_file_bytes = max_spill_file_bytes);

  /// Takes the disk space for [0, bytes), if that is more than was taken before. Throws Error if there is
  /// none.
  void reserve(uint64_t bytes);
  uint64_t bytes() const { return bytes_; }

  /// Inside what was reserved. Thread-safe.
  void read_at(uint64_t offset, std::span<std::byte> to) const;
  void write_at(uint64_t offset, std::span<const std::byte> from) const;
  /// What PositionedFile::will_read does.
  void will_read(uint64_t offset, size_t bytes) const;
  /// What SpillFile::check_written does, of all files.
  void check_written() const;

 private:
  /// Of the first `bytes` those that lie in a directory.
  uint64_t share(size_t directory, uint64_t bytes) const;
  /// Calls f(file, its offset, part) for what lies together.
  template <class Span, class F>
  void for_each_part(uint64_t offset, Span bytes, F f) const;

  std::vector<std::string> directories_;
  uint64_t stripe_bytes_;
  Caching caching_;
  bool allow_anonymous_;
  uint64_t max_file_bytes_;
  std::vector<std::vector<std::unique_ptr<SpillFile>>> files_;  // of each directory, made when first needed
  uint64_t bytes_ = 0;
};

}  // namespace sweepsort
