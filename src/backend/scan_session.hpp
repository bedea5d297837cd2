// scan_session.hpp - what every place that can scan or look for the smallest key offers: chunk after chunk,
// in memory that does not grow with the data.
#pragma once

#include "core/key_type.hpp"
#include "core/scan.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sweepsort {

struct ScanJob {
  KeyType type = KeyType::u32;
  KeyType output_type = KeyType::u32;  // can_widen(type, output_type)
  ScanOp op = ScanOp::sum;
  ScanKind kind = ScanKind::inclusive;
  ScanAlgorithm algorithm = ScanAlgorithm::automatic;
  bool wrap = false;              // a sum of integers may leave its type
  uint32_t workers = 1;           // threads that will call begin_chunk and scan, numbered from 0
  size_t chunk_bytes = 1u << 20;  // most bytes of input in one chunk

  bool checks_overflow() const { return op == ScanOp::sum && !wrap && !is_floating(output_type); }
};

struct ScanSummary {
  uint64_t total = 0;                // all elements combined: the low bytes are one of output_type
  bool total_overflows = false;      // it is no sum that an exclusive scan needs, and leaves the type
  std::optional<uint64_t> overflow;  // index of the first element whose addition leaves the type
  std::string algorithm;             // what ran
};

/// The last of `count` elements is part of no element of an exclusive scan: if it leaves the type, the total
/// alone is wrong.
inline void excuse_last(ScanSummary& summary, ScanKind kind, uint64_t count) {
  if (kind != ScanKind::exclusive || !summary.overflow || *summary.overflow + 1 != count) return;
  summary.overflow.reset();
  summary.total_overflows = true;
}

/// One scan of data that passes through. Chunks hold whole elements and are numbered from 0 in the order of
/// the data; each number comes once, and rising for every worker. A chunk waits for the one before: a worker
/// that cannot do its chunk calls cancel(), which makes those that wait throw.
class ScanSession {
 public:
  virtual ~ScanSession() = default;

  /// A host buffer of chunk_bytes for the next chunk of this worker; valid until the matching scan(). Its
  /// address is `offset` bytes behind a page's beginning, as those in the file are for O_DIRECT.
  virtual std::span<std::byte> begin_chunk(uint32_t worker, size_t offset) = 0;

  /// The buffer's first `count` elements are chunk number `index`, and before it there are `first_element`
  /// elements. Returns the scanned ones in host memory, which the caller may change until this worker's next
  /// begin_chunk.
  virtual std::span<std::byte> scan(uint32_t worker, uint64_t index, uint64_t first_element,
                                    uint64_t count) = 0;

  /// Index of the first element known to leave the type; no chunk is right that begins behind it. The chunk
  /// that holds it has been scanned before anybody is told.
  virtual std::optional<uint64_t> overflow() const = 0;

  virtual void cancel() = 0;

  /// After the last chunk, from one thread.
  virtual ScanSummary finish() = 0;
};

struct ReduceJob {
  KeyType type = KeyType::u32;
  Extreme extreme = Extreme::min;
  bool wants_index = false;
  uint32_t workers = 1;
  size_t chunk_bytes = 1u << 20;
};

struct ReduceResult {
  bool found = false;  // false: there were no elements
  uint64_t bits = 0;   // the low bytes are the element
  uint64_t index = 0;  // its first place, if that was wanted
  std::string algorithm;
};

/// One search through data that passes through, in any order of chunks that rises for each worker.
class ReduceSession {
 public:
  virtual ~ReduceSession() = default;
  /// As ScanSession::begin_chunk, valid until the matching end_chunk.
  virtual std::span<std::byte> begin_chunk(uint32_t worker, size_t offset) = 0;
  virtual void end_chunk(uint32_t worker, uint64_t first_element, uint64_t count) = 0;
  virtual ReduceResult finish() = 0;
};

/// Fills `to` with the data from `first_byte` on, in host byte order. Called by several threads at once.
using FillFunction = std::function<void(uint64_t first_byte, std::span<std::byte> to)>;

/// Times of a scan or a search of data that lies in the backend's memory.
struct Measurement {
  std::vector<double> times_s;
  double bandwidth_bytes_s = 0;  // of a copy (read + written) beside scans, of a read beside searches
};

}  // namespace sweepsort
