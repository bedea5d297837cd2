// temporary_files.hpp - names of files that must disappear with the process.
//
// Most temporary files have no name at all (O_TMPFILE). A file has a hidden name only on a file system
// without O_TMPFILE, and for the instant in which a finished file is renamed. Such a name is kept in a fixed
// table that a signal handler can read. The handler may run in any thread, so each change of a name looks
// like one step to it.
#pragma once

#include "io/file_descriptor.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace sweepsort {

/// Unlinks every file in the table, once the steps in progress have ended. No step begins from then on.
/// Async-signal-safe: meant for the handler of signals that end the process.
void remove_temporary_files() noexcept;

/// Creates a file without a name in a directory, for reading and writing (O_TMPFILE). Empty with errno if
/// that fails: EOPNOTSUPP if the file system or the kernel does not support it.
FileDescriptor open_nameless(const std::string& directory, uint32_t mode);

/// A unique name in a directory, and the file with that name, if there is one. The destructor unlinks the
/// file.
class TemporaryName {
 public:
  /// Creates no file yet. Throws Error if the name is too long or there are too many names.
  explicit TemporaryName(const std::string& directory);
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;
  ~TemporaryName();

  const std::string& path() const { return path_; }

  /// Calls `change`, which creates, renames or unlinks the file, returns whether a file has the name now, and
  /// does not throw. All signals are blocked during the call. After remove_temporary_files() this function
  /// blocks instead, until the process ends.
  void step(const std::function<bool()>& change);

  /// Creates a file of this name, for reading and writing. Empty with errno if that fails.
  FileDescriptor open(uint32_t mode);

 private:
  std::string path_;
  size_t slot_;
};

}  // namespace sweepsort
