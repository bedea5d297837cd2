// disk_space.hpp - whether file systems have room for what is planned.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sweepsort {

/// What will be needed where a path leads: a directory, or a file that is or will be in one.
struct SpaceNeed {
  std::string path;
  uint64_t bytes = 0;
};

/// A line for each file system that has less than is needed on it in all. Nothing of those that do not tell.
std::vector<std::string> lacking_space(std::span<const SpaceNeed> needs);

}  // namespace sweepsort
