// option_lists.cpp - the options that all commands share, and parsing of lists, ranges and names.
#include "bench/option_lists.hpp"

#include "cli/key_type_name.hpp"
#include "core/bytes.hpp"
#include "core/checked.hpp"

#include <array>
#include <charconv>

namespace sweepsort::bench {
namespace {

using cli::OptionSpec;
using cli::Takes;

constexpr std::array shared_options{
    PresetOption{{"backend", 'b', Takes::value, "NAME", "auto (cuda where it is usable), cuda or cpu"},
                 "auto"},
    PresetOption{{"repeat", 'r', Takes::value, "N", "runs, of which the median is reported"}, "11"},
    PresetOption{{"limit", 0, Takes::value, "S", "seconds after which a row ends with fewer runs"}, "20"},
    PresetOption{
        {"timing", 0, Takes::value, "KIND", "cuda: events, or graph (without the host's launch time)"},
        "events"},
    PresetOption{{"device", 0, Takes::value, "N", "CUDA device"}, "0"},
    PresetOption{{"threads", 0, Takes::value, "N", "host threads; 0: all"}, "0"},
    PresetOption{{"seed", 's', Takes::value, "N", "of the distributions"}, "1"},
    PresetOption{{"json", 0, Takes::value, "FILE", "write every row there, after every case"}, ""},
    PresetOption{{"revision", 0, Takes::value, "TEXT", "of the source, for the JSON (default: as built)"},
                 ""},
    PresetOption{{"help", 'h', Takes::nothing, "", "this text"}, ""},
};

std::vector<PresetOption> with_shared(std::span<const PresetOption> own) {
  std::vector<PresetOption> options(own.begin(), own.end());
  options.insert(options.end(), shared_options.begin(), shared_options.end());
  return options;
}

cli::Arguments parse(const std::vector<PresetOption>& options, std::span<const std::string> words) {
  std::vector<OptionSpec> specs;
  for (const PresetOption& option : options) specs.push_back(option.spec);
  const cli::OptionGroup group(specs);
  return {{&group, 1}, words};
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

BenchArguments::BenchArguments(std::string_view command, std::span<const PresetOption> own,
                               std::span<const std::string> words)
    : options_(with_shared(own)), arguments_(parse(options_, words)) {
  if (!arguments_.positionals().empty())
    throw UsageError(fmt::format("{}: '{}' is no option", command, arguments_.positionals()[0]),
                     fmt::format("'sweepsort-bench {} -h' lists them", command));
}

std::string BenchArguments::value(std::string_view name) const {
  const auto option =
      std::ranges::find(options_, name, [](const PresetOption& candidate) { return candidate.spec.name; });
  return arguments_.find(name).value_or(std::string(option->preset));
}

RunOptions BenchArguments::run_options() const {
  RunOptions options;
  options.backend =
      chosen_one<std::string>(*this, "backend", {{"auto", "auto"}, {"cuda", "cuda"}, {"cpu", "cpu"}});
  options.timing =
      chosen_one<Timing>(*this, "timing", {{"events", Timing::events}, {"graph", Timing::graph}});
  options.device = narrow<int>(parse_number(value("device"), "--device"));
  options.threads = parse_number(value("threads"), "--threads");
  options.repeat = std::max<uint32_t>(parse_number(value("repeat"), "--repeat"), 1);
  options.row_limit_s = parse_seconds(value("limit"));
  options.seed = parse_count(value("seed"), "--seed");
  options.json_file = value("json");
  options.revision = value("revision");
  return options;
}

void print_help(std::string_view command, std::string_view examples, std::span<const PresetOption> own) {
  fmt::print(
      "examples:\n{}\nusage: sweepsort-bench {} [options]; a LIST is separated by commas\n\noptions:\n",
      examples, command);
  for (const auto& [spec, preset] : with_shared(own)) {
    const std::string letter = spec.letter ? fmt::format("-{},", spec.letter) : "";
    const std::string left = fmt::format("{:<3} --{} {}", letter, spec.name, spec.value);
    fmt::print("  {:<24} {}{}\n", left, spec.help, preset.empty() ? "" : fmt::format(" [{}]", preset));
  }
}

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

std::vector<KeyType> parse_types(const std::string& text) {
  if (text == "all") return {all_key_types.begin(), all_key_types.end()};
  std::vector<KeyType> types;
  for (const std::string& item : split(text, "type")) types.push_back(cli::parse_key_type(item).type);
  return types;
}

std::vector<uint64_t> parse_sizes(const std::string& text) {
  std::vector<uint64_t> sizes;
  for (const std::string& item : split(text, "size")) append_sizes(item, sizes);
  if (std::ranges::count(sizes, uint64_t{0}) > 0)
    throw UsageError("--size: there is nothing to time in an empty array");
  return sizes;
}

std::vector<std::string> parse_peers(const std::string& text, std::span<const std::string_view> known) {
  std::vector<std::string> peers = split(text, "peer");
  for (const std::string& peer : peers)
    if (std::ranges::find(known, peer) == known.end())
      throw UsageError(fmt::format("--peer: '{}' is none of {}", peer, fmt::join(known, ", ")),
                       suggestion_hint(peer, known, ""));
  return peers;
}

bool is_wanted(const std::vector<std::string>& peers, const std::string& name) {
  const std::string family = name.substr(0, name.find('-'));
  return std::ranges::any_of(
      peers, [&](const std::string& peer) { return peer == "all" || peer == name || peer == family; });
}

}  // namespace sweepsort::bench
