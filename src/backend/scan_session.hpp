// scan_session.hpp - the interface of everything that can scan or search for the smallest key: chunk after
// chunk, in memory that does not grow with the data.
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
  bool wrap = false;              // allow sums of integers to wrap
  uint32_t workers = 1;           // threads that will call begin_chunk and scan, numbered from 0
  size_t chunk_bytes = 1u << 20;  // most bytes of input in one chunk

  bool checks_overflow() const { return op == ScanOp::sum && !wrap && !is_floating(output_type); }
};

struct ScanSummary {
  uint64_t total = 0;                // all elements combined, as output_type in the low bytes
  bool total_overflows = false;      // the total overflows, in an exclusive scan that does not write it
  std::optional<uint64_t> overflow;  // index of the first element whose addition overflows
  std::string algorithm;             // the one that ran
};

/// The last of `count` elements is not part of any result of an exclusive scan. If the overflow is there,
/// only the total is wrong.
inline void excuse_last(ScanSummary& summary, ScanKind kind, uint64_t count) {
  if (kind != ScanKind::exclusive || !summary.overflow || *summary.overflow + 1 != count) return;
  summary.overflow.reset();
  summary.total_overflows = true;
}

/// One scan of data that is streamed through. Chunks hold whole elements and are numbered from 0 in the order
/// of the data. Each number occurs once, and each worker takes rising numbers. A chunk waits for the chunk
/// before it. A worker that cannot do its chunk calls cancel(), which makes the waiting workers throw.
class ScanSession {
 public:
  virtual ~ScanSession() = default;

  /// Returns a host buffer of chunk_bytes for this worker's next chunk; valid until the matching scan(). Its
  /// address is `offset` bytes after the start of a page, to match the offset in the file for O_DIRECT.
  virtual std::span<std::byte> begin_chunk(uint32_t worker, size_t offset) = 0;

  /// Scans the first `count` elements of the buffer, which are chunk number `index`; `first_element` elements
  /// precede them. Returns the results in host memory. The caller may change them until this worker's next
  /// begin_chunk.
  virtual std::span<std::byte> scan(uint32_t worker, uint64_t index, uint64_t first_element,
                                    uint64_t count) = 0;

  /// Index of the first element known to overflow; chunks that begin after it are wrong. The index is only
  /// reported once the chunk that contains it has been scanned.
  virtual std::optional<uint64_t> overflow() const = 0;

  virtual void cancel() = 0;

  /// Call this after the last chunk, from one thread.
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
  bool found = false;  // false if there were no elements
  uint64_t bits = 0;   // the low bytes are the element
  uint64_t index = 0;  // of the first occurrence, if requested
  std::string algorithm;
};

/// One search through data that is streamed through. Chunks may come in any order that rises for each worker.
class ReduceSession {
 public:
  virtual ~ReduceSession() = default;
  /// Like ScanSession::begin_chunk, but valid until the matching end_chunk.
  virtual std::span<std::byte> begin_chunk(uint32_t worker, size_t offset) = 0;
  virtual void end_chunk(uint32_t worker, uint64_t first_element, uint64_t count) = 0;
  virtual ReduceResult finish() = 0;
};

/// Fills `to` with the data from `first_byte` on, in host byte order. Several threads call it at once.
using FillFunction = std::function<void(uint64_t first_byte, std::span<std::byte> to)>;

/// Times of scans or searches of data in the backend's memory.
struct Measurement {
  std::vector<double> times_s;
  double bandwidth_bytes_s = 0;  // of a copy (read + written) for scans, of a read for searches
};

}  // namespace sweepsort
