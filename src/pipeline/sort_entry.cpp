// sort_entry.cpp - the public sorts of files, with the real environment. A separate file, so that a test can
// replace the environment.
#include "pipeline/sort_file.hpp"

namespace sweepsort {

SortReport sort_file(const std::string& input, const std::string& output, const SortFileOptions& options) {
  return sort_files_with(SortEnvironment{}, {input}, output, options);
}

SortReport sort_files(const std::vector<std::string>& inputs, const std::string& output,
                      const SortFileOptions& options) {
  return sort_files_with(SortEnvironment{}, inputs, output, options);
}

}  // namespace sweepsort
