// arguments.cpp - the only file that uses cxxopts.
//
// Its behaviour that matters here (version 3.1): it splits a list of positionals at commas, so we take them
// from unmatched(). If an option is repeated, the last value silently wins, so we check the counts. "-S=4G"
// arrives as "=4G", so such values are refused. The texts of its exceptions differ between versions, so our
// messages depend on the types of the exceptions.
#include "cli/arguments.hpp"

#include "core/error.hpp"
#include "core/suggest.hpp"

#include <cxxopts.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace sweepsort::cli {
namespace {

/// cxxopts uses std::regex, which recurses once per character, so a longer word could exhaust the stack.
/// Paths have at most 4096 bytes.
constexpr size_t longest_word = 8192;

std::vector<OptionSpec> all_options(std::span<const OptionGroup> groups) {
  std::vector<OptionSpec> all;
  for (const OptionGroup group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

/// "name" -> "--name", "n" -> "-n".
std::string dashed(std::string_view name) { return fmt::format("{}{}", name.size() == 1 ? "-" : "--", name); }

/// The name between the quotation marks of a cxxopts message: the only thing taken from its text.
std::string quoted_name(const std::exception& error) {
  const std::string_view text = error.what();
  const std::string_view left = "‘", right = "’";
  const size_t begin = text.find(left);
  if (begin == std::string_view::npos) return std::string(text);
  const size_t name = begin + left.size();
  return std::string(text.substr(name, text.find(right, name) - name));
}

/// Options that other programs have, above all GNU sort. The hint is for commands with the option `here`.
struct OtherOption {
  std::string_view name, here, hint;
};
constexpr OtherOption other_options[] = {{"m", "merge", "use --merge"},
                                         {"numeric-sort", "merge", "leave it out: keys are numbers anyway"},
                                         {"s", "merge", "leave it out: sorts are stable anyway"},
                                         {"stable", "merge", "leave it out: sorts are stable anyway"},
                                         {"files0-from", "merge", "pass the names with xargs -0"},
                                         {"descending", "reverse", "use -r (--reverse)"},
                                         {"parallel", "threads", "use --threads"},
                                         {"jobs", "threads", "use --threads"},
                                         {"buffer-size", "memory", "use -S (--memory)"},
                                         {"c", "merge", "use 'sweepsort check'"},
                                         {"check", "merge", "use 'sweepsort check'"},
                                         {"ascending", "reverse", "leave it out: that is the default"},
                                         {"tmpdir", "temporary-directory", "use -T (--temporary-directory)"},
                                         {"gpu", "backend", "use --backend cuda"}};

[[noreturn]] void refuse_unknown(const std::string& name, std::span<const OptionSpec> options) {
  std::vector<std::string> dashed_names;
  for (const OptionSpec& option : options) dashed_names.push_back(dashed(option.name));
  const std::vector<std::string_view> candidates(dashed_names.begin(), dashed_names.end());
  const std::string nothing_near = "-h lists the options";
  for (const OtherOption& other : other_options)
    if (name == other.name && std::ranges::find(options, other.here, &OptionSpec::name) != options.end())
      throw UnknownOption(dashed(name), std::string(other.hint));
  throw UnknownOption(dashed(name), name.size() == 1
                                        ? nothing_near
                                        : suggestion_hint(dashed(name), candidates, nothing_near));
}

cxxopts::Options cxxopts_options(std::span<const OptionSpec> options) {
  cxxopts::Options result("sweepsort");
  for (const OptionSpec& option : options) {
    const std::string names =
        option.letter ? fmt::format("{},{}", option.letter, option.name) : std::string(option.name);
    auto value = option.takes == Takes::nothing ? cxxopts::value<bool>() : cxxopts::value<std::string>();
    if (option.takes == Takes::optional_value) value = value->implicit_value("");
    result.add_options()(names, std::string(option.help), value);
  }
  return result;
}

cxxopts::ParseResult parse(std::span<const OptionSpec> options, std::span<const std::string> words) {
  std::vector<const char*> argv{"sweepsort"};
  for (const std::string& word : words) {
    if (word.starts_with('-') && word.size() > longest_word)
      throw UsageError(fmt::format("{}...: longer than {} bytes", word.substr(0, 20), longest_word));
    argv.push_back(word.c_str());
  }
  try {
    return cxxopts_options(options).parse(static_cast<int>(argv.size()), argv.data());
  } catch (const cxxopts::exceptions::no_such_option& error) {
    refuse_unknown(quoted_name(error), options);
  } catch (const cxxopts::exceptions::missing_argument& error) {
    throw UsageError(dashed(quoted_name(error)) + " needs a value", "-h lists the options");
  } catch (const cxxopts::exceptions::option_requires_argument& error) {
    throw UsageError(dashed(quoted_name(error)) + " needs a value", "-h lists the options");
  } catch (const cxxopts::exceptions::invalid_option_syntax& error) {
    const std::string word = quoted_name(error);
    if (word.find('\n') != word.npos) {  // cxxopts accepts no line break in --name=value
      const auto takes_words = [&](const OptionSpec& option) {
        return option.takes != Takes::optional_value && word.starts_with(fmt::format("--{}=", option.name));
      };
      throw UsageError(word + ": a value with a line break",
                       std::ranges::any_of(options, takes_words)
                           ? "use a name of one line, or write the value as a word of its own"
                           : "use a name of one line");
    }
    throw UsageError(word + ": not an option", "put '--' before a file name that starts with '-'");
  } catch (const cxxopts::exceptions::incorrect_argument_type& error) {
    const std::string value = quoted_name(error);
    for (const OptionSpec& option : options)
      if (option.takes == Takes::nothing &&
          std::ranges::count(words, fmt::format("--{}={}", option.name, value)) > 0)
        throw UsageError(dashed(std::string(option.name)) + " takes no value",
                         fmt::format("leave ={} out", value));
    throw UsageError(fmt::format("'{}' is given to an option that takes no value", value),
                     "-h lists the options");
  }
}

void check_value(const OptionSpec& option, const std::string& value, std::span<const OptionSpec> options) {
  const std::string name = dashed(option.name);
  if (is_option(value, options))
    throw UsageError(fmt::format("{} needs a value: {} is an option", name, value),
                     fmt::format("write ./{} for a file of that name", value));
  if (value.empty() && option.takes != Takes::optional_value)
    throw UsageError(name + " is given an empty value",
                     fmt::format("write {} {}, or leave it out", name, option.value));
  if (!value.starts_with('=')) return;
  throw UsageError(fmt::format("{} {}: a value cannot start with '='", name, value),
                   option.letter ? fmt::format("write -{} {} or {}={}", option.letter, value.substr(1), name,
                                               value.substr(1))
                                 : fmt::format("write {}={}", name, value.substr(1)));
}

/// cxxopts accepts "--force=true" and "--force=false". Nobody needs them, and "--no-verify=false" would only
/// be confusing.
void require_no_value(const OptionSpec& option, std::span<const std::string> words) {
  const std::string begin = fmt::format("--{}=", option.name);
  for (const std::string& word : words) {
    if (word == "--") return;
    if (word.starts_with(begin))
      throw UsageError(dashed(option.name) + " takes no value",
                       fmt::format("leave ={} out", word.substr(begin.size())));
  }
}

/// Refuses "--json=", which "--json=$FILE" becomes if FILE is not set.
void require_value_behind_sign(const OptionSpec& option, std::span<const std::string> words) {
  const std::string name = dashed(option.name);
  const auto options_end = std::ranges::find(words, "--");
  if (std::find(words.begin(), options_end, name + "=") != options_end)
    throw UsageError(fmt::format("{}= is given an empty value", name),
                     fmt::format("write {}={}, or {} alone", name, option.value, name));
}

}  // namespace

bool is_option(std::string_view word, std::span<const OptionSpec> options) {
  return std::ranges::any_of(options, [&](const OptionSpec& option) {
    return word == dashed(option.name) || (option.letter && word == dashed({&option.letter, 1}));
  });
}

Arguments::Arguments(std::span<const OptionGroup> groups, std::span<const std::string> words) {
  const std::vector<OptionSpec> options = all_options(groups);
  const cxxopts::ParseResult parsed = parse(options, words);
  for (const OptionSpec& option : options) {
    const std::string name(option.name);
    if (parsed.count(name) == 0) continue;
    std::vector<std::string> values;
    if (option.takes == Takes::nothing) {
      require_no_value(option, words);
    } else {
      if (parsed.count(name) > 1 && option.takes != Takes::values)
        throw UsageError(dashed(name) + " is given more than once", "leave one of them out");
      for (const auto& word : parsed.arguments())
        if (word.key() == name) values.push_back(word.value());
      for (const std::string& value : values) check_value(option, value, options);
      if (option.takes == Takes::optional_value) require_value_behind_sign(option, words);
    }
    values_.emplace(name, std::move(values));
  }
  positionals_ = parsed.unmatched();
}

std::vector<std::string_view> words_of(const OptionSpec& option) {
  std::vector<std::string_view> words;
  for (std::string_view left = option.words; !left.empty();) {
    words.push_back(left.substr(0, left.find(' ')));
    left.remove_prefix(std::min(left.size(), words.back().size() + 1));
  }
  return words;
}

std::optional<std::string> Arguments::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second.front());
}

std::vector<std::string> Arguments::all(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

bool asks_for_help(std::span<const std::string> words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::any_of(words.begin(), end,
                     [](const std::string& word) { return word == "-h" || word == "--help"; });
}

}  // namespace sweepsort::cli
