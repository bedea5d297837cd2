// main.cpp - the table of commands, and the one place that turns an error into a message and an exit code.
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/manual.hpp"
#include "cli/signals.hpp"
#include "cli/terminal.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <vector>

namespace sweepsort::cli {
namespace {

constexpr std::array commands{&sort_command,  &scan_command,     &min_command,
                              &check_command, &generate_command, &info_command};

/// Names that people may use for something that one of our commands does, perhaps with an option.
struct OtherName {
  std::string_view name, here;
};
constexpr OtherName other_names[] = {
    {"max", "min --max"},          {"argmin", "min --index"}, {"argmax", "min --max --index"},
    {"merge", "sort --merge"},     {"unique", "sort -u"},     {"uniq", "sort -u"},
    {"argsort", "sort --argsort"}, {"sum", "scan"},           {"cumsum", "scan"},
    {"verify", "check"},           {"random", "generate"},
};

const Command& wanted_command(const std::string& word) {
  if (const Command* command = find_command(word)) return *command;
  constexpr std::array<std::string_view, 2> options{"--help", "--version"};
  if (word.starts_with('-'))
    throw UsageError("unknown option " + word, suggestion_hint(word, options, "'sweepsort help' says more"));
  const std::string unknown = fmt::format("unknown command '{}'", word);
  for (const OtherName& other : other_names)
    if (word == other.name) throw UsageError(unknown, fmt::format("use 'sweepsort {}'", other.here));
  std::vector<std::string_view> names{"help", "--version"};
  for (const Command* known : commands) names.push_back(known->name);
  throw UsageError(unknown, suggestion_hint(word, names, "'sweepsort help' lists them"));
}

/// If the option belongs to another command, and is not a slip of the pen for one of this command's, the hint
/// names that command.
Arguments arguments_of(const Command& command, std::span<const std::string> words) try {
  return Arguments(command.options, words);
} catch (const UnknownOption& error) {
  std::vector<std::string_view> owners;
  for (const Command* other : commands)
    if (std::ranges::any_of(other->options,
                            [&](OptionGroup group) { return is_option(error.option, group); }))
      owners.push_back(other->name);
  if (owners.empty() || error.hint().starts_with("did you mean")) throw;
  throw UsageError(error.what(), fmt::format("{} is an option of {}; -h lists those of {}", error.option,
                                             fmt::join(owners, ", "), command.name));
}

ExitCode run(std::span<const std::string> words, std::string& where) {
  if (words.empty()) throw UsageError("no command", "'sweepsort help' lists them");
  const std::string& first = words[0];
  if (first == "--version" || first == "-V") return answer(version_text()), ExitCode::done;
  const bool for_help = first == "help" || first == "-h" || first == "--help";
  if (for_help && (words.size() == 1 || words[1] == "help" || asks_for_help(words.subspan(1))))
    return answer(fmt::format("{}\nexit codes:\n{}", overview(), exit_codes)), ExitCode::done;
  if (for_help && words.size() > 2)
    throw UsageError(fmt::format("{} explains one command at a time", first),
                     fmt::format("for example {} {}", first, words[1]));
  if (for_help)
    for (const Document& document : documents())
      if (words[1] == fmt::format("--{}", document.name)) return answer(document.text()), ExitCode::done;
  const Command& command = wanted_command(for_help ? words[1] : first);
  if (for_help || asks_for_help(words.subspan(1))) return answer(command_help(command)), ExitCode::done;
  where = command.name;
  const Arguments arguments = arguments_of(command, words.subspan(1));
  if (arguments.has("help")) return answer(command_help(command)), ExitCode::done;  // -vh
  return command.run(arguments);
}

}  // namespace

std::span<const Command* const> all_commands() { return commands; }

const Command* find_command(std::string_view name) {
  const auto found = std::find_if(commands.begin(), commands.end(), [&](auto* c) { return c->name == name; });
  return found == commands.end() ? nullptr : *found;
}

}  // namespace sweepsort::cli

int main(int argc, char** argv) {
  using namespace sweepsort::cli;
  keep_standard_descriptors();
  install_signal_handlers();
  allow_open_files();
  std::string where;  // the command that is running
  try {
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    const ExitCode code = run(words, where);
    finish_answer();
    return static_cast<int>(code);
  } catch (const sweepsort::Error& error) {
    say(where, error.what());
    if (!error.hint().empty()) say_hint(error.hint());
  } catch (const std::bad_alloc&) {
    say(where, "out of memory");
    say_hint(where == "sort" ? "use less of it (--memory, --threads), or raise the limit (ulimit -v, -d)"
                             : "use fewer threads (--threads 1), or raise the limit (ulimit -v, -d)");
  } catch (const std::system_error& error) {
    const bool no_thread = error.code() == std::errc::resource_unavailable_try_again;
    say(where, no_thread ? "a thread cannot be started" : error.what());
    if (no_thread) say_hint("use fewer (--threads 1), or raise the limits (ulimit -u, -v, -d)");
  } catch (const std::exception& error) {
    say(where, error.what());
  }
  return static_cast<int>(ExitCode::error);
}
