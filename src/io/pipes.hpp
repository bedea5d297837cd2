// pipes.hpp - what pipes have that files have not: room, and waiting.
#pragma once

#include "io/file_descriptor.hpp"
#include "io/stop_event.hpp"

#include <span>
#include <vector>

namespace sweepsort {

/// Makes a pipe hold 1 MiB, so that its two ends sleep less. What is no pipe, or may not grow, stays as it
/// is; and all pipes from the 17th on, since what a user may have of this memory is limited.
void widen_pipe(int fd) noexcept;

/// A pipe's other self, whose writes do not block; the flag of `fd` itself is other programs', too. Empty
/// where that is no pipe, or its reader is gone.
FileDescriptor open_without_blocking(int fd);

/// Waits until there is room in a pipe whose writes do not block, or its reader is gone. Throws Stopped when
/// `stop` is set.
void wait_until_writable(int fd, const StopEvent& stop);

/// For each file, whether a read returns at once, be it the end or an error. `waits`: until one of them does.
/// Throws Stopped where there is a `stop` and it is set.
std::vector<bool> can_be_read(std::span<const int> files, bool waits, const StopEvent* stop);
/// Waits until that is so of one file.
void wait_until_readable(int fd, const StopEvent* stop);

}  // namespace sweepsort
