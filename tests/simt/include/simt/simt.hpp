// simt.hpp - what a test tells the emulator: the seed, how many blocks are resident, when to give up.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace simt {

struct Session;

/// No thread can run, or all threads that can run poll memory that nobody changes, or the step budget is used
/// up. The text lists who waits where, and the seed.
class Deadlock : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A kernel did what CUDA leaves undefined: a write beyond its shared memory, a collective whose lanes
/// disagree, ...
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Strategy {
  mixed,    ///< by seed and epoch: uniform, one lane, warp or block far ahead, one block starved, fixed
            ///< priorities
  uniform,  ///< every step goes to a random resident block, then warp, then lane
  orderly,  ///< lowest block, warp and lane first, switching seldom: for a debugger
};

/// $SWEEPSORT_SEED, or 1.
uint64_t base_seed();

/// Installs a session and removes it at the end of the scope. If an exception ends the scope, prints the
/// seed.
class Activation {
 public:
  explicit Activation(Session& session);
  ~Activation();
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;

 private:
  Session* outer_;
  int exceptions_at_entry_;
};

/// The settings of every launch in its scope: `simt::Session session{.seed = 7, .resident_blocks = 3};`
/// A launch's schedule depends on the session's seed and on how many launches the session has already seen.
struct Session {
  uint64_t seed = base_seed();
  /// Blocks on the device at once, at most 64; 0 draws 1 to 6 from the seed.
  unsigned resident_blocks = 0;
  unsigned multiprocessors = 4;
  unsigned blocks_per_multiprocessor = 2;
  /// The device's compute capability: 75 is 7.5. Below 90, launches do not overlap.
  unsigned compute_capability = 90;
  size_t shared_bytes_of_block = 227 * 1024;
  size_t memory_bytes = size_t{1} << 34;
  /// Whether emulated_lane_ordered_atomic_add keeps its promise. Otherwise the last lane comes first.
  bool atomics_in_lane_order = true;
  Strategy strategy = Strategy::mixed;
  /// Scheduling steps a launch may take.
  uint64_t step_budget = 400'000'000;
  /// How often all waiting pollers may find the same values again while no memory changes.
  uint64_t fruitless_polls = 4096;
  uint64_t launches = 0;
  Activation activation{*this};
};

/// Calls `body()` for `count` seeds, each time in its own session. The first seed is base_seed(), so
/// SWEEPSORT_SEED replays a failure in the first round.
template <class Body>
void for_each_seed(uint64_t count, Body&& body) {
  for (uint64_t i = 0; i < count; ++i) {
    Session session{.seed = base_seed() + i};
    body();
  }
}

}  // namespace simt
