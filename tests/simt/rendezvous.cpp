// rendezvous.cpp - the rules of each rendezvous: who must arrive, and what each thread gets.
#include "simt/rendezvous.hpp"

#include "engine.hpp"
#include "engine_switch.hpp"
#include "simt/atomics.hpp"

#include <algorithm>
#include <iterator>

namespace simt {

namespace {

// In the order of the enumerations. These are arrays because a name is looked up at every step.
constexpr const char* collective_names[] = {"__syncwarp",
                                            "__shfl_sync",
                                            "__shfl_up_sync",
                                            "__shfl_down_sync",
                                            "__shfl_xor_sync",
                                            "__ballot_sync",
                                            "__any_sync",
                                            "__all_sync",
                                            "__match_any_sync",
                                            "__match_all_sync",
                                            "__reduce_add_sync",
                                            "__reduce_min_sync",
                                            "__reduce_max_sync",
                                            "__reduce_and_sync",
                                            "__reduce_or_sync",
                                            "__reduce_xor_sync",
                                            "emulated_lane_ordered_atomic_add"};
static_assert(std::size(collective_names) == static_cast<size_t>(Collective::ordered_atomic_add) + 1);
constexpr const char* barrier_names[] = {"__syncthreads",       "__syncthreads_or", "__syncthreads_and",
                                         "__syncthreads_count", "grid arrive",      "grid wait"};
static_assert(std::size(barrier_names) == static_cast<size_t>(Barrier::grid_wait) + 1);

const char* name_of(Collective kind) { return collective_names[static_cast<size_t>(kind)]; }
const char* name_of(Barrier kind) { return barrier_names[static_cast<size_t>(kind)]; }

template <class Visit>
void for_each_lane(uint32_t lanes, Visit&& visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<uint32_t>(std::countr_zero(lanes)));
}

template <class Combine>
uint64_t fold(const Warp& warp, uint32_t mask, Combine combine) {
  uint64_t total = warp.values[static_cast<size_t>(std::countr_zero(mask))];
  for_each_lane(mask & (mask - 1), [&](uint32_t lane) { total = combine(total, warp.values[lane]); });
  return total;
}

uint32_t lanes_with(const Warp& warp, uint32_t mask, uint64_t value) {
  uint32_t equal = 0;
  for (uint32_t lane = 0; lane < Schedule::lanes; ++lane)
    equal |= static_cast<uint32_t>(warp.values[lane] == value) << lane;
  return equal & mask;
}

// Values are 32 bits wide here, so a sum in 64 bits cannot overflow.
uint64_t common_result(const Warp& warp, const Gathering& gathering) {
  const uint32_t mask = gathering.mask;
  switch (gathering.kind) {
    case Collective::ballot: return mask & ~lanes_with(warp, mask, 0);
    case Collective::any: return lanes_with(warp, mask, 0) != mask;
    case Collective::all: return lanes_with(warp, mask, 0) == 0;
    case Collective::match_all:
      return lanes_with(warp, mask, warp.values[static_cast<size_t>(std::countr_zero(mask))]) == mask ? mask
                                                                                                      : 0;
    case Collective::add: return fold(warp, mask, [](uint64_t a, uint64_t b) { return a + b; });
    case Collective::min: return fold(warp, mask, [](uint64_t a, uint64_t b) { return std::min(a, b); });
    case Collective::max: return fold(warp, mask, [](uint64_t a, uint64_t b) { return std::max(a, b); });
    case Collective::bit_and: return fold(warp, mask, [](uint64_t a, uint64_t b) { return a & b; });
    case Collective::bit_or: return fold(warp, mask, [](uint64_t a, uint64_t b) { return a | b; });
    case Collective::bit_xor: return fold(warp, mask, [](uint64_t a, uint64_t b) { return a ^ b; });
    default: return 0;
  }
}

}  // namespace

void Engine::complete(Warp& warp, const Gathering& gathering, Where where) {
  const uint32_t mask = gathering.mask;
  switch (gathering.kind) {
    case Collective::sync: return;
    case Collective::shuffle:
    case Collective::shuffle_up:
    case Collective::shuffle_down:
    case Collective::shuffle_xor:
      // In CUDA, a read from a lane outside the mask is undefined. Noise shows whether anything depends on
      // it.
      for_each_lane(mask, [&](uint32_t lane) {
        const uint64_t source = warp.arguments[lane];
        warp.results[lane] = (mask >> source & 1) != 0 ? warp.values[source] : schedule_.random()();
      });
      return;
    case Collective::match_any:
      for (uint32_t left = mask; left != 0;) {
        const uint32_t peers =
            lanes_with(warp, left, warp.values[static_cast<size_t>(std::countr_zero(left))]);
        for_each_lane(peers, [&](uint32_t lane) { warp.results[lane] = peers; });
        left &= ~peers;
      }
      return;
    case Collective::ordered_atomic_add: {
      const auto add = [&](uint32_t lane) {
        auto* const address = reinterpret_cast<unsigned*>(static_cast<uintptr_t>(warp.arguments[lane]));
        if (warp.arguments[lane] % sizeof(unsigned) != 0) fault("misaligned atomic", where);
        warp.results[lane] = watched_add(address, static_cast<unsigned>(warp.values[lane]));
        changed(address);
      };
      if (session_->atomics_in_lane_order)
        for_each_lane(mask, add);
      else
        for (uint32_t left = mask; left != 0; left &= ~std::bit_floor(left))
          add(static_cast<uint32_t>(std::bit_width(left)) - 1);
      return;
    }
    default:
      const uint64_t result = common_result(warp, gathering);
      for_each_lane(mask, [&](uint32_t lane) { warp.results[lane] = result; });
  }
}

