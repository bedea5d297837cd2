// manual.hpp - the manual page and the shells' completions, made from the tables that the help is made from.
#pragma once

#include <string>

namespace sweepsort::cli {

/// In man's macros (man 7 man).
std::string manual_page();
/// To be sourced by bash; by zsh behind bashcompinit.
std::string bash_completion();
/// To be sourced by fish.
std::string fish_completion();

}  // namespace sweepsort::cli
