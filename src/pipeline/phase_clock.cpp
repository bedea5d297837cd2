// phase_clock.cpp - times and sums of bytes.
#include "pipeline/phase_clock.hpp"

#include "core/clock.hpp"

#include <mutex>

namespace sweepsort {

void PhaseClock::run(Phase phase, uint64_t bytes, uint64_t moved,
                     const std::function<void(const MovedFunction& moved)>& f) {
  struct Recorder {
    std::vector<PhaseTime>& phases;
    size_t phase;
    Clock::time_point start = Clock::now();
    ~Recorder() { phases[phase].time_s = seconds_since(start); }
  };
  phases_.push_back({phase, 0, bytes});
  const Recorder recorder{phases_, phases_.size() - 1};
  std::mutex mutex;
  uint64_t done = 0;
  if (progress_) progress_(phase, 0, moved);
  f([&](uint64_t by_worker) {
    if (!progress_) return;
    const std::lock_guard lock(mutex);
    done += by_worker;
    progress_(phase, done, moved);
  });
}

void PhaseClock::note_stages(const StageTimes& now, const StageTimes& before) {
  last().read_s = now.load_s - before.load_s;
  last().sort_s = now.sort_s - before.sort_s;
  last().write_s = now.store_s - before.store_s;
}

double time_of(const std::vector<PhaseTime>& phases, Phase phase) {
  double sum = 0;
  for (const PhaseTime& one : phases)
    if (one.phase == phase) sum += one.time_s;
  return sum;
}

}  // namespace sweepsort
