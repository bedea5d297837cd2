// record_sink.hpp - sorted records on their way out: they are checked, converted to the requested result, and
// written.
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
  Fingerprint fingerprint;  // of the records that were stored
  Fingerprint kept = {};    // of those that are left of them (SinkTargets::wants_kept)
  bool is_ordered = true;
  bool agrees = true;     // with the expected keys
  uint64_t changes = 0;   // keys that differ from their predecessor, if counted
  uint64_t distinct = 0;  // number of keys written, if equal keys are written once
};

/// Takes the records of one session after another, in order.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// Takes the session's `count` records, which begin at record `first` of the whole result.
  virtual void store(SortSession& session, uint64_t first, uint64_t count, const MovedFunction& moved) = 0;
  /// Call this after the last session.
  virtual StoreResult finish() = 0;
};

/// Where to write a column in its file.
struct ColumnTarget {
  ByteTarget* output = nullptr;  // null: the column is not wanted
  uint64_t data_offset = 0;
  size_t swapped_bytes = 0;  // element size if they are to be big-endian, else 0
};

struct SinkTargets {
  ColumnTarget keys = {};
  ColumnTarget values = {};
  ColumnTarget counts = {};          // of a unique sink
  uint32_t written_value_bytes = 0;  // 4 with 8-byte values: they are narrowed
  bool wants_kept = false;           // of a unique sink without counts
};

/// Narrows integers of 8 bytes to 4 bytes, in place. Throws Error if one does not fit: that would be lost
/// without anybody noticing, as fingerprints are taken before.
std::span<std::byte> narrowed(std::span<std::byte> values);

/// Makes a sink that writes the columns unchanged. `expected`, if not empty, is what the keys must be, in
/// host byte order.
std::unique_ptr<RecordSink> make_column_sink(const Transfer& transfer, const SinkTargets& targets,
                                             std::span<const std::byte> expected = {});

/// Makes a sink that writes each distinct key once (targets.keys), its first value (targets.values) and its
/// count as u64 (targets.counts; not together with values). Instead of the count of records with values,
/// which are unsigned integers then, it writes their sum; Error if that exceeds 64 bits. `on_failure` is
/// called if a chunk fails, since another chunk may be waiting for a pipe's reader.
std::unique_ptr<RecordSink> make_unique_sink(const Transfer& transfer, const SinkTargets& targets,
                                             FailureFunction on_failure = {});

/// Checks the order of chunks, within sessions and across their borders, and computes their fingerprint.
/// Several threads may pass in chunks at once.
class RecordCheck {
 public:
  enum class Counts : uint8_t { nothing, changes };
  explicit RecordCheck(const Transfer& transfer, Counts counts = Counts::nothing)
      : transfer_(transfer), counts_(counts) {}

  /// Call these before the chunks of a session, and after them.
  void begin(uint64_t chunks);
  void end();

  /// Takes a chunk's keys. Thread-safe for different chunks. Includes the keys in the fingerprint unless
  /// there are values.
  void see_keys(uint64_t chunk, std::span<const std::byte> keys);
  /// Like see_keys, for keys that a backend packed.
  void see_unique(uint64_t chunk, const UniqueKeys& unique);
  /// Takes the same keys once more, with their values. Includes both in the fingerprint. If the values are
  /// positions, checks that they ascend where keys are equal.
  void see_pairs(uint64_t chunk, std::span<const std::byte> keys, std::span<const std::byte> values);

  StoreResult result() const {
    return {.fingerprint = fingerprint_.sum(), .is_ordered = is_ordered_, .changes = changes_};
  }

 private:
  /// The first and last key of a chunk, and their positions, compared across the borders when all chunks are
  /// done.
  struct Ends {
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t first_position = 0;
    uint64_t last_position = 0;
  };

  const Transfer& transfer_;
  SharedFingerprint fingerprint_;
  Counts counts_;
  std::atomic<bool> is_ordered_ = true;
  std::atomic<uint64_t> changes_ = 0;
  std::vector<Ends> ends_;
  std::optional<uint64_t> last_;  // of the previous session
  uint64_t last_position_ = 0;
};

}  // namespace sweepsort
