// schedule.hpp - who runs next: dice whose weights change from epoch to epoch.
#pragma once

#include "random.hpp"
#include "simt/simt.hpp"

#include <bit>
#include <cstdint>

namespace simt {

/// One epoch's habits. Different kinds of faults need different ones: a lane far ahead of its warp finds a
/// missing
/// __syncwarp, a block left behind finds a look-back that trusts its predecessor to be quick.
struct Habits {
  // Chances of 256 to stay with the running lane, warp and block where the choice is free.
  uint32_t keep_lane = 0;
  uint32_t keep_warp = 0;
  uint32_t keep_block = 0;
  // Chance of 256 that a thread which polls in vain waits until the memory changes, nobody else can run or
  // the epoch ends.
  uint32_t park = 192;
  // Chance of 256 that a thread which makes way is set aside until nobody else can run or the epoch ends:
  // what it has done by halves stays so for long.
  uint32_t set_aside = 0;
  // Instead of a random one, the first runnable one counted from here: a priority order.
  bool fixed_order = false;
  uint32_t first_lane = 0;
  uint32_t first_warp = 0;
  uint32_t first_block = 0;
  // Resident blocks that run only when no other can.
  uint64_t starved = 0;
};

class Schedule {
 public:
  static constexpr uint32_t lanes = 32;
  static constexpr uint32_t slots = 64;

  void begin(Strategy strategy, uint64_t seed, unsigned resident_blocks);
  /// Counts a step; true when an epoch ends with it.
  bool step() {
    if (--left_ != 0) return false;
    new_epoch();
    return true;
  }

  bool keeps_lane() { return (random_() & 255) < habits_.keep_lane; }
  bool parks() { return (random_() & 255) < habits_.park; }
  bool sets_aside() { return habits_.set_aside != 0 && (random_() & 255) < habits_.set_aside; }
  uint32_t choose_block(uint64_t ready, uint32_t current) {
    if (((ready >> current) & 1) != 0 && (random_() & 255) < habits_.keep_block) return current;
    const uint64_t fed = ready & ~habits_.starved;
    const uint64_t among = fed != 0 ? fed : ready;
    return habits_.fixed_order ? first_from(among, habits_.first_block) : any_of(among);
  }
  uint32_t choose_warp(uint32_t ready, uint32_t current, uint32_t warps) {
    if (((ready >> current) & 1) != 0 && (random_() & 255) < habits_.keep_warp) return current;
    return habits_.fixed_order ? first_from(ready, habits_.first_warp % warps) : any_of(ready);
  }
  uint32_t choose_lane(uint32_t ready) {
    if (habits_.fixed_order) return first_from(ready, habits_.first_lane);
    // Most lanes are ready most of the time, so that a guess is cheaper than counting.
    uint64_t guesses = random_();
    for (int tries = 0; tries < 4; ++tries, guesses >>= 5)
      if ((ready >> (guesses & 31) & 1) != 0) return static_cast<uint32_t>(guesses & 31);
    return any_of(ready);
  }
  Random& random() { return random_; }

 private:
  template <class Mask>
  static uint32_t first_from(Mask ready, uint32_t start) {
    const Mask above = ready >> start << start;
    return static_cast<uint32_t>(std::countr_zero(above != 0 ? above : ready));
  }
  template <class Mask>
  uint32_t any_of(Mask ready) {
    for (uint32_t skip = random_.below(static_cast<uint32_t>(std::popcount(ready))); skip != 0; --skip)
      ready &= ready - 1;
    return static_cast<uint32_t>(std::countr_zero(ready));
  }
  void new_epoch();

  Random random_;
  Strategy strategy_ = Strategy::mixed;
  Habits habits_;
  uint64_t left_ = 1;
  unsigned resident_blocks_ = 1;
};

}  // namespace simt
