// engine_switch.hpp - how one thread leaves and another continues; inline for the reason given at
// Fiber::switch_to.
#pragma once

#include "engine.hpp"

namespace simt {

[[gnu::always_inline]] inline void Engine::continue_as(Thread& next) {
  current_ = &next;
  if (next.block == nullptr) return;
  threadIdx = next.index;
  blockIdx = next.block->position;
}

[[gnu::always_inline]] inline void Engine::cross_to(Thread& next) {
  Thread& self = *current_;
  if (&next == &self) return;
  if (!next.fiber) next.fiber = take_fiber();
  continue_as(next);
  Fiber::switch_to(self.fiber, next.fiber);
}

[[gnu::always_inline]] inline void Engine::give_way() {
  cross_to(pick());
  if (abandoning_) throw Abandoned{};
}

[[gnu::always_inline]] inline void Engine::wait(State state) {
  current_->state = state;
  clear_ready(*current_);
  give_way();
}

[[gnu::always_inline]] inline void Engine::give_way_or_stay(Part part) {
  if (schedule_.keeps_lane()) {
    count_step();
  } else if (part == Part::acts && schedule_.sets_aside()) {
    current_->block->warp[current_->warp].set_aside |= uint32_t{1} << current_->lane;
    ++set_aside_;
    wait(State::set_aside);
  } else {
    give_way();
  }
}

inline void Engine::clear_ready(const Thread& thread) {
  Block& block = *thread.block;
  Warp& warp = block.warp[thread.warp];
  warp.ready &= ~(uint32_t{1} << thread.lane);
  if (warp.ready != 0) return;
  block.ready_warps &= ~(uint32_t{1} << thread.warp);
  if (block.ready_warps == 0) ready_blocks_ &= ~(uint64_t{1} << block.slot);
}

inline void Engine::set_ready(Block& block, uint32_t warp, uint32_t lanes) {
  if (lanes == 0) return;
  block.warp[warp].ready |= lanes;
  block.ready_warps |= uint32_t{1} << warp;
  ready_blocks_ |= uint64_t{1} << block.slot;
}

}  // namespace simt
