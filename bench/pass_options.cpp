// pass_options.cpp - the options of `sweepsort-bench scan` and `min`, and the cases that they describe.
#include "bench/pass_options.hpp"

#include "bench/option_lists.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace sweepsort::bench {
namespace {

using cli::Takes;

constexpr PresetOption peer_option{
    {"peer", 'p', Takes::value, "LIST", "all, none, or: cub, thrust, copy, read (cuda); std (cpu)"}, "all"};
constexpr PresetOption cache_option{
    {"cache", 0, Takes::value, "STATE", "cold: the data are not in the cache when a run begins; or warm"},
    "cold, with --timing graph warm"};

constexpr std::array scan_options{
    PresetOption{{"type", 't', Takes::value, "LIST", "element types, or 'all'"}, "u32"},
    PresetOption{
        {"size", 'n', Takes::value, "LIST", "elements: 1e6, 2^28, ranges 2^10..2^30 or 2^10..2^30*8"},
        "5,33,1000,2^10..2^26*4,134215680,2^28,2^30"},
    PresetOption{{"op", 0, Takes::value, "LIST", "sum, min, max, xor, or 'all'"}, "sum"},
    PresetOption{{"kind", 0, Takes::value, "LIST", "inclusive, exclusive, or 'all'"}, "inclusive"},
    PresetOption{
        {"algorithm", 0, Takes::value, "LIST",
         "lookback, shuffle, blelloch, blelloch-padded, hillis-steele (cuda), sequential, threads (cpu)"},
        "all"},
    peer_option,
    cache_option,
};

constexpr std::array search_options{
    PresetOption{{"type", 't', Takes::value, "LIST", "element types, or 'all'"}, "u32,f32,u64"},
    PresetOption{
        {"size", 'n', Takes::value, "LIST", "elements: 1e6, 2^28, ranges 2^10..2^30 or 2^10..2^30*8"},
        "2^28"},
    PresetOption{{"extreme", 0, Takes::value, "LIST", "min, max, or 'all'"}, "min"},
    PresetOption{{"index", 0, Takes::value, "LIST", "without, with its first position, or 'all'"}, "all"},
    PresetOption{{"algorithm", 0, Takes::value, "LIST", "single-pass, two-launch (cuda), or 'all'"}, "all"},
    peer_option,
    cache_option,
};

constexpr std::string_view scan_examples =
    "  sweepsort-bench scan --algorithm all                                every algorithm at every size\n"
    "  sweepsort-bench scan -t all -n 2^28 --algorithm lookback --kind all\n"
    "  sweepsort-bench scan -n '2^10..2^22' --timing graph                 data in the cache, no launch "
    "time\n";
constexpr std::string_view search_examples =
    "  sweepsort-bench min -n 2^28\n"
    "  sweepsort-bench min -b cpu -t all -n 2^26 --index without\n";

/// Parses the options that both commands share.
PassOptions parse_common(Pass pass, const BenchArguments& arguments) {
  constexpr std::array<std::string_view, 7> peers{"all", "none", "cub", "thrust", "copy", "read", "std"};
  PassOptions options{arguments.run_options()};
  options.pass = pass;
  options.types = parse_types(arguments.value("type"));
  options.sizes = parse_sizes(arguments.value("size"));
  options.peers = parse_peers(arguments.value("peer"), peers);
  const bool graph = options.timing == Timing::graph;
  if (arguments.value("cache") == cache_option.preset)
    options.cache = graph ? Cache::warm : Cache::cold;
  else
    options.cache = chosen_one(arguments, "cache", by_name({Cache::cold, Cache::warm}));
  if (graph && options.cache == Cache::cold)
    throw UsageError("--cache cold: the passes of a graph follow each other in the cache",
                     "use --timing events");
  return options;
}

}  // namespace

std::optional<PassOptions> parse_scan_options(std::span<const std::string> words) {
  if (cli::asks_for_help(words)) {
    print_help("scan", scan_examples, scan_options);
    return std::nullopt;
  }
  const BenchArguments arguments("scan", scan_options, words);
  PassOptions options = parse_common(Pass::scan, arguments);
  using enum ScanOp;
  using enum ScanAlgorithm;
  options.ops = chosen(arguments, "op", by_name({sum, min, max, bit_xor}));
  options.kinds = chosen(arguments, "kind", by_name({ScanKind::inclusive, ScanKind::exclusive}));
  // In the order of the table, the fastest first.
  options.scan_algorithms =
      chosen(arguments, "algorithm",
             by_name({lookback, shuffle, blelloch_padded, blelloch, hillis_steele, threads, sequential}));
  if (arguments.value("algorithm") == "all" || options.backend == "auto") return options;
  for (const ScanAlgorithm algorithm : options.scan_algorithms)
    if (is_cpu_algorithm(algorithm) != (options.backend == "cpu"))
      throw UsageError(
          fmt::format("--algorithm: '{}' is none of --backend {}", name(algorithm), options.backend),
          "leave one of the two out");
  return options;
}

std::optional<PassOptions> parse_search_options(std::span<const std::string> words) {
  if (cli::asks_for_help(words)) {
    print_help("min", search_examples, search_options);
    return std::nullopt;
  }
  const BenchArguments arguments("min", search_options, words);
  PassOptions options = parse_common(Pass::search, arguments);
  options.extremes = chosen(arguments, "extreme", by_name({Extreme::min, Extreme::max}));
  options.indices = chosen<bool>(arguments, "index", {{"without", false}, {"with", true}});
  options.reduce_algorithms =
      chosen(arguments, "algorithm", by_name({ReduceAlgorithm::single_pass, ReduceAlgorithm::two_launch}));
  if (arguments.value("algorithm") != "all" && options.backend == "cpu")
    throw UsageError("--algorithm: both are the GPU's, --backend cpu has one of its own",
                     "leave one of the two out");
  return options;
}

std::vector<PassCase> pass_cases(const PassOptions& options) {
  std::vector<PassCase> cases;
  for (const KeyType type : options.types) {
    for (const ScanOp op : options.ops)
      for (const ScanKind kind : options.kinds)
        for (const uint64_t size : options.sizes)
          if (op != ScanOp::bit_xor || !is_floating(type))
            cases.push_back({.pass = Pass::scan, .type = type, .count = size, .op = op, .kind = kind});
    for (const Extreme extreme : options.extremes)
      for (const bool wants_index : options.indices)
        for (const uint64_t size : options.sizes)
          cases.push_back({.pass = Pass::search,
                           .type = type,
                           .count = size,
                           .extreme = extreme,
                           .wants_index = wants_index});
  }
  if (cases.empty()) throw UsageError("no case to measure: --op xor is for integers");
  return cases;
}

}  // namespace sweepsort::bench
