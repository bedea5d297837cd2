// emulated.hpp - what the emulator's own tests share.
#pragma once

#include "catch.hpp"
#include "launch.cuh"
#include "simt/simt.hpp"

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sweepsort {

/// `count` values that differ from lane to lane and from run to run.
inline std::vector<uint64_t> noise(size_t count, uint64_t seed) {
  std::vector<uint64_t> values(count);
  uint64_t state = seed;
  for (uint64_t& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = state ^ state >> 29;
  }
  return values;
}

/// The text of the `Error` that `act` throws; empty if it throws none.
template <class Error, class Act>
std::string complaint(Act&& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

/// In how many of `seeds` schedules `goes_wrong(session)` is true.
template <class GoesWrong>
int schedules_that_find(int seeds, GoesWrong&& goes_wrong) {
  int found = 0;
  for (int i = 0; i < seeds; ++i) {
    simt::Session session{.seed = simt::base_seed() + static_cast<uint64_t>(i)};
    found += goes_wrong(session);
  }
  return found;
}

}  // namespace sweepsort
