// command.hpp - the description of a subcommand: a row of main's table.
#pragma once

#include "cli/arguments.hpp"

#include <span>
#include <string_view>

namespace sweepsort::cli {

/// 0: done; 1: the answer is no; 2: usage, input or run-time error.
enum class ExitCode : uint8_t { done = 0, no = 1, error = 2 };

struct Command {
  std::string_view name;
  std::string_view summary;   // one line
  std::string_view usage;     // after "sweepsort NAME "
  std::string_view examples;  // whole lines
  std::span<const OptionGroup> options;
  ExitCode (*run)(const Arguments&) = nullptr;
};

extern const Command sort_command;
extern const Command scan_command;
extern const Command min_command;
extern const Command check_command;
extern const Command generate_command;
extern const Command info_command;

/// All commands, in the order of the help.
std::span<const Command* const> all_commands();
/// Returns nullptr if there is no such command.
const Command* find_command(std::string_view name);

}  // namespace sweepsort::cli
