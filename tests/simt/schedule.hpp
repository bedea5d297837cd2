// schedule.hpp - who runs next: dice whose weights change from epoch to epoch.
#pragma once

#include "random.hpp"
#include "simt/simt.hpp"

#include <bit>
#include <cstdint>

namespace simt {

/// The habits of one epoch. Different kinds of faults need different habits: a lane far ahead of its warp
/// finds a missing __syncwarp; a block left behind finds a look-back that trusts its predecessor to be quick.
struct Habits {
  // Chances out of 256 of staying with the running lane, warp and block where the choice is free.
  uint32_t keep_lane = 0;
  uint32_t keep_warp = 0;
  uint32_t keep_block = 0;
  // Chance out of 256 that a thread that polls in vain waits until the memory changes, nobody else can run or
  // the epoch ends.
  uint32_t park = 192;
  // Chance out of 256 that a thread that makes way is set aside until nobody else can run or the epoch ends.
  // What it has half done stays so for a long time.
  uint32_t set_aside = 0;
  // Takes the first runnable one counted from here, not a random one: a priority order.
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
  /// Makes one draw for a block, a warp of that block and a lane of that warp. Each time, this is the first
  /// ready one from where the dice point on. All that are ready have a chance; behind a gap it is a better
  /// one.
  void roll() { dice_ = random_(); }
  uint32_t choose_block(uint64_t ready, uint32_t current) {
    if ((ready >> current & 1) != 0 && (dice_ & 255) < habits_.keep_block) return current;
    const uint64_t fed = ready & ~habits_.starved;
    return first_from(fed != 0 ? fed : ready,
                      habits_.fixed_order ? habits_.first_block : shown(dice_ >> 16, resident_blocks_));
  }
  uint32_t choose_warp(uint32_t ready, uint32_t current, uint32_t warps) {
    if ((ready >> current & 1) != 0 && (dice_ >> 8 & 255) < habits_.keep_warp) return current;
    return first_from(ready, habits_.fixed_order ? habits_.first_warp % warps : shown(dice_ >> 32, warps));
  }
  uint32_t choose_lane(uint32_t ready) {
    return first_from(ready, habits_.fixed_order ? habits_.first_lane : shown(dice_ >> 48, lanes));
  }
  Random& random() { return random_; }

 private:
  /// The first one that is ready, counted from `start` and wrapping around.
  template <class Mask>
  static uint32_t first_from(Mask ready, uint32_t start) {
    constexpr uint32_t bits = sizeof(Mask) * 8;
    return (start + static_cast<uint32_t>(std::countr_zero(std::rotr(ready, static_cast<int>(start))))) %
           bits;
  }
  /// A number from 0 to sides - 1, by 16 bits of the dice.
  static uint32_t shown(uint64_t dice, uint32_t sides) {
    return static_cast<uint32_t>((dice & 0xffff) * sides >> 16);
  }
  void new_epoch();

  Random random_;
  Strategy strategy_ = Strategy::mixed;
  Habits habits_;
  uint64_t dice_ = 0;
  uint64_t left_ = 1;
  unsigned resident_blocks_ = 1;
};

}  // namespace simt
