// pipes.hpp - what pipes have that files have not: room, and waiting.
#pragma once

#include "io/stop_event.hpp"

#include <span>
#include <vector>

namespace sweepsort {

/// Makes a pipe hold 1 MiB, so that its two ends sleep less. What is no pipe, or may not grow, stays as it
/// is; and all pipes from the 17th on, since what a user may have of this memory is limited.
void widen_pipe(int fd) noexcept;

/// Waits until there is room in a pipe that does not block (O_NONBLOCK), or its reader is gone.
void wait_until_writable(int fd);

/// For each file, whether a read returns at once, be it the end or an error. `waits`: until one of them does.
/// Throws Stopped where there is a `stop` and it is set.
std::vector<bool> can_be_read(std::span<const int> files, bool waits, const StopEvent* stop);
/// Waits until that is so of one file.
void wait_until_readable(int fd, const StopEvent* stop);

}  // namespace sweepsort
