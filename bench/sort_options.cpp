// sort_options.cpp - lists, ranges and names of `sweepsort-bench sort`, and the cases that they span.
#include "bench/sort_options.hpp"

#include "cli/arguments.hpp"
#include "cli/key_type_name.hpp"
#include "core/bytes.hpp"
#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"
#include "datasets/distributions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace sweepsort::bench {
namespace {

using cli::OptionSpec;
using cli::Takes;

/// An option and what it means when it is left out.
struct SortOption {
  OptionSpec spec;
  std::string_view preset;
};

constexpr std::array sort_options{
    SortOption{{"type", 't', Takes::value, "LIST", "key types, or 'all'"}, "u32"},
    SortOption{
        {"size", 'n', Takes::value, "LIST", "keys: 1e6, 2^28, ranges 2^10..2^30 (doubling) or 2^10..2^30*8"},
        "2^24"},
    SortOption{{"distribution", 'd', Takes::value, "LIST", "names of datasets/distributions.hpp, or 'all'"},
               "uniform"},
    SortOption{{"order", 0, Takes::value, "LIST", "ascending, descending, or 'all'"}, "ascending"},
    SortOption{{"values", 0, Takes::value, "LIST", "bytes a value: 0 (keys alone), 4, 8, or 'all'"}, "0"},
    SortOption{{"backend", 'b', Takes::value, "NAME", "auto (cuda where it is usable), cuda or cpu"}, "auto"},
    SortOption{{"algorithm", 0, Takes::value, "LIST", "of sweepsort: auto, radix, counting"}, "auto"},
    SortOption{
        {"peer", 'p', Takes::value, "LIST", "all, none, or: cub, thrust (cuda); std, vqsort, parallel (cpu)"},
        "all"},
    SortOption{{"repeat", 'r', Takes::value, "N", "runs, of which the median is reported"}, "11"},
    SortOption{{"limit", 0, Takes::value, "S", "seconds after which a row ends with fewer runs"}, "20"},
    SortOption{{"timing", 0, Takes::value, "KIND", "cuda: events, or graph (without the host's launch time)"},
               "events"},
    SortOption{{"device", 0, Takes::value, "N", "CUDA device"}, "0"},
    SortOption{{"threads", 0, Takes::value, "N", "host threads; 0: all"}, "0"},
    SortOption{{"seed", 's', Takes::value, "N", "of the distributions"}, "1"},
    SortOption{{"json", 0, Takes::value, "FILE", "write every row there, after every case"}, ""},
    SortOption{{"revision", 0, Takes::value, "TEXT", "of the source, for the JSON (default: as built)"}, ""},
    SortOption{{"help", 'h', Takes::nothing, "", "this text"}, ""},
};

void print_help() {
  fmt::print(
      "examples:\n"
      "  sweepsort-bench sort -t all -n 2^28 --json results/types.json\n"
      "  sweepsort-bench sort -t u32,u64 -n 2^10..2^30 -p cub --timing graph\n"
      "  sweepsort-bench sort -b cpu -t u32 -n 2^26 -d all\n\n"
      "usage: sweepsort-bench sort [options]; a LIST is separated by commas\n\noptions:\n");
  for (const auto& [spec, preset] : sort_options) {
    const std::string letter = spec.letter ? fmt::format("-{},", spec.letter) : "";
    const std::string left = fmt::format("{:<3} --{} {}", letter, spec.name, spec.value);
    fmt::print("  {:<24} {}{}\n", left, spec.help, preset.empty() ? "" : fmt::format(" [{}]", preset));
  }
}

/// "a,b" -> {"a", "b"}. An empty item is an error.
std::vector<std::string> split(const std::string& text, std::string_view option) {
  std::vector<std::string> items;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) throw UsageError(fmt::format("--{}: an empty name in '{}'", option, text));
    items.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

/// A list whose items are among a few names; `all` stands for every one of them.
template <class Value>
std::vector<Value> named(const std::string& text, std::string_view option,
                         std::span<const std::pair<std::string_view, Value>> choices) {
  std::vector<Value> values;
  std::vector<std::string_view> names;
  for (const auto& choice : choices) names.push_back(choice.first);
  for (const std::string& item : split(text, option)) {
    const auto found = std::ranges::find(names, item);
    if (item != "all" && found == names.end())
      throw UsageError(fmt::format("--{}: '{}' is none of {}", option, item, fmt::join(names, ", ")),
                       suggestion_hint(item, names, ""));
    for (size_t i = 0; i < choices.size(); ++i)
      if (item == "all" || names[i] == item) values.push_back(choices[i].second);
  }
  return values;
}

std::vector<KeyType> parse_types(const std::string& text) {
  if (text == "all") return {all_key_types.begin(), all_key_types.end()};
  std::vector<KeyType> types;
  for (const std::string& item : split(text, "type")) types.push_back(cli::parse_key_type(item).type);
  return types;
}

/// One size, or FIRST..LAST, or FIRST..LAST*FACTOR.
void append_sizes(const std::string& item, std::vector<uint64_t>& sizes) {
  const size_t dots = item.find("..");
  if (dots == std::string::npos) return sizes.push_back(parse_count(item, "--size"));
  const size_t star = std::min(item.find('*', dots), item.size());
  const uint64_t first = parse_count(item.substr(0, dots), "--size");
  const uint64_t last = parse_count(item.substr(dots + 2, star - dots - 2), "--size");
  const uint64_t factor = star < item.size() ? parse_count(item.substr(star + 1), "--size") : 2;
  if (first == 0 || first > last || factor < 2)
    throw UsageError(fmt::format("--size: '{}' is no range", item),
                     "a range is FIRST..LAST or FIRST..LAST*FACTOR");
  for (uint64_t size = first; size <= last; size *= factor) {
    sizes.push_back(size);
    if (size > last / factor) break;  // the product could wrap
  }
}

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

/// Names of peers are checked against all there are anywhere: which of them this build has is not the command
/// line's.
std::vector<std::string> parse_peers(const std::string& text) {
  constexpr std::array<std::string_view, 9> known{"all",    "none", "cub",    "cub-int32", "cub-int64",
                                                  "thrust", "std",  "vqsort", "parallel"};
  std::vector<std::string> peers = split(text, "peer");
  for (const std::string& peer : peers)
    if (std::ranges::find(known, peer) == known.end())
      throw UsageError(fmt::format("--peer: '{}' is none of {}", peer, fmt::join(known, ", ")),
                       suggestion_hint(peer, known, ""));
  return peers;
}

uint32_t parse_number(const std::string& text, std::string_view option) {
  const uint64_t number = parse_count(text, option);
  if (number > 1'000'000) throw UsageError(fmt::format("{}: {} is absurd", option, text));
  return narrow<uint32_t>(number);
}

double parse_seconds(const std::string& text) {
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc{} || rest != end || !(seconds > 0))
    throw UsageError("--limit: '" + text + "' is no number of seconds");
  return seconds;
}

}  // namespace

