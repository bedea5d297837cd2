// help.cpp - help and version texts.
#include "cli/help.hpp"

#include "sweepsort.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace sweepsort::cli {
namespace {

constexpr size_t help_column = 28;

std::string option_line(const OptionSpec& option) {
  std::string left = option.letter ? fmt::format("  -{}, --{}", option.letter, option.name)
                                   : fmt::format("      --{}", option.name);
  if (option.takes == Takes::value || option.takes == Takes::values) left += fmt::format(" {}", option.value);
  if (option.takes == Takes::optional_value) left += fmt::format("[={}]", option.value);
  const std::string help = help_text(option);
  if (left.size() >= help_column) return fmt::format("{}\n{:<{}}{}\n", left, "", help_column, help);
  return fmt::format("{:<{}}{}\n", left, help_column, help);
}

}  // namespace

std::string help_text(const OptionSpec& option) {
  if (!option.help.empty()) return std::string(option.help);
  std::vector<std::string_view> words = words_of(option);
  const std::string_view last = words.back();
  words.pop_back();
  return fmt::format("{} or {}", fmt::join(words, ", "), last);
}

std::string overview() {
  std::string text =
      "sweepsort sorts and scans large binary files of integers and floats, on an NVIDIA GPU or the CPU.\n\n"
      "  sweepsort sort numbers.u32 -o sorted.u32          sort a file; its type is in its name or -t\n"
      "  sweepsort scan --op max numbers.u32 -o highs.u32  running maxima; sums may need --output-type u64\n"
      "  sweepsort min --index numbers.u32                 the smallest value and its first position\n"
      "  sweepsort check sorted.u32                        is it sorted? count, min, max, distinct values\n"
      "  sweepsort generate -n 2^26 -o numbers.u32         make test data\n\ncommands:\n";
  for (const Command* command : all_commands())
    text += fmt::format("  {:<11}{}\n", command->name, command->summary);
  return text +
         "\n'sweepsort help COMMAND' or 'sweepsort COMMAND -h' explains a command; --version says what is "
         "compiled in.\n'sweepsort help --man', --bash, --fish and --zsh print the manual page and shell "
         "completions.\n";
}

std::string command_help(const Command& command) {
  std::string text = fmt::format("{}usage: sweepsort {} {}\n", command.examples, command.name, command.usage);
  for (const OptionGroup group : command.options) {
    for (const OptionSpec& option : group) text += option_line(option);
  }
  return text;
}

std::string version_text() {
  const SystemReport report = system_report();
  const auto or_no = [](const std::string& version, const char* product) {
    return version.empty() ? fmt::format("no {}", product) : fmt::format("{} {}", product, version);
  };
  std::string text = fmt::format("sweepsort {}\nbuilt with: {}, {}, {}, {}\n", version(), report.compiler,
                                 or_no(report.cuda, "CUDA"), or_no(report.highway, "Highway"),
                                 or_no(report.thrust, "Thrust"));
  for (const BackendReport& backend : report.backends) {
    text += backend.usable ? fmt::format("{}: {}\n", backend.name, backend.description)
                           : fmt::format("{}: not usable: {}\n", backend.name, backend.reason);
  }
  return text;
}

}  // namespace sweepsort::cli
