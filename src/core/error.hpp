// error.hpp - the exception type Error and its kinds. Only main prints it and turns it into an exit code.
#pragma once

#include <cerrno>
#include <stdexcept>
#include <string>
#include <utility>

namespace sweepsort {

/// What went wrong, where, and what to do about it. `what()` reads "WHERE: what is wrong" (WHERE is a file,
/// an option or empty); `hint()` is one sentence without a trailing full stop, or empty.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, std::string hint = {})
      : std::runtime_error(message), hint_(std::move(hint)) {}

  const std::string& hint() const noexcept { return hint_; }

 private:
  std::string hint_;
};

/// The hint where a check shows that data were changed on their way.
inline constexpr const char* try_elsewhere =
    "the memory or the device may be faulty: try again, or on another machine";

/// The command line or the options make no sense. Same exit code as Error, but different advice.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// The content of the input does not allow what is asked for, or somebody changes the input meanwhile. No
/// other backend would do better.
class InputError : public Error {
 public:
  using Error::Error;
};

/// The system refused an operation on a file, for example because its disk is full or broken.
class FileError : public Error {
 public:
  /// `error` is an errno value.
  FileError(const std::string& message, std::string hint, int error)
      : Error(message, std::move(hint)), error_(error) {}

  /// Whether the process had too little of something (descriptors, memory), which a backend may have taken.
  /// Otherwise no other backend would fare better.
  bool is_shortage() const noexcept {
    return error_ == EMFILE || error_ == ENFILE || error_ == ENOMEM || error_ == EFAULT;
  }

 private:
  int error_;
};

/// The request exceeds what this backend can do; another backend may be able to do it.
class BackendLimitError : public Error {
 public:
  using Error::Error;
};

/// A device has less free memory than was requested; a smaller request may succeed.
class DeviceMemoryError : public Error {
 public:
  using Error::Error;
};

}  // namespace sweepsort
