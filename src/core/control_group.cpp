// control_group.cpp - parses lines such as "0::/a/b" or "5:memory:/a/b".
#include "core/control_group.hpp"

#include <fstream>

namespace sweepsort {
namespace {

/// This process's group, relative to the mount point.
std::filesystem::path own_group(const std::filesystem::path& root, const std::string& controllers) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos || line.substr(first + 1, second - first - 1) != controllers) continue;
    return std::filesystem::path(line.substr(second + 1)).relative_path();
  }
  return {};
}

}  // namespace

std::vector<std::filesystem::path> control_groups(const std::filesystem::path& root,
                                                  const std::filesystem::path& mount,
                                                  const std::string& controllers) {
  std::vector<std::filesystem::path> folders;
  for (std::filesystem::path group = own_group(root, controllers); !group.empty();
       group = group.parent_path())
    folders.push_back(mount / group);
  folders.push_back(mount);
  return folders;
}

}  // namespace sweepsort
