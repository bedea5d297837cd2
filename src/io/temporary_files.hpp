// temporary_files.hpp - the names that must vanish when the process does.
//
// Most temporary files have no name at all (O_TMPFILE). Where a file system has no such thing, and for the
// instant between giving a finished file a hidden name and renaming it, the name stands in a fixed table that
// a signal handler can read.
#pragma once

#include "io/file_descriptor.hpp"

#include <cstdint>
#include <string>

namespace sweepsort {

/// Unlinks every registered file. Async-signal-safe: meant for the handler of signals that end the process.
void remove_temporary_files() noexcept;

/// A new file without a name in that directory, for reading and writing (O_TMPFILE). Empty and errno if it
/// cannot be had: EOPNOTSUPP where the file system or the kernel has no such files.
FileDescriptor open_nameless(const std::string& directory, uint32_t mode);
/// The same of this name, which nothing else may have: EEXIST.
FileDescriptor open_new(const std::string& path, uint32_t mode);

/// A name in that directory that nobody else has.
std::string temporary_path(const std::string& directory);

/// Registers a name for as long as it lives; the destructor unlinks the file unless `keep()` was called.
class TemporaryName {
 public:
  /// Register first, create the file after: a signal in between then finds nothing to unlink, not a file
  /// unknown to it.
  explicit TemporaryName(const std::string& path);
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;
  ~TemporaryName();

  const std::string& path() const { return path_; }
  /// The file is somebody's now (it was renamed): forget it.
  void keep() noexcept;

 private:
  std::string path_;
  int slot_;
};

}  // namespace sweepsort
