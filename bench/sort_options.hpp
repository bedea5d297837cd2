// sort_options.hpp - what `sweepsort-bench sort` is asked to measure.
#pragma once

#include "bench/sort_case.hpp"
#include "core/algorithm.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sweepsort::bench {

/// How a GPU is timed: by events around sorts that the host launches, or around a CUDA graph of them, which
/// leaves out what the host needs for a launch.
enum class Timing : uint8_t { events, graph };

struct SortBenchOptions {
  std::vector<KeyType> types;
  std::vector<uint64_t> sizes;
  std::vector<std::string> distributions;
  std::vector<Order> orders;
  std::vector<uint32_t> value_bytes;
  std::vector<SortAlgorithm> algorithms;  // of ours
  std::vector<std::string> peers;         // "all", "none" or names
  std::string backend;                    // "auto", "cuda" or "cpu"
  Timing timing = Timing::events;
  int device = 0;
  uint32_t threads = 0;    // host threads; 0: all
  uint32_t repeat = 0;     // runs of which the median is reported
  double row_limit_s = 0;  // a row ends with fewer runs once it has taken so long
  uint64_t seed = 0;
  std::string json_file;  // empty: no JSON
  std::string revision;   // empty: the one that was built
};

/// Reads the words behind `sort`. Empty if only help was asked for, and then has printed it. Throws
/// UsageError.
std::optional<SortBenchOptions> parse_sort_options(std::span<const std::string> words);

/// Whether `--peer` asks for the peer `name`: by its name, or by the part before the first '-' ("cub" for
/// "cub-int64").
bool peer_wanted(const SortBenchOptions& options, const std::string& name);

/// Every case that the options span and that a distribution suits. Cases that share their keys are
/// neighbours.
std::vector<SortCase> sort_cases(const SortBenchOptions& options);

}  // namespace sweepsort::bench
