// page_array.hpp - large arrays straight from the operating system: huge pages, untouched until somebody
// writes.
#pragma once

#include <cstddef>
#include <utility>

namespace sweepsort {

/// Owns `bytes` zeroed bytes aligned to 2 MiB. Pages exist from their first touch on, so whoever fills the
/// array pays for them, in parallel if several threads do. Move-only.
class PageArray {
 public:
  PageArray() = default;
  /// Throws Error with a hint where the memory cannot be had. No memory for 0 bytes.
  explicit PageArray(size_t bytes);
  ~PageArray();

  PageArray(PageArray&& other) noexcept { swap(other); }
  PageArray& operator=(PageArray&& other) noexcept {
    PageArray(std::move(other)).swap(*this);
    return *this;
  }

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void swap(PageArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace sweepsort
