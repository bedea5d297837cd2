// reserve.cpp - reserves with fallocate, or sets the length with ftruncate.
#include "io/reserve.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

namespace sweepsort {

void reserve_space(int fd, const std::string& name, uint64_t offset, uint64_t bytes,
                   std::string_view elsewhere) {
  uint64_t end = 0;
  if (__builtin_add_overflow(offset, bytes, &end) ||
      end > static_cast<uint64_t>(std::numeric_limits<off_t>::max()))
    throw system_error(name, fmt::format("reserve {} bytes", bytes), EFBIG);
  rlimit limit{};
  // Checked here, because exceeding the limit raises a signal (SIGXFSZ) before it returns an error.
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur)
    throw system_error(name, fmt::format("reserve {} bytes", bytes), EFBIG);
  if (bytes == 0) return;
  const auto allocate = [&] {
    return ::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  };
  if (retried(allocate) == 0) return;
  if (errno != EOPNOTSUPP && errno != ENOSYS)
    throw system_error(name, fmt::format("reserve {} bytes", bytes), errno, elsewhere);
  // Without the reservation, a full disk is found only by a write, but at least the length is right from the
  // start.
  if (retried([&] { return ::ftruncate(fd, static_cast<off_t>(end)); }) != 0)
    throw system_error(name, fmt::format("set the length to {} bytes", end), errno, elsewhere);
}

}  // namespace sweepsort
