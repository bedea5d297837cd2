// help.hpp - the texts of -h, help and --version, generated from the tables of commands and options.
#pragma once

#include "cli/command.hpp"

#include <string>
#include <string_view>

namespace sweepsort::cli {

/// Whole lines.
inline constexpr std::string_view exit_codes =
    "0  done\n"
    "1  the answer is no (check: not sorted; sort --validate: differs)\n"
    "2  error: usage, input, output or run\n"
    "A signal ends it as it ends other programs: 130 for Ctrl-C, 141 if a pipe's reader is gone.\n";

std::string overview();
std::string command_help(const Command& command);
/// The description of an option: its help, or else its possible values ("auto, cuda or cpu").
std::string help_text(const OptionSpec& option);
/// What was compiled in and what is present on this machine.
std::string version_text();

}  // namespace sweepsort::cli
