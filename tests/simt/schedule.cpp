// schedule.cpp - how an epoch's habits are drawn.
#include "schedule.hpp"

namespace simt {

void Schedule::begin(Strategy strategy, uint64_t seed, unsigned resident_blocks) {
  strategy_ = strategy;
  random_ = Random(seed);
  resident_blocks_ = resident_blocks;
  new_epoch();
}

void Schedule::new_epoch() {
  // Staying is never a certainty, so that every runnable thread runs in the end, as CUDA promises.
  constexpr uint32_t stickiness[] = {0, 0, 128, 224, 248, 255};
  constexpr uint32_t parking[] = {0, 128, 224, 256};
  constexpr uint32_t setting_aside[] = {0, 0, 16, 96};
  left_ = uint64_t{64} << random_.below(13);
  switch (strategy_) {
    case Strategy::orderly:
      habits_ = {.keep_lane = 255, .keep_warp = 256, .keep_block = 256, .park = 256, .fixed_order = true};
      return;
    case Strategy::uniform: habits_ = {}; return;
    case Strategy::mixed: break;
  }
  habits_ = {.park = parking[random_.below(4)], .set_aside = setting_aside[random_.below(4)]};
  if (random_.below(4) == 0) return;
  habits_ = {.keep_lane = stickiness[random_.below(6)],
             .keep_warp = stickiness[random_.below(6)],
             .keep_block = stickiness[random_.below(6)],
             .park = habits_.park,
             .set_aside = habits_.set_aside,
             .fixed_order = random_.below(3) == 0,
             .first_lane = random_.below(lanes),
             .first_warp = random_.below(lanes),
             .first_block = random_.below(resident_blocks_)};
  if (random_.below(3) == 0) habits_.starved = uint64_t{1} << random_.below(resident_blocks_);
}

}  // namespace simt
