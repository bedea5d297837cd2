// statistics.hpp - a few numbers that summarise many runs.
#pragma once

#include <algorithm>
#include <vector>

namespace sweepsort::bench {

/// The middle value, or the mean of the two middle values. Needs at least one run.
inline double median(std::vector<double> runs) {
  std::ranges::sort(runs);
  const size_t middle = runs.size() / 2;
  return runs.size() % 2 == 1 ? runs[middle] : (runs[middle - 1] + runs[middle]) / 2;
}

/// How many sorts to run between two readings of a clock, so that together they last long enough.
inline uint64_t batch_for(double one_sort_s, uint64_t most) {
  constexpr double long_enough_s = 1e-3;
  const double wanted = long_enough_s / std::max(one_sort_s, 1e-9);
  return static_cast<uint64_t>(std::clamp(wanted, 1.0, static_cast<double>(most)));
}

}  // namespace sweepsort::bench
