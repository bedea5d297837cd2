// scan_check.hpp - an independent sum of what was read, compared with what is written.
#pragma once

#include "core/key_type.hpp"
#include "core/scan.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>

namespace sweepsort {

/// Where a chunk of a scan ends, by the input alone and by the output. Taken right behind the read and right
/// before the write, in host byte order; compared as soon as all chunks before are through, so that no more
/// of them are remembered than are under way. Every method but the constructor is thread-safe.
class ScanCheck {
 public:
  ScanCheck(KeyType type, KeyType output_type, ScanOp op, ScanKind kind)
      : type_(type), output_type_(output_type), op_(op), kind_(kind) {}

  /// Only where the order of the operations does not matter to the last bit.
  bool is_possible() const {
    return op_ == ScanOp::bit_xor || (op_ == ScanOp::sum && !is_floating(output_type_));
  }

  void note_input(uint64_t index, std::span<const std::byte> elements);
  void note_output(uint64_t index, std::span<const std::byte> elements);

  /// Every chunk came in and went out, and its last element is what the input says.
  bool agrees() const;

 private:
  struct Chunk {
    uint64_t combined = 0;  // all of the input's elements
    uint64_t last_in = 0;
    uint64_t last_out = 0;
    bool has_in = false;
    bool has_out = false;
  };
  // With mutex_ held.
  Chunk& chunk(uint64_t index);
  void settle();

  KeyType type_;
  KeyType output_type_;
  ScanOp op_;
  ScanKind kind_;
  mutable std::mutex mutex_;
  std::deque<Chunk> chunks_;
  uint64_t settled_ = 0;  // chunks before those
  uint64_t through_ = 0;  // all of their elements combined
  bool agrees_ = true;    // said of them
};

}  // namespace sweepsort
