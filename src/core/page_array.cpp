// page_array.cpp - anonymous mappings for page_array.hpp.
#include "core/page_array.hpp"

#include "core/pages.hpp"
#include "core/rounding.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>

namespace sweepsort {
namespace {

constexpr size_t huge_page = 2u << 20;
/// Clearing a huge page normally takes 0.1 to 0.5 ms.
constexpr double slow_s = 5e-3;
/// Creating this many bytes of small pages at once takes three quarters of the time of single ones.
constexpr size_t pages_at_once = 256u << 10;

/// CPU time of the calling thread only, so that waiting for a processor does not count.
double thread_time_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

size_t rounded(size_t bytes) { return round_up(bytes, system_page_bytes()); }

}  // namespace

PageArray::PageArray(size_t bytes, PageSize pages) {
  if (bytes == 0) return;
  if (bytes > SIZE_MAX - 2 * huge_page) throw no_memory(bytes, ENOMEM);
  // Small arrays get small pages: a huge page would cost more to clear than it saves.
  const size_t slack = bytes >= huge_page ? huge_page : 0;
  const size_t length = rounded(bytes);
  void* mapped = mmap(nullptr, length + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw no_memory(bytes, errno);
  auto* const begin = static_cast<std::byte*>(mapped);
  // Unmap what lies before and after the aligned part.
  const size_t skip =
      slack == 0 ? 0 : (huge_page - reinterpret_cast<uintptr_t>(begin) % huge_page) % huge_page;
  if (skip > 0) munmap(begin, skip);
  if (slack > skip) munmap(begin + skip + length, slack - skip);
  data_ = begin + skip;
  size_ = bytes;
  pages_are_small_ = pages == PageSize::small;
  // This is only advice: some kernels refuse it, and the result is correct without it.
  if (slack > 0) madvise(data_, length, pages == PageSize::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

PageArray::~PageArray() {
  if (data_ != nullptr) munmap(data_, rounded(size_));
}

void PageArray::touch(size_t offset, size_t bytes) {
  const size_t end = std::min(offset + bytes, size_);
  for (size_t page = round_up(offset, huge_page); page < end && page + huge_page <= size_;
       page += huge_page) {
    if (pages_are_small_.load(std::memory_order_relaxed)) break;
    const double start = thread_time_s();
    *const_cast<volatile std::byte*>(data_ + page) = std::byte{0};
    if (thread_time_s() - start <= slow_s) continue;
    madvise(data_, rounded(size_), MADV_NOHUGEPAGE);
    pages_are_small_ = true;
  }
#ifdef MADV_POPULATE_WRITE
  if (!pages_are_small_.load(std::memory_order_relaxed)) return;
  // This is only advice, too: kernels before 5.14 do not know it.
  for (size_t group = round_up(offset, pages_at_once); group < end; group += pages_at_once)
    madvise(data_ + group, std::min(pages_at_once, rounded(size_) - group), MADV_POPULATE_WRITE);
#endif
}

}  // namespace sweepsort
