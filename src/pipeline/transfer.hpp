// transfer.hpp - moves records from a source into a session.
//
//     begin_put -> read -> fingerprint -> end_put          by a few threads, a chunk each
//
// The fingerprint is taken right after the read, and again right before the write (record_sink.hpp). So it
// covers everything in between: copies, device memory, kernels, spill files. With values it is a fingerprint
// of pairs, so a value that is separated from its key is found, too.
#pragma once

#include "backend/backend.hpp"
#include "core/bytes.hpp"
#include "core/fingerprint.hpp"
#include "io/parallel_chunks.hpp"
#include "pipeline/key_source.hpp"
#include "pipeline/phase_clock.hpp"

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

namespace sweepsort {

/// What the values of a sort are.
enum class ValueKind : uint8_t {
  data,
  positions,  // in the input: of equal keys they must ascend in the end
  counts      // of 4 bytes: a record stands for so many equal keys
};

/// What all transfers of a sort have in common.
struct Transfer {
  RecordShape shape = {};
  Order order = Order::ascending;
  bool verify = true;  // take fingerprints, check the order
  uint32_t workers = 1;
  size_t chunk_bytes = default_chunk_bytes;  // for the wider column
  uint64_t secret = 0;
  ValueKind values = ValueKind::data;
};

/// A chunk of records.
struct RecordChunk {
  uint64_t index = 0;
  uint64_t first = 0;
  uint64_t count = 0;
};

/// Calls f(worker, chunk) for `count` records that begin at byte `data_offset` of their file. Chunks hold
/// whole records and begin at page borders of the file. Threads, exceptions and `on_failure` are as in
/// parallel_chunks.
void for_record_chunks(const Transfer& transfer, uint64_t data_offset, uint64_t count, uint32_t workers,
                       const std::function<void(uint32_t worker, const RecordChunk& chunk)>& f,
                       const FailureFunction& on_failure = {});
uint64_t record_chunks(const Transfer& transfer, uint64_t data_offset, uint64_t count);

struct RecordSource {
  KeySource& keys;
  KeySource* values = nullptr;
  uint64_t data_offset = 0;  // of the keys in their file
};

/// Puts `count` records of the source, from `first` on, into the session as its first records. Returns their
/// fingerprint (empty without verify).
Fingerprint load_records(const RecordSource& source, uint64_t first, uint64_t count, SortSession& session,
                         const Transfer& transfer, const MovedFunction& moved);

/// The fingerprint of pairs or, if the values are counts, of as many keys as they say.
Fingerprint record_fingerprint(std::span<const std::byte> keys, std::span<const std::byte> values,
                               const Transfer& transfer);

/// A sum to which several threads add.
class SharedFingerprint {
 public:
  void add(Fingerprint part) {
    const std::lock_guard lock(mutex_);
    sum_ += part;
  }
  Fingerprint sum() const { return sum_; }

 private:
  std::mutex mutex_;
  Fingerprint sum_;
};

/// Copies of chunks' keys, one per worker, kept while the chunk's values are being moved.
class KeyCopies {
 public:
  explicit KeyCopies(uint32_t workers) : copies_(workers) {}
  void keep(uint32_t worker, std::span<const std::byte> keys) {
    copies_[worker].assign(keys.begin(), keys.end());
  }
  std::span<std::byte> of(uint32_t worker) { return copies_[worker]; }

 private:
  std::vector<std::vector<std::byte>> copies_;
};

}  // namespace sweepsort
