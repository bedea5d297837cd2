// scan_entry.cpp - the public scans and searches of files, with the real environment. A separate file for the
// same reason as sort_entry.cpp.
#include "pipeline/scan_file.hpp"

namespace sweepsort {

ScanReport scan_file(const std::string& input, const std::string& output, const ScanFileOptions& options) {
  return scan_file_with(StreamEnvironment{}, input, output, options);
}

MinReport min_file(const std::string& input, const MinFileOptions& options) {
  return min_file_with(StreamEnvironment{}, input, options);
}

}  // namespace sweepsort
