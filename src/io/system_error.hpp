// system_error.hpp - a failed system call as a FileError that names the file, what was tried and why it
// failed.
#pragma once

#include "core/error.hpp"

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

namespace sweepsort {

/// What hints say where a disk is full or may not be written.
inline constexpr std::string_view another_file_system = "write to another file system";

/// "FILE: cannot ACTION: No space left on device"; the common causes come with a hint. `error` is an errno
/// value.
FileError system_error(const std::string& file, const std::string& action, int error,
                       std::string_view elsewhere = another_file_system);

/// The same for a read or write at a position: "FILE: cannot read at byte 4096: Input/output error".
FileError system_error_at(const std::string& file, const std::string& action, uint64_t offset, int error);

/// Of a file that is not there: an Error that says so if its name is that of a descriptor, as /dev/fd/9 is.
void refuse_closed_descriptor(const std::string& name);

/// Calls once more what a signal interrupted: a file system of a network or of another program may let it.
template <class Call>
int retried(Call call) {
  int result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace sweepsort
