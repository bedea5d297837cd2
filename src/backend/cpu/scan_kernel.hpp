// scan_kernel.hpp - a run of elements in memory, combined or scanned by one thread.
#pragma once

#include "core/key_type.hpp"
#include "core/scan.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sweepsort {

/// A run that is being combined, a part at a time.
struct Combination {
  const std::byte* in = nullptr;
  uint64_t count = 0;  // elements
  uint64_t done = 0;   // the first of them
  alignas(64) std::byte sums[256];
};

/// One operator on one type. A carry stands for everything before a run; its bits are the kernel's business
/// (for min and max they are ranks, see KeyMap).
class ScanKernel {
 public:
  using Carry = uint64_t;
  static constexpr size_t stream_alignment = 16;  // bytes

  virtual ~ScanKernel() = default;

  /// The carry in front of the first element. An exclusive scan writes it: 0, or for min and max the type's
  /// last value.
  virtual Carry start(ScanKind kind) const = 0;
  virtual Carry combine(Carry left, Carry right) const = 0;
  /// The elements of a run, combined. Of floats in an order that depends on the count alone, neither on the
  /// processor nor on the threads nor on what has been done before.
  Carry reduce(const std::byte* in, uint64_t count) const {
    Combination run = begin_reduce(in, count);
    return end_reduce(run);
  }
  virtual Combination begin_reduce(const std::byte* in, uint64_t count) const = 0;
  virtual Carry end_reduce(Combination& run) const = 0;
  /// Scans a run behind `carry` and returns the carry behind it; `out` may be `in`.
  virtual Carry scan(const std::byte* in, uint64_t count, Carry carry, ScanKind kind,
                     std::byte* out) const = 0;
  /// The same, and combines as many bytes of another run, if it has so many left: what is scanned comes from
  /// a cache, what is combined from memory, and results go past the caches, so that none waits for another
  /// (reads in bursts and writes in bursts took a fifth longer). `out` is aligned to stream_alignment; other
  /// threads see it after a fence.
  virtual Carry scan_and_reduce(const std::byte* in, uint64_t count, Carry carry, ScanKind kind,
                                std::byte* out, Combination& other) const = 0;
  /// The same one element after the other, as a textbook has it.
  virtual Carry scan_plainly(const std::byte* in, uint64_t count, Carry carry, ScanKind kind,
                             std::byte* out) const = 0;
  /// The element that a carry stands for, in the low bytes, and back.
  virtual uint64_t element(Carry carry) const = 0;
};

std::unique_ptr<ScanKernel> make_scan_kernel(KeyType type, ScanOp op);

/// Copies elements to a type that holds all their values; the arrays do not overlap.
void widen(KeyType from, KeyType to, const std::byte* in, uint64_t count, std::byte* out);

}  // namespace sweepsort
