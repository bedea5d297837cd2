// sort_options.cpp - the options of `sweepsort-bench sort`, and the cases that they describe.
#include "bench/sort_options.hpp"

#include "bench/option_lists.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"
#include "datasets/distributions.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace sweepsort::bench {
namespace {

using cli::Takes;

constexpr std::array sort_options{
    PresetOption{{"type", 't', Takes::value, "LIST", "key types, or 'all'"}, "u32"},
    PresetOption{
        {"size", 'n', Takes::value, "LIST", "keys: 1e6, 2^28, ranges 2^10..2^30 (doubling) or 2^10..2^30*8"},
        "2^24"},
    PresetOption{{"distribution", 'd', Takes::value, "LIST", "names of datasets/distributions.hpp, or 'all'"},
                 "uniform"},
    PresetOption{{"order", 0, Takes::value, "LIST", "ascending, descending, or 'all'"}, "ascending"},
    PresetOption{{"values", 0, Takes::value, "LIST", "bytes per value: 0 (keys alone), 4, 8, or 'all'"}, "0"},
    PresetOption{{"algorithm", 0, Takes::value, "LIST", "of sweepsort: auto, radix, counting"}, "auto"},
    PresetOption{
        {"peer", 'p', Takes::value, "LIST", "all, none, or: cub, thrust (cuda); std, vqsort, parallel (cpu)"},
        "all"},
};

constexpr std::string_view examples =
    "  sweepsort-bench sort -t all -n 2^28 --json results/types.json\n"
    "  sweepsort-bench sort -t u32,u64 -n 2^10..2^30 -p cub --timing graph\n"
    "  sweepsort-bench sort -b cpu -t u32 -n 2^26 -d all\n";

std::vector<std::string> parse_distributions(const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& item : split(text, "distribution")) {
    if (item == "all") {
      for (const Distribution& distribution : all_distributions()) names.emplace_back(distribution.name);
      continue;
    }
    if (find_distribution(item) == nullptr) {
      std::vector<std::string_view> known;
      for (const Distribution& distribution : all_distributions()) known.push_back(distribution.name);
      throw UsageError(fmt::format("--distribution: '{}' is unknown", item),
                       suggestion_hint(item, known, "'sweepsort generate --list' shows them all"));
    }
    names.push_back(item);
  }
  return names;
}

}  // namespace

std::optional<SortBenchOptions> parse_sort_options(std::span<const std::string> words) {
  if (cli::asks_for_help(words)) {
    print_help("sort", examples, sort_options);
    return std::nullopt;
  }
  constexpr std::array<std::string_view, 11> peers{"all",       "none",   "cub",       "cub-int32",
                                                   "cub-int64", "thrust", "libcusort", "gpusorting",
                                                   "std",       "vqsort", "parallel"};
  const BenchArguments arguments("sort", sort_options, words);
  SortBenchOptions options{arguments.run_options()};
  options.types = parse_types(arguments.value("type"));
  options.sizes = parse_sizes(arguments.value("size"));
  options.distributions = parse_distributions(arguments.value("distribution"));
  options.orders = chosen(arguments, "order", by_name({Order::ascending, Order::descending}));
  options.value_bytes = chosen<uint32_t>(arguments, "values", {{"0", 0}, {"4", 4}, {"8", 8}});
  options.algorithms =
      chosen(arguments, "algorithm",
             by_name({SortAlgorithm::automatic, SortAlgorithm::radix, SortAlgorithm::counting}));
  options.peers = parse_peers(arguments.value("peer"), peers);
  return options;
}

std::vector<SortCase> sort_cases(const SortBenchOptions& options) {
  std::vector<SortCase> cases;
  for (const KeyType type : options.types)
    for (const std::string& distribution : options.distributions)
      for (const uint64_t size : options.sizes)
        for (const Order order : options.orders)
          for (const uint32_t value_bytes : options.value_bytes)
            if (find_distribution(distribution)->suits(type))
              cases.push_back({.type = type,
                               .order = order,
                               .count = size,
                               .value_bytes = value_bytes,
                               .distribution = distribution,
                               .seed = options.seed});
  if (cases.empty()) throw UsageError("no case to measure: the distribution does not suit the type");
  return cases;
}

}  // namespace sweepsort::bench
