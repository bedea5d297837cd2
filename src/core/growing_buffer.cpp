// growing_buffer.cpp - GrowingBuffer, with mmap, mremap and madvise.
#include "core/growing_buffer.hpp"

#include "core/pages.hpp"
#include "core/rounding.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sweepsort {

GrowingBuffer::GrowingBuffer(GrowingBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

GrowingBuffer::~GrowingBuffer() {
  if (data_) ::munmap(data_, capacity_);
}

std::span<std::byte> GrowingBuffer::room(size_t bytes) {
  if (capacity_ - size_ < bytes) {
    const auto place_of = [this](size_t capacity) {
      return data_ ? ::mremap(data_, capacity_, capacity, MREMAP_MAYMOVE)
                   : ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    };
    const size_t needed = round_up(size_ + bytes, system_page_bytes());
    size_t capacity = std::max(capacity_ * 2, needed);
    void* place = place_of(capacity);
    if (place == MAP_FAILED && capacity > needed) {  // a system that promises no more memory than it has
      capacity = needed;
      place = place_of(capacity);
    }
    if (place == MAP_FAILED) throw no_memory(capacity, errno);
    data_ = static_cast<std::byte*>(place);
    capacity_ = capacity;
  }
  return {data_ + size_, capacity_ - size_};
}

void GrowingBuffer::discard(size_t first, size_t bytes) noexcept {
  // Round both ends here, because the system would round the length up.
  const size_t page = system_page_bytes();
  const size_t from = round_up(first, page);
  const size_t to = (first + bytes) / page * page;
  if (from < to) ::madvise(data_ + from, to - from, MADV_DONTNEED);
}

}  // namespace sweepsort
