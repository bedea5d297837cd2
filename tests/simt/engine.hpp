// engine.hpp - the emulated device: resident blocks, their warps and threads, and the rules of every
// rendezvous.
#pragma once

#include "async_copies.hpp"
#include "fiber.hpp"
#include "schedule.hpp"
#include "shared_memory.hpp"
#include "simt/builtin_types.hpp"
#include "simt/rendezvous.hpp"
#include "simt/simt.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace simt {

struct Block;

/// What a thread does at a scheduling point.
enum class Part : uint8_t { reads, acts };

enum class State : uint8_t { at_collective, at_barrier, polling, set_aside, exited };

struct alignas(64) Thread {
  // A switch touches only the first cache line. There is a fiber only while the thread is inside the kernel.
  Fiber fiber;
  Block* block = nullptr;
  // Where it waits or was last switched out, for the report.
  const char* what = "its first instruction";
  Where where;
  uint32_t mask = 0;
  uint3 index{};
  uint8_t warp = 0;
  uint8_t lane = 0;
  // It is inside the kernel. If the launch fails, its stack must be unwound.
  bool begun = false;
  // For the launch before this one.
  bool has_waited_for_launch = false;
  // Why it does not run. Has no meaning while its warp lists it as ready.
  State state = State::exited;

  // What its last atomic loads saw. The same value again means that it spins. There are several, as a
  // look-back reads several words in turn.
  struct Seen {
    const void* address;
    uint64_t value;
  };
  std::array<Seen, 8> seen{};
  uint32_t oldest_seen = 0;
  // Made by its first asynchronous copy.
  std::unique_ptr<ThreadCopies> copies;
};

/// Lanes that gather for one collective. A warp can have several open ones, for disjoint or overlapping
/// masks.
struct Gathering {
  uint32_t mask = 0;
  uint32_t arrived = 0;
  Collective kind{};
  unsigned operand_bytes = 0;
};

struct Warp {
  uint32_t ready = 0;
  // Sleeping lanes: those that have polled in vain, and those that the schedule has set aside.
  uint32_t polling = 0;
  uint32_t set_aside = 0;
  uint32_t at_barrier = 0;
  uint32_t alive = 0;
  uint32_t open_gatherings = 0;
  std::array<Gathering, 32> gatherings;
  std::array<uint64_t, 32> values;
  std::array<uint64_t, 32> arguments;
  std::array<uint64_t, 32> results;
};

struct Block {
  uint32_t slot = 0;
  uint64_t index = 0;
  uint3 position{};
  uint32_t threads = 0;
  uint32_t warps = 0;
  uint32_t ready_warps = 0;
  uint32_t current_warp = 0;
  uint32_t alive = 0;
  // The barrier that is being filled, and the outcome of the last complete one.
  uint32_t arrived = 0;
  Barrier barrier{};
  // The block has arrived at a grid barrier and has not continued yet.
  bool is_at_grid = false;
  int votes = 0;
  int outcome = 0;
  std::array<Warp, 32> warp;
  std::unique_ptr<Thread[]> thread;
  SharedMemory shared;
  // Bulk loads that have not arrived at their barriers.
  std::vector<BulkLoad> late_loads;
};

/// Everything a launch needs to know.
struct Grid {
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
  Together together = Together::none;
  // It may begin before the launch before it is over.
  bool overlaps = false;
  void (*body)(const void*) = nullptr;
  const void* parameters = nullptr;
};

class Engine {
 public:
  Engine() { host_.fiber = Fiber::of_caller(); }
  void run(const Grid& grid, Session& session);

  uint64_t meet_warp(Collective kind, unsigned operand_bytes, uint32_t mask, uint64_t value,
                     uint64_t argument, Where where);
  int meet_block(Barrier kind, int predicate, Where where);
  uint32_t arrive_at_grid(Together kind, Where where);
  void wait_for_grid(Together kind, uint32_t number, Where where);
  /// `part`: whether the thread may be set aside here. A thread that only reads must not be, or a livelock
  /// would look like waiting.
  void scheduling_point(const char* what, Where where, Part part);
  /// The running thread has found nothing new. It may be set aside.
  void poll(const char* what, const void* address, Where where);
  /// Memory has changed. Threads that poll it should look again.
  void changed(const void* address) {
    fruitless_ = 0;
    if ((polled_addresses_ & bit_of(address)) != 0) wake_pollers();
  }
  [[noreturn]] void fault(const std::string& what, Where where);

  bool running() const { return current_ != nullptr; }
  Thread& current() { return *current_; }
  Schedule& schedule() { return schedule_; }
  uint64_t steps() const { return steps_; }

 private:
  void require_together(Together kind, Where where);
  friend class Reporter;
  struct Abandoned {};

  static uint64_t bit_of(const void* address) {
    return uint64_t{1} << (reinterpret_cast<uintptr_t>(address) * 0x9e3779b97f4a7c15u >> 58);
  }

  static bool is_first(const Thread& thread) {
    return thread.index.x == 0 && thread.index.y == 0 && thread.index.z == 0;
  }

  [[noreturn]] static void fiber_main();
  Thread& run_thread();
  void hand_over(Thread& next);
  Fiber take_fiber();
  void finish_copies(Thread& thread);
  void require_wait_for_launch(const Thread& thread);
  void leave(Thread& thread);
  void unwind_all();

  void draw_order(uint64_t blocks);
  void start_block(Block& block);
  void finish_block(Block& block);

  void count_step();
  Thread& pick();
  void continue_as(Thread& next);
  void cross_to(Thread& next);
  void give_way();
  void wait(State state);
  void give_way_or_stay(Part part);
  void wake_pollers();
  void wake_set_aside();
  void release_barrier(Block& block);
  void set_ready(Block& block, uint32_t warp, uint32_t lanes);
  void clear_ready(const Thread& thread);
  Thread& thread_at(const char* what, Where where, uint32_t mask = 0);
  Gathering& join(Warp& warp, const Thread& thread, const Gathering& wanted);
  void complete(Warp& warp, const Gathering& gathering, Where where);
  [[noreturn]] void deadlock(const std::string& headline);

  Schedule schedule_;
  Session* session_ = nullptr;
  Grid grid_;
  uint64_t seed_ = 0;
  std::vector<uint64_t> order_;
  uint64_t next_block_ = 0;
  // Grid barriers that are complete, and blocks that have arrived at the next one.
  uint32_t grid_barrier_ = 0;
  uint64_t blocks_at_grid_ = 0;
  uint32_t slots_ = 0;
  uint32_t live_blocks_ = 0;
  uint64_t ready_blocks_ = 0;
  uint32_t current_slot_ = 0;
  uint64_t steps_ = 0;
  uint64_t fruitless_ = 0;
  uint64_t pollers_ = 0;
  uint64_t set_aside_ = 0;
  // One bit, by hash, for each address that a sleeping poller waits for.
  uint64_t polled_addresses_ = 0;
  bool abandoning_ = false;
  std::exception_ptr failure_;
  // Those that no thread has. The one that was used last is used next, as its stack is in the caches.
  std::vector<Fiber> idle_fibers_;
  size_t fibers_ = 0;
  // The host's stack; current_ is null while no kernel runs.
  Thread host_;
  Thread* current_ = nullptr;
  std::array<std::unique_ptr<Block>, Schedule::slots> blocks_;
};

extern Engine the_engine;
inline Engine& engine() { return the_engine; }

/// "block 2 warps 0-7 lanes 0-31: __syncthreads at scan.cuh:41", one line for each group that waits at one
/// place.
std::string describe_waits(const Engine& engine);

}  // namespace simt
