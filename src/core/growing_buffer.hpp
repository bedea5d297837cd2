// growing_buffer.hpp - memory for a stream of unknown length, and for runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sweepsort {

/// A contiguous anonymous mapping that grows by remapping. Pages move to a larger address range without being
/// copied, and only pages that were written are resident.
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

  /// Returns room for at least `bytes` more after the end; throws Error if there is no memory. commit() then
  /// moves the end.
  std::span<std::byte> room(size_t bytes);
  void commit(size_t bytes) { size_ += bytes; }

  /// Returns the whole pages inside [first, first + bytes) to the system; they read as zeros from now on.
  /// Thread-safe.
  void discard(size_t first, size_t bytes) noexcept;

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace sweepsort
