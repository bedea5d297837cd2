// min.cpp - sweepsort min.
#include "cli/command.hpp"
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

constexpr std::array min_group{
    OptionSpec{"max", 0, Takes::nothing, "", "the largest value"},
    OptionSpec{"index", 0, Takes::nothing, "",
               "also print the index of the first element that has it, from 0"},
    OptionSpec{"repeat", 0, Takes::value, "N", "search N more times in memory, print a table of times"}};
constexpr std::array<OptionGroup, 4> groups{file_group, min_group, where_group, talk_group};

ExitCode run_min(const Arguments& arguments) {
  const std::string input = read_input(arguments);
  MinFileOptions options{.file = read_file_options(arguments),
                         .where = read_where_options(arguments),
                         .extreme = arguments.has("max") ? Extreme::max : Extreme::min,
                         .wants_index = arguments.has("index"),
                         .repeat = read_repeat(arguments)};
  note_other_type("min", arguments, input, options.file);
  const JsonReport json(arguments, names_of_inputs({input}));
  MinReport report;
  {
    Talk talk("min", arguments);
    options.progress = talk.progress();
    options.log = talk.log();
    options.note = talk.note();
    report = min_file(input, options);
  }
  if (arguments.has("verbose")) say("min", min_line(report));
  json.write([&] { return min_json(report, input, options); });
  if (json.on_stdout()) return ExitCode::done;
  answer(report.index ? fmt::format("{} {}\n", report.value, *report.index) : report.value + "\n");
  if (options.repeat > 0 && !arguments.has("quiet")) answer(repeat_table(report));
  return ExitCode::done;
}

}  // namespace

constexpr Command min_command{
    .name = "min",
    .summary = "smallest or largest value and its first position",
    .usage = "[options] [INPUT]",
    .examples =
        "  sweepsort min numbers.u32                     the smallest value; NaN is skipped\n"
        "  sweepsort min --max --index array.npy         the largest value and its first position\n"
        "  sweepsort min --json -t i64 data.bin          for programs\n"
        "  sweepsort min --repeat 10 numbers.u32         how fast is it?\n\n",
    .options = groups,
    .run = run_min};

}  // namespace sweepsort::cli
