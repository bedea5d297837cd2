// page_array.hpp - large arrays mapped from the operating system, with huge pages that are not touched until
// somebody writes to them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace sweepsort {

enum class PageSize : uint8_t {
  huge,   // where they fit: for large memory that is accessed at random
  small,  // for memory used only briefly, where clearing 2 MiB at once does not pay
};

/// Owns `bytes` zeroed bytes, aligned to a page, or to 2 MiB if that large. A page is allocated when it is
/// first touched, so the cost falls on the threads that fill the array, in parallel if there are several.
/// Move-only.
class PageArray {
 public:
  PageArray() = default;
  /// Throws Error with a hint if there is not enough memory. Allocates nothing for 0 bytes.
  explicit PageArray(size_t bytes, PageSize pages = PageSize::huge);
  ~PageArray();

  PageArray(PageArray&& other) noexcept { swap(other); }
  PageArray& operator=(PageArray&& other) noexcept {
    PageArray(std::move(other)).swap(*this);
    return *this;
  }

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

  /// Call this before filling [offset, offset + bytes) for the first time, on the thread that fills it.
  /// Creates the huge pages that begin in this range by clearing the first byte of each, and times each one.
  /// Once one is slow, the untouched rest of the array gets small pages, created in groups of 64. In a
  /// virtual machine whose host has taken free memory back, a huge page takes 10 ms instead of 0.3 ms, while
  /// smaller pieces of memory are still available. Thread-safe.
  void touch(size_t offset, size_t bytes);

 private:
  void swap(PageArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    pages_are_small_ = other.pages_are_small_.exchange(pages_are_small_);
  }

  std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::atomic<bool> pages_are_small_ = false;  // as requested, or because touch() found huge ones slow
};

}  // namespace sweepsort
