// info.cpp - sweepsort info.
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/option_groups.hpp"
#include "cli/report_parts.hpp"
#include "cli/talk.hpp"
#include "cli/terminal.hpp"

#include <fmt/format.h>

#include <array>

namespace sweepsort::cli {
namespace {

constexpr std::array info_group{json_option, OptionSpec{"help", 'h', Takes::nothing, "", "this text"}};
constexpr std::array<OptionGroup, 1> groups{info_group};

std::string or_none(const std::string& text) { return text.empty() ? "none" : text; }

std::string table(const SystemReport& report) {
  std::string text;
  const auto row = [&](std::string_view label, const std::string& value) {
    text += fmt::format("{:<13}{}\n", label, value);
  };
  row("sweepsort", std::string(version()));
  row("compiler", report.compiler);
  row("CUDA", or_none(report.cuda));
  row("Highway", or_none(report.highway));
  row("Thrust", or_none(report.thrust));
  for (const BackendReport& backend : report.backends) {
    row(backend.name, backend.usable ? backend.description : "not usable: " + backend.reason);
    for (const std::string& detail : backend.details) row("", detail);
    if (!backend.usable && !backend.hint.empty()) row("", "hint: " + backend.hint);
  }
  return text;
}

Json info_json(const SystemReport& report) {
  Json backends = Json::array();
  for (const BackendReport& backend : report.backends) {
    backends.push_back({{"name", backend.name},
                        {"usable", backend.usable},
                        {"description", or_null(backend.description)},
                        {"details", backend.details},
                        {"reason", or_null(backend.reason)},
                        {"hint", or_null(backend.hint)}});
  }
  return {{"schema", "sweepsort.info/1"},
          {"version", version()},
          {"compiler", report.compiler},
          {"cuda", or_null(report.cuda)},
          {"highway", or_null(report.highway)},
          {"thrust", or_null(report.thrust)},
          {"backends", backends}};
}

ExitCode run_info(const Arguments& arguments) {
  if (!arguments.positionals().empty())
    throw UsageError(arguments.positionals()[0] + ": info reads no input",
                     "leave it out; 'sweepsort check FILE' shows what a file holds");
  const JsonReport json(arguments, {});
  const SystemReport report = system_report();
  json.write([&] { return info_json(report); });
  if (!json.on_stdout()) answer(table(report));
  return ExitCode::done;
}

}  // namespace

constexpr Command info_command{.name = "info",
                               .summary = "devices, backends, what this build can do",
                               .usage = "[options]",
                               .examples =
                                   "  sweepsort info          a table\n"
                                   "  sweepsort info --json   for programs\n\n",
                               .options = groups,
                               .run = run_info};

}  // namespace sweepsort::cli
