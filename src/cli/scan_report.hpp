// scan_report.hpp - reports of scan and min as lines, as tables and as JSON.
#pragma once

#include "sweepsort.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace sweepsort::cli {

/// For -v: what ran where, one line per phase with its time and rate, and one line for the whole.
std::vector<std::string> scan_lines(const ScanReport& report);
std::string min_line(const MinReport& report);

/// The times of --repeat, and the share of the device's copy (scan) or read (min) bandwidth.
std::string repeat_table(const ScanReport& report);
std::string repeat_table(const MinReport& report);

/// Schema "sweepsort.scan/1".
nlohmann::ordered_json scan_json(const ScanReport& report, const std::string& input,
                                 const std::string& output, const ScanFileOptions& options);
/// Schema "sweepsort.min/1".
nlohmann::ordered_json min_json(const MinReport& report, const std::string& input,
                                const MinFileOptions& options);

}  // namespace sweepsort::cli
