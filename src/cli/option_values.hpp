// option_values.hpp - what the values of options mean: text in, the library's types out, UsageError for the
// rest.
#pragma once

#include "cli/arguments.hpp"
#include "sweepsort.hpp"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sweepsort::cli {

/// Throws UsageError "OPTION TEXT: unknown", proposing the nearest of `known`.
[[noreturn]] void refuse_choice(std::string_view option, std::string_view text,
                                std::span<const std::string_view> known);

template <class Value>
struct Choice {
  std::string_view name;
  Value value;
};

/// The value of the option `name` among `choices`; `fallback` if it was not given.
template <class Value, size_t count>
Value read_choice(const Arguments& arguments, std::string_view name, const Choice<Value> (&choices)[count],
                  Value fallback) {
  const auto text = arguments.find(name);
  if (!text) return fallback;
  std::array<std::string_view, count> known;
  for (size_t i = 0; i < count; ++i) {
    if (choices[i].name == *text) return choices[i].value;
    known[i] = choices[i].name;
  }
  refuse_choice(name, *text, known);
}

/// A whole number in [least, most].
std::optional<uint64_t> read_number(const Arguments& arguments, std::string_view name, uint64_t least,
                                    uint64_t most);

FileFormat read_format(const Arguments& arguments);
FileOptions read_file_options(const Arguments& arguments);
WhereOptions read_where_options(const Arguments& arguments);
uint32_t read_threads(const Arguments& arguments);

/// How many more times to run, 0 without --repeat.
uint32_t read_repeat(const Arguments& arguments);

/// The inputs of a command; "-" if none was given and standard input is not a terminal.
std::vector<std::string> read_inputs(const Arguments& arguments);
/// The one input of a command; "-" if none was given and standard input is not a terminal.
std::string read_input(const Arguments& arguments, const std::string& hint = "give one INPUT");

/// The library's name of the output: empty with --in-place, "-" for standard output.
std::string read_output(const Arguments& arguments, const std::string& input);

/// The same files by names that outputs could have: "-" would be standard output.
std::vector<std::string> names_of_inputs(std::vector<std::string> inputs);

}  // namespace sweepsort::cli
