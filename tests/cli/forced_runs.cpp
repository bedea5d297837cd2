// forced_runs.cpp - the command line with little memory and nine runs or more, so that every example of the
// golden tests goes the way of files larger than memory.
#include "pipeline/sort_file.hpp"

namespace sweepsort {
namespace {

SortEnvironment forced_environment() {
  SortEnvironment environment;
  environment.memory = [] { return MemoryLimit{Bytes{64u << 10}, "the test"}; };
  environment.min_runs = 9;  // more than so little memory merges at once
  return environment;
}

}  // namespace

SortReport sort_file(const std::string& input, const std::string& output, const SortFileOptions& options) {
  return sort_files_with(forced_environment(), {input}, output, options);
}

SortReport sort_files(const std::vector<std::string>& inputs, const std::string& output,
                      const SortFileOptions& options) {
  return sort_files_with(forced_environment(), inputs, output, options);
}

}  // namespace sweepsort
