// sort.cpp - sweepsort sort.
#include "cli/command.hpp"
#include "cli/option_groups.hpp"
#include "cli/option_values.hpp"
#include "cli/sort_report.hpp"
#include "cli/talk.hpp"
#include "cli/terminal.hpp"

#include <nlohmann/json.hpp>

#include <array>

namespace sweepsort::cli {
namespace {

constexpr std::array sort_group{reverse_option,
                                OptionSpec{"algorithm", 0, Takes::value, "NAME", "auto, radix or counting"}};
constexpr std::array output_group{output_option, force_option, in_place_option};
constexpr std::array trust_group{
    OptionSpec{"no-verify", 0, Takes::nothing, "", "do not check order and fingerprint of the result"},
    OptionSpec{"validate", 0, Takes::value, "REFEREE",
               "thrust: sort again with it and compare every element"},
    OptionSpec{"repeat", 0, Takes::value, "N", "sort the loaded data N more times, print a table of times"}};

constexpr OptionSpec later(std::string_view name, char letter = 0, Takes takes = Takes::value) {
  return {name, letter, takes, "", "", Available::later};
}
constexpr std::array later_group{later("unique", 'u', Takes::nothing),
                                 later("counts"),
                                 later("argsort", 0, Takes::nothing),
                                 later("values"),
                                 later("values-output"),
                                 later("merge", 0, Takes::nothing),
                                 later("memory", 'S'),
                                 later("gpu-memory"),
                                 later("temporary-directory", 'T'),
                                 later("dry-run", 0, Takes::nothing)};

constexpr std::array<OptionGroup, 7> groups{file_group,  sort_group, where_group, output_group,
                                            trust_group, talk_group, later_group};

constexpr Choice<SortAlgorithm> algorithms[] = {{"auto", SortAlgorithm::automatic},
                                                {"radix", SortAlgorithm::radix},
                                                {"counting", SortAlgorithm::counting}};
constexpr Choice<Referee> referees[] = {{"none", Referee::none}, {"thrust", Referee::thrust}};

SortFileOptions read_sort_options(const Arguments& arguments) {
  return {.file = read_file_options(arguments),
          .where = read_where_options(arguments),
          .order = arguments.has("reverse") ? Order::descending : Order::ascending,
          .algorithm = read_choice(arguments, "algorithm", algorithms, SortAlgorithm::automatic),
          .in_place = arguments.has("in-place"),
          .overwrite = arguments.has("force"),
          .verify = !arguments.has("no-verify"),
          .referee = read_choice(arguments, "validate", referees, Referee::none),
          .repeat = read_repeat(arguments)};
}

ExitCode run_sort(const Arguments& arguments) {
  const std::string input = read_input(arguments);
  const std::string output = read_output(arguments, input);
  SortFileOptions options = read_sort_options(arguments);
  const JsonReport json(arguments, {input, output});
  keep_answers_off_data(output, json, options.repeat);
  SortReport report;
  {
    Talk talk("sort", arguments);
    options.progress = talk.progress();
    options.log = talk.log();
    report = sort_file(input, output, options);
  }
  if (arguments.has("verbose")) {
    for (const std::string& line : phase_lines(report)) say("sort", line);
  }
  json.write(sort_json(report, input, output.empty() ? input : output, options));
  if (options.repeat > 0 && !json.on_stdout() && !arguments.has("quiet")) answer(repeat_table(report));
  if (report.referee_agrees.value_or(true)) return ExitCode::done;
  say("sort", input + ": thrust::sort gives another result; nothing was written");
  return ExitCode::no;
}

}  // namespace

constexpr Command sort_command{
    .name = "sort",
    .summary = "sort a file, or standard input",
    .usage = "[options] [INPUT] [-o OUTPUT]",
    .examples =
        "  sweepsort sort numbers.u32 -o sorted.u32      the type is in the name\n"
        "  sweepsort sort -r -t i64 data.bin > out.bin   descending; to standard output\n"
        "  sweepsort sort --in-place -v array.npy        NumPy array; say what is done\n"
        "  sweepsort sort --repeat 10 numbers.u32 -o /dev/null   how fast is it?\n\n",
    .options = groups,
    .run = run_sort};

}  // namespace sweepsort::cli
