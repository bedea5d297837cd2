// scan_chain.hpp - blocks of one scan, worked on by several threads, joined by a carry.
//
//     thread 0   combine 0 | scan 0          | combine 2 |  scan 2 ...
//     thread 1   combine 1 |  wait | scan 1          | combine 3 | ...
//                            carry 0 -> 1 -> 2 ->                    known as soon as a block is combined
//
// A block that fits the second-level cache is read from memory once, when it is combined.
#pragma once

#include "backend/cpu/scan_kernel.hpp"
#include "backend/cpu/sum_bounds.hpp"
#include "backend/scan_session.hpp"
#include "core/turnstile.hpp"

#include <atomic>
#include <limits>

namespace sweepsort {

/// Whether results are written around the caches: right for memory that nobody reads soon.
enum class Store : uint8_t { cached, streaming };

class ScanChain {
 public:
  explicit ScanChain(const ScanJob& job);

  /// Block number `index` of job.output_type; its first element has the index `first_element`. Each index
  /// comes once, from any thread; a block waits until all before it have been combined. `out` may be `in`.
  void scan(uint64_t index, uint64_t first_element, const std::byte* in, uint64_t count, std::byte* out,
            Store store = Store::cached);

  void cancel() { turnstile_.cancel(); }
  std::optional<uint64_t> overflow() const;
  /// When all blocks are done. `count`: elements in all.
  ScanSummary finish(uint64_t count) const;

 private:
  void stream(const std::byte* in, uint64_t count, ScanKernel::Carry before, std::byte* out) const;
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
