// system_error.hpp - a failed system call as a FileError that names the file, what was tried and why it
// failed.
#pragma once

#include "core/error.hpp"

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

namespace sweepsort {

/// What hints suggest if a disk is full or not writable.
inline constexpr std::string_view another_file_system = "write to another file system";

/// "FILE: cannot ACTION: No space left on device". Common causes have a hint. `error` is an errno value.
FileError system_error(const std::string& file, const std::string& action, int error,
                       std::string_view elsewhere = another_file_system);

/// Like system_error, for a read or write at a position: "FILE: cannot read at byte 4096: Input/output
/// error".
FileError system_error_at(const std::string& file, const std::string& action, uint64_t offset, int error);

/// For a file that does not exist: throws Error if its name is that of a closed descriptor, such as
/// /dev/fd/9.
void refuse_closed_descriptor(const std::string& name);

/// Repeats a call that a signal interrupted, which can happen on network and user-space file systems.
template <class Call>
int retried(Call call) {
  int result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace sweepsort
