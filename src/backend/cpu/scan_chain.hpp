// scan_chain.hpp - blocks of one scan, worked on by several threads, joined by a carry.
//
//     thread 0   combine 0 | scan 0          | combine 2 |  scan 2 ...
//     thread 1   combine 1 |  wait | scan 1          | combine 3 | ...
//                            carry 0 -> 1 -> 2 ->                    known as soon as a block is combined
//
// A block that fits the second-level cache is read from memory once, when it is combined. From memory to
// memory a thread combines its next block while it scans one: reading one and writing the other overlap.
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

  /// Each index comes once, from any thread; a block waits until all before it have been combined.
  /// `streams`: results that are checked for overflow go past the caches (see can_stream).
  void scan(const ScanBlock& block, bool streams = false);

  /// Whether results can go past the caches; by stream_all, unless overflows are to be found.
  bool can_stream(const std::byte* out) const;
  /// Scans the blocks that `take` gives, until one has no elements, and writes results past the caches: right
  /// for memory that nobody reads soon. Several threads at once, each with blocks of rising index.
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
  /// When all blocks are done. `count`: elements in all.
  ScanSummary finish(uint64_t count) const;

 private:
  /// A block's turn: the carry before it.
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
