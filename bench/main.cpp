// main.cpp - sweepsort-bench: measures sweepsort beside its peers. A table of commands; each command has its
// own file.
#include "bench/command.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace sweepsort;

struct Command {
  std::string_view name;
  std::string_view summary;
  bench::Outcome (*run)(std::span<const std::string> words);
};

constexpr std::array commands{
    Command{"sort", "sort arrays of every type, size and distribution, beside CUB, Thrust or the CPU's sorts",
            &bench::run_sort},
    Command{"scan", "scan arrays by every algorithm, beside CUB, Thrust, the standard library and a copy",
            &bench::run_scan},
    Command{"min", "find the smallest element, beside CUB, Thrust, the standard library and a read",
            &bench::run_min},
};

void print_help() {
  fmt::print("usage: sweepsort-bench COMMAND [options]\n\ncommands:\n");
  for (const Command& command : commands) fmt::print("  {:<8} {}\n", command.name, command.summary);
  fmt::print(
      "\n'sweepsort-bench COMMAND -h' lists a command's options; bench/README.md says what the numbers "
      "mean\n");
}

bench::Outcome run(std::span<const std::string> words) {
  if (words.empty()) throw UsageError("no command", "'sweepsort-bench -h' lists them");
  if (words[0] == "-h" || words[0] == "--help") {
    print_help();
    return bench::Outcome::verified;
  }
  std::vector<std::string_view> names;
  for (const Command& command : commands) {
    if (command.name == words[0]) return command.run(words.subspan(1));
    names.push_back(command.name);
  }
  throw UsageError("unknown command '" + words[0] + "'",
                   suggestion_hint(words[0], names, "'sweepsort-bench -h' lists the commands"));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    return static_cast<int>(run(words));
  } catch (const Error& error) {
    fmt::print(stderr, "sweepsort-bench: {}\n", error.what());
    if (!error.hint().empty()) fmt::print(stderr, "hint: {}\n", error.hint());
  } catch (const std::exception& error) {
    fmt::print(stderr, "sweepsort-bench: {}\n", error.what());
  }
  return static_cast<int>(bench::Outcome::failed);
}
