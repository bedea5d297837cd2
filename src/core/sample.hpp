// sample.hpp - what a sample of the keys says about all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sweepsort {

/// Whether a sample, taken in the order of the data, is sorted or reversed, so that all the data may be, too.
inline bool is_monotone(const std::vector<uint64_t>& sample) {
  return std::is_sorted(sample.begin(), sample.end()) || std::is_sorted(sample.rbegin(), sample.rend());
}

}  // namespace sweepsort
