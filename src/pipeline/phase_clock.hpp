// phase_clock.hpp - the phases of an operation: how long each took, and how far it has come.
#pragma once

#include "sweepsort_types.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace sweepsort {

/// Told of how many bytes more were moved; by several threads at once.
using MovedFunction = std::function<void(uint64_t bytes)>;

class PhaseClock {
 public:
  PhaseClock(std::vector<PhaseTime>& phases, const ProgressFunction& progress)
      : phases_(phases), progress_(progress) {}

  /// Runs f as a phase. `bytes` of files are its part of the report; f tells of `moved` in all, 0: nobody
  /// knows.
  void run(Phase phase, uint64_t bytes, uint64_t moved,
           const std::function<void(const MovedFunction& moved)>& f);
  void run(Phase phase, uint64_t bytes, const std::function<void(const MovedFunction& moved)>& f) {
    run(phase, bytes, bytes, f);
  }
  /// Of the phase that ended last.
  PhaseTime& last() { return phases_.back(); }

 private:
  std::vector<PhaseTime>& phases_;
  const ProgressFunction& progress_;
};

/// How long all phases of this kind took.
double time_of(const std::vector<PhaseTime>& phases, Phase phase);

}  // namespace sweepsort
