// manual.cpp - roff, bash, fish and zsh.
#include "cli/manual.hpp"

#include "cli/command.hpp"
#include "cli/help.hpp"
#include "sweepsort.hpp"

#include <fmt/format.h>

#include <sstream>
#include <string_view>

namespace sweepsort::cli {
namespace {

/// The text as one line with single blanks.
std::string joined(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

/// A line of text, escaped so that roff prints it as it is.
std::string roff(std::string_view text) {
  std::string safe = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '\\')
      safe += "\\e";
    else if (c == '-')
      safe += "\\-";
    else
      safe += c;
  }
  return safe;
}

std::string roff_lines(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string safe;
  for (std::string line; std::getline(lines, line);) safe += roff(line) + '\n';
  return safe;
}

std::string roff_option(const OptionSpec& option) {
  std::string text = ".TP\n";
  if (option.letter) text += fmt::format("\\fB\\-{}\\fR, ", option.letter);
  text += fmt::format("\\fB\\-\\-{}\\fR", roff(option.name));
  if (option.takes == Takes::value || option.takes == Takes::values)
    text += fmt::format(" \\fI{}\\fR", roff(option.value));
  if (option.takes == Takes::optional_value) text += fmt::format("[=\\fI{}\\fR]", roff(option.value));
  return fmt::format("{}\n{}\n", text, roff(joined(help_text(option))));
}

std::string roff_command(const Command& command) {
  std::string text = fmt::format(".SS sweepsort {} {}\n{}.\n", roff(command.name), roff(command.usage),
                                 roff(joined(command.summary)));
  for (const OptionGroup group : command.options)
    for (const OptionSpec& option : group) text += roff_option(option);
  return text + fmt::format(".PP\n.nf\n{}.fi\n", roff_lines(command.examples));
}

/// The text in fish's single quotes.
std::string fish_quoted(std::string_view text) {
  std::string safe = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe + "'";
}

/// All options of a command, long and short.
std::string option_words(const Command& command) {
  std::string words;
  for (const OptionGroup group : command.options)
    for (const OptionSpec& option : group) {
      words += fmt::format(" --{}", option.name);
      if (option.letter) words += fmt::format(" -{}", option.letter);
    }
  return words.substr(1);
}

/// The possible values of an option; empty if the shell should complete them by itself (as files).
std::string value_words(const OptionSpec& option) {
  if (option.name != "distribution") return std::string(option.words);
  std::string words;
  for (const DistributionInfo& distribution : distributions()) words += fmt::format("{} ", distribution.name);
  return words;
}

/// "    sort/--type|sort/-t) words='u8 i8 ...' ;;" for each option with a fixed list of values.
std::string bash_value_cases() {
  std::string text;
  for (const Command* command : all_commands())
    for (const OptionGroup group : command->options)
      for (const OptionSpec& option : group) {
        const std::string words = value_words(option);
        if (words.empty()) continue;
        text += fmt::format("    {0}/--{1}", command->name, option.name);
        if (option.letter) text += fmt::format("|{}/-{}", command->name, option.letter);
        text += fmt::format(") words='{}' ;;\n", words);
      }
  return text;
}

std::string command_words() {
  std::string words;
  for (const Command* command : all_commands()) words += fmt::format("{} ", command->name);
  return words;
}

std::string manual_page() {
  std::string text = fmt::format(
      ".TH SWEEPSORT 1 \"\" \"sweepsort {}\"\n"
      ".SH NAME\nsweepsort \\- sort, scan and search large binary files of integers and floats\n"
      ".SH SYNOPSIS\n\\fBsweepsort\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIFILE\\fR]...\n"
      ".SH DESCRIPTION\n.nf\n{}.fi\n.SH COMMANDS\n",
      version(), roff_lines(overview()));
  for (const Command* command : all_commands()) text += roff_command(*command);
  return text +
         fmt::format(
             ".SH FILES\n"
             "Raw files hold only keys; the name (numbers.u32, x.float64) or \\-t gives the type.\n.PP\n"
             "In NumPy's .npy files, versions 1 to 3, the header gives the type and byte order, and is "
             "kept.\n.PP\n"
             "SOSD files, whose names end in _uint32 or _uint64, hold a count of 8 bytes, then the keys.\n"
             ".PP\nThe output has the type and byte order of the (first) input, and its format unless "
             "\\-\\-output\\-format names another; positions and counts have the format that their file's "
             "name gives.\n"
             ".SH ORDER\n"
             "Integers are ordered by value. Floating\\-point keys: \\-infinity, negative numbers, \\-0.0, "
             "+0.0, "
             "positive numbers, +infinity, NaN with a plus sign by rising payloads, NaN with a minus sign "
             "by falling ones. \\-r reverses all of that. Values of equal keys keep their order, also with "
             "\\-r.\n"
             ".SH EXIT STATUS\n.nf\n{}.fi\n"
             ".SH SIGNALS\nSIGUSR1 prints the progress, even with \\-q, and the work goes on.\n"
             ".SH ENVIRONMENT\n.TP\nTMPDIR\n"
             "Where sort puts temporary files if \\-T is not given.\n",
             roff_lines(exit_codes));
}

std::string bash_completion() {
  std::string text = fmt::format(
      "# bash completion of sweepsort\n"
      "_sweepsort() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} options= words=\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '{0}help -h --help --version' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n"
      "    help) options='{0}--man --bash --fish --zsh' ;;\n",
      command_words());
  for (const Command* command : all_commands())
    text += fmt::format("    {}) options='{}' ;;\n", command->name, option_words(*command));
  return text +
         "  esac\n"
         "  if [ \"$word\" = = ]; then\n"
         "    word=\n"
         "  elif [ \"$before\" = = ]; then\n"
         "    before=${COMP_WORDS[COMP_CWORD-2]}\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]}/$before in\n" +
         bash_value_cases() +
         "  esac\n"
         "  COMPREPLY=()\n"
         "  if [ -n \"$words\" ]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]}/$word in\n"
         "    help/*|*/-*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
         "  esac\n"
         "}\n"
         "complete -o default -F _sweepsort sweepsort\n";
}

/// The part of a fish completion that says whether the option takes a value, and which values.
std::string fish_value(const OptionSpec& option) {
  if (option.takes != Takes::value && option.takes != Takes::values) return "";
  const std::string words = value_words(option);
  return words.empty() ? " -r" : fmt::format(" -x -a '{}'", words);
}

std::string fish_completion() {
  std::string text = fmt::format(
      "# fish completion of sweepsort\n"
      "complete -c sweepsort -n __fish_use_subcommand -f -a help -d 'explain a command'\n"
      "complete -c sweepsort -n '__fish_seen_subcommand_from help' -f -a '{}--man --bash --fish --zsh'\n",
      command_words());
  for (const Command* command : all_commands()) {
    text += fmt::format("complete -c sweepsort -n __fish_use_subcommand -f -a {} -d {}\n", command->name,
                        fish_quoted(joined(command->summary)));
    for (const OptionGroup group : command->options)
      for (const OptionSpec& option : group)
        text +=
            fmt::format("complete -c sweepsort -n '__fish_seen_subcommand_from {}' -l {}{}{} -d {}\n",
                        command->name, option.name, option.letter ? fmt::format(" -s {}", option.letter) : "",
                        fish_value(option), fish_quoted(joined(help_text(option))));
  }
  return text;
}

/// The text in zsh's single quotes.
std::string zsh_quoted(std::string_view text) {
  std::string safe = "'";
  for (const char c : text) {
    if (c == '\'') safe += "'\\'";
    safe += c;
  }
  return safe + "'";
}

/// ":FILE:_files": the name of the value and how it is completed. A blank means no completion.
std::string zsh_value(const OptionSpec& option) {
  const std::string words = value_words(option);
  std::string completed = " ";
  if (!words.empty())
    completed = '(' + words + ')';
  else if (option.value == "FILE")
    completed = "_files";
  else if (option.value == "DIR")
    completed = "_files -/";
  return fmt::format(":{}:{}", option.value, completed);
}

/// "'(-t --type)'{-t+,--type=}'[type of the keys]:TYPE:(u8 i8)'": either of the two names, and its value.
std::string zsh_option(const OptionSpec& option) {
  std::string rest = "[";
  for (const char c : joined(help_text(option))) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') rest += '\\';
    rest += c;
  }
  rest += ']';
  std::string name = fmt::format("--{}", option.name);
  std::string letter = option.letter ? fmt::format("-{}", option.letter) : "";
  if (option.takes == Takes::value || option.takes == Takes::values) {
    name += '=';
    letter += '+';
    rest += zsh_value(option);
  } else if (option.takes == Takes::optional_value) {
    name += "=-";
    rest += ':' + zsh_value(option);
  }
  const bool repeats = option.takes == Takes::values;
  if (!option.letter) return zsh_quoted((repeats ? "*" : "") + name + rest);
  const std::string excluded = repeats ? "*" : fmt::format("(-{} --{})", option.letter, option.name);
  return fmt::format("{}{{{},{}}}{}", zsh_quoted(excluded), letter, name, zsh_quoted(rest));
}

std::string zsh_completion() {
  std::string text =
      "#compdef sweepsort\n"
      "_sweepsort() {\n"
      "  local -a commands=(\n";
  for (const Command* command : all_commands())
    text += fmt::format("    {}:{}\n", command->name, zsh_quoted(joined(command->summary)));
  text += fmt::format(
      "    help:'explain a command'\n"
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n"
      "    help) compadd -- {}--man --bash --fish --zsh ;;\n",
      command_words());
  for (const Command* command : all_commands()) {
    text += fmt::format("    {})\n      _arguments -s", command->name);
    for (const OptionGroup group : command->options)
      for (const OptionSpec& option : group) text += " \\\n        " + zsh_option(option);
    text += " \\\n        '*:file:_files' ;;\n";
  }
  return text +
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _sweepsort ]; then  # found by its name in $fpath\n"
         "  _sweepsort \"$@\"\n"
         "else\n"
         "  compdef _sweepsort sweepsort\n"
         "fi\n";
}

constexpr Document all_documents[] = {
    {"man", manual_page}, {"bash", bash_completion}, {"fish", fish_completion}, {"zsh", zsh_completion}};

}  // namespace

std::span<const Document> documents() { return all_documents; }

}  // namespace sweepsort::cli
