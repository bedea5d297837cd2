// spill_space.hpp - one range of bytes striped over several disks, for data that does not fit in memory and
// is not needed after the process.
//
//     a file in directory 0   | stripe 0 | stripe 2 | stripe 4 |
//     a file in directory 1   | stripe 1 | stripe 3 |
//
// If a directory's share is larger than the file size limit, it has several files, one after another.
#pragma once

#include "io/spill_file.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sweepsort {

/// Well below the largest file of ext4, which is 16 TiB.
inline constexpr uint64_t max_spill_file_bytes = uint64_t{4} << 40;

class SpillSpace {
 public:
  /// `stripe_bytes` and `max_bytes_per_file` must be multiples of io_alignment. Creates nothing yet.
  SpillSpace(std::vector<std::string> directories, uint64_t stripe_bytes, Caching caching,
             bool allow_anonymous, uint64_t max_bytes_per_file = max_spill_file_bytes);

  /// Takes the disk space for [0, bytes), if that is more than was taken before. Throws Error if there is no
  /// space.
  void reserve(uint64_t bytes);
  uint64_t bytes() const { return bytes_; }

  /// Only within the reserved range. Thread-safe.
  void read_at(uint64_t offset, std::span<std::byte> to) const;
  void write_at(uint64_t offset, std::span<const std::byte> from) const;
  /// Like PositionedFile::will_read.
  void will_read(uint64_t offset, size_t bytes) const;
  /// Like SpillFile::check_written, for all files.
  void check_written() const;

 private:
  /// How many of the first `bytes` bytes lie in a directory.
  uint64_t share(size_t directory, uint64_t bytes) const;
  /// Calls f(file, offset in the file, bytes before the part, bytes of the part) for each contiguous part.
  template <class F>
  void for_each_part(uint64_t offset, size_t bytes, F f) const;

  std::vector<std::string> directories_;
  uint64_t stripe_bytes_;
  Caching caching_;
  bool allow_anonymous_;
  uint64_t max_bytes_per_file_;
  std::vector<std::vector<std::unique_ptr<SpillFile>>> files_;  // per directory, created when first needed
  uint64_t bytes_ = 0;
};

}  // namespace sweepsort
