// engine.cpp - launches a grid, switches between its threads, and takes it down when one of them fails.
#include "engine.hpp"

#include "engine_switch.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

uint3 threadIdx{};
uint3 blockIdx{};
dim3 blockDim;
dim3 gridDim;

namespace simt {

Engine the_engine;

void Engine::run(const Grid& grid, Session& session) {
  if (running()) throw Fault("simt: a kernel launched a kernel");
  session_ = &session;
  grid_ = grid;
  gridDim = grid.grid;
  blockDim = grid.block;
  seed_ = session.seed;
  const uint64_t blocks = uint64_t{grid.grid.x} * grid.grid.y * grid.grid.z;
  Random of_launch(session.seed * 0x2545f4914f6cdd1du + session.launches++);
  unsigned resident = session.resident_blocks != 0 ? session.resident_blocks : 1 + of_launch.below(6);
  if (grid.together != Together::none) resident = Schedule::slots;
  slots_ = static_cast<uint32_t>(std::min<uint64_t>({resident, blocks, Schedule::slots}));
  schedule_.begin(session.strategy, of_launch(), slots_);
  draw_order(blocks);

  steps_ = fruitless_ = pollers_ = set_aside_ = polled_addresses_ = next_block_ = ready_blocks_ = 0;
  live_blocks_ = current_slot_ = grid_barrier_ = 0;
  blocks_at_grid_ = 0;
  abandoning_ = false;
  failure_ = nullptr;
  for (uint32_t slot = 0; slot < slots_; ++slot) {
    if (!blocks_[slot]) {
      blocks_[slot] = std::make_unique<Block>();
      blocks_[slot]->slot = slot;
      blocks_[slot]->thread = std::make_unique<Thread[]>(Schedule::lanes * Schedule::lanes);
    }
    start_block(*blocks_[slot]);
  }
  current_ = &host_;
  cross_to(pick());
  if (failure_) unwind_all();
  current_ = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// Any order is allowed. The reverse one is the worst for a kernel that trusts lower blocks to run first.
void Engine::draw_order(uint64_t blocks) {
  order_.resize(blocks);
  std::iota(order_.begin(), order_.end(), uint64_t{0});
  if (session_->strategy == Strategy::orderly) return;
  Random& random = schedule_.random();
  if (random.below(8) == 0) {
    std::reverse(order_.begin(), order_.end());
    return;
  }
  for (uint64_t i = blocks; i > 1; --i)
    std::swap(order_[i - 1], order_[random.below(static_cast<uint32_t>(i))]);
}

void Engine::start_block(Block& block) {
  block.index = order_[next_block_++];
  const dim3& grid = grid_.grid;
  block.position = {static_cast<unsigned>(block.index % grid.x),
                    static_cast<unsigned>(block.index / grid.x % grid.y),
                    static_cast<unsigned>(block.index / grid.x / grid.y)};
  block.threads = block.alive = grid_.block.x * grid_.block.y * grid_.block.z;
  block.warps = (block.threads + Schedule::lanes - 1) / Schedule::lanes;
  block.ready_warps = block.current_warp = block.arrived = 0;
  block.is_at_grid = false;
  block.shared.reset(grid_.shared_bytes);
  block.late_loads.clear();
  ++live_blocks_;
  for (uint32_t w = 0; w < block.warps; ++w) {
    Warp& warp = block.warp[w];
    const uint32_t lanes = std::min(Schedule::lanes, block.threads - w * Schedule::lanes);
    warp.ready = warp.polling = warp.set_aside = warp.at_barrier = warp.open_gatherings = 0;
    warp.gatherings = {};
    warp.alive = lanes == Schedule::lanes ? ~uint32_t{0} : (uint32_t{1} << lanes) - 1;
    set_ready(block, w, warp.alive);
  }
  for (uint32_t t = 0; t < block.threads; ++t) {
    Thread& thread = block.thread[t];
    thread.block = &block;
    thread.index = {t % grid_.block.x, t / grid_.block.x % grid_.block.y, t / grid_.block.x / grid_.block.y};
    thread.warp = static_cast<uint8_t>(t / Schedule::lanes);
    thread.lane = static_cast<uint8_t>(t % Schedule::lanes);
    thread.what = "its first instruction";
    thread.where = {};
    thread.seen = {};
    thread.has_waited_for_launch = false;
  }
}

void Engine::finish_block(Block& block) {
  --live_blocks_;
  const std::string damage = block.shared.damage();
  if (!damage.empty())
    throw Fault("simt: block " + std::to_string(block.index) + " wrote outside its shared memory, " + damage +
                " (seed " + std::to_string(seed_) + ")");
  if (!block.late_loads.empty())
    fault("a block ends before a bulk load has arrived", block.late_loads.front().where);
  if (next_block_ < order_.size()) start_block(block);
}

// A fiber outlives its thread. It runs one thread after the other, whatever block or launch they belong to.
void Engine::fiber_main() {
  for (;;) the_engine.hand_over(the_engine.run_thread());
}

// The thread on this fiber is over. `next` gets the fiber if it has none.
void Engine::hand_over(Thread& next) {
  Thread& self = *current_;
  continue_as(next);
  if (&next == &self) return;  // it has become another block's thread
  if (!next.fiber) {
    next.fiber = std::move(self.fiber);
    return;
  }
  idle_fibers_.push_back(std::move(self.fiber));
  Fiber::switch_to(idle_fibers_.back(), next.fiber);
}

Fiber Engine::take_fiber() {
  if (idle_fibers_.empty()) return Fiber(&Engine::fiber_main, fibers_++);
  Fiber fiber = std::move(idle_fibers_.back());
  idle_fibers_.pop_back();
  return fiber;
}

Thread& Engine::run_thread() {
  Thread& self = *current_;
  self.begun = true;
  try {
    grid_.body(grid_.parameters);
    if (grid_.overlaps) require_wait_for_launch(self);
    if (self.copies) finish_copies(self);
    leave(self);
    return pick();
  } catch (const Abandoned&) {
    // The launch has failed elsewhere, and this stack has been unwound.
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
    abandoning_ = true;
  }
  self.begun = false;
  if (self.copies) self.copies->drop();
  return host_;
}

// The launch after it waits for this one alone.
void Engine::require_wait_for_launch(const Thread& thread) {
  if (!thread.has_waited_for_launch)
    fault("a thread has not waited for the previous launch, which its own may overlap; last seen",
          thread.where);
}

// CUDA wants shared memory to be there until a copy has read it, or has arrived.
void Engine::finish_copies(Thread& thread) {
  if (const char* const unfinished = thread.copies->unfinished()) fault(unfinished, thread.copies->where());
  thread.copies->finish();
}

void Engine::leave(Thread& thread) {
  Block& block = *thread.block;
  Warp& warp = block.warp[thread.warp];
  const uint32_t bit = uint32_t{1} << thread.lane;
  thread.begun = false;
  thread.state = State::exited;
  clear_ready(thread);
  warp.alive &= ~bit;
  --block.alive;
  fruitless_ = 0;
  if (warp.open_gatherings != 0)
    for (const Gathering& gathering : warp.gatherings)
      if (gathering.arrived != 0 && (gathering.mask & bit) != 0)
        deadlock("a lane exits that others wait for");
  if (block.alive == 0)
    finish_block(block);
  else if (block.arrived == block.alive)
    release_barrier(block);
}

void Engine::unwind_all() {
  for (uint32_t slot = 0; slot < slots_; ++slot)
    for (uint32_t t = 0; t < blocks_[slot]->threads; ++t)
      if (blocks_[slot]->thread[t].begun) cross_to(blocks_[slot]->thread[t]);
}

void Engine::count_step() {
  if (++steps_ > session_->step_budget) deadlock("the step budget has run out");
  if (!schedule_.step()) return;
  if (pollers_ != 0) wake_pollers();
  if (set_aside_ != 0) wake_set_aside();
}

Thread& Engine::pick() {
  if (live_blocks_ == 0) return host_;
  count_step();
  if (ready_blocks_ == 0) {
    // Pollers come last. What they wait for has not changed; otherwise they would be awake.
    if (set_aside_ != 0) {
      wake_set_aside();
    } else {
      if (pollers_ == 0) deadlock("deadlock: nobody can run");
      if (++fruitless_ > session_->fruitless_polls)
        deadlock("livelock: all that can run poll memory that nobody changes");
      wake_pollers();
    }
  }
  schedule_.roll();
  current_slot_ = schedule_.choose_block(ready_blocks_, current_slot_);
  Block& block = *blocks_[current_slot_];
  block.current_warp = schedule_.choose_warp(block.ready_warps, block.current_warp, block.warps);
  const uint32_t lane = schedule_.choose_lane(block.warp[block.current_warp].ready);
  return block.thread[block.current_warp * Schedule::lanes + lane];
}

void Engine::wake_pollers() {
  pollers_ = polled_addresses_ = 0;
  for (uint32_t slot = 0; slot < slots_; ++slot)
    for (uint32_t w = 0; w < blocks_[slot]->warps; ++w)
      set_ready(*blocks_[slot], w, std::exchange(blocks_[slot]->warp[w].polling, 0));
}

void Engine::wake_set_aside() {
  set_aside_ = 0;
  for (uint32_t slot = 0; slot < slots_; ++slot)
    for (uint32_t w = 0; w < blocks_[slot]->warps; ++w)
      set_ready(*blocks_[slot], w, std::exchange(blocks_[slot]->warp[w].set_aside, 0));
}

void Engine::deadlock(const std::string& headline) {
  throw Deadlock("simt: " + headline + " (seed " + std::to_string(seed_) + ")\n" + describe_waits(*this));
}

void Engine::fault(const std::string& what, Where where) {
  std::string text = "simt: " + what + " at " + where.file_name() + ":" + std::to_string(where.line());
  if (running())
    text += " (block " + std::to_string(current_->block->index) + " warp " + std::to_string(current_->warp) +
            " lane " + std::to_string(current_->lane) + ", seed " + std::to_string(seed_) + ")";
  throw Fault(text);
}

}  // namespace simt
