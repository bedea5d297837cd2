// page_array.hpp - large arrays straight from the operating system: huge pages, untouched until somebody
// writes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace sweepsort {

enum class PageSize : uint8_t {
  huge,   // where there is room for one: memory that is walked at random, and much of it
  small,  // memory that is used for a moment, and not worth clearing 2 MiB at once for
};

/// Owns `bytes` zeroed bytes aligned to a page, to 2 MiB from that size on. Pages exist from their first
/// touch on, so whoever fills the array pays for them, in parallel if several threads do. Move-only.
class PageArray {
 public:
  PageArray() = default;
  /// Throws Error with a hint where the memory cannot be had. No memory for 0 bytes.
  explicit PageArray(size_t bytes, PageSize pages = PageSize::huge);
  ~PageArray();

  PageArray(PageArray&& other) noexcept { swap(other); }
  PageArray& operator=(PageArray&& other) noexcept {
    PageArray(std::move(other)).swap(*this);
    return *this;
  }

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

  /// The calling thread is about to fill [offset, offset + bytes), and nobody has yet. Huge pages that begin
  /// there are made (their first bytes are cleared), each timed: where one takes long, what is untouched of
  /// the array gets small pages, groups of 64 made at once where they begin there. In a virtual machine whose
  /// host has taken free memory back a huge page takes 10 ms instead of 0.3, while smaller pieces of memory
  /// are still there. Thread-safe.
  void touch(size_t offset, size_t bytes);

 private:
  void swap(PageArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    pages_are_small_ = other.pages_are_small_.exchange(pages_are_small_);
  }

  std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::atomic<bool> pages_are_small_ = false;  // as asked for, or because touch() found huge ones slow
};

}  // namespace sweepsort
