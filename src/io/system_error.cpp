// system_error.cpp - messages for failed system calls.
#include "io/system_error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <string_view>
#include <system_error>

namespace sweepsort {
namespace {

std::string hint_for(int error, std::string_view elsewhere) {
  switch (error) {
    case ENOSPC: return fmt::format("free some space there, or {}", elsewhere);
    case EDQUOT: return fmt::format("the disk quota is used up: free some space, or {}", elsewhere);
    case EFBIG:
      return "the file would be larger than the limit of this shell (ulimit -f) or of the file system";
    case EMFILE: return "raise the limit of open files (ulimit -n), or name fewer files at a time";
    case ENOTDIR: return "a part of the path is a file, not a directory";
    case EROFS: return fmt::format("the file system is mounted read-only: {}", elsewhere);
    case ELOOP: return "a link leads back to itself: name the file that is meant";
    case ENAMETOOLONG: return "choose a shorter name";
    case EACCES: return "the owner can allow that (chmod)";
    default: return {};
  }
}

}  // namespace

FileError system_error(const std::string& file, const std::string& action, int error,
                       std::string_view elsewhere) {
  return FileError(fmt::format("{}: cannot {}: {}", file, action, std::generic_category().message(error)),
                   hint_for(error, elsewhere), error);
}

void refuse_closed_descriptor(const std::string& name) {
  for (const std::string_view before : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!name.starts_with(before)) continue;
    const std::string_view descriptor = std::string_view(name).substr(before.size());
    throw Error(fmt::format("{}: descriptor {} is not open", name, descriptor), "name a file, or '-'");
  }
}

FileError system_error_at(const std::string& file, const std::string& action, uint64_t offset, int error) {
  return system_error(file, fmt::format("{} at byte {}", action, offset), error);
}

}  // namespace sweepsort
