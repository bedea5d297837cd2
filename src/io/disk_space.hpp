// disk_space.hpp - whether file systems have enough room for a plan.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sweepsort {

/// How much space will be needed on the file system of a directory. `name` is for messages.
struct SpaceNeed {
  std::string name;
  std::string directory;
  uint64_t bytes = 0;
};

/// One line per file system with less free space than all needs on it together. Skips file systems that do
/// not report their free space.
std::vector<std::string> lacking_space(std::span<const SpaceNeed> needs);

}  // namespace sweepsort
