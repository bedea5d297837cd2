// growing_buffer.hpp - memory for a stream whose length nobody knows beforehand, and for runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sweepsort {

/// A contiguous anonymous mapping that grows by remapping: pages move to a larger place in the address space
/// without being copied, and only what was written is resident.
class GrowingBuffer {
 public:
  GrowingBuffer() = default;
  GrowingBuffer(const GrowingBuffer&) = delete;
  GrowingBuffer& operator=(const GrowingBuffer&) = delete;
  GrowingBuffer(GrowingBuffer&& other) noexcept;
  ~GrowingBuffer();

  size_t size() const { return size_; }
  std::span<std::byte> bytes() { return {data_, size_}; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

  /// Room for at least `bytes` more behind the end; throws Error if there is no memory. commit() then moves
  /// the end.
  std::span<std::byte> room(size_t bytes);
  void commit(size_t bytes) { size_ += bytes; }

  /// Only the first `bytes` stay: the pages behind them, and their addresses, are given back.
  void cut(size_t bytes) noexcept;

  /// Gives the whole pages inside [first, first + bytes) back; they read as zeros from now on. Thread-safe.
  void discard(size_t first, size_t bytes) noexcept;

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace sweepsort
