// sort_options.hpp - what `sweepsort-bench sort` is asked to measure.
#pragma once

#include "bench/run_options.hpp"
#include "bench/sort_case.hpp"
#include "core/algorithm.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sweepsort::bench {

struct SortBenchOptions : RunOptions {
  std::vector<KeyType> types;
  std::vector<uint64_t> sizes;
  std::vector<std::string> distributions;
  std::vector<Order> orders;
  std::vector<uint32_t> value_bytes;
  std::vector<SortAlgorithm> algorithms;  // of ours
  std::vector<std::string> peers;         // "all", "none" or names
};

/// Reads the words behind `sort`. Empty if only help was asked for, and then has printed it. Throws
/// UsageError.
std::optional<SortBenchOptions> parse_sort_options(std::span<const std::string> words);

/// Every case that the options span and that a distribution suits. Cases that share their keys are
/// neighbours.
std::vector<SortCase> sort_cases(const SortBenchOptions& options);

}  // namespace sweepsort::bench
