// sort_command.cpp - `sweepsort-bench sort`: runs the cases one after another and reports each as soon as it
// is measured.
#include "backend/backend.hpp"
#include "bench/command.hpp"
#include "bench/sort_options.hpp"
#include "bench/sort_report.hpp"
#include "bench/sort_runner.hpp"
#include "bench/statistics.hpp"
#include "core/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sweepsort::bench {
namespace {

std::unique_ptr<SortRunner> make_runner(const SortBenchOptions& options, const std::vector<SortCase>& cases) {
  const bool cuda = options.backend == "cuda" || (options.backend == "auto" && !cuda_status().usable.empty());
  return cuda ? make_cuda_runner(options, cases) : make_cpu_runner(options, cases);
}

/// Adds a row "cub": the faster of the index types in which CUB was measured.
void add_better_cub(std::vector<SortRow>& rows) {
  const SortRow* better = nullptr;
  for (const SortRow& row : rows)
    if (row.peer.starts_with("cub-") && (better == nullptr || median(row.runs_s) < median(better->runs_s)))
      better = &row;
  if (better == nullptr) return;
  SortRow cub = *better;
  cub.detail = better->peer;
  cub.peer = "cub";
  rows.push_back(std::move(cub));
}

}  // namespace

Outcome run_sort(std::span<const std::string> words) {
  const std::optional<SortBenchOptions> options = parse_sort_options(words);
  if (!options) return Outcome::verified;
  const std::vector<SortCase> cases = sort_cases(*options);
  const std::unique_ptr<SortRunner> runner = make_runner(*options, cases);

  std::vector<SortRow> all;
  print_heading(runner->place());
  for (const SortCase& what : cases) {
    std::vector<SortRow> rows;
    try {
      rows = runner->run(what);
    } catch (const NoRefereeError& error) {
      fmt::print(stderr, "sweepsort-bench: sort: left out: {}\n", error.what());
      continue;
    }
    if (rows.empty()) continue;
    add_better_cub(rows);
    print_rows(rows, runner->place());
    all.insert(all.end(), rows.begin(), rows.end());
    if (!options->json_file.empty()) write_json(*options, runner->place(), all);
  }
  if (all.empty()) throw Error("sort: nothing was measured");
  return std::ranges::all_of(all, &SortRow::verified) ? Outcome::verified : Outcome::wrong;
}

}  // namespace sweepsort::bench
