// option_lists.hpp - the command lines of sweepsort-bench: options with presets, and lists in their values.
#pragma once

#include "bench/run_options.hpp"
#include "cli/arguments.hpp"
#include "core/error.hpp"
#include "core/key_type.hpp"
#include "core/suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sweepsort::bench {

/// An option and its value when it is not given.
struct PresetOption {
  cli::OptionSpec spec;
  std::string_view preset;
};

/// The command line of a command: its own options and those of RunOptions.
class BenchArguments {
 public:
  /// Throws UsageError.
  BenchArguments(std::string_view command, std::span<const PresetOption> own,
                 std::span<const std::string> words);

  /// The value given for an option, or its preset.
  std::string value(std::string_view name) const;
  RunOptions run_options() const;

 private:
  std::vector<PresetOption> options_;
  cli::Arguments arguments_;
};

/// `examples`: whole lines.
void print_help(std::string_view command, std::string_view examples, std::span<const PresetOption> own);

/// "a,b" -> {"a", "b"}. An empty item is an error.
std::vector<std::string> split(const std::string& text, std::string_view option);

/// A word in an option's list, and its meaning.
template <class Value>
using Choice = std::pair<std::string_view, Value>;

/// Values with the names that the product gives them.
template <class Value>
std::vector<Choice<Value>> by_name(std::initializer_list<Value> values) {
  std::vector<Choice<Value>> choices;
  for (const Value value : values) choices.emplace_back(name(value), value);
  return choices;
}

/// The values in an option's list, whose items are from a few words; `all` selects all of them.
template <class Value>
std::vector<Value> chosen(const BenchArguments& arguments, std::string_view option,
                          const std::vector<Choice<Value>>& choices) {
  std::vector<Value> values;
  std::vector<std::string_view> words;
  for (const Choice<Value>& choice : choices) words.push_back(choice.first);
  for (const std::string& item : split(arguments.value(option), option)) {
    if (item != "all" && std::ranges::find(words, item) == words.end())
      throw UsageError(fmt::format("--{}: '{}' is none of {}", option, item, fmt::join(words, ", ")),
                       suggestion_hint(item, words, ""));
    for (const Choice<Value>& choice : choices)
      if (item == "all" || item == choice.first) values.push_back(choice.second);
  }
  return values;
}

/// The value of an option that takes one of a few words.
template <class Value>
Value chosen_one(const BenchArguments& arguments, std::string_view option,
                 const std::vector<Choice<Value>>& choices) {
  const std::vector<Value> values = chosen(arguments, option, choices);
  if (values.size() != 1) throw UsageError(fmt::format("--{} takes one name, not several", option));
  return values.front();
}

std::vector<KeyType> parse_types(const std::string& text);

/// Sizes, and ranges FIRST..LAST (doubling) or FIRST..LAST*FACTOR. 0 is an error, because there is nothing to
/// time.
std::vector<uint64_t> parse_sizes(const std::string& text);

/// Names of peers are checked against all known peers. Whether this build has them is not checked here.
std::vector<std::string> parse_peers(const std::string& text, std::span<const std::string_view> known);

}  // namespace sweepsort::bench
