// disk_space.cpp - compares free space (statvfs) with needs, per file system.
#include "io/disk_space.hpp"

#include "core/bytes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <map>

namespace sweepsort {
namespace {

struct FileSystem {
  uint64_t free = 0;
  uint64_t needed = 0;
  std::vector<std::string> names = {};
};

}  // namespace

std::vector<std::string> lacking_space(std::span<const SpaceNeed> needs) {
  std::map<dev_t, FileSystem> systems;
  for (const SpaceNeed& need : needs) {
    struct stat status {};
    struct statvfs space {};
    if (::stat(need.directory.c_str(), &status) != 0 || ::statvfs(need.directory.c_str(), &space) != 0)
      continue;
    FileSystem& system = systems[status.st_dev];
    // Some blocks are reserved for root.
    system.free = (::geteuid() == 0 ? space.f_bfree : space.f_bavail) * space.f_frsize;
    system.needed += need.bytes;
    system.names.push_back(need.name);
  }
  std::vector<std::string> lines;
  for (const auto& [device, system] : systems)
    if (system.needed > system.free)
      lines.push_back(fmt::format("{}: {} will be needed there, but only {} is free",
                                  fmt::join(system.names, ", "), format_bytes({system.needed}),
                                  format_bytes({system.free})));
  return lines;
}

}  // namespace sweepsort
