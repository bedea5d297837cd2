// scan_chain.cpp - combine, take the carry, pass it on, scan.
#include "backend/cpu/scan_chain.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace sweepsort {
namespace {

/// Results are put together in the first-level cache before they are streamed out.
constexpr size_t staging_bytes = 8u << 10;

/// Copies past the caches; `from` is aligned to 16 bytes.
void stream_out(const std::byte* from, size_t bytes, std::byte* to) {
#ifdef __SSE2__
  if (reinterpret_cast<uintptr_t>(to) % sizeof(__m128i) == 0) {
    const size_t whole = bytes / sizeof(__m128i);
    for (size_t i = 0; i < whole; ++i)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to) + i,
                       _mm_load_si128(reinterpret_cast<const __m128i*>(from) + i));
    from += whole * sizeof(__m128i);
    to += whole * sizeof(__m128i);
    bytes -= whole * sizeof(__m128i);
  }
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace

ScanChain::ScanChain(const ScanJob& job)
    : job_(job),
      plain_(job.algorithm == ScanAlgorithm::sequential),
      kernel_(make_scan_kernel(job.output_type, job.op)),
      carry_(kernel_->start(job.kind)) {}

void ScanChain::scan(uint64_t index, uint64_t first_element, const std::byte* in, uint64_t count,
                     std::byte* out, Store store) {
  if (plain_) {
    turnstile_.wait(index);
    if (job_.checks_overflow())
      note_overflow(first_element, in, count, integer_value(job_.output_type, kernel_->element(carry_)));
    carry_ = kernel_->scan_plainly(in, count, carry_, job_.kind, out);
    turnstile_.pass(index);
    return;
  }
  SumBounds bounds;
  ScanKernel::Carry combined = 0;
  if (job_.checks_overflow())
    bounds = sum_bounds(job_.output_type, in, count);
  else
    combined = kernel_->reduce(in, count);
  turnstile_.wait(index);
  const ScanKernel::Carry before = carry_;
  if (job_.checks_overflow())
    carry_ = static_cast<uint64_t>(integer_value(job_.output_type, kernel_->element(before)) + bounds.sum());
  else
    carry_ = kernel_->combine(before, combined);
  turnstile_.pass(index);
  if (job_.checks_overflow()) {
    const Wide value = integer_value(job_.output_type, kernel_->element(before));
    if (may_overflow(job_.output_type, value, bounds)) note_overflow(first_element, in, count, value);
  }
  if (store == Store::streaming)
    stream(in, count, before, out);
  else
    kernel_->scan(in, count, before, job_.kind, out);
}

void ScanChain::stream(const std::byte* in, uint64_t count, ScanKernel::Carry before, std::byte* out) const {
  const size_t width = key_bytes(job_.output_type);
  alignas(64) std::array<std::byte, staging_bytes> staging;
  // A first piece of odd length aligns the others.
  const size_t misalignment = reinterpret_cast<uintptr_t>(out) % 64;
  uint64_t piece = (staging_bytes - misalignment) / width;
  for (uint64_t at = 0; at < count; at += piece, piece = staging_bytes / width) {
    piece = std::min(piece, count - at);
    before = kernel_->scan(in + at * width, piece, before, job_.kind, staging.data());
    stream_out(staging.data(), piece * width, out + at * width);
  }
#ifdef __SSE2__
  _mm_sfence();  // streamed bytes are visible to whoever learns that this block is done
#endif
}

void ScanChain::note_overflow(uint64_t first_element, const std::byte* in, uint64_t count, Wide before) {
  const auto place = find_overflow(job_.output_type, in, count, before);
  if (!place) return;
  // Behind the first overflow carries are wrong, and so is what they lead to: only the lowest place counts.
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
  // The last element is part of no element of an exclusive scan.
  if (job_.kind == ScanKind::exclusive && summary.overflow && *summary.overflow + 1 == count)
    summary.overflow.reset();
  return summary;
}

}  // namespace sweepsort
