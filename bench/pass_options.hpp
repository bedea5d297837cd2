// pass_options.hpp - what `sweepsort-bench scan` and `sweepsort-bench min` are to measure.
#pragma once

#include "bench/pass_case.hpp"
#include "bench/run_options.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sweepsort::bench {

struct PassOptions : RunOptions {
  Pass pass = Pass::scan;
  std::vector<KeyType> types;
  std::vector<uint64_t> sizes;
  Cache cache = Cache::cold;
  std::vector<std::string> peers;  // "all", "none" or names
  // For scans.
  std::vector<ScanOp> ops;
  std::vector<ScanKind> kinds;
  std::vector<ScanAlgorithm> scan_algorithms;
  // For searches.
  std::vector<Extreme> extremes;
  std::vector<bool> indices;  // without it, with it
  std::vector<ReduceAlgorithm> reduce_algorithms;
};

/// Parse the words after `scan` or `min`. Return nothing if only help was requested, which they have then
/// printed. Throw UsageError.
std::optional<PassOptions> parse_scan_options(std::span<const std::string> words);
std::optional<PassOptions> parse_search_options(std::span<const std::string> words);

/// Every case that the options describe. Cases with the same elements are neighbours.
std::vector<PassCase> pass_cases(const PassOptions& options);

}  // namespace sweepsort::bench
