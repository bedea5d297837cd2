// pipe_size.hpp - room in a pipe, so that its two ends sleep less.
#pragma once

namespace sweepsort {

/// Makes a pipe hold as much as the kernel lets anybody have (1 MiB unless the system says otherwise). What is
/// no pipe, or may not grow, stays as it is.
void widen_pipe(int fd) noexcept;

}  // namespace sweepsort
