// control_group.hpp - where Linux keeps the limits of this process's control group (cgroup).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sweepsort {

/// The folder of this process's group below `mount` and those of all groups above it, `mount` last: each may
/// have a limit, and in a container the group is the mount point itself. `controllers`: as the group's line
/// in ROOT/proc/self/cgroup names them, empty for version 2.
std::vector<std::filesystem::path> control_groups(const std::filesystem::path& root,
                                                  const std::filesystem::path& mount,
                                                  const std::string& controllers);

}  // namespace sweepsort
