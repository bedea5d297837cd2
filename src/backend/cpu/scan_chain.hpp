// scan_chain.hpp - blocks of one scan, processed by several threads and joined by a carry.
//
//     thread 0   combine 0 | scan 0          | combine 2 |  scan 2 ...
//     thread 1   combine 1 |  wait | scan 1          | combine 3 | ...
//                            carry 0 -> 1 -> 2 ->                    known as soon as a block is combined
//
// A block that fits in the second-level cache is read from memory once, when it is combined. In a scan from
// memory to memory, a thread combines its next block while it scans one, so that reading one and writing the
// other overlap.
#pragma once

#include "backend/cpu/scan_kernel.hpp"
#include "backend/cpu/sum_bounds.hpp"
#include "backend/scan_session.hpp"
#include "core/turnstile.hpp"

#include <atomic>
#include <limits>

namespace sweepsort {

/// A block of a scan: elements of job.output_type.
struct ScanBlock {
  uint64_t index = 0;          // in the chain
  uint64_t first_element = 0;  // of the scan
  const std::byte* in = nullptr;
  uint64_t count = 0;
  std::byte* out = nullptr;  // may be `in`
};

class ScanChain {
 public:
  explicit ScanChain(const ScanJob& job);

  /// Each index comes once, from any thread. A block waits until all blocks before it have been combined.
  /// `streams`: results that are checked for overflow bypass the caches (see can_stream).
  void scan(const ScanBlock& block, bool streams = false);

  /// Whether results can bypass the caches; with stream_all only if overflows need not be found.
  bool can_stream(const std::byte* out) const;
  /// Scans the blocks that `take` returns, until one has no elements, and writes the results past the caches,
  /// which suits memory that is not read again soon. Several threads may call this at once, each with blocks
  /// of rising index.
  template <class Take>
  void stream_all(Take&& take) {
    ScanBlock block = take();
    if (block.count == 0) return;
    for (ScanKernel::Carry combined = kernel_->reduce(block.in, block.count); block.count > 0;) {
      const ScanKernel::Carry before = enter(block.index, combined);
      const ScanBlock next = take();
      Combination combination = kernel_->begin_reduce(next.in, next.count);
      stream(block, before, combination);
      combined = kernel_->end_reduce(combination);
      block = next;
    }
  }

  void cancel() { turnstile_.cancel(); }
  std::optional<uint64_t> overflow() const;
  /// Call this when all blocks are done. `count` is the total number of elements.
  ScanSummary finish(uint64_t count) const;

 private:
  /// Takes a block's turn and returns the carry before it.
  ScanKernel::Carry enter(uint64_t index, ScanKernel::Carry combined);
  void stream(const ScanBlock& block, ScanKernel::Carry before, Combination& next) const;
  void note_overflow(uint64_t first_element, const std::byte* in, uint64_t count, Wide before);

  static constexpr uint64_t nowhere = std::numeric_limits<uint64_t>::max();

  ScanJob job_;
  bool plain_;
  std::unique_ptr<ScanKernel> kernel_;
  Turnstile turnstile_;
  ScanKernel::Carry carry_;  // before the block whose turn it is
  std::atomic<uint64_t> overflow_ = nowhere;
};

}  // namespace sweepsort
