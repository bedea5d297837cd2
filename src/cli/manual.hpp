// manual.hpp - the manual page and the shells' completions, generated from the same tables as the help.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sweepsort::cli {

/// A text that `help --NAME` prints.
struct Document {
  std::string_view name;
  std::string (*text)();
};

/// man: in man's macros (man 7 man). bash, fish: to be sourced in that shell. zsh: a file _sweepsort in
/// $fpath, or to be sourced after compinit.
std::span<const Document> documents();

}  // namespace sweepsort::cli
