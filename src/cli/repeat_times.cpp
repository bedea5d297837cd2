// repeat_times.cpp - median, spread and rates.
#include "cli/repeat_times.hpp"

#include <algorithm>

namespace sweepsort::cli {
namespace {

double divided(double amount, double by) { return by > 0 ? amount / by : 0; }

}  // namespace

RepeatTimes repeat_times(std::vector<double> times_s, uint64_t elements, uint64_t bytes, double bandwidth) {
  if (times_s.empty()) return {};
  std::sort(times_s.begin(), times_s.end());
  const size_t middle = times_s.size() / 2;
  const double median =
      times_s.size() % 2 == 1 ? times_s[middle] : (times_s[middle - 1] + times_s[middle]) / 2;
  const double bytes_per_s = per_second(bytes, median);
  return {.runs = times_s.size(),
          .median_s = median,
          .min_s = times_s.front(),
          .max_s = times_s.back(),
          .spread = divided(times_s.back() - times_s.front(), median),
          .elements_per_s = per_second(elements, median),
          .bytes_per_s = bytes_per_s,
          .share = divided(bytes_per_s, bandwidth)};
}

double per_second(uint64_t amount, double time_s) { return divided(static_cast<double>(amount), time_s); }

}  // namespace sweepsort::cli
