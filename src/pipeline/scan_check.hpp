// scan_check.hpp - an independent sum of the input, compared with the output of a scan.
#pragma once

#include "core/key_type.hpp"
#include "core/scan.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>

namespace sweepsort {

/// Compares where each chunk of a scan ends, according to the input and to the output. The values are taken
/// right after the read and right before the write, in host byte order. They are compared as soon as all
/// earlier chunks are done, so only chunks in progress are remembered. Every method except the constructor is
/// thread-safe.
class ScanCheck {
 public:
  ScanCheck(KeyType type, KeyType output_type, ScanOp op, ScanKind kind)
      : type_(type), output_type_(output_type), op_(op), kind_(kind) {}

  /// Whether this check is possible: only if the order of the operations does not affect any bit of the
  /// result.
  bool is_possible() const {
    return op_ == ScanOp::bit_xor || (op_ == ScanOp::sum && !is_floating(output_type_));
  }

  void note_input(uint64_t index, std::span<const std::byte> elements);
  void note_output(uint64_t index, std::span<const std::byte> elements);

  /// Whether every chunk was read and written, and ends with the element that follows from the input.
  bool agrees() const;

 private:
  struct Chunk {
    uint64_t combined = 0;  // all of the chunk's input elements
    uint64_t last_in = 0;
    uint64_t last_out = 0;
    bool has_in = false;
    bool has_out = false;
  };
  // Call these with mutex_ held.
  Chunk& chunk(uint64_t index);
  void settle();

  KeyType type_;
  KeyType output_type_;
  ScanOp op_;
  ScanKind kind_;
  mutable std::mutex mutex_;
  std::deque<Chunk> chunks_;
  uint64_t settled_ = 0;  // number of chunks already compared
  uint64_t through_ = 0;  // all of their elements combined
  bool agrees_ = true;    // result for these chunks
};

}  // namespace sweepsort
