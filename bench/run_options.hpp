// run_options.hpp - what every command of sweepsort-bench is asked in the same words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sweepsort::bench {

/// How a GPU is timed: by events around work that the host launches, or around a CUDA graph of it, which
/// leaves out what the host needs for a launch.
enum class Timing : uint8_t { events, graph };

struct RunOptions {
  std::string backend;  // "auto", "cuda" or "cpu"
  Timing timing = Timing::events;
  int device = 0;
  uint32_t threads = 0;    // host threads; 0: all
  uint32_t repeat = 0;     // runs of which the median is reported
  double row_limit_s = 0;  // a row ends with fewer runs once it has taken so long
  uint64_t seed = 0;
  std::string json_file;  // empty: no JSON
  std::string revision;   // empty: the one that was built
};

/// Whether a list of peers asks for `name`: by its name, or by the part before the first '-' ("cub" for
/// "cub-int64").
bool is_wanted(const std::vector<std::string>& peers, const std::string& name);

}  // namespace sweepsort::bench
