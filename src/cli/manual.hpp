// manual.hpp - the manual page and the shells' completions, made from the tables that the help is made from.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sweepsort::cli {

/// What `help --NAME` prints.
struct Document {
  std::string_view name;
  std::string (*text)();
};

/// man: in man's macros (man 7 man). bash, fish: to be sourced by these. zsh: as _sweepsort in
/// $fpath, or sourced behind compinit.
std::span<const Document> documents();

}  // namespace sweepsort::cli
