// pass_command.cpp - `sweepsort-bench scan` and `min`: run the cases one after another and report each as
// soon as it is measured.
#include "backend/backend.hpp"
#include "bench/command.hpp"
#include "bench/pass_options.hpp"
#include "bench/pass_report.hpp"
#include "bench/pass_runner.hpp"
#include "core/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sweepsort::bench {
namespace {

bool asks_for_cpu(const PassOptions& options) {
  return options.pass == Pass::search || is_wanted(options.peers, "std") ||
         std::ranges::any_of(options.scan_algorithms, is_cpu_algorithm);
}

/// "auto" measures both, so that one table shows the advantage of the GPU.
std::vector<std::unique_ptr<PassRunner>> make_runners(const PassOptions& options,
                                                      const std::vector<PassCase>& cases) {
  std::vector<std::unique_ptr<PassRunner>> runners;
  if (options.backend == "cuda" || (options.backend == "auto" && !cuda_status().usable.empty()))
    runners.push_back(make_cuda_pass_runner(options, cases));
  if (options.backend != "cuda" && (asks_for_cpu(options) || runners.empty()))
    runners.push_back(make_cpu_pass_runner(options, cases));
  return runners;
}

Outcome run_passes(const std::optional<PassOptions>& options) {
  if (!options) return Outcome::verified;
  const std::vector<PassCase> cases = pass_cases(*options);
  const std::vector<std::unique_ptr<PassRunner>> runners = make_runners(*options, cases);
  std::vector<Place> places;
  for (const auto& runner : runners) places.push_back(runner->place());

  std::vector<PassRow> all;
  print_heading(options->pass, places);
  for (const PassCase& what : cases) {
    std::vector<PassRow> rows;
    for (const auto& runner : runners)
      for (PassRow& row : runner->run(what)) rows.push_back(std::move(row));
    if (rows.empty()) continue;
    print_rows(rows);
    all.insert(all.end(), rows.begin(), rows.end());
    if (!options->json_file.empty()) write_json(*options, places, all);
  }
  if (all.empty())
    throw Error(fmt::format("{}: nothing was measured", name(options->pass)),
                "--algorithm and --peer name nothing that runs on this backend");
  return std::ranges::all_of(all, &PassRow::verified) ? Outcome::verified : Outcome::wrong;
}

}  // namespace

Outcome run_scan(std::span<const std::string> words) { return run_passes(parse_scan_options(words)); }

Outcome run_min(std::span<const std::string> words) { return run_passes(parse_search_options(words)); }

}  // namespace sweepsort::bench
