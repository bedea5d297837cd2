// report_file.hpp - what every results file and every table begins with, and how a results file is written.
#pragma once

#include "bench/place.hpp"
#include "bench/run_options.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace sweepsort::bench {

/// "# NVIDIA H200, driver ...".
void print_place(const Place& place);

/// The JSON up to the rows, without the bandwidths.
nlohmann::ordered_json report_head(std::string_view command, const RunOptions& options, const Place& place);

/// Writes the file afresh, by way of a second name, so that an interrupted run leaves what it measured.
/// Throws Error.
void write_report(const std::string& path, const nlohmann::ordered_json& report);

}  // namespace sweepsort::bench
