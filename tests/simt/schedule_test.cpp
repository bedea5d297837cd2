// schedule_test.cpp - what the scheduler promises: any order, the same order for the same seed, and no
// forgotten thread.
#include "emulated.hpp"

#include <algorithm>
#include <cuda/atomic>
#include <numeric>
#include <set>

using namespace sweepsort;

namespace {

__global__ void order_kernel(unsigned* next, unsigned* order) {
  if (threadIdx.x == 0) order[atomicAdd(next, 1u)] = blockIdx.x;
}

__global__ void residents_kernel(unsigned* inside, unsigned* most) {
  if (threadIdx.x != 0) return;
  const unsigned now = atomicAdd(inside, 1u) + 1;
  atomicMax(most, now);
  for (int i = 0; i < 20; ++i) __threadfence();
  atomicSub(inside, 1u);
}

__global__ void trace_kernel(unsigned* next, unsigned* trace) {
  for (int i = 0; i < 4; ++i) {
    trace[atomicAdd(next, 1u)] = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 2) __syncthreads();
  }
}

/// Each round reads what another thread wrote in the round before. Two barriers per round keep them apart.
__global__ void rotate_kernel(unsigned* out, unsigned rounds) {
  unsigned& mine = *(static_cast<unsigned*>(emulated_dynamic_shared_memory()) + threadIdx.x);
  mine = threadIdx.x;
  for (unsigned round = 0; round < rounds; ++round) {
    __syncthreads();
    const unsigned neighbour =
        static_cast<unsigned*>(emulated_dynamic_shared_memory())[(threadIdx.x + 1) % blockDim.x];
    __syncthreads();
    mine = neighbour;
  }
  out[threadIdx.x] = mine;
}

__global__ void early_exit_kernel(unsigned* arrived) {
  if (threadIdx.x % 3 == 0) return;
  __syncthreads();
  atomicAdd(arrived, 1u);
}

__global__ void fresh_memory_kernel(unsigned* wrong, unsigned words) {
  auto* const shared = static_cast<unsigned*>(emulated_dynamic_shared_memory());
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x)
    if (shared[i] != 0xcdcdcdcdu) atomicAdd(wrong, 1u);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) shared[i] = i;
}

/// Counts the blocks that have arrived when one continues.
__global__ void grid_barrier_kernel(unsigned* arrived, unsigned* seen) {
  if (threadIdx.x == 0) atomicAdd(arrived, 1u);
  emulated_grid_wait(emulated_grid_arrive());
  if (threadIdx.x == 0) seen[blockIdx.x] = *arrived;
}

__global__ void cluster_barrier_kernel(unsigned* arrived, unsigned* seen) {
  emulated_wait_for_previous_launch();
  if (threadIdx.x == 0) atomicAdd(arrived, 1u);
  emulated_cluster_wait(emulated_cluster_arrive());
  if (threadIdx.x == 0) seen[blockIdx.x] = *arrived;
}

__global__ void throwing_kernel(int* alive) {
  struct Guard {
    int* count;
    explicit Guard(int* counted) : count(counted) { ++*count; }
    ~Guard() { --*count; }
  };
  const Guard guard(alive);
  __syncwarp();
  if (blockIdx.x == 1 && threadIdx.x == 40) throw std::runtime_error("from a kernel");
  __syncthreads();
}

std::vector<unsigned> trace_of(uint64_t seed, int launches) {
  simt::Session session{.seed = seed};
  std::vector<unsigned> trace;
  for (int i = 0; i < launches; ++i) {
    unsigned next = 0;
    trace.assign(4 * 5 * 64, 0);
    launch(trace_kernel, {.blocks = 5, .threads = 64}, nullptr, &next, trace.data());
  }
  return trace;
}

std::vector<unsigned> order_of(simt::Session& session) {
  (void)session;
  unsigned next = 0;
  std::vector<unsigned> order(40);
  launch(order_kernel, {.blocks = 40, .threads = 32}, nullptr, &next, order.data());
  return order;
}

}  // namespace