Thread& Engine::thread_at(const char* what, Where where, uint32_t mask) {
  if (!running()) throw Fault(std::string("simt: ") + what + " outside a kernel");
  current_->what = what;
  current_->where = where;
  current_->mask = mask;
  return *current_;
}

// Returns the open gathering that matches, or a new one at a free place. There are as many places as lanes,
// and each open gathering holds at least one lane.
Gathering& Engine::join(Warp& warp, const Thread& thread, const Gathering& wanted) {
  const auto matches = [&](const Gathering& g) {
    return g.arrived != 0 && g.mask == wanted.mask && g.kind == wanted.kind &&
           g.operand_bytes == wanted.operand_bytes;
  };
  Gathering* found = &warp.gatherings[static_cast<size_t>(std::countr_zero(wanted.mask))];
  if (!matches(*found)) {
    const auto open = std::find_if(warp.gatherings.begin(), warp.gatherings.end(), matches);
    if (open != warp.gatherings.end()) {
      found = &*open;
    } else {
      if (found->arrived != 0)
        found = &*std::find_if(warp.gatherings.begin(), warp.gatherings.end(),
                               [](const Gathering& g) { return g.arrived == 0; });
      *found = wanted;
      ++warp.open_gatherings;
    }
  }
  const uint32_t bit = uint32_t{1} << thread.lane;
  found->arrived |= bit;
  // Two lanes that wait for each other at different collectives can never meet.
  if (warp.open_gatherings > 1)
    for (const Gathering& other : warp.gatherings)
      if (&other != found && (other.mask & bit) != 0 && (other.arrived & wanted.mask) != 0)
        deadlock("lanes of one warp wait for each other at different collectives or with different masks");
  return *found;
}

uint64_t Engine::meet_warp(Collective kind, unsigned operand_bytes, uint32_t mask, uint64_t value,
                           uint64_t argument, Where where) {
  Thread& thread = thread_at(name_of(kind), where, mask);
  if (abandoning_) return 0;
  Warp& warp = thread.block->warp[thread.warp];
  const uint32_t bit = uint32_t{1} << thread.lane;
  if ((mask & bit) == 0) fault(std::string(thread.what) + " by a lane that its mask leaves out", where);
  if ((mask & ~warp.alive) != 0) deadlock("a mask names lanes that have exited or never were");
  Gathering& gathering =
      join(warp, thread, {.mask = mask, .arrived = 0, .kind = kind, .operand_bytes = operand_bytes});
  warp.values[thread.lane] = value;
  warp.arguments[thread.lane] = argument;
  if (gathering.arrived != mask) {
    wait(State::at_collective);
  } else {
    complete(warp, gathering, where);
    gathering.arrived = 0;
    --warp.open_gatherings;
    set_ready(*thread.block, thread.warp, mask);
    give_way_or_stay(Part::acts);
  }
  return warp.results[thread.lane];
}

int Engine::meet_block(Barrier kind, int predicate, Where where) {
  Thread& thread = thread_at(name_of(kind), where);
  if (abandoning_) return 0;
  Block& block = *thread.block;
  if (block.arrived == 0) {
    block.barrier = kind;
    block.votes = 0;
  } else if (block.barrier != kind) {
    fault(std::string(thread.what) + " while others of the block wait at " + name_of(block.barrier), where);
  }
  block.votes += predicate != 0;
  block.warp[thread.warp].at_barrier |= uint32_t{1} << thread.lane;
  if (++block.arrived != block.alive) {
    wait(State::at_barrier);
  } else {
    release_barrier(block);
    give_way_or_stay(Part::acts);
  }
  return block.outcome;
}

void Engine::require_together(Together kind, Where where) {
  if (grid_.together == kind) return;
  fault(kind == Together::grid ? "a grid barrier in a launch that is not cooperative"
                               : "a cluster barrier in a launch that is not a cluster",
        where);
}

