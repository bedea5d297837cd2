// scan_kernel.hpp - combines or scans a run of elements in memory, on one thread.
#pragma once

#include "core/key_type.hpp"
#include "core/scan.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sweepsort {

/// A run that is being combined, part by part.
struct Combination {
  const std::byte* in = nullptr;
  uint64_t count = 0;  // elements
  uint64_t done = 0;   // number of elements combined so far, from the beginning
  alignas(64) std::byte sums[256];
};

/// One operator on one type. A carry represents everything before a run. Its bits are private to the kernel
/// (for min and max they are ranks, see KeyMap).
class ScanKernel {
 public:
  using Carry = uint64_t;
  static constexpr size_t stream_alignment = 16;  // bytes

  virtual ~ScanKernel() = default;

  /// The carry before the first element, which an exclusive scan writes: 0, or for min and max the type's
  /// last value.
  virtual Carry start(ScanKind kind) const = 0;
  virtual Carry combine(Carry left, Carry right) const = 0;
  /// Combines the elements of a run. For floats, the order depends only on the count: not on the processor,
  /// the threads, or earlier work.
  Carry reduce(const std::byte* in, uint64_t count) const {
    Combination run = begin_reduce(in, count);
    return end_reduce(run);
  }
  virtual Combination begin_reduce(const std::byte* in, uint64_t count) const = 0;
  virtual Carry end_reduce(Combination& run) const = 0;
  /// Scans a run that follows `carry` and returns the carry after it; `out` may be `in`.
  virtual Carry scan(const std::byte* in, uint64_t count, Carry carry, ScanKind kind,
                     std::byte* out) const = 0;
  /// Like scan, and also combines as many bytes of another run, as far as it has them. Scanned data comes
  /// from a cache, combined data from memory, and results bypass the caches, so that none of the three waits
  /// for another (alternating bursts of reads and writes took a fifth longer). `out` is aligned to
  /// stream_alignment; other threads see it after a fence.
  virtual Carry scan_and_reduce(const std::byte* in, uint64_t count, Carry carry, ScanKind kind,
                                std::byte* out, Combination& other) const = 0;
  /// Like scan, but one element after another, as in a textbook.
  virtual Carry scan_plainly(const std::byte* in, uint64_t count, Carry carry, ScanKind kind,
                             std::byte* out) const = 0;
  /// The element that a carry represents, in the low bytes.
  virtual uint64_t element(Carry carry) const = 0;
};

std::unique_ptr<ScanKernel> make_scan_kernel(KeyType type, ScanOp op);

/// Copies elements to a type that holds all their values; the arrays do not overlap.
void widen(KeyType from, KeyType to, const std::byte* in, uint64_t count, std::byte* out);

}  // namespace sweepsort
