// phase_clock.hpp - the phases of an operation: how long each took, and how far it has come.
#pragma once

#include "pipeline/stages.hpp"
#include "sweepsort_types.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace sweepsort {

/// Receives the number of bytes moved since the last call; several threads call it at once.
using MovedFunction = std::function<void(uint64_t bytes)>;

class PhaseClock {
 public:
  PhaseClock(std::vector<PhaseTime>& phases, const ProgressFunction& progress)
      : phases_(phases), progress_(progress) {}

  /// Runs f as a phase. `bytes` is the number of file bytes to report for the phase. f reports `moved` bytes
  /// in total (0: unknown).
  void run(Phase phase, uint64_t bytes, uint64_t moved,
           const std::function<void(const MovedFunction& moved)>& f);
  void run(Phase phase, uint64_t bytes, const std::function<void(const MovedFunction& moved)>& f) {
    run(phase, bytes, bytes, f);
  }
  /// The phase that ended last.
  PhaseTime& last() { return phases_.back(); }
  /// Records how long the stages worked in that phase: up to `now`, since `before`.
  void note_stages(const StageTimes& now, const StageTimes& before = {});

 private:
  std::vector<PhaseTime>& phases_;
  const ProgressFunction& progress_;
};

/// The total time of all phases of this kind.
double time_of(const std::vector<PhaseTime>& phases, Phase phase);

}  // namespace sweepsort
