// sort_report.hpp - rows as a table for people and as JSON for programs.
#pragma once

#include "bench/place.hpp"
#include "bench/sort_case.hpp"
#include "bench/sort_options.hpp"

#include <span>
#include <vector>

namespace sweepsort::bench {

void print_heading(const Place& place);
/// Prints the rows of one case; times are compared with the first row, which is ours.
void print_rows(std::span<const SortRow> rows, const Place& place);

/// Writes `options.json_file` anew with all rows so far, so that an interrupted run keeps what it has
/// measured. Schema: bench/README.md.
void write_json(const SortBenchOptions& options, const Place& place, const std::vector<SortRow>& rows);

}  // namespace sweepsort::bench
