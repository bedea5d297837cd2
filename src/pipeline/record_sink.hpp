// record_sink.hpp - sorted records on their way out: checked, turned into what was asked for, written.
#pragma once

#include "io/output.hpp"
#include "io/parallel_chunks.hpp"
#include "pipeline/transfer.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sweepsort {

struct StoreResult {
  Fingerprint fingerprint;
  bool is_ordered = true;
  bool agrees = true;     // with what was expected
  uint64_t changes = 0;   // keys that differ from the one before, if these were counted
  uint64_t distinct = 0;  // keys written, where equal ones are written once
};

/// Takes the records of one session after the other, in their order.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// The session's `count` records, which stand from `first` on in the whole result.
  virtual void store(SortSession& session, uint64_t first, uint64_t count, const MovedFunction& moved) = 0;
  /// After the last one.
  virtual StoreResult finish() = 0;
};

/// Where a column goes in its file.
struct ColumnTarget {
  ByteTarget* output = nullptr;  // none: the column is not wanted
  uint64_t data_offset = 0;
  size_t swapped_bytes = 0;  // the size of elements that are to be big-endian, else 0
};

struct SinkTargets {
  ColumnTarget keys = {};
  ColumnTarget values = {};
  uint32_t written_value_bytes = 0;  // 4 with values of 8: they are narrowed
};

/// Writes the columns as they are. `expected`, if not empty, is what the keys must be, in host byte order.
std::unique_ptr<RecordSink> make_column_sink(const Transfer& transfer, const SinkTargets& targets,
                                             std::span<const std::byte> expected = {});

/// Writes each key once (targets.keys) and how often it stood, as u64 (targets.values); of records with
/// values, which are unsigned integers, the sum of these instead: Error if it leaves 64 bits. `on_failure`:
/// of a chunk, while another one may be waiting for a pipe's reader.
std::unique_ptr<RecordSink> make_unique_sink(const Transfer& transfer, const SinkTargets& targets,
                                             FailureFunction on_failure = {});

/// Order and fingerprint of chunks that several threads see, within sessions and across their borders.
class RecordCheck {
 public:
  enum class Counts : uint8_t { nothing, changes };
  explicit RecordCheck(const Transfer& transfer, Counts counts = Counts::nothing)
      : transfer_(transfer), counts_(counts) {}

  /// Before the chunks of a session, and after them.
  void begin(uint64_t chunks);
  void end();

  /// A chunk's keys; thread-safe, but for one chunk at a time. The fingerprint is taken unless there are
  /// values.
  void see_keys(uint64_t chunk, std::span<const std::byte> keys);
  /// The same of keys that a backend packed.
  void see_unique(uint64_t chunk, const UniqueKeys& unique);
  void see_pairs(std::span<const std::byte> keys, std::span<const std::byte> values);

  StoreResult result() const {
    return {.fingerprint = fingerprint_.sum(), .is_ordered = is_ordered_, .changes = changes_};
  }

 private:
  /// The first and the last key of a chunk, to compare across the borders when all chunks are done.
  struct Ends {
    uint64_t first = 0;
    uint64_t last = 0;
  };

  const Transfer& transfer_;
  SharedFingerprint fingerprint_;
  Counts counts_;
  std::atomic<bool> is_ordered_ = true;
  std::atomic<uint64_t> changes_ = 0;
  std::vector<Ends> ends_;
  std::optional<uint64_t> last_;  // of the session before
};

}  // namespace sweepsort
