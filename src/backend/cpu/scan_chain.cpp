// scan_chain.cpp - combine, take the carry, pass it on, scan.
#include "backend/cpu/scan_chain.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace sweepsort {

ScanChain::ScanChain(const ScanJob& job)
    : job_(job),
      plain_(job.algorithm == ScanAlgorithm::sequential),
      kernel_(make_scan_kernel(job.output_type, job.op)),
      carry_(kernel_->start(job.kind)) {}

void ScanChain::scan(const ScanBlock& block, bool streams) {
  const auto& [index, first_element, in, count, out] = block;
  if (plain_) {
    turnstile_.wait(index);
    if (job_.checks_overflow())
      note_overflow(first_element, in, count, integer_value(job_.output_type, kernel_->element(carry_)));
    carry_ = kernel_->scan_plainly(in, count, carry_, job_.kind, out);
    turnstile_.pass(index);
    return;
  }
  if (!job_.checks_overflow()) {
    kernel_->scan(in, count, enter(index, kernel_->reduce(in, count)), job_.kind, out);
    return;
  }
  const SumBounds bounds = sum_bounds(job_.output_type, in, count);
  turnstile_.wait(index);
  const ScanKernel::Carry before = carry_;
  const Wide value = integer_value(job_.output_type, kernel_->element(before));
  carry_ = static_cast<uint64_t>(value + bounds.sum());
  turnstile_.pass(index);
  if (may_overflow(job_.output_type, value, bounds)) note_overflow(first_element, in, count, value);
  if (!streams) {
    kernel_->scan(in, count, before, job_.kind, out);
    return;
  }
  Combination nothing = kernel_->begin_reduce(nullptr, 0);
  stream(block, before, nothing);
}

ScanKernel::Carry ScanChain::enter(uint64_t index, ScanKernel::Carry combined) {
  turnstile_.wait(index);
  const ScanKernel::Carry before = carry_;
  carry_ = kernel_->combine(before, combined);
  turnstile_.pass(index);
  return before;
}

bool ScanChain::can_stream(const std::byte* out) const {
  return !plain_ && reinterpret_cast<uintptr_t>(out) % ScanKernel::stream_alignment == 0;
}

void ScanChain::stream(const ScanBlock& block, ScanKernel::Carry before, Combination& next) const {
  kernel_->scan_and_reduce(block.in, block.count, before, job_.kind, block.out, next);
#ifdef __SSE2__
  _mm_sfence();  // makes streamed bytes visible to threads that learn that this block is done
#endif
}

void ScanChain::note_overflow(uint64_t first_element, const std::byte* in, uint64_t count, Wide before) {
  const auto place = find_overflow(job_.output_type, in, count, before);
  if (!place) return;
  // After the first overflow, carries are wrong, and so are overflows found from them: only the lowest index
  // counts.
  uint64_t lowest = overflow_.load(std::memory_order_relaxed);
  while (first_element + *place < lowest &&
         !overflow_.compare_exchange_weak(lowest, first_element + *place, std::memory_order_release)) {
  }
}

std::optional<uint64_t> ScanChain::overflow() const {
  const uint64_t place = overflow_.load(std::memory_order_acquire);
  return place == nowhere ? std::nullopt : std::optional(place);
}

ScanSummary ScanChain::finish(uint64_t count) const {
  ScanSummary summary{
      .total = kernel_->element(carry_),
      .overflow = overflow(),
      .algorithm = std::string(name(plain_ ? ScanAlgorithm::sequential : ScanAlgorithm::threads))};
  excuse_last(summary, job_.kind, count);
  return summary;
}

}  // namespace sweepsort
