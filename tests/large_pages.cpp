// large_pages.cpp - a library to preload: memory behaves as on a system with pages of 64 KiB, as on arm64.
//
// Such a system refuses what does not begin at a page, and rounds lengths up to whole pages.

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>

namespace {

constexpr size_t page = 64u << 10;
constexpr size_t real_page = 4096;

size_t whole_pages(size_t bytes) { return (bytes + page - 1) / page * page; }

bool refuses(const void* address) {
  if (reinterpret_cast<uintptr_t>(address) % page == 0) return false;
  errno = EINVAL;
  return true;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

long sysconf(int what) noexcept {
  return what == _SC_PAGESIZE ? static_cast<long>(page) : next<long(int)>("sysconf")(what);
}

int munmap(void* at, size_t bytes) noexcept {
  return refuses(at) ? -1 : next<int(void*, size_t)>("munmap")(at, whole_pages(bytes));
}

void* mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  auto* const real = next<void*(void*, size_t, int, int, int, off_t)>("mmap");
  if (refuses(reinterpret_cast<const void*>(offset))) return MAP_FAILED;
  if ((flags & MAP_FIXED) != 0) return real(at, bytes, protection, flags, fd, offset);
  const size_t length = whole_pages(bytes);
  void* const room =
      real(nullptr, length + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return room;
  const auto first = reinterpret_cast<uintptr_t>(room);
  const uintptr_t begin = whole_pages(first);
  // Unmaps what is left over on both sides.
  auto* const give_back = next<int(void*, size_t)>("munmap");
  if (begin != first) give_back(room, begin - first);
  if (begin != first + page) give_back(reinterpret_cast<void*>(begin + length), first + page - begin);
  return real(reinterpret_cast<void*>(begin), length, protection, flags | MAP_FIXED, fd, offset);
}

void* mremap(void* at, size_t bytes, size_t new_bytes, int flags, ...) noexcept {
  if ((flags & MREMAP_FIXED) != 0) errno = EINVAL;
  if (refuses(at) || (flags & MREMAP_FIXED) != 0) return MAP_FAILED;
  void* const to = mmap(nullptr, new_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (to == MAP_FAILED) return to;
  std::memcpy(to, at, std::min(bytes, new_bytes));
  munmap(at, bytes);
  return to;
}

int madvise(void* at, size_t bytes, int advice) noexcept {
  return refuses(at) ? -1 : next<int(void*, size_t, int)>("madvise")(at, whole_pages(bytes), advice);
}

int mincore(void* at, size_t bytes, unsigned char* resident) noexcept {
  if (refuses(at)) return -1;
  for (size_t i = 0; i * page < bytes; ++i) {
    unsigned char of_page[page / real_page];
    auto* const begin = static_cast<std::byte*>(at) + i * page;
    if (next<int(void*, size_t, unsigned char*)>("mincore")(begin, std::min(page, bytes - i * page),
                                                            of_page) != 0)
      return -1;
    resident[i] = of_page[0];
  }
  return 0;
}
}
