// help.hpp - the texts of -h, help and --version, made from the tables of commands and options.
#pragma once

#include "cli/command.hpp"

#include <string>

namespace sweepsort::cli {

std::string overview();
std::string command_help(const Command& command);
/// What was compiled in and what is present.
std::string version_text();

}  // namespace sweepsort::cli