std::optional<SortBenchOptions> parse_sort_options(std::span<const std::string> words) {
  if (cli::asks_for_help(words)) {
    print_help();
    return std::nullopt;
  }
  std::vector<OptionSpec> specs;
  for (const SortOption& option : sort_options) specs.push_back(option.spec);
  const cli::OptionGroup group(specs);
  const cli::Arguments arguments({&group, 1}, words);
  if (!arguments.positionals().empty())
    throw UsageError("sort: '" + arguments.positionals()[0] + "' is no option",
                     "'sweepsort-bench sort -h' lists them");

  const auto value = [&](std::string_view name) {
    const auto* const option =
        std::ranges::find(sort_options, name, [](const SortOption& o) { return o.spec.name; });
    return arguments.find(name).value_or(std::string(option->preset));
  };
  using enum Order;
  using OrderName = std::pair<std::string_view, Order>;
  using BytesName = std::pair<std::string_view, uint32_t>;
  using AlgorithmName = std::pair<std::string_view, SortAlgorithm>;
  using TimingName = std::pair<std::string_view, Timing>;
  using BackendName = std::pair<std::string_view, std::string>;
  constexpr std::array orders{OrderName{"ascending", ascending}, OrderName{"descending", descending}};
  constexpr std::array bytes{BytesName{"0", 0}, BytesName{"4", 4}, BytesName{"8", 8}};
  constexpr std::array algorithms{AlgorithmName{"auto", SortAlgorithm::automatic},
                                  AlgorithmName{"radix", SortAlgorithm::radix},
                                  AlgorithmName{"counting", SortAlgorithm::counting}};
  constexpr std::array timings{TimingName{"events", Timing::events}, TimingName{"graph", Timing::graph}};
  const std::array backends{BackendName{"auto", "auto"}, BackendName{"cuda", "cuda"},
                            BackendName{"cpu", "cpu"}};

  SortBenchOptions options;
  options.types = parse_types(value("type"));
  for (const std::string& item : split(value("size"), "size")) append_sizes(item, options.sizes);
  if (std::ranges::count(options.sizes, uint64_t{0}) > 0)
    throw UsageError("--size: there is nothing to time in 0 keys");
  options.distributions = parse_distributions(value("distribution"));
  options.orders = named<Order>(value("order"), "order", orders);
  options.value_bytes = named<uint32_t>(value("values"), "values", bytes);
  options.algorithms = named<SortAlgorithm>(value("algorithm"), "algorithm", algorithms);
  options.peers = parse_peers(value("peer"));
  options.backend = named<std::string>(value("backend"), "backend", backends).front();
  options.timing = named<Timing>(value("timing"), "timing", timings).front();
  options.device = narrow<int>(parse_number(value("device"), "--device"));
  options.threads = parse_number(value("threads"), "--threads");
  options.repeat = std::max<uint32_t>(parse_number(value("repeat"), "--repeat"), 1);
  options.row_limit_s = parse_seconds(value("limit"));
  options.seed = parse_count(value("seed"), "--seed");
  options.json_file = value("json");
  options.revision = value("revision");
  return options;
}

bool peer_wanted(const SortBenchOptions& options, const std::string& name) {
  const std::string family = name.substr(0, name.find('-'));
  return std::ranges::any_of(options.peers, [&](const std::string& peer) {
    return peer == "all" || peer == name || peer == family;
  });
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
