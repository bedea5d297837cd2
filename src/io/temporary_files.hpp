// temporary_files.hpp - the names that must vanish when the process does.
//
// Most temporary files have no name at all (O_TMPFILE). Where a file system has no such thing, and for the
// instant between giving a finished file a hidden name and renaming it, the name stands in a fixed table that
// a signal handler can read. The handler may run in any thread, so each change of such a name is one step to
// it.
#pragma once

#include "io/file_descriptor.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace sweepsort {

/// Unlinks every file that stands in the table, once the steps under way have ended; from then on no step
/// begins. Async-signal-safe: meant for the handler of signals that end the process.
void remove_temporary_files() noexcept;

/// A new file without a name in that directory, for reading and writing (O_TMPFILE). Empty and errno if it
/// cannot be had: EOPNOTSUPP where the file system or the kernel has no such files.
FileDescriptor open_nameless(const std::string& directory, uint32_t mode);

/// A name in a directory that nobody else has, and the file of that name, if there is one: the destructor
/// unlinks it.
class TemporaryName {
 public:
  /// There is no file yet. Throws Error: the name is too long, or there are too many.
  explicit TemporaryName(const std::string& directory);
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;
  ~TemporaryName();

  const std::string& path() const { return path_; }

  /// Calls `change`, which makes, renames or unlinks the file and returns whether one stands there now, and
  /// throws nothing. All signals are blocked meanwhile. After remove_temporary_files() the caller stands
  /// still instead, until the process is gone.
  void step(const std::function<bool()>& change);

  /// A new file of this name, for reading and writing. Empty and errno if it cannot be had.
  FileDescriptor open(uint32_t mode);

 private:
  std::string path_;
  size_t slot_;
};

}  // namespace sweepsort
