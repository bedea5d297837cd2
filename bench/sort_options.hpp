// sort_options.hpp - what `sweepsort-bench sort` is to measure.
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
  std::vector<SortAlgorithm> algorithms;  // of our sort
  std::vector<std::string> peers;         // "all", "none" or names
};

/// Parses the words after `sort`. Returns nothing if only help was requested, which it has then printed.
/// Throws UsageError.
std::optional<SortBenchOptions> parse_sort_options(std::span<const std::string> words);

/// Every case that the options describe and that suits its distribution. Cases with the same keys are
/// neighbours.
std::vector<SortCase> sort_cases(const SortBenchOptions& options);

}  // namespace sweepsort::bench
