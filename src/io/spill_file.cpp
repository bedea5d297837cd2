// spill_file.cpp - O_TMPFILE, or open and unlink; fallocate.
#include "io/spill_file.hpp"

#include "core/error.hpp"
#include "io/reserve.hpp"
#include "io/system_error.hpp"
#include "io/temporary_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <string_view>
#include <system_error>

namespace sweepsort {
namespace {

constexpr const char* another_directory = "name another directory with -T";

FileDescriptor create_hidden(const std::string& directory) {
  int error = 0;
  FileDescriptor file;
  {
    TemporaryName name(directory);
    file = name.open(0600);
    error = errno;
  }
  errno = error;  // restore the reason, since removing the name may have changed errno
  return file;
}

FileDescriptor create(const std::string& directory, bool allow_anonymous) {
  if (allow_anonymous) {
    FileDescriptor file = open_nameless(directory, 0600);
    if (file || errno != EOPNOTSUPP) return file;
  }
  return create_hidden(directory);
}

FileError cannot_create(const std::string& directory, int error) {
  if (error == EACCES)
    return {directory + ": cannot create a temporary file in it: permission denied", another_directory,
            error};
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    return {directory + ": no directory for temporary files", "name another with -T or $TMPDIR", error};
  if (error == ENOENT || error == EPERM)  // no directory for files, or a removed one
    return {fmt::format("{}: cannot create a temporary file in it: {}", directory,
                        std::generic_category().message(error)),
            another_directory, error};
  return system_error(directory, "create a temporary file in it", error, another_directory);
}

}  // namespace

SpillFile::SpillFile(const std::string& directory, Caching caching, bool allow_anonymous) {
  FileDescriptor file = create(directory, allow_anonymous);
  if (!file) throw cannot_create(directory, errno);
  // Small reads are of single keys in no order: read-ahead would only fill the cache.
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_RANDOM);
  file_ = PositionedFile(std::move(file), directory + ": a temporary file in it", caching);
}

void SpillFile::reserve(uint64_t bytes) {
  if (bytes <= size_) return;
  reserve_space(file_.fd(), file_.name(), size_, bytes - size_, another_directory);
  size_ = bytes;
}

void SpillFile::check_written() const {
  const auto wait = [&] { return ::sync_file_range(file_.fd(), 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE); };
  if (retried(wait) != 0 && errno != ENOSYS && errno != ESPIPE)
    throw system_error(file_.name(), "write it to the disk", errno, another_directory);
}

}  // namespace sweepsort
