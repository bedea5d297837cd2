// sample.hpp - what some keys of many let one expect.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sweepsort {

/// Whether nothing in a sample, which is in the order of the data, speaks against its being sorted, or
/// reversed.
inline bool is_monotone(const std::vector<uint64_t>& sample) {
  return std::is_sorted(sample.begin(), sample.end()) || std::is_sorted(sample.rbegin(), sample.rend());
}

}  // namespace sweepsort
