// pipe_size.cpp - F_SETPIPE_SZ.
#include "io/pipe_size.hpp"

#include <fcntl.h>

#include <cerrno>

namespace sweepsort {

void widen_pipe(int fd) noexcept {
  constexpr int wanted = 1 << 20;
  const int before = errno;
  const int size = ::fcntl(fd, F_GETPIPE_SZ);
  if (size >= 0 && size < wanted) (void)::fcntl(fd, F_SETPIPE_SZ, wanted);
  errno = before;
}

}  // namespace sweepsort
