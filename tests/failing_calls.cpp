// failing_calls.cpp - a library to preload: system calls that come back short, are interrupted, or fail at
// the k-th time.
//
// FAIL_SHORT=1       reads and writes move a part of what was asked for; every seventh call is interrupted
// FAIL_CALL=pwrite   that function fails,
// FAIL_AT=3          when it is called the third time,
// FAIL_ONWARDS=1     and from then on (else that once),
// FAIL_ERRNO=5       with this errno,
// FAIL_LOG=file      and leaves a file behind if it did
// FAIL_KILLS=1       or is where its process is killed
//
// Of malloc and mmap only requests of FAIL_LEAST bytes or more count, from the first read of a file on: what
// libraries allocate before main() ends the program in their own way.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<unsigned> calls = 0;
std::atomic<unsigned> matching_calls = 0;
std::atomic<bool> has_read = false;

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

unsigned number(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 0;
}

/// Whether this call of `name` is the one that fails; errno is set then.
bool fails(const char* name) {
  const char* const chosen = std::getenv("FAIL_CALL");
  if (!chosen || std::strcmp(chosen, name) != 0) return false;
  const unsigned call = ++matching_calls;
  if (call < number("FAIL_AT") || (call > number("FAIL_AT") && number("FAIL_ONWARDS") == 0)) return false;
  if (const char* log = std::getenv("FAIL_LOG")) ::close(::creat(log, 0600));
  if (number("FAIL_KILLS") != 0) ::kill(::getpid(), SIGKILL);
  errno = static_cast<int>(number("FAIL_ERRNO"));
  return true;
}

bool fails(const char* name, size_t bytes) {
  return has_read && bytes >= number("FAIL_LEAST") && fails(name);
}

/// How much of a transfer is made; 0: interrupted before anything moved.
size_t shortened(size_t bytes) {
  if (number("FAIL_SHORT") == 0) return bytes;
  const unsigned call = ++calls;
  if (call % 7 == 0) return 0;
  return call % 3 == 0 && bytes > 1 ? bytes / 2 + 1 : bytes;
}

template <class Buffer, class... Position>
ssize_t transfer(const char* name, int fd, Buffer* buffer, size_t bytes, Position... position) {
  if (fails(name)) return -1;
  const size_t part = shortened(bytes);
  if (part == 0 && bytes != 0) {
    errno = EINTR;
    return -1;
  }
  return next<ssize_t(int, Buffer*, size_t, Position...)>(name)(fd, buffer, part, position...);
}

}  // namespace

extern "C" {

ssize_t read(int fd, void* buffer, size_t bytes) { return transfer("read", fd, buffer, bytes); }
ssize_t write(int fd, const void* buffer, size_t bytes) { return transfer("write", fd, buffer, bytes); }
ssize_t pread(int fd, void* buffer, size_t bytes, off_t at) {
  has_read = true;
  return transfer("pread", fd, buffer, bytes, at);
}
ssize_t pwrite(int fd, const void* buffer, size_t bytes, off_t at) {
  return transfer("pwrite", fd, buffer, bytes, at);
}

extern void* __libc_malloc(size_t bytes) noexcept;
// dlsym itself allocates, so malloc cannot be found by it.
void* malloc(size_t bytes) noexcept { return fails("malloc", bytes) ? nullptr : __libc_malloc(bytes); }
void* mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  if (fd < 0 && fails("mmap", bytes)) return MAP_FAILED;
  return next<void*(void*, size_t, int, int, int, off_t)>("mmap")(at, bytes, protection, flags, fd, offset);
}

int ftruncate(int fd, off_t bytes) noexcept {
  return fails("ftruncate") ? -1 : next<int(int, off_t)>("ftruncate")(fd, bytes);
}
int fdatasync(int fd) { return fails("fdatasync") ? -1 : next<int(int)>("fdatasync")(fd); }
int fsync(int fd) { return fails("fsync") ? -1 : next<int(int)>("fsync")(fd); }
int fallocate(int fd, int mode, off_t first, off_t bytes) {
  return fails("fallocate") ? -1 : next<int(int, int, off_t, off_t)>("fallocate")(fd, mode, first, bytes);
}
int fchmod(int fd, mode_t mode) { return fails("fchmod") ? -1 : next<int(int, mode_t)>("fchmod")(fd, mode); }
int linkat(int from, const char* name, int to, const char* other, int flags) noexcept {
  return fails("linkat")
             ? -1
             : next<int(int, const char*, int, const char*, int)>("linkat")(from, name, to, other, flags);
}
int renameat2(int from, const char* name, int to, const char* other, unsigned flags) noexcept {
  return fails("renameat2") ? -1
                            : next<int(int, const char*, int, const char*, unsigned)>("renameat2")(
                                  from, name, to, other, flags);
}
}
