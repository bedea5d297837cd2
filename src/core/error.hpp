// error.hpp - the one exception type and its kinds. Only main prints it and turns it into an exit code.
#pragma once

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

/// The user asked for something that the command line cannot mean. Same exit code as Error, other advice.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// What the input holds cannot be done with what is asked for, or somebody changes it meanwhile: no backend
/// would fare better.
class InputError : public Error {
 public:
  using Error::Error;
};

/// The system refused something of a file: its disk is full, or broken. No backend would fare better.
class FileError : public Error {
 public:
  using Error::Error;
};

/// What is asked for is beyond what this backend can do: another one may.
class BackendLimitError : public Error {
 public:
  using Error::Error;
};

/// A device has not as much memory left as was asked of it: less at a time may do.
class DeviceMemoryError : public Error {
 public:
  using Error::Error;
};

}  // namespace sweepsort
