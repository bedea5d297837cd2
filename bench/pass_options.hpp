// pass_options.hpp - what `sweepsort-bench scan` and `sweepsort-bench min` are asked to measure.
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
  // Of a scan.
  std::vector<ScanOp> ops;
  std::vector<ScanKind> kinds;
  std::vector<ScanAlgorithm> scan_algorithms;
  // Of a search.
  std::vector<Extreme> extremes;
  std::vector<bool> indices;  // without it, with it
  std::vector<ReduceAlgorithm> reduce_algorithms;
};

/// Read the words behind `scan` or `min`. Empty if only help was asked for, and then has been printed. Throw
/// UsageError.
std::optional<PassOptions> parse_scan_options(std::span<const std::string> words);
std::optional<PassOptions> parse_search_options(std::span<const std::string> words);

/// Every case that the options span. Cases that share their elements are neighbours.
std::vector<PassCase> pass_cases(const PassOptions& options);

}  // namespace sweepsort::bench
