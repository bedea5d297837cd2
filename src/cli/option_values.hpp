// option_values.hpp - converts the values of options from text to the library's types; throws UsageError for
// invalid values.
#pragma once

#include "cli/arguments.hpp"
#include "sweepsort.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sweepsort::cli {

/// The index of the option's value among its words; empty if the option was not given. Throws UsageError that
/// proposes the nearest word.
std::optional<size_t> read_word(const Arguments& arguments, const OptionSpec& option);

/// Whether an option's words are the names of Value{0}, Value{1} and so on.
template <class Value>
consteval bool are_names_of(const OptionSpec& option) {
  std::string_view left = option.words;
  for (uint8_t i = 0; !left.empty(); ++i) {
    const std::string_view word = left.substr(0, left.find(' '));
    if (word != name(static_cast<Value>(i))) return false;
    left.remove_prefix(std::min(left.size(), word.size() + 1));
  }
  return true;
}

/// The value of an option whose words are the names of Value{0}, Value{1} and so on; `fallback` if the option
/// was not given.
template <class Value>
Value read_choice(const Arguments& arguments, const OptionSpec& option, Value fallback) {
  const auto place = read_word(arguments, option);
  return place ? static_cast<Value>(*place) : fallback;
}

/// A whole number in [least, most]. `hint` is for the error about other values.
std::optional<uint64_t> read_number(const Arguments& arguments, std::string_view name, uint64_t least,
                                    uint64_t most, const std::string& hint = {});

FileFormat read_format(const Arguments& arguments);
/// Empty: it was not given.
std::optional<FileFormat> read_output_format(const Arguments& arguments);
FileOptions read_file_options(const Arguments& arguments);
WhereOptions read_where_options(const Arguments& arguments);
uint32_t read_threads(const Arguments& arguments);

/// How many times to repeat; 0 without --repeat.
uint32_t read_repeat(const Arguments& arguments);

/// The inputs of a command; "-" if none is given and standard input is not a terminal.
std::vector<std::string> read_inputs(const Arguments& arguments);
/// The only input of a command; "-" if none is given and standard input is not a terminal.
std::string read_input(const Arguments& arguments, const std::string& hint = "give one INPUT");

/// The output's name for the library: empty with --in-place, "-" for standard output.
std::string read_output(const Arguments& arguments, const std::string& input);

/// The inputs under names to compare with outputs, in which "-" would mean standard output.
std::vector<std::string> names_of_inputs(std::vector<std::string> inputs);

}  // namespace sweepsort::cli
