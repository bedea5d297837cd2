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
  /// One draw for a block, a warp of it and a lane of that: each time the first ready one from where the dice
  /// point on. Everybody who is ready has a chance; behind a gap it is a better one.
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
  /// The first one that is ready, counted from `start` and round.
  template <class Mask>
  static uint32_t first_from(Mask ready, uint32_t start) {
    constexpr uint32_t bits = sizeof(Mask) * 8;
    return (start + static_cast<uint32_t>(std::countr_zero(std::rotr(ready, static_cast<int>(start))))) %
           bits;
  }
  /// 0 to sides - 1, by 16 bits of the dice.
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
