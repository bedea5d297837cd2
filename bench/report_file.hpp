// report_file.hpp - the common beginning of results files and tables, and writing of results files.
#pragma once

#include "bench/place.hpp"
#include "bench/run_options.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace sweepsort::bench {

/// Prints "# NVIDIA H200, driver ...".
void print_place(const Place& place);

/// The JSON before the rows, without the bandwidths.
nlohmann::ordered_json report_head(std::string_view command, const RunOptions& options, const Place& place);

/// Writes the file anew under a second name, then renames it, so that an interrupted run keeps what it has
/// measured. Throws Error.
void write_report(const std::string& path, const nlohmann::ordered_json& report);

}  // namespace sweepsort::bench
