// arguments.hpp - a subcommand's options as data, and the parsed command line.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sweepsort::cli {

/// `values`: takes a value, and the option may be given several times.
enum class Takes : uint8_t { nothing, value, optional_value, values };

/// One option. Parsing, help, "did you mean", the manual and completions are derived from it.
struct OptionSpec {
  std::string_view name;  // long, without dashes
  char letter = 0;        // 0: none
  Takes takes = Takes::nothing;
  std::string_view value;       // name of the value in the help, e.g. "FILE"
  std::string_view help;        // one line; empty: the possible values
  std::string_view words = {};  // the possible values, if they are a few words, separated by blanks
};

std::vector<std::string_view> words_of(const OptionSpec& option);

using OptionGroup = std::span<const OptionSpec>;

/// Thrown for an option that the command does not have. `dashed`: as typed, "--name" or "-n".
struct UnknownOption : UsageError {
  UnknownOption(std::string dashed, std::string hint)
      : UsageError("unknown option " + dashed, std::move(hint)), option(std::move(dashed)) {}
  std::string option;
};

/// The words after the subcommand's name, checked against its options: each option is known, is given only
/// once unless it takes several values, and has a value exactly if it takes one. The command interprets the
/// values.
class Arguments {
 public:
  /// Throws UsageError, in particular UnknownOption.
  Arguments(std::span<const OptionGroup> groups, std::span<const std::string> words);

  bool has(std::string_view name) const { return values_.contains(name); }
  /// The value as typed; empty if the option is absent.
  std::optional<std::string> find(std::string_view name) const;
  /// All values of an option that may be given several times.
  std::vector<std::string> all(std::string_view name) const;
  const std::vector<std::string>& positionals() const { return positionals_; }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> positionals_;
};

/// Whether `word` is "--name" or "-n" of one of the options.
bool is_option(std::string_view word, std::span<const OptionSpec> options);

/// Whether one of the words asks for help.
bool asks_for_help(std::span<const std::string> words);

}  // namespace sweepsort::cli
