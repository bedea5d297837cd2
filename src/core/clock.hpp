// clock.hpp - the clock that all times come from.
#pragma once

#include <chrono>

namespace sweepsort {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace sweepsort
