// pass_report.hpp - scans and searches as a table for people and as JSON for programs.
#pragma once

#include "bench/pass_case.hpp"
#include "bench/pass_options.hpp"
#include "bench/place.hpp"

#include <span>
#include <vector>

namespace sweepsort::bench {

void print_heading(Pass pass, std::span<const Place> places);
/// Prints the rows of one case; times are compared with the first row.
void print_rows(std::span<const PassRow> rows);

/// Writes `options.json_file` anew with all rows so far. The first place is where the first rows were
/// measured. Schema: bench/README.md.
void write_json(const PassOptions& options, std::span<const Place> places, const std::vector<PassRow>& rows);

}  // namespace sweepsort::bench
