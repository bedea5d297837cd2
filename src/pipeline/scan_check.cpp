// scan_check.cpp - sums modulo 2^64 for all types; their low bits are right for every type.
#include "pipeline/scan_check.hpp"

#include "core/vector_dispatch.hpp"

#include <cstring>

namespace sweepsort {
namespace {

/// The element as a 64-bit integer, sign-extended.
uint64_t widened(KeyType type, const std::byte* element) {
  return dispatch(type, [&]<class T>(std::type_identity<T>) {
    T value;
    std::memcpy(&value, element, sizeof value);
    return static_cast<uint64_t>(value);
  });
}

/// Combines elements that are aligned, as ChunkReader reads them.
uint64_t combined(KeyType type, ScanOp op, std::span<const std::byte> elements) {
  return dispatch(type, [&]<class T>(std::type_identity<T>) {
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
  if (chunks_.size() <= index - settled_) chunks_.resize(index - settled_ + 1);
  return chunks_[index - settled_];
}

void ScanCheck::note_input(uint64_t index, std::span<const std::byte> elements) {
  const uint64_t sum = combined(type_, op_, elements);
  const uint64_t last = widened(type_, elements.data() + elements.size() - key_bytes(type_));
  const std::lock_guard lock(mutex_);
  Chunk& mine = chunk(index);
  mine.combined = sum;
  mine.last_in = last;
  mine.has_in = true;
}

void ScanCheck::note_output(uint64_t index, std::span<const std::byte> elements) {
  const uint64_t last = widened(output_type_, elements.data() + elements.size() - key_bytes(output_type_));
  const std::lock_guard lock(mutex_);
  Chunk& mine = chunk(index);
  mine.last_out = last;
  mine.has_out = true;
  settle();
}

void ScanCheck::settle() {
  const auto unused = 64 - 8 * key_bytes(output_type_);
  for (; !chunks_.empty() && chunks_.front().has_in && chunks_.front().has_out; chunks_.pop_front()) {
    const Chunk& first = chunks_.front();
    through_ = op_ == ScanOp::sum ? through_ + first.combined : through_ ^ first.combined;
    uint64_t expected = through_;
    if (kind_ == ScanKind::exclusive)
      expected = op_ == ScanOp::sum ? through_ - first.last_in : through_ ^ first.last_in;
    if (expected << unused != first.last_out << unused) agrees_ = false;
    ++settled_;
  }
}

bool ScanCheck::agrees() const {
  const std::lock_guard lock(mutex_);
  return agrees_ && chunks_.empty();
}

}  // namespace sweepsort
