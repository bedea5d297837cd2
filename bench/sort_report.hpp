// sort_report.hpp - rows as a table for people and as JSON for everything else.
#pragma once

#include "bench/place.hpp"
#include "bench/sort_case.hpp"
#include "bench/sort_options.hpp"

#include <span>
#include <vector>

namespace sweepsort::bench {

void print_heading(const Place& place);
/// The rows of one case; times are compared with the first, which is ours.
void print_rows(std::span<const SortRow> rows, const Place& place);

/// Writes `options.json_file` afresh with all rows so far, so that an interrupted run leaves what it
/// measured. Schema: bench/README.md.
void write_json(const SortBenchOptions& options, const Place& place, const std::vector<SortRow>& rows);

}  // namespace sweepsort::bench