// Works as on the device: the block meets, its first thread counts it, later that thread waits and the block
// meets again.
uint32_t Engine::arrive_at_grid(Together kind, Where where) {
  Thread& thread = thread_at(name_of(Barrier::grid_arrive), where);
  require_together(kind, where);
  (void)meet_block(Barrier::grid_arrive, 0, where);
  const uint32_t number = grid_barrier_;
  if (!is_first(thread) || abandoning_) return number;
  if (thread.block->is_at_grid)
    fault("a block comes to a grid barrier before it has waited at the last", where);
  thread.block->is_at_grid = true;
  if (++blocks_at_grid_ == order_.size()) {
    blocks_at_grid_ = 0;
    ++grid_barrier_;
    changed(&grid_barrier_);
  }
  return number;
}

void Engine::wait_for_grid(Together kind, uint32_t number, Where where) {
  Thread& thread = thread_at(name_of(Barrier::grid_wait), where);
  require_together(kind, where);
  if (is_first(thread)) {
    if (!thread.block->is_at_grid) fault("a block waits at a grid barrier without having come to it", where);
    while (grid_barrier_ == number && !abandoning_) poll("grid barrier", &grid_barrier_, where);
    thread.block->is_at_grid = false;
  }
  (void)meet_block(Barrier::grid_wait, 0, where);
}

void Engine::release_barrier(Block& block) {
  const int votes = block.votes;
  const bool all = static_cast<uint32_t>(votes) == block.arrived;
  block.outcome = block.barrier == Barrier::sync_and  ? all
                  : block.barrier == Barrier::sync_or ? votes != 0
                                                      : votes;
  block.arrived = 0;
  for (uint32_t w = 0; w < block.warps; ++w) {
    set_ready(block, w, block.warp[w].at_barrier);
    block.warp[w].at_barrier = 0;
  }
}

void Engine::scheduling_point(const char* what, Where where, Part part) {
  if (!running() || abandoning_) return;
  thread_at(what, where);
  give_way_or_stay(part);
}

void Engine::poll(const char* what, const void* address, Where where) {
  if (!running() || abandoning_) return;
  const Thread& thread = thread_at(what, where);
  if (!schedule_.parks()) return give_way();
  thread.block->warp[thread.warp].polling |= uint32_t{1} << thread.lane;
  ++pollers_;
  if (address != nullptr) polled_addresses_ |= bit_of(address);
  wait(State::polling);
}

uint64_t meet_warp(Collective kind, unsigned operand_bytes, uint32_t mask, uint64_t value, uint64_t argument,
                   Where where) {
  return engine().meet_warp(kind, operand_bytes, mask, value, argument, where);
}

int meet_block(Barrier kind, int predicate, Where where) {
  return engine().meet_block(kind, predicate, where);
}

uint32_t arrive_at_grid(Together kind, Where where) { return engine().arrive_at_grid(kind, where); }

void wait_for_grid(Together kind, uint32_t number, Where where) {
  engine().wait_for_grid(kind, number, where);
}

void scheduling_point(const char* what, Where where) { engine().scheduling_point(what, where, Part::acts); }

void polling_point(const char* what, Where where) { engine().poll(what, nullptr, where); }

void fault(const char* what, Where where) { engine().fault(what, where); }

unsigned lane_of_running_thread() {
  if (!engine().running()) throw Fault("simt: a shuffle outside a kernel");
  return engine().current().lane;
}

uint64_t steps_so_far() { return engine().steps(); }

bool chance(unsigned n) { return engine().running() && engine().schedule().random().below(n) == 0; }

AtomicStep::AtomicStep(const char* what, const void* address, size_t alignment, Polling polling, Where where)
    : what_(what), address_(address), where_(where), polling_(polling), switch_after_(chance(2)) {
  if (reinterpret_cast<uintptr_t>(address) % alignment != 0) fault("misaligned atomic", where);
  if (!switch_after_) make_way();
}

void AtomicStep::make_way() {
  engine().scheduling_point(what_, where_, polling_ == Polling::possible ? Part::reads : Part::acts);
}

void AtomicStep::changed() {
  if (!engine().running()) return;
  engine().changed(address_);
  engine().current().seen = {};
  if (switch_after_) make_way();
}

void AtomicStep::unchanged() {
  if (switch_after_) make_way();
}

void AtomicStep::polled(uint64_t value) {
  if (!engine().running()) return;
  Thread& thread = engine().current();
  const auto seen = std::find_if(thread.seen.begin(), thread.seen.end(),
                                 [this](const Thread::Seen& entry) { return entry.address == address_; });
  if (seen != thread.seen.end() && seen->value == value) return engine().poll(what_, address_, where_);
  if (seen != thread.seen.end())
    seen->value = value;
  else
    thread.seen[thread.oldest_seen++ % thread.seen.size()] = {address_, value};
  if (switch_after_) make_way();
}

}  // namespace simt

void emulated_wait_for_previous_launch() {
  if (!simt::engine().running()) throw simt::Fault("simt: a wait for the previous launch outside a kernel");
  simt::engine().current().has_waited_for_launch = true;
}

void* emulated_dynamic_shared_memory() {
  if (!simt::engine().running()) throw simt::Fault("simt: shared memory outside a kernel");
  return simt::engine().current().block->shared.data();
}
