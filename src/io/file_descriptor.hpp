// file_descriptor.hpp - an open file that closes itself.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace sweepsort {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

  /// Closes now and returns 0, or -1 with errno. Some file systems report a failed write only here.
  int close() noexcept { return fd_ < 0 ? 0 : ::close(std::exchange(fd_, -1)); }

 private:
  int fd_ = -1;
};

/// A path to the file that `fd` is open on, even if the file has no name. Use it to open a second file
/// description with its own flags, or to link the file.
inline std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

/// How many files this process may have open at once.
inline uint64_t max_open_files() {
  rlimit files{};
  return ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : std::numeric_limits<uint64_t>::max();
}

}  // namespace sweepsort
