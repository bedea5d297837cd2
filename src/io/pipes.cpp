// pipes.cpp - pipe sizes with F_SETPIPE_SZ, waiting with poll.
#include "io/pipes.hpp"

#include "io/system_error.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace sweepsort {

void widen_pipe(int fd) noexcept {
  constexpr int wanted = 1 << 20;
  constexpr int max_pipes = 16;
  static std::atomic<int> pipes = 0;
  const int before = errno;
  const int size = ::fcntl(fd, F_GETPIPE_SZ);
  if (size >= 0 && size < wanted && pipes++ < max_pipes) (void)::fcntl(fd, F_SETPIPE_SZ, wanted);
  errno = before;
}

FileDescriptor open_without_blocking(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISFIFO(status.st_mode)) return {};
  return FileDescriptor(
      retried([&] { return ::open(path_of(fd).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC); }));
}

void wait_until_writable(int fd, const StopEvent& stop) {
  std::array<pollfd, 2> polls{pollfd{.fd = fd, .events = POLLOUT, .revents = 0},
                              pollfd{.fd = stop.fd(), .events = POLLIN, .revents = 0}};
  while (::poll(polls.data(), polls.size(), -1) < 0)
    if (errno != EINTR) throw system_error("a pipe", "wait for it", errno);
  if (polls[1].revents != 0) throw Stopped();
}

std::vector<bool> can_be_read(std::span<const int> files, bool waits, const StopEvent* stop) {
  std::vector<pollfd> polls;
  for (const int file : files) polls.push_back({.fd = file, .events = POLLIN, .revents = 0});
  // poll() ignores a descriptor of -1.
  polls.push_back({.fd = stop ? stop->fd() : -1, .events = POLLIN, .revents = 0});
  while (::poll(polls.data(), polls.size(), waits ? -1 : 0) < 0)
    if (errno != EINTR) throw system_error("the inputs", "wait for them", errno);
  if (polls.back().revents != 0) throw Stopped();
  polls.pop_back();
  std::vector<bool> ready;
  for (const pollfd& one : polls) ready.push_back(one.revents != 0);
  return ready;
}

void wait_until_readable(int fd, const StopEvent* stop) { can_be_read(std::span(&fd, 1), true, stop); }

}  // namespace sweepsort
