// command.hpp - the commands of sweepsort-bench; the table is in main.cpp.
#pragma once

#include <span>
#include <string>

namespace sweepsort::bench {

/// Exit codes: every result was right; a result was wrong; the measurement could not be made.
enum class Outcome : int { verified = 0, wrong = 1, failed = 2 };

/// `words`: the words after the command's name. Throws Error.
Outcome run_sort(std::span<const std::string> words);
Outcome run_scan(std::span<const std::string> words);
Outcome run_min(std::span<const std::string> words);

}  // namespace sweepsort::bench
