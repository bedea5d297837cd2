// generate.cpp - sweepsort generate.
#include "cli/command.hpp"
#include "cli/key_type_name.hpp"
#include "cli/option_groups.hpp"
#include "cli/option_values.hpp"
#include "cli/talk.hpp"
#include "cli/terminal.hpp"
#include "cli/units.hpp"
#include "core/bytes.hpp"
#include "core/checked.hpp"
#include "core/suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>

namespace sweepsort::cli {
namespace {

constexpr std::array generate_group{
    OptionSpec{"distribution", 'd', Takes::value, "NAME", "how the keys are distributed (default: uniform)"},
    OptionSpec{"list", 0, Takes::nothing, "", "show all distributions with a sketch, and stop"},
    OptionSpec{"count", 'n', Takes::value, "N", "number of keys: 1000, 1e9, 2^28, 10M (millions)"},
    OptionSpec{"type", 't', Takes::value, "TYPE", "u8 i8 u16 i16 u32 i32 u64 i64 f32 f64, >u4: big endian",
               type_words},
    OptionSpec{"seed", 0, Takes::value, "N", "other keys of the same distribution (default: 1)"},
    OptionSpec{"format", 0, Takes::value, "FORMAT", "auto (by the output's name), raw, npy or sosd",
               format_option.words},
    output_option,
    force_option,
    threads_option};
constexpr std::array<OptionGroup, 2> groups{generate_group, talk_group};

std::string list_text() {
  std::string text;
  for (const DistributionInfo& distribution : distributions()) {
    std::vector<std::string_view> types;
    for (const KeyType type : distribution.types) types.push_back(name(type));
    const bool all = types.size() == all_key_types.size();
    text += fmt::format("{}{}\n  {}\n", distribution.name,
                        all ? "" : fmt::format("  ({} only)", fmt::join(types, " ")), distribution.summary);
    std::istringstream plot(distribution.plot);
    for (std::string line; std::getline(plot, line);) text += line.empty() ? "\n" : "      " + line + "\n";
    text += "\n";
  }
  return text;
}

/// The type given by -t, or else by the output's name (.u32, _uint64).
NamedType read_type(const Arguments& arguments, const std::string& output) {
  if (const auto text = arguments.find("type")) return parse_key_type(*text);
  if (const auto type = type_from_name(output)) return {*type, std::nullopt};
  throw UsageError("the key type is not known", "add for example -t u32");
}

void check_distribution(const std::string& wanted, KeyType type) {
  std::vector<std::string_view> names;
  const std::vector<DistributionInfo> known = distributions();
  for (const DistributionInfo& distribution : known) {
    names.push_back(distribution.name);
    if (distribution.name != wanted) continue;
    if (std::find(distribution.types.begin(), distribution.types.end(), type) != distribution.types.end())
      return;
    std::vector<std::string_view> types;
    for (const KeyType suited : distribution.types) types.push_back(name(suited));
    throw UsageError(fmt::format("--distribution {}: does not suit {}", wanted, name(type)),
                     fmt::format("it suits {}", fmt::join(types, " ")));
  }
  throw UsageError(fmt::format("--distribution {}: unknown", wanted),
                   suggestion_hint(wanted, names, "'sweepsort generate --list' shows them"));
}

ExitCode run_generate(const Arguments& arguments) {
  if (!arguments.positionals().empty()) {
    throw UsageError(fmt::format("{}: generate reads no input", arguments.positionals()[0]),
                     "name the output with -o");
  }
  if (arguments.has("list")) {
    if (arguments.has("json")) throw UsageError("--list and --json cannot be combined", "leave one out");
    answer(list_text());
    return ExitCode::done;
  }
  const std::string output = arguments.find("output").value_or("-");
  const JsonReport json(arguments, {output});
  if (goes_to_stdout(output) && json.on_stdout())
    throw UsageError("--json would mix with the keys on standard output",
                     "write the report with --json=FILE, or the keys with -o FILE");
  if (!arguments.has("count"))
    throw UsageError("the number of keys is missing", "add for example -n 1e6 or -n 2^28");
  const NamedType named = read_type(arguments, output);
  constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
  const uint64_t max_keys = max_file_bytes / key_bytes(named.type);
  GenerateOptions options{
      .distribution = arguments.find("distribution").value_or("uniform"),
      .type = named.type,
      .count = read_number(arguments, "count", 0, max_keys, "no file holds more").value_or(0),
      .seed = read_number(arguments, "seed", 0, most, "leave it out for seed 1").value_or(1),
      .format = read_format(arguments),
      .endian = named.endian.value_or(Endian::little),
      .overwrite = arguments.has("force"),
      .threads = read_threads(arguments)};
  check_distribution(options.distribution, options.type);
  GenerateReport report;
  {
    Talk talk("generate", arguments);
    options.progress = talk.progress();
    report = generate_file(output, options);
  }
  const FileFormat format =
      options.format == FileFormat::automatic ? format_from_name(output) : options.format;
  note_misleading_name("generate", arguments, output, {options.type, format, options.endian});
  if (arguments.has("verbose")) {
    say("generate",
        fmt::format("{} {} keys, {}, {} in {}, {}", format_count(report.count), name(options.type),
                    options.distribution, format_bytes({report.bytes}), format_time(report.total_s),
                    format_rate(static_cast<double>(report.bytes), report.total_s, "B")));
  }
  json.write([&] {
    return nlohmann::ordered_json{{"schema", "sweepsort.generate/1"},
                                  {"version", version()},
                                  {"output", output},
                                  {"format", name(format)},
                                  {"distribution", options.distribution},
                                  {"type", name(options.type)},
                                  {"seed", options.seed},
                                  {"count", report.count},
                                  {"bytes", report.bytes},
                                  {"time_s", report.total_s}};
  });
  return ExitCode::done;
}

}  // namespace

constexpr Command generate_command{
    .name = "generate",
    .summary = "seeded test data in many distributions",
    .usage = "[options] -n COUNT -o OUTPUT",
    .examples =
        "  sweepsort generate -n 2^28 -o numbers.u32               uniform; the type is in the name\n"
        "  sweepsort generate -n 1e6 -t i64 -d zipf -o keys.npy    a NumPy array, Zipf-distributed\n"
        "  sweepsort generate --list                               all distributions, with sketches\n\n"
        "The same options give the same bytes on every machine.\n\n",
    .options = groups,
    .run = run_generate};

}  // namespace sweepsort::cli
