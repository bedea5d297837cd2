// place.hpp - the place of a measurement.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sweepsort::bench {

/// The meaning of a row depends on these. Fields that do not apply are empty.
struct Place {
  std::string backend;  // "cuda" or "cpu"
  std::string gpu{};
  std::string driver{};
  std::string cuda{};
  std::string cub{};
  // name and version of the peers found by a path
  std::vector<std::pair<std::string, std::string>> other_peers{};
  uint32_t threads = 0;
  double copy_bandwidth_bytes_s = 0;  // read + written, measured in this run
  double read_bandwidth_bytes_s = 0;  // measured in this run by commands that need it
};

}  // namespace sweepsort::bench
