// run_options.hpp - the options that all commands of sweepsort-bench share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sweepsort::bench {

/// How a GPU is timed: by events around work that the host launches, or around a CUDA graph of the same work,
/// which excludes the host's launch time.
enum class Timing : uint8_t { events, graph };

struct RunOptions {
  std::string backend;  // "auto", "cuda" or "cpu"
  Timing timing = Timing::events;
  int device = 0;
  uint32_t threads = 0;    // host threads; 0: all
  uint32_t repeat = 0;     // number of runs; the median is reported
  double row_limit_s = 0;  // a row ends early once it has taken this long
  uint64_t seed = 0;
  std::string json_file;  // empty: no JSON
  std::string revision;   // empty: the revision that was built
};

/// Whether a list of peers contains `name`, or the part of `name` before the first '-' ("cub" for
/// "cub-int64").
bool is_wanted(const std::vector<std::string>& peers, const std::string& name);

}  // namespace sweepsort::bench
