// repeat_times.hpp - what the times of --repeat say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sweepsort::cli {

struct RepeatTimes {
  size_t runs = 0;
  double median_s = 0, min_s = 0, max_s = 0;
  double spread = 0;  // (max - min) / median
  // At the median:
  double elements_per_s = 0;
  double bytes_per_s = 0;
  double share = 0;  // of the device's bandwidth
};

/// `bytes` are what a run must move at least, and `bandwidth` counts them in the same way.
RepeatTimes repeat_times(std::vector<double> times_s, uint64_t elements, uint64_t bytes, double bandwidth);

/// 0 where no time passed.
double per_second(uint64_t amount, double time_s);

}  // namespace sweepsort::cli
