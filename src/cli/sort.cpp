// sort.cpp - sweepsort sort.
#include "cli/command.hpp"
#include "cli/key_type_name.hpp"
#include "cli/option_groups.hpp"
#include "cli/option_values.hpp"
#include "cli/sort_report.hpp"
#include "cli/talk.hpp"
#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace sweepsort::cli {
namespace {

constexpr OptionSpec algorithm_option{"algorithm", 0, Takes::value, "NAME", "", "auto radix counting"};
static_assert(are_names_of<SortAlgorithm>(algorithm_option));
constexpr OptionSpec validate_option{
    "validate",   0, Takes::value, "REFEREE", "thrust: sort again with it and compare every element",
    "none thrust"};

constexpr std::array sort_group{
    reverse_option, algorithm_option,
    OptionSpec{"merge", 0, Takes::nothing, "", "the inputs are sorted already: merge them"}};
constexpr std::array result_group{
    OptionSpec{"unique", 'u', Takes::nothing, "", "write each key once"},
    OptionSpec{"counts", 0, Takes::value, "FILE",
               "with -u: how often each key occurs, as u64; with --values: the sum of its values (unsigned)"},
    OptionSpec{"argsort", 0, Takes::nothing, "",
               "write the input position of each sorted key (-u: the first): u32, or u64 beyond 2^32 keys"},
    OptionSpec{"values", 0, Takes::values, "FILE",
               "sort this file (not a pipe) by the keys, stably; values of 4 or 8 bytes; may be repeated"},
    OptionSpec{"values-output", 0, Takes::value, "FILE",
               "write the sorted values here (-u: the first of each key)"},
    OptionSpec{"values-type", 0, Takes::value, "TYPE",
               "type of the values, if the file's name and size do not give it", type_words}};
constexpr std::array devices_group{backend_option,
                                   OptionSpec{"device", 0, Takes::value, "LIST",
                                              "which CUDA devices: one, several (0,1) or all (default: 0)"},
                                   threads_option};
constexpr std::array memory_group{
    OptionSpec{"memory", 'S', Takes::value, "BYTES",
               "use at most this much: 4G, 512M, powers of 1024 (default: 75 % of what is free)"},
    OptionSpec{"gpu-memory", 0, Takes::value, "BYTES",
               "use at most this much of each GPU (default: 75 % of what is free)"},
    OptionSpec{"temporary-directory", 'T', Takes::values, "DIR",
               "for temporary files; may be repeated (default: $TMPDIR, beside the output, or /var/tmp)"},
    OptionSpec{"dry-run", 0, Takes::nothing, "", "print what would be done and what it takes"}};
constexpr std::array output_group{output_option, output_format_option, force_option, in_place_option};
constexpr std::array trust_group{
    OptionSpec{"no-verify", 0, Takes::nothing, "", "do not check order and fingerprint of the result"},
    validate_option,
    OptionSpec{"repeat", 0, Takes::value, "N", "sort the loaded data N more times, print a table of times"}};

constexpr std::array<OptionGroup, 8> groups{file_group,   sort_group,   result_group, devices_group,
                                            memory_group, output_group, trust_group,  talk_group};

SortResult read_result(const Arguments& arguments) {
  const bool is_argsort = arguments.has("argsort");
  if (arguments.has("unique")) return is_argsort ? SortResult::first_positions : SortResult::unique;
  return is_argsort ? SortResult::permutation : SortResult::keys;
}

MemoryOptions read_memory(const Arguments& arguments) {
  MemoryOptions memory{.temporary_directories = arguments.all("temporary-directory")};
  if (const auto text = arguments.find("memory")) memory.memory = parse_bytes(*text, "--memory");
  if (const auto text = arguments.find("gpu-memory")) memory.gpu_memory = parse_bytes(*text, "--gpu-memory");
  if (memory.gpu_memory == Bytes{0})
    throw UsageError("--gpu-memory 0: nothing can be sorted in that", "leave it out, or use --backend cpu");
  return memory;
}

SortFileOptions read_sort_options(const Arguments& arguments) {
  if (arguments.has("dry-run") && arguments.has("repeat"))
    throw UsageError("--dry-run and --repeat cannot be combined", "leave one of them out");
  if (arguments.has("merge") && arguments.has("algorithm"))
    throw UsageError("--merge and --algorithm cannot be combined",
                     "leave --algorithm out: a merge does not sort");
  SortFileOptions options{.file = read_file_options(arguments),
                          .where = read_where_options(arguments),
                          .memory = read_memory(arguments),
                          .order = arguments.has("reverse") ? Order::descending : Order::ascending,
                          .algorithm = read_choice(arguments, algorithm_option, SortAlgorithm::automatic),
                          .result = read_result(arguments),
                          .counts_output = arguments.find("counts").value_or(""),
                          .values = arguments.all("values"),
                          .values_output = arguments.find("values-output").value_or(""),
                          .output_format = read_output_format(arguments),
                          .inputs_are_sorted = arguments.has("merge"),
                          .plan_only = arguments.has("dry-run"),
                          .in_place = arguments.has("in-place"),
                          .overwrite = arguments.has("force"),
                          .verify = !arguments.has("no-verify"),
                          .referee = read_choice(arguments, validate_option, Referee::none),
                          .repeat = read_repeat(arguments)};
  if (const auto text = arguments.find("values-type")) {
    const NamedType named = parse_key_type(*text, "--values-type");
    options.values_type = named.type;
    options.values_endian = named.endian;
  }
  return options;
}

/// The names of the outputs, as passed to the library.
std::vector<std::string> all_outputs(const std::string& output, const SortFileOptions& options) {
  std::vector<std::string> all{output};
  if (!options.values_output.empty()) all.push_back(options.values_output);
  if (!options.counts_output.empty()) all.push_back(options.counts_output);
  return all;
}

/// Prints a note like note_misleading_name(), but for values, which have a width and no type.
void note_misleading_values_name(const std::string& output, const SortReport& report) {
  const FileFormat named = format_from_name(output);
  const std::optional<KeyType> type = type_from_name(output);
  const FileFormat format = report.values_format;
  const bool is_big = format == FileFormat::raw && report.values_endian == Endian::big;
  const bool says_nothing = named == FileFormat::raw && !type;
  if (says_nothing && (format != FileFormat::sosd || goes_to_stdout(output) || output.starts_with("/dev/")))
    return;
  if (!says_nothing && named == format && (!type || key_bytes(*type) == report.value_bytes) && !is_big)
    return;
  const std::string said = fmt::format("{}{}{}", named == FileFormat::raw ? "" : name(named),
                                       type && named != FileFormat::raw ? " " : "", type ? name(*type) : "");
  say("sort", fmt::format("{}: holds {}{} values of {} bytes, {}", output, is_big ? "big-endian " : "",
                          name(format), report.value_bytes,
                          says_nothing ? "but its name does not say so" : "although its name says " + said));
  say_hint("values keep format, width and byte order: rename the file");
}

void note_misleading_names(const Arguments& arguments, const std::string& output,
                           const SortFileOptions& options, const SortReport& report) {
  // Positions and counts are little-endian.
  note_misleading_name("sort", arguments, output,
                       {report.output_type, report.output_format,
                        has_positions(options.result) ? Endian::little : report.endian});
  note_misleading_name("sort", arguments, options.counts_output,
                       {KeyType::u64, format_from_name(options.counts_output)});
  if (report.value_bytes != 0 && !arguments.has("quiet"))
    note_misleading_values_name(options.values_output, report);
}

/// A dry run replaces nothing and does not require -f. This note says that the sort itself would.
void note_existing(const Arguments& arguments, const std::vector<std::string>& outputs) {
  if (arguments.has("force") || arguments.has("quiet") || arguments.has("in-place")) return;
  for (const std::string& name : outputs) {
    std::error_code unknown;
    if (goes_to_stdout(name) || !std::filesystem::is_regular_file(name, unknown)) continue;
    say("sort", name + ": already exists");
    say_hint("without --dry-run, -f (--force) is needed to replace it");
  }
}

void keep_outputs_apart(const std::vector<std::string>& outputs) {
  if (std::ranges::count_if(outputs, goes_to_stdout) > 1)
    throw UsageError("two outputs would mix on standard output", "name a file with -o");
}

/// Many programs accept "sort in out". Here, the output needs -o.
void catch_forgotten_output(const Arguments& arguments, const std::vector<std::string>& inputs) {
  if (inputs.size() < 2 || arguments.has("output") || arguments.has("in-place")) return;
  const std::string& last = inputs.back();
  if (last != "-" && ::access(last.c_str(), F_OK) != 0)
    throw UsageError(last + ": no such file, and all names are inputs", "name the output with -o");
}

ExitCode run_sort(const Arguments& arguments) {
  const std::vector<std::string> inputs = read_inputs(arguments);
  catch_forgotten_output(arguments, inputs);
  const std::string output = read_output(arguments, inputs.front());
  SortFileOptions options = read_sort_options(arguments);
  for (const std::string& input : inputs) note_other_type("sort", arguments, input, options.file);
  const std::vector<std::string> outputs = all_outputs(output, options);
  keep_outputs_apart(outputs);
  std::vector<std::string> read = inputs;
  read.insert(read.end(), options.values.begin(), options.values.end());
  std::vector<std::string> precious = names_of_inputs(std::move(read));
  precious.insert(precious.end(), outputs.begin(), outputs.end());
  const JsonReport json(arguments, precious);
  if (!options.plan_only) {
    for (const std::string& name : outputs)
      keep_answers_off_data(name, json, options.repeat, arguments.has("quiet"));
    note_other_links("sort", arguments, inputs.front());
  }
  SortReport report;
  {
    Talk talk("sort", arguments);
    options.progress = talk.progress();
    options.log = talk.log();
    options.note = talk.note();
    report = sort_files(inputs, output, options);
  }
  if (!options.plan_only && report.referee_agrees.value_or(true))
    note_misleading_names(arguments, output, options, report);
  if (arguments.has("verbose") && !options.plan_only) {
    for (const std::string& line : sort_lines(report)) say("sort", line);
  }
  if (!report.referee_agrees.value_or(true))
    say("sort",
        fmt::format("{}: thrust::sort gives a different result; {}", inputs.front(),
                    goes_to_stdout(output) ? "what was written may be wrong" : "no file was written"));
  json.write([&] { return sort_json(report, inputs, output.empty() ? inputs.front() : output, options); });
  if (options.plan_only) note_existing(arguments, outputs);
  if (options.plan_only && !json.on_stdout()) answer(plan_table(report, options));
  if (options.repeat > 0 && !json.on_stdout() && !arguments.has("quiet")) answer(repeat_table(report));
  return report.referee_agrees.value_or(true) ? ExitCode::done : ExitCode::no;
}

}  // namespace

constexpr Command sort_command{
    .name = "sort",
    .summary = "sort files, or standard input",
    .usage = "[options] [INPUT...] [-o OUTPUT]",
    .examples =
        "  sweepsort sort numbers.u32 -o sorted.u32      the type is in the name\n"
        "  sweepsort sort -r -t i64 data.bin > out.bin   descending; to standard output\n"
        "  sweepsort sort --in-place -v array.npy        NumPy array; say what is done\n"
        "  sweepsort sort -u --counts counts.u64 kmers.u64 -o distinct.u64\n"
        "  sweepsort sort -S 4G -T /scratch huge.u64 -o sorted.u64    larger than memory\n"
        "  sweepsort sort --repeat 10 numbers.u32 -o /dev/null   how fast is it?\n\n",
    .options = groups,
    .run = run_sort};

}  // namespace sweepsort::cli
