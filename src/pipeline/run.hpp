// run.hpp - a sorted sequence of records in memory, in a spill file, or in an input.
#pragma once

#include "core/record.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sweepsort {

class Run {
 public:
  virtual ~Run() = default;
  /// The number of records.
  virtual uint64_t count() const = 0;
  /// Fills `to` with a column's bytes from `first_byte` on, in host byte order. Thread-safe.
  virtual void read(Column column, uint64_t first_byte, std::span<std::byte> to) const = 0;
  /// Whether a small read may have to wait for a disk.
  virtual bool may_wait() const { return false; }
  /// Announces that these bytes will be read soon, a few at a time, so that a run with may_wait() can begin
  /// loading them. Thread-safe.
  virtual void will_read(Column, uint64_t /*first_byte*/, size_t /*bytes*/) const {}
};

/// A run that is being written: each byte is written once, and only then read.
class StoredRun : public Run {
 public:
  /// Thread-safe.
  virtual void write(Column column, uint64_t first_byte, std::span<const std::byte> from) = 0;
};

/// A run, and the rank of every `stride`-th key among all keys of its type (ordered_key), which a search in
/// the run then need not read. Without samples every key is read.
struct IndexedRun {
  std::unique_ptr<Run> run;
  uint64_t stride = 1;
  std::vector<uint64_t> samples = {};
  bool each_once = false;  // keys alone, where others have counts: each has the count 1
};

}  // namespace sweepsort
