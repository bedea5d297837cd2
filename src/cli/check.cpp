// check.cpp - sweepsort check.
#include "cli/command.hpp"
#include "cli/option_groups.hpp"
#include "cli/option_values.hpp"
#include "cli/report_parts.hpp"
#include "cli/talk.hpp"
#include "cli/terminal.hpp"
#include "cli/units.hpp"
#include "core/bytes.hpp"

#include <fmt/format.h>

#include <array>

namespace sweepsort::cli {
namespace {

constexpr std::array check_group{
    reverse_option, OptionSpec{"unique", 'u', Takes::nothing, "", "also check that no key occurs twice"},
    threads_option};
constexpr std::array<OptionGroup, 3> groups{file_group, check_group, talk_group};

/// Equal for files that hold the same keys in any order, on any machine.
std::string printed(const Fingerprint& fingerprint) {
  return fmt::format("{}-{:016x}", fingerprint.count, fingerprint.sum);
}

bool is_unique(const CheckReport& report) { return report.sorted && report.distinct == report.count; }

std::string table(const CheckReport& report, const std::string& input, Order order, bool asks_for_unique) {
  std::string text;
  const auto row = [&](std::string_view label, const std::string& value) {
    text += fmt::format("{:<13}{}\n", label, value);
  };
  row("file", input == "-" ? "standard input" : printable(input));
  row("format", std::string(name(report.format)));
  row("type", std::string(name(report.type)));
  row("keys", format_count(report.count));
  if (report.sorted) {
    row("sorted", fmt::format("yes, {}", name(order)));
  } else {
    const uint64_t first = report.first_unsorted.value_or(0);
    row("sorted",
        fmt::format("no: key {} should come before key {}", format_count(first), format_count(first - 1)));
  }
  if (report.count > 0) {
    row("min", report.min);
    row("max", report.max);
  }
  if (report.distinct) row("distinct", format_count(*report.distinct));
  if (asks_for_unique && report.sorted) row("unique", is_unique(report) ? "yes" : "no");
  row("fingerprint", printed(report.fingerprint));
  return text;
}

Json check_json(const CheckReport& report, const std::string& input, Order order) {
  return {{"schema", "sweepsort.check/1"},
          {"version", version()},
          {"input", input},
          {"format", name(report.format)},
          {"type", name(report.type)},
          {"order", name(order)},
          {"count", report.count},
          {"sorted", report.sorted},
          {"first_unsorted", or_null(report.first_unsorted)},
          {"min", key_json(report.min, report.type)},
          {"max", key_json(report.max, report.type)},
          {"distinct", or_null(report.distinct)},
          {"unique", report.distinct ? Json(is_unique(report)) : Json()},
          {"fingerprint", printed(report.fingerprint)},
          {"time_s", report.total_s}};
}

ExitCode run_check(const Arguments& arguments) {
  const std::string input = read_input(arguments);
  CheckOptions options{.file = read_file_options(arguments),
                       .threads = read_threads(arguments),
                       .order = arguments.has("reverse") ? Order::descending : Order::ascending};
  note_other_type("check", arguments, input, options.file);
  const JsonReport json(arguments, names_of_inputs({input}));
  CheckReport report;
  {
    Talk talk("check", arguments);
    options.progress = talk.progress();
    options.log = talk.log();
    report = check_file(input, options);
  }
  if (arguments.has("verbose")) {
    const auto bytes = static_cast<double>(report.count * key_bytes(report.type));
    say("check", fmt::format("{} keys in {}, {}", format_count(report.count), format_time(report.total_s),
                             format_rate(bytes, report.total_s, "B")));
  }
  json.write([&] { return check_json(report, input, options.order); });
  const bool asks_for_unique = arguments.has("unique");
  if (!json.on_stdout() && !arguments.has("quiet"))
    answer(table(report, input, options.order, asks_for_unique));
  return (asks_for_unique ? is_unique(report) : report.sorted) ? ExitCode::done : ExitCode::no;
}

}  // namespace

constexpr Command check_command{
    .name = "check",
    .summary = "is a file sorted? count, min, max, distinct, fingerprint",
    .usage = "[options] [INPUT]",
    .examples =
        "  sweepsort check sorted.u32                    exit code 0: sorted, 1: not, 2: error\n"
        "  sweepsort check -q -t '>i8' data.bin && ...   big-endian i64; only the exit code\n"
        "  sweepsort check --json array.npy              for programs\n\n"
        "Two files of one type with the same fingerprint hold the same keys, in any order.\n\n",
    .options = groups,
    .run = run_check};

}  // namespace sweepsort::cli
