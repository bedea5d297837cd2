// control_group.hpp - where Linux keeps the limits of this process's control group (cgroup).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sweepsort {

/// Directories of this process's group and of all groups above it, from the group itself up to `mount`. Each
/// may have a limit; in a container the group is the mount point itself. `controllers` is the controller list
/// in the group's line in ROOT/proc/self/cgroup; empty for version 2.
std::vector<std::filesystem::path> control_groups(const std::filesystem::path& root,
                                                  const std::filesystem::path& mount,
                                                  const std::string& controllers);

}  // namespace sweepsort
