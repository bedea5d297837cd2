// option_values.cpp - the option values that several commands share.
#include "cli/option_values.hpp"

#include "cli/key_type_name.hpp"
#include "cli/option_groups.hpp"
#include "core/bytes.hpp"
#include "core/suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace sweepsort::cli {
namespace {

static_assert(are_names_of<FileFormat>(format_option));

constexpr uint64_t max_threads = 4096;
constexpr uint64_t max_repeats = 1'000'000;

/// "0", "0,1"; empty for "all".
std::vector<int> read_devices(std::string_view text) {
  std::vector<int> devices;
  if (text == "all") return devices;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data();; ++at) {
    int device = -1;
    const auto [behind, error] = std::from_chars(at, end, device);
    if (error != std::errc() || device < 0 || (behind != end && *behind != ','))
      throw UsageError(fmt::format("--device {}: not a list of devices", text),
                       "write one number, several with commas (0,1), or all");
    devices.push_back(device);
    if (behind == end) return devices;
    at = behind;
  }
}

}  // namespace

std::optional<size_t> read_word(const Arguments& arguments, const OptionSpec& option) {
  const auto text = arguments.find(option.name);
  if (!text) return std::nullopt;
  const std::vector<std::string_view> known = words_of(option);
  const auto found = std::ranges::find(known, *text);
  if (found != known.end()) return found - known.begin();
  throw UsageError(fmt::format("--{} {}: unknown", option.name, *text),
                   suggestion_hint(*text, known, fmt::format("use one of {}", fmt::join(known, ", "))));
}

std::optional<uint64_t> read_number(const Arguments& arguments, std::string_view name, uint64_t least,
                                    uint64_t most, const std::string& hint) {
  const auto text = arguments.find(name);
  if (!text) return std::nullopt;
  const UsageError out_of_range(fmt::format("--{} {}: must be between {} and {}", name, *text, least, most),
                                hint);
  if (text->starts_with('-')) throw out_of_range;
  const uint64_t value = parse_count(*text, fmt::format("--{}", name));
  if (value < least || value > most) throw out_of_range;
  return value;
}

FileFormat read_format(const Arguments& arguments) {
  return read_choice(arguments, format_option, FileFormat::automatic);
}

std::optional<FileFormat> read_output_format(const Arguments& arguments) {
  const auto word = read_word(arguments, output_format_option);
  if (!word) return std::nullopt;
  return std::array{FileFormat::raw, FileFormat::npy, FileFormat::sosd}[*word];
}

FileOptions read_file_options(const Arguments& arguments) {
  FileOptions options{.format = read_format(arguments), .flatten = arguments.has("flatten")};
  if (arguments.has("endian")) options.endian = read_choice(arguments, endian_option, Endian::little);
  if (const auto text = arguments.find("type")) {
    const NamedType named = parse_key_type(*text);
    options.type = named.type;
    if (named.endian && options.endian && named.endian != options.endian) {
      throw UsageError(
          fmt::format("--type '{}' and --endian {} contradict each other", *text, *arguments.find("endian")),
          "give one of them");
    }
    if (named.endian) options.endian = named.endian;
  }
  if (const auto text = arguments.find("skip-bytes"))
    options.skip_bytes = parse_bytes(*text, "--skip-bytes").value;
  if (const auto text = arguments.find("read-bytes"))
    options.read_bytes = parse_bytes(*text, "--read-bytes").value;
  return options;
}

uint32_t read_threads(const Arguments& arguments) {
  return static_cast<uint32_t>(
      read_number(arguments, "threads", 1, max_threads, "leave it out to use all").value_or(0));
}

WhereOptions read_where_options(const Arguments& arguments) {
  const bool says_gpu = arguments.find(backend_option.name) == "gpu";  // a common guess
  const BackendChoice backend =
      says_gpu ? BackendChoice::cuda : read_choice(arguments, backend_option, BackendChoice::automatic);
  for (const std::string_view of_gpu : {"device", "gpu-memory"})
    if (backend == BackendChoice::cpu && arguments.has(of_gpu))
      throw UsageError(fmt::format("--{} is for GPUs, but --backend cpu uses none", of_gpu),
                       "leave one of them out");
  return {.backend = backend,
          .devices = read_devices(arguments.find("device").value_or("0")),
          .threads = read_threads(arguments)};
}

std::vector<std::string> read_inputs(const Arguments& arguments) {
  const auto& inputs = arguments.positionals();
  for (const std::string& input : inputs)
    if (input.empty()) throw UsageError("the input's name is empty", "'-' is standard input");
  // The value of --json cannot follow a space, since that word is taken as the input.
  const bool has_json = arguments.find("json").value_or("a file") == "";
  for (const std::string& input : inputs)
    if (has_json && input.ends_with(".json") && ::access(input.c_str(), F_OK) != 0)
      throw UsageError(input + ": is taken as an input here",
                       fmt::format("for a report, write --json={}", input));
  if (!inputs.empty()) return inputs;
  if (isatty(STDIN_FILENO)) throw UsageError("no input", "name a file, or pipe data in");
  return {"-"};
}

std::string read_input(const Arguments& arguments, const std::string& hint) {
  const std::vector<std::string> inputs = read_inputs(arguments);
  if (inputs.size() > 1) {
    throw UsageError(fmt::format("{}: only one input can be read", inputs[1]), hint);
  }
  return inputs.front();
}

uint32_t read_repeat(const Arguments& arguments) {
  return static_cast<uint32_t>(
      read_number(arguments, "repeat", 1, max_repeats, "leave it out to run once").value_or(0));
}

std::vector<std::string> names_of_inputs(std::vector<std::string> inputs) {
  std::ranges::replace(inputs, std::string("-"), std::string("/dev/stdin"));
  return inputs;
}

std::string read_output(const Arguments& arguments, const std::string& input) {
  const auto output = arguments.find("output");
  if (!arguments.has("in-place")) return output.value_or("-");
  if (output) throw UsageError("--in-place and --output cannot be combined", "leave one of them out");
  if (input == "-")
    throw UsageError("--in-place needs an input file",
                     "name one, or leave --in-place out and name an output with -o");
  return "";
}

}  // namespace sweepsort::cli
