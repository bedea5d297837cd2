// sort_report.hpp - a sort's report as lines, as a table and as JSON.
#pragma once

#include "sweepsort.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace sweepsort::cli {

/// For -v: what ran where, one line per phase with its time and rate, and one line for the whole.
std::vector<std::string> sort_lines(const SortReport& report);

/// For --dry-run: what would be done, and what it needs.
std::string plan_table(const SortReport& report, const SortFileOptions& options);

/// The times of --repeat: runs, median, min, spread, keys/s, bytes/s and the share of the device's copy
/// bandwidth.
std::string repeat_table(const SortReport& report);

/// Schema "sweepsort.sort/1". Optional facts that do not apply are null.
nlohmann::ordered_json sort_json(const SortReport& report, const std::vector<std::string>& inputs,
                                 const std::string& output, const SortFileOptions& options);

}  // namespace sweepsort::cli
