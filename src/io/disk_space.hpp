// disk_space.hpp - whether file systems have room for what is planned.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sweepsort {

/// What will be needed on the file system of a directory. `name` is for messages.
struct SpaceNeed {
  std::string name;
  std::string directory;
  uint64_t bytes = 0;
};

/// A line for each file system that has less than is needed on it in all. Nothing of those that do not tell.
std::vector<std::string> lacking_space(std::span<const SpaceNeed> needs);

}  // namespace sweepsort
