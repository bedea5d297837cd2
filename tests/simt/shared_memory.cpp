// shared_memory.cpp - guards of a known byte, poisoned where AddressSanitizer watches.
#include "shared_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

namespace simt {

namespace {

constexpr size_t alignment = 128;
constexpr std::byte fresh{0xCD};
constexpr std::byte guard{0xFD};

}  // namespace

void SharedMemory::Free::operator()(std::byte* buffer) const { std::free(buffer); }

SharedMemory::~SharedMemory() {
  if (buffer_) unprotect_guards();
}

void SharedMemory::protect_guards() const {
  ASAN_POISON_MEMORY_REGION(buffer_.get(), guard_bytes);
  ASAN_POISON_MEMORY_REGION(data() + bytes_, guard_bytes);
}

void SharedMemory::unprotect_guards() const {
  ASAN_UNPOISON_MEMORY_REGION(buffer_.get(), guard_bytes);
  ASAN_UNPOISON_MEMORY_REGION(data() + bytes_, guard_bytes);
}

void SharedMemory::reset(size_t bytes) {
  if (buffer_) unprotect_guards();
  if (!buffer_ || bytes != bytes_) {
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment, bytes + 2 * guard_bytes) != 0) throw std::bad_alloc();
    buffer_.reset(static_cast<std::byte*>(memory));
    bytes_ = bytes;
  }
  std::memset(buffer_.get(), static_cast<int>(guard), guard_bytes);
  std::memset(data(), static_cast<int>(fresh), bytes);
  std::memset(data() + bytes, static_cast<int>(guard), guard_bytes);
  protect_guards();
}

std::string SharedMemory::damage() const {
  unprotect_guards();
  const auto written = [](std::byte value) { return value != guard; };
  const std::span<const std::byte> below(buffer_.get(), guard_bytes);
  const std::span<const std::byte> above(data() + bytes_, guard_bytes);
  const auto last_below = std::find_if(below.rbegin(), below.rend(), written);
  const auto first_above = std::find_if(above.begin(), above.end(), written);
  std::string text;
  if (last_below != below.rend())
    text = std::to_string(last_below - below.rbegin() + 1) + " bytes before the start";
  else if (first_above != above.end())
    text = std::to_string(first_above - above.begin()) + " bytes past the end";
  protect_guards();
  return text;
}

unsigned watched_add(unsigned* address, unsigned value) {
  const unsigned before = *address;
  *address += value;
  return before;
}

}  // namespace simt
