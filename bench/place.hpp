// place.hpp - where something was measured.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sweepsort::bench {

/// What a row means depends on these. Empty where it does not apply.
struct Place {
  std::string backend;  // "cuda" or "cpu"
  std::string gpu{};
  std::string driver{};
  std::string cuda{};
  std::string cub{};
  std::vector<std::pair<std::string, std::string>> other_peers{};  // name and version, of those told by path
  uint32_t threads = 0;
  double copy_bandwidth_bytes_s = 0;  // read + written, measured in this run
  double read_bandwidth_bytes_s = 0;  // measured in this run, by commands that need it
};

}  // namespace sweepsort::bench
