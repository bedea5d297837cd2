// pipes.hpp - what pipes have and files do not: limited room, and waiting.
#pragma once

#include "io/file_descriptor.hpp"
#include "io/stop_event.hpp"

#include <span>
#include <vector>

namespace sweepsort {

/// Enlarges a pipe to 1 MiB, so that its two ends sleep less. Does nothing if `fd` is no pipe or may not
/// grow, nor from the 17th pipe on, since the memory that a user may have for pipes is limited.
void widen_pipe(int fd) noexcept;

/// Opens a pipe a second time with non-blocking writes, since other programs share the flags of `fd` itself.
/// Empty if `fd` is no pipe, or if its reader is gone.
FileDescriptor open_without_blocking(int fd);

/// Waits until a non-blocking pipe has room or its reader is gone. Throws Stopped when `stop` is set.
void wait_until_writable(int fd, const StopEvent& stop);

/// For each file, whether a read would return at once (also with the end or an error). `waits`: waits until
/// at least one would. Throws Stopped if `stop` is given and set.
std::vector<bool> can_be_read(std::span<const int> files, bool waits, const StopEvent* stop);
/// Waits until a read of `fd` would return at once.
void wait_until_readable(int fd, const StopEvent* stop);

}  // namespace sweepsort
