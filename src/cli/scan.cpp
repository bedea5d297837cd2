// scan.cpp - sweepsort scan.
#include "cli/command.hpp"
#include "cli/key_type_name.hpp"
#include "cli/option_groups.hpp"
#include "cli/option_values.hpp"
#include "cli/scan_report.hpp"
#include "cli/talk.hpp"
#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

namespace sweepsort::cli {
namespace {

constexpr OptionSpec op_option{"op", 0, Takes::value, "OP", "", "sum min max xor"};
static_assert(are_names_of<ScanOp>(op_option));
constexpr OptionSpec algorithm_option{
    "algorithm",
    0,
    Takes::value,
    "NAME",
    "auto; GPU: lookback, shuffle, blelloch, blelloch-padded,\n"
    "                            hillis-steele; CPU: threads, sequential",
    "auto lookback shuffle blelloch blelloch-padded hillis-steele sequential threads"};
static_assert(are_names_of<ScanAlgorithm>(algorithm_option));

constexpr std::array scan_group{
    OptionSpec{"inclusive", 0, Takes::nothing, "", "result i includes element i (the default)"},
    OptionSpec{"exclusive", 0, Takes::nothing, "", "result i includes only the elements before i"},
    op_option,
    OptionSpec{"output-type", 0, Takes::value, "TYPE", "a wider type, with room for the sums", type_words},
    OptionSpec{"wrap", 0, Takes::nothing, "", "let sums wrap around (otherwise an overflow is an error)"},
    algorithm_option};
constexpr std::array output_group{output_option, output_format_option, force_option, in_place_option};
constexpr std::array trust_group{
    OptionSpec{"no-verify", 0, Takes::nothing, "", "do not compare the results with sums of the input"},
    OptionSpec{"repeat", 0, Takes::value, "N", "scan N more times in memory, print a table of times"}};
constexpr std::array<OptionGroup, 6> groups{file_group,   scan_group,  where_group,
                                            output_group, trust_group, talk_group};

std::optional<KeyType> read_output_type(const Arguments& arguments) {
  const auto text = arguments.find("output-type");
  if (!text) return std::nullopt;
  const NamedType named = parse_key_type(*text, "--output-type");
  if (named.endian && key_bytes(named.type) > 1)
    throw UsageError(fmt::format("--output-type '{}': the output has the input's byte order", *text),
                     fmt::format("write --output-type {}", name(named.type)));
  return named.type;
}

ScanFileOptions read_scan_options(const Arguments& arguments) {
  if (arguments.has("inclusive") && arguments.has("exclusive"))
    throw UsageError("--inclusive and --exclusive contradict each other", "leave one of them out");
  const ScanFileOptions options{
      .file = read_file_options(arguments),
      .where = read_where_options(arguments),
      .op = read_choice(arguments, op_option, ScanOp::sum),
      .kind = arguments.has("exclusive") ? ScanKind::exclusive : ScanKind::inclusive,
      .algorithm = read_choice(arguments, algorithm_option, ScanAlgorithm::automatic),
      .output_type = read_output_type(arguments),
      .output_format = read_output_format(arguments),
      .wrap = arguments.has("wrap"),
      .in_place = arguments.has("in-place"),
      .overwrite = arguments.has("force"),
      .verify = !arguments.has("no-verify"),
      .repeat = read_repeat(arguments)};
  if (options.wrap && options.op != ScanOp::sum)
    throw UsageError(fmt::format("--wrap is for sums: --op {} cannot leave its type", name(options.op)),
                     "leave --wrap out");
  return options;
}

ExitCode run_scan(const Arguments& arguments) {
  const std::string input = read_input(arguments, "give one INPUT, and name the output with -o");
  const std::string output = read_output(arguments, input);
  ScanFileOptions options = read_scan_options(arguments);
  note_other_type("scan", arguments, input, options.file);
  const JsonReport json(arguments, {names_of_inputs({input}).front(), output});
  keep_answers_off_data(output, json, options.repeat, arguments.has("quiet"));
  note_other_links("scan", arguments, input);
  ScanReport report;
  {
    Talk talk("scan", arguments);
    options.progress = talk.progress();
    options.log = talk.log();
    options.note = talk.note();
    report = scan_file(input, output, options);
  }
  note_misleading_name("scan", arguments, output, {report.output_type, report.output_format, report.endian});
  if (arguments.has("verbose")) {
    for (const std::string& line : scan_lines(report)) say("scan", line);
  }
  json.write([&] { return scan_json(report, input, output.empty() ? input : output, options); });
  if (options.repeat > 0 && !json.on_stdout() && !arguments.has("quiet")) answer(repeat_table(report));
  return ExitCode::done;
}

}  // namespace

constexpr Command scan_command{
    .name = "scan",
    .summary = "running sums, minima, maxima: inclusive or exclusive prefix scan",
    .usage = "[options] [INPUT] [-o OUTPUT]",
    .examples =
        "  sweepsort scan counts.u64 -o sums.u64         3 1 2 becomes 3 4 6\n"
        "  sweepsort scan --exclusive counts.npy -o offsets.npy   3 1 2 becomes 0 3 4\n"
        "  sweepsort scan --output-type u64 numbers.u32 -o sums.u64   sums that outgrow their type\n"
        "  sweepsort scan --op max -t f64 - < prices > highs     pipes; NaN is skipped\n"
        "  sweepsort scan --repeat 10 numbers.u32 -o /dev/null    how fast is it?\n\n",
    .options = groups,
    .run = run_scan};

}  // namespace sweepsort::cli
