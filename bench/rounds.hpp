// rounds.hpp - the order of measurements: run 1 of each contender, run 2 of each, ... so that a change of the
// clock rate affects all of them.
#pragma once

#include "bench/run_options.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace sweepsort::bench {

/// Runs each contender as often as the options say, or until it has used up the time limit of a row. Returns
/// their rows. A contender has a `row`, whose `batch` is read and whose `runs_s` is written, and `spent_s`,
/// its seconds so far. run(contender) returns the mean seconds of one item of the batch.
template <class Contender, class Run>
auto measure_in_rounds(std::vector<Contender> contenders, const RunOptions& options, Run run) {
  for (uint32_t round = 0; round < options.repeat; ++round)
    for (Contender& contender : contenders) {
      if (contender.spent_s >= options.row_limit_s) continue;
      const double run_s = run(contender);
      contender.row.runs_s.push_back(run_s);
      contender.spent_s += run_s * static_cast<double>(contender.row.batch);
    }
  std::vector<decltype(Contender::row)> rows;
  for (Contender& contender : contenders) rows.push_back(std::move(contender.row));
  return rows;
}

}  // namespace sweepsort::bench
