// scan_check.cpp - sums modulo 2^64, whatever the type: the low bits are right in all of them.
#include "pipeline/scan_check.hpp"

#include "core/vector_dispatch.hpp"

namespace sweepsort {
namespace {

/// The element as a 64-bit integer, signs extended.
uint64_t widened(KeyType type, const std::byte* element) {
  return dispatch(type, [&](auto identity) {
    using T = typename decltype(identity)::type;
    return static_cast<uint64_t>(*reinterpret_cast<const T*>(element));
  });
}

uint64_t combined(KeyType type, ScanOp op, std::span<const std::byte> elements) {
  return dispatch(type, [&](auto identity) {
    using T = typename decltype(identity)::type;
    const std::span all(reinterpret_cast<const T*>(elements.data()), elements.size() / sizeof(T));
    return with_best_vectors([=]() __attribute__((always_inline)) {
      uint64_t result = 0;
      if (op == ScanOp::sum)
        for (const T element : all) result += static_cast<uint64_t>(element);
      else
        for (const T element : all) result ^= static_cast<uint64_t>(element);
      return result;
    });
  });
}

}  // namespace

ScanCheck::Chunk& ScanCheck::chunk(uint64_t index) {
  if (chunks_.size() <= index) chunks_.resize(index + 1);
  return chunks_[index];
}

void ScanCheck::note_input(uint64_t index, std::span<const std::byte> elements) {
  const uint64_t sum = combined(type_, op_, elements);
  const uint64_t last = widened(type_, elements.data() + elements.size() - key_bytes(type_));
  const std::lock_guard lock(mutex_);
  chunk(index).combined = sum;
  chunk(index).last_in = last;
}

void ScanCheck::note_output(uint64_t index, std::span<const std::byte> elements) {
  const uint64_t last = widened(output_type_, elements.data() + elements.size() - key_bytes(output_type_));
  const std::lock_guard lock(mutex_);
  chunk(index).last_out = last;
}

bool ScanCheck::agrees() const {
  const std::lock_guard lock(mutex_);
  const auto unused = 64 - 8 * key_bytes(output_type_);
  uint64_t through = 0;  // all elements up to here
  for (const Chunk& chunk : chunks_) {
    through = op_ == ScanOp::sum ? through + chunk.combined : through ^ chunk.combined;
    uint64_t expected = through;
    if (kind_ == ScanKind::exclusive)
      expected = op_ == ScanOp::sum ? through - chunk.last_in : through ^ chunk.last_in;
    if (expected << unused != chunk.last_out << unused) return false;
  }
  return true;
}

}  // namespace sweepsort