TEST_CASE("blocks start in another order for each seed, and each starts once") {
  std::vector<unsigned> in_order(40);
  std::iota(in_order.begin(), in_order.end(), 0u);
  std::set<std::vector<unsigned>> orders;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    simt::Session session{.seed = simt::base_seed() + seed, .resident_blocks = 1};
    const std::vector<unsigned> order = order_of(session);
    REQUIRE(std::ranges::is_permutation(order, in_order));
    REQUIRE(order != in_order);
    orders.insert(order);
  }
  // About one in eight is the reverse order, on purpose.
  REQUIRE(orders.size() > 30);
}

TEST_CASE("an orderly session starts the blocks in order") {
  simt::Session session{.resident_blocks = 1, .strategy = simt::Strategy::orderly};
  const std::vector<unsigned> order = order_of(session);
  REQUIRE(std::ranges::is_sorted(order));
}

TEST_CASE("no more blocks are resident than the session says, and at times as many") {
  unsigned most_seen = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    simt::Session session{.seed = simt::base_seed() + seed, .resident_blocks = 3};
    unsigned inside = 0;
    unsigned most = 0;
    launch(residents_kernel, {.blocks = 12, .threads = 32}, nullptr, &inside, &most);
    REQUIRE(most <= 3);
    most_seen = std::max(most_seen, most);
  }
  REQUIRE(most_seen == 3);
}

TEST_CASE("the same seed gives the same schedule, another one another") {
  std::set<std::vector<unsigned>> traces;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<unsigned> trace = trace_of(seed, 1);
    REQUIRE(trace_of(seed, 1) == trace);
    traces.insert(trace);
  }
  REQUIRE(traces.size() == 20);
  // A session's second launch takes another way than its first.
  REQUIRE(trace_of(1, 2) != trace_of(1, 1));
}

TEST_CASE("barriers keep rounds apart in every schedule") {
  simt::for_each_seed(60, [] {
    std::vector<unsigned> out(100);
    launch(rotate_kernel, {.blocks = 1, .threads = 100, .shared_bytes = 400}, nullptr, out.data(), 7u);
    for (unsigned t = 0; t < 100; ++t) REQUIRE(out[t] == (t + 7) % 100);
  });
}

TEST_CASE("a barrier does not wait for threads that have exited") {
  simt::for_each_seed(20, [] {
    unsigned arrived = 0;
    launch(early_exit_kernel, {.blocks = 2, .threads = 99}, nullptr, &arrived);
    REQUIRE(arrived == 2 * 66);
  });
}

TEST_CASE("a block finds its shared memory poisoned, whatever the last one left") {
  simt::Session session{.resident_blocks = 2};
  unsigned wrong = 0;
  launch(fresh_memory_kernel, {.blocks = 9, .threads = 64, .shared_bytes = 4000}, nullptr, &wrong, 1000u);
  REQUIRE(wrong == 0);
}

TEST_CASE("no block passes a barrier of the grid, or of a cluster, before all have come") {
  for (uint64_t i = 0; i < 20; ++i) {
    simt::Session session{.seed = simt::base_seed() + i, .multiprocessors = 20};
    unsigned arrived = 0;
    std::vector<unsigned> seen(20);
    launch_cooperative(grid_barrier_kernel, {.blocks = 20, .threads = 32}, nullptr, &arrived, seen.data());
    REQUIRE(std::ranges::all_of(seen, [](unsigned count) { return count == 20; }));
    arrived = 0;
    seen.assign(16, 0);
    launch_in_cluster(cluster_barrier_kernel, {.blocks = 16, .threads = 32}, nullptr, &arrived, seen.data());
    REQUIRE(std::ranges::all_of(seen, [](unsigned count) { return count == 16; }));
  }
}

TEST_CASE("an exception in a kernel leaves the launch, unwinds every thread and harms no later launch") {
  simt::for_each_seed(20, [] {
    int alive = 0;
    const auto run = [&] { launch(throwing_kernel, {.blocks = 4, .threads = 64}, nullptr, &alive); };
    REQUIRE(complaint<std::runtime_error>(run) == "from a kernel");
    REQUIRE(alive == 0);
    unsigned arrived = 0;
    launch(early_exit_kernel, {.blocks = 2, .threads = 64}, nullptr, &arrived);
    REQUIRE(arrived == 2 * 42);
  });
}
