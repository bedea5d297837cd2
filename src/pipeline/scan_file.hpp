// scan_file.hpp - scan_file() and min_file() with their environment as a parameter.
#pragma once

#include "pipeline/stream_run.hpp"
#include "sweepsort.hpp"

#include <string>

namespace sweepsort {

ScanReport scan_file_with(const StreamEnvironment& environment, const std::string& input,
                          const std::string& output, const ScanFileOptions& options);

MinReport min_file_with(const StreamEnvironment& environment, const std::string& input,
                        const MinFileOptions& options);

}  // namespace sweepsort
