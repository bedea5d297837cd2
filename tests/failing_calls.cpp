// failing_calls.cpp - a library to preload: system calls that come back short, are interrupted, or fail the
// k-th time.
//
// FAIL_SHORT=1       reads and writes move a part of what was asked for; every seventh call is interrupted
// FAIL_CALL=pwrite   this function fails,
// FAIL_AT=3          when it is called for the third time,
// FAIL_ONWARDS=1     and from then on (otherwise only that time),
// FAIL_ERRNO=5       with this errno.
// FAIL_LOG=file      Each failure adds a line to this file: for a transfer, the position in the file.
// FAIL_KILLS=1       The process is killed there instead.
// FAIL_FLIPS=1       That transfer, of FAIL_MOST bytes or fewer, succeeds instead, but for one bit of it.
// NO_TMPFILE=1       the file system has no O_TMPFILE
//
// Of malloc and mmap, only requests of FAIL_LEAST bytes or more count, and only after the first read of an
// input: a failure of what libraries allocate before main() ends the program in their own way. Of read(),
// only calls for pipes count, as libraries read /proc. A close() that fails has nevertheless closed the file.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <type_traits>

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

/// Uses only calls that are not counted below and that allocate nothing.
void note_in_log(off_t position) {
  const char* const path = std::getenv("FAIL_LOG");
  if (!path) return;
  char line[32];
  const auto end = std::to_chars(line, line + sizeof line - 1, position);
  *end.ptr = '\n';
  const long log = ::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ::syscall(SYS_write, log, line, end.ptr + 1 - line);
  ::syscall(SYS_close, log);
}

bool is_pipe(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

/// Whether this call of `name` must fail. If so, sets errno.
bool fails(const char* name, off_t position = 0) {
  const char* const chosen = std::getenv("FAIL_CALL");
  if (!chosen || std::strcmp(chosen, name) != 0) return false;
  const unsigned call = ++matching_calls;
  if (call < number("FAIL_AT") || (call > number("FAIL_AT") && number("FAIL_ONWARDS") == 0)) return false;
  note_in_log(position);
  if (number("FAIL_KILLS") != 0) ::kill(::getpid(), SIGKILL);
  errno = static_cast<int>(number("FAIL_ERRNO"));
  return true;
}

bool allocation_fails(const char* name, size_t bytes) {
  return has_read && bytes >= number("FAIL_LEAST") && fails(name);
}

/// How much of a transfer to make; 0: interrupted before anything moved.
size_t shortened(size_t bytes) {
  if (number("FAIL_SHORT") == 0) return bytes;
  const unsigned call = ++calls;
  if (call % 7 == 0) return 0;
  return call % 3 == 0 && bytes > 1 ? bytes / 2 + 1 : bytes;
}

template <class Buffer, class... Position>
ssize_t transfer(const char* name, int fd, Buffer* buffer, size_t bytes, Position... position) {
  if (number("FAIL_FLIPS") != 0) {
    const ssize_t moved =
        next<ssize_t(int, Buffer*, size_t, Position...)>(name)(fd, buffer, bytes, position...);
    if constexpr (!std::is_const_v<Buffer>)
      if (moved > 0 && bytes <= number("FAIL_MOST") && fails(name, (off_t{0} + ... + position)))
        *static_cast<unsigned char*>(buffer) ^= 1;
    return moved;
  }
  if (fails(name, (off_t{0} + ... + position))) return -1;
  const size_t part = shortened(bytes);
  if (part == 0 && bytes != 0) {
    errno = EINTR;
    return -1;
  }
  return next<ssize_t(int, Buffer*, size_t, Position...)>(name)(fd, buffer, part, position...);
}

}  // namespace

extern "C" {

ssize_t read(int fd, void* buffer, size_t bytes) {
  if (!is_pipe(fd)) return next<ssize_t(int, void*, size_t)>("read")(fd, buffer, bytes);
  has_read = true;
  return transfer("read", fd, buffer, bytes);
}
ssize_t write(int fd, const void* buffer, size_t bytes) { return transfer("write", fd, buffer, bytes); }
ssize_t pread(int fd, void* buffer, size_t bytes, off_t at) {
  has_read = true;
  return transfer("pread", fd, buffer, bytes, at);
}
ssize_t pwrite(int fd, const void* buffer, size_t bytes, off_t at) {
  return transfer("pwrite", fd, buffer, bytes, at);
}

extern void* __libc_malloc(size_t bytes) noexcept;
// dlsym itself allocates, so it cannot be used to find malloc.
void* malloc(size_t bytes) noexcept {
  return allocation_fails("malloc", bytes) ? nullptr : __libc_malloc(bytes);
}
void* mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  if (fd < 0 && allocation_fails("mmap", bytes)) return MAP_FAILED;
  return next<void*(void*, size_t, int, int, int, off_t)>("mmap")(at, bytes, protection, flags, fd, offset);
}

int open(const char* path, int flags, ...) {
  const bool is_nameless = (flags & O_TMPFILE) == O_TMPFILE;
  mode_t mode = 0;
  if (is_nameless || (flags & O_CREAT) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  if (fails("open")) return -1;
  if (is_nameless && number("NO_TMPFILE") != 0) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return next<int(const char*, int, ...)>("open")(path, flags, mode);
}
int close(int fd) {
  const bool is_reported = fails("close");
  const int error = errno;
  const int result = next<int(int)>("close")(fd);
  if (!is_reported) return result;
  errno = error;
  return -1;
}
int ftruncate(int fd, off_t bytes) noexcept {
  return fails("ftruncate") ? -1 : next<int(int, off_t)>("ftruncate")(fd, bytes);
}
int fdatasync(int fd) { return fails("fdatasync") ? -1 : next<int(int)>("fdatasync")(fd); }
int sync_file_range(int fd, off_t first, off_t bytes, unsigned flags) {
  return fails("sync_file_range")
             ? -1
             : next<int(int, off_t, off_t, unsigned)>("sync_file_range")(fd, first, bytes, flags);
}
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
