// run.hpp - a sorted sequence of records that lies somewhere: in memory, in a spill file, in an input.
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
  /// Records.
  virtual uint64_t count() const = 0;
  /// Fills `to` with a column's bytes from `first_byte` on, in host byte order. Thread-safe.
  virtual void read(Column column, uint64_t first_byte, std::span<std::byte> to) const = 0;
  /// Whether a read may wait for a disk.
  virtual bool may_wait() const { return false; }
  /// These will be read soon, a few at a time: what may_wait() may begin. Thread-safe.
  virtual void will_read(Column, uint64_t /*first_byte*/, size_t /*bytes*/) const {}
};

/// A run that is being written: every byte once, then only read.
class StoredRun : public Run {
 public:
  /// Thread-safe.
  virtual void write(Column column, uint64_t first_byte, std::span<const std::byte> from) = 0;
  /// Of keys alone, when all are written: there are only so many. Memory behind them may be free again.
  virtual void shorten(uint64_t count) = 0;
};

/// A run and, of every `stride`-th key, its rank among all keys of its type (ordered_key): what a search in
/// the run needs not read. No samples: every key is read.
struct IndexedRun {
  std::unique_ptr<Run> run;
  uint64_t stride = 1;
  std::vector<uint64_t> samples = {};
};

}  // namespace sweepsort
