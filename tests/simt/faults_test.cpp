// faults_test.cpp - planted faults, each of which must be found, beside the same kernel without it.
#include "emulated.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cuda/atomic>

using namespace sweepsort;

namespace {

using DeviceAtomic = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

enum class Fault { none, planted };

template <Fault fault>
__global__ void reverse_kernel(unsigned* out) {
  auto* const shared = static_cast<unsigned*>(emulated_dynamic_shared_memory());
  shared[threadIdx.x] = threadIdx.x;
  if (fault == Fault::none) __syncthreads();
  __threadfence_block();  // a fence is no barrier
  out[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

/// The fault: the second barrier of each round is missing, so a fast thread overwrites what a slow one has
/// not yet read.
template <Fault fault>
__global__ void rounds_kernel(unsigned* out) {
  auto* const shared = static_cast<unsigned*>(emulated_dynamic_shared_memory());
  unsigned mine = threadIdx.x;
  for (int round = 0; round < 3; ++round) {
    shared[threadIdx.x] = mine;
    __syncthreads();
    mine = shared[(threadIdx.x + 1) % blockDim.x];
    if (fault == Fault::none) __syncthreads();
  }
  out[threadIdx.x] = mine;
}

/// The fault: it trusts that the lanes of a warp run in step.
template <Fault fault>
__global__ void warp_step_kernel(unsigned* out) {
  auto* const shared = static_cast<unsigned*>(emulated_dynamic_shared_memory());
  shared[threadIdx.x] = threadIdx.x;
  __threadfence_block();
  if (fault == Fault::none) __syncwarp();
  out[threadIdx.x] = shared[threadIdx.x ^ 1];
}

/// The first block to arrive publishes; the others wait for it. The fault: it says that the data are there
/// before they are.
template <Fault fault>
__global__ void publish_kernel(unsigned* tickets, unsigned* data, unsigned* flag, unsigned* missed) {
  if (threadIdx.x != 0) return;
  if (atomicAdd(tickets, 1u) == 0) {
    if (fault == Fault::none) *data = 42;
    DeviceAtomic(*flag).store(1, cuda::memory_order_release);
    if (fault == Fault::planted) *data = 42;
  } else {
    while (DeviceAtomic(*flag).load(cuda::memory_order_acquire) == 0) {
    }
    if (*data != 42) *missed = 1;
  }
}

/// In two rounds every block reads what the next one has written. The fault: a fast block begins the second
/// round while a slow one still reads.
template <Fault fault>
__global__ void neighbours_kernel(unsigned* cells, unsigned* out) {
  for (unsigned round = 0; round < 2; ++round) {
    if (threadIdx.x == 0) cells[blockIdx.x] = blockIdx.x + 100 * round;
    emulated_grid_wait(emulated_grid_arrive());
    out[(round * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x] = cells[(blockIdx.x + 1) % gridDim.x];
    if (fault == Fault::none) emulated_grid_wait(emulated_grid_arrive());
  }
}

__global__ void arrive_twice_kernel() {
  (void)emulated_grid_arrive();
  (void)emulated_grid_arrive();
}

/// The fault: one thread does not wait.
template <Fault fault>
__global__ void chained_kernel() {
  if (fault == Fault::none || threadIdx.x != 5) emulated_wait_for_previous_launch();
}

__global__ void cluster_barrier_kernel() {
  emulated_wait_for_previous_launch();
  emulated_cluster_wait(emulated_cluster_arrive());
}

__global__ void large_cluster_kernel() { emulated_wait_for_previous_launch(); }

/// Waits for the grid after arriving at the cluster's barrier.
__global__ void mixed_barrier_kernel() { emulated_grid_wait(emulated_cluster_arrive()); }

__global__ void absent_block_kernel() {
  if (blockIdx.x != 1) emulated_grid_wait(emulated_grid_arrive());
}

/// The fault: it adds by a plain read and write.
template <Fault fault>
__global__ void count_kernel(unsigned* counter) {
  if (fault == Fault::none) {
    atomicAdd(counter, 1u);
  } else {
    const unsigned seen = *counter;
    __threadfence();
    *counter = seen + 1;
  }
}

/// A chained scan: tile t waits for what tile t - 1 publishes. The fault: the tile's number is blockIdx.
template <Fault fault>
__global__ void chain_kernel(unsigned* tickets, unsigned* prefixes) {
  if (threadIdx.x != 0) return;
  const unsigned tile =
      fault == Fault::none ? DeviceAtomic(*tickets).fetch_add(1, cuda::memory_order_relaxed) : blockIdx.x;
  unsigned before = 0;
  while (tile > 0 && (before = DeviceAtomic(prefixes[tile - 1]).load(cuda::memory_order_acquire)) == 0) {
  }
  DeviceAtomic(prefixes[tile]).store(before + tile + 1, cuda::memory_order_release);
}

template <Fault fault>
__global__ void past_the_end_kernel(unsigned words) {
  auto* const shared = static_cast<unsigned*>(emulated_dynamic_shared_memory());
  for (unsigned i = threadIdx.x; fault == Fault::none ? i < words : i <= words; i += blockDim.x)
    shared[i] = i;
}

__global__ void before_the_start_kernel() {
  if (threadIdx.x == 0) *(static_cast<unsigned char*>(emulated_dynamic_shared_memory()) - 1) = 0;
}

template <Fault fault>
__global__ void divergent_shuffle_kernel(unsigned* out) {
  unsigned value = threadIdx.x;
  if (fault == Fault::none || threadIdx.x < 31) value = __shfl_xor_sync(0xffffffffu, value, 1);
  __syncthreads();
  out[threadIdx.x] = value;
}

__global__ void wrong_mask_kernel(unsigned* out) {
  out[threadIdx.x] = __ballot_sync(threadIdx.x < 16 ? 0xffffffffu : 0xffff0000u, 1);
}

__global__ void not_in_mask_kernel() { __syncwarp(0x0000ffffu); }

__global__ void other_barrier_kernel() {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads_or(1);
}

__global__ void skipped_barrier_kernel() {
  if (threadIdx.x < 32) __syncthreads();
  for (;;) __syncwarp();
}

__global__ void shuffle_from_nowhere_kernel(unsigned* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0x0000ffffu, threadIdx.x, 20);
}

constexpr unsigned chain_tiles = 24;

std::string chain_complaint(void (*kernel)(unsigned*, unsigned*)) {
  unsigned tickets = 0;
  std::vector<unsigned> prefixes(chain_tiles);
  const std::string text = complaint<simt::Deadlock>(
      [&] { launch(kernel, {.blocks = chain_tiles, .threads = 32}, nullptr, &tickets, prefixes.data()); });
  for (unsigned tile = 0; text.empty() && tile < chain_tiles; ++tile)
    REQUIRE(prefixes[tile] == (tile + 1) * (tile + 2) / 2);
  return text;
}

/// Runs `act` in a child process. Returns its exit status and what it says on stderr. AddressSanitizer ends
/// the process.
template <class Act>
std::pair<int, std::string> in_child(Act&& act) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    const std::string text = complaint<simt::Fault>(act);
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    _exit(text.empty() ? 0 : written > 0 ? 1 : 2);
  }
  REQUIRE(child > 0);
  close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof(buffer))) > 0;)
    said.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return {status, said};
}

}  // namespace

TEST_CASE("a missing __syncthreads is found by most schedules") {
  const auto wrong = [](auto kernel) {
    std::vector<unsigned> out(128);
    launch(kernel, {.blocks = 1, .threads = 128, .shared_bytes = 512}, nullptr, out.data());
    return std::ranges::find_if(out, [&](const unsigned& v) { return v != 127 - (&v - out.data()); }) !=
           out.end();
  };
  REQUIRE(schedules_that_find(40, [&](auto&) { return wrong(reverse_kernel<Fault::none>); }) == 0);
  REQUIRE(schedules_that_find(40, [&](auto&) { return wrong(reverse_kernel<Fault::planted>); }) >= 30);
}

TEST_CASE("a missing barrier between reading and the next round's writing is found") {
  const auto wrong = [](auto kernel) {
    std::vector<unsigned> out(128);
    launch(kernel, {.blocks = 1, .threads = 128, .shared_bytes = 512}, nullptr, out.data());
    return std::ranges::find_if(out, [&](const unsigned& v) { return v != (&v - out.data() + 3) % 128; }) !=
           out.end();
  };
  REQUIRE(schedules_that_find(40, [&](auto&) { return wrong(rounds_kernel<Fault::none>); }) == 0);
  REQUIRE(schedules_that_find(40, [&](auto&) { return wrong(rounds_kernel<Fault::planted>); }) >= 20);
}

TEST_CASE("a missing __syncwarp is found") {
  const auto wrong = [](auto kernel) {
    std::vector<unsigned> out(32);
    launch(kernel, {.blocks = 1, .threads = 32, .shared_bytes = 128}, nullptr, out.data());
    return std::ranges::find_if(out, [&](const unsigned& v) { return v != ((&v - out.data()) ^ 1); }) !=
           out.end();
  };
  REQUIRE(schedules_that_find(40, [&](auto&) { return wrong(warp_step_kernel<Fault::none>); }) == 0);
  REQUIRE(schedules_that_find(40, [&](auto&) { return wrong(warp_step_kernel<Fault::planted>); }) >= 20);
}

TEST_CASE("a flag that is stored before its data is found") {
  const auto wrong = [](auto kernel) {
    unsigned tickets = 0;
    unsigned data = 0;
    unsigned flag = 0;
    unsigned missed = 0;
    launch(kernel, {.blocks = 8, .threads = 32}, nullptr, &tickets, &data, &flag, &missed);
    return missed != 0;
  };
  REQUIRE(schedules_that_find(200, [&](auto&) { return wrong(publish_kernel<Fault::none>); }) == 0);
  REQUIRE(schedules_that_find(200, [&](auto&) { return wrong(publish_kernel<Fault::planted>); }) >= 5);
}

TEST_CASE("a missing barrier of the grid is found") {
  constexpr unsigned blocks = 6;
  const auto wrong = [](auto kernel, simt::Session& session) {
    session.multiprocessors = blocks;
    std::vector<unsigned> cells(blocks);
    std::vector<unsigned> out(2 * blocks * 64);
    launch_cooperative(kernel, {.blocks = blocks, .threads = 64}, nullptr, cells.data(), out.data());
    for (unsigned i = 0; i < out.size(); ++i)
      if (out[i] != (i / 64 + 1) % blocks + i / 64 / blocks * 100) return true;
    return false;
  };
  REQUIRE(schedules_that_find(40, [&](auto& s) { return wrong(neighbours_kernel<Fault::none>, s); }) == 0);
  REQUIRE(schedules_that_find(40, [&](auto& s) { return wrong(neighbours_kernel<Fault::planted>, s); }) >=
          20);
}

TEST_CASE("a grid barrier wants a cooperative launch that the device holds at once") {
  simt::Session session{.multiprocessors = 6, .blocks_per_multiprocessor = 1};
  std::vector<unsigned> cells(7);
  std::vector<unsigned> out(2 * 7 * 32);
  const auto start = [&](auto launch, unsigned blocks) {
    launch(neighbours_kernel<Fault::none>, LaunchShape{.blocks = blocks, .threads = 32}, nullptr,
           cells.data(), out.data());
  };
  const auto plain = [](auto... arguments) { launch(arguments...); };
  const auto cooperative = [](auto... arguments) { launch_cooperative(arguments...); };
  REQUIRE(contains(complaint<simt::Fault>([&] { start(plain, 6); }), "not cooperative"));
  REQUIRE_NOTHROW(start(cooperative, 6));
  REQUIRE_THROWS_AS(start(cooperative, 7), CudaError);
}

TEST_CASE(
    "a cluster barrier wants a launch that is one cluster, of as many blocks as the device lets it have") {
  simt::Session session{.multiprocessors = 6, .blocks_per_multiprocessor = 1};
  const auto start = [](auto launch, auto kernel, unsigned blocks) {
    launch(kernel, LaunchShape{.blocks = blocks, .threads = 32}, nullptr);
  };
  const auto cooperative = [](auto... arguments) { launch_cooperative(arguments...); };
  const auto cluster = [](auto... arguments) { launch_in_cluster(arguments...); };
  REQUIRE(contains(complaint<simt::Fault>([&] { start(cooperative, cluster_barrier_kernel, 6); }),
                   "not a cluster"));
  REQUIRE(
      contains(complaint<simt::Fault>([&] { start(cluster, arrive_twice_kernel, 6); }), "not cooperative"));
  REQUIRE(
      contains(complaint<simt::Fault>([&] { start(cluster, mixed_barrier_kernel, 6); }), "not cooperative"));
  REQUIRE_NOTHROW(start(cluster, cluster_barrier_kernel, 6));
  REQUIRE_THROWS_AS(start(cluster, cluster_barrier_kernel, 7), CudaError);
  session.compute_capability = 80;
  REQUIRE_THROWS_AS(start(cluster, cluster_barrier_kernel, 6), CudaError);
}

TEST_CASE("a thread that does not wait for the previous launch is a fault, if its own may overlap that") {
  simt::Session session{.multiprocessors = 6};
  constexpr LaunchShape shape{.blocks = 2, .threads = 64};
  const auto chained = [&](auto kernel) { launch_chained(kernel, shape, nullptr); };
  const auto is_found = [](auto&& act) {
    return contains(complaint<simt::Fault>(act), "has not waited for the previous launch");
  };
  REQUIRE_NOTHROW(chained(chained_kernel<Fault::none>));
  REQUIRE(is_found([&] { chained(chained_kernel<Fault::planted>); }));
  REQUIRE(is_found([&] { launch_in_cluster(chained_kernel<Fault::planted>, shape, nullptr); }));
  // In the next launch, nobody has waited yet.
  REQUIRE_NOTHROW(chained(chained_kernel<Fault::none>));
  REQUIRE(is_found([&] { chained(chained_kernel<Fault::planted>); }));
  REQUIRE_NOTHROW(launch(chained_kernel<Fault::planted>, shape, nullptr));
  session.compute_capability = 80;
  REQUIRE_NOTHROW(chained(chained_kernel<Fault::planted>));
}

TEST_CASE("a cluster of more than eight blocks wants a kernel that says so") {
  simt::Session session{.multiprocessors = 16};
  cudaLaunchAttribute attribute{.id = cudaLaunchAttributeClusterDimension, .val = {.clusterDim = {9, 1, 1}}};
  const cudaLaunchConfig_t config{.gridDim = dim3(9),
                                  .blockDim = dim3(32),
                                  .dynamicSmemBytes = 0,
                                  .stream = nullptr,
                                  .attrs = &attribute,
                                  .numAttrs = 1};
  REQUIRE(cudaLaunchKernelEx(&config, large_cluster_kernel) == cudaErrorInvalidClusterSize);
  REQUIRE_NOTHROW(launch_in_cluster(large_cluster_kernel, {.blocks = 9, .threads = 32}, nullptr));
}

TEST_CASE("a block that comes to a grid barrier twice is a fault, one that never comes a deadlock") {
  simt::Session session{.multiprocessors = 6};
  REQUIRE(contains(complaint<simt::Fault>([] {
                     launch_cooperative(arrive_twice_kernel, {.blocks = 3, .threads = 32}, nullptr);
                   }),
                   "before it has waited"));
  const std::string text = complaint<simt::Deadlock>(
      [] { launch_cooperative(absent_block_kernel, {.blocks = 3, .threads = 32}, nullptr); });
  INFO(text);
  REQUIRE(contains(text, "polls: grid barrier at faults_test.cpp:"));
}

TEST_CASE("an addition that is not atomic is found") {
  const auto wrong = [](auto kernel) {
    unsigned counter = 0;
    launch(kernel, {.blocks = 2, .threads = 64}, nullptr, &counter);
    return counter != 128;
  };
  REQUIRE(schedules_that_find(40, [&](auto&) { return wrong(count_kernel<Fault::none>); }) == 0);
  REQUIRE(schedules_that_find(40, [&](auto&) { return wrong(count_kernel<Fault::planted>); }) >= 20);
}

TEST_CASE("a chain by tickets passes in 1000 schedules") {
  REQUIRE(schedules_that_find(
              1000, [](auto&) { return !chain_complaint(chain_kernel<Fault::none>).empty(); }) == 0);
}

TEST_CASE("a chain by blockIdx hangs where few blocks are resident, and the report says who polls") {
  std::string text;
  const int found = schedules_that_find(40, [&](simt::Session& session) {
    session.resident_blocks = 3;
    const std::string complaint = chain_complaint(chain_kernel<Fault::planted>);
    if (!complaint.empty()) text = complaint;
    return !complaint.empty();
  });
  REQUIRE(found >= 36);
  REQUIRE(contains(text, "livelock"));
  REQUIRE(contains(text, "polls: atomic_ref::load at faults_test.cpp:"));
  REQUIRE(contains(text, "blocks have not started"));
  REQUIRE(contains(text, "seed "));
}

TEST_CASE("a step budget ends a launch that would take more") {
  simt::Session session{.resident_blocks = 3, .step_budget = 50};
  REQUIRE(contains(chain_complaint(chain_kernel<Fault::none>), "step budget"));
}

TEST_CASE("one element past the end of shared memory is found, by AddressSanitizer or by the guard") {
  // 30 bytes: the guard starts at the next byte, not at the next multiple of something.
  const auto run = [](void (*kernel)(unsigned), size_t bytes) {
    return in_child([=] { launch(kernel, {.blocks = 3, .threads = 4, .shared_bytes = bytes}, nullptr, 7u); });
  };
  REQUIRE(run(past_the_end_kernel<Fault::none>, 28).first == 0);
  for (const size_t bytes : {28u, 30u, 31u}) {
    const auto [status, said] = run(past_the_end_kernel<Fault::planted>, bytes);
    INFO(said);
    REQUIRE(status != 0);
    REQUIRE((contains(said, "bytes past the end") || contains(said, "use-after-poison")));
  }
  const auto [status, said] = in_child(
      [] { launch(before_the_start_kernel, {.blocks = 1, .threads = 32, .shared_bytes = 64}, nullptr); });
  INFO(said);
  REQUIRE(status != 0);
  REQUIRE((contains(said, "1 bytes before the start") || contains(said, "use-after-poison")));
}

TEST_CASE("a shuffle that one lane skips is a deadlock, reported with who waits where") {
  std::vector<unsigned> out(64);
  const auto run = [&](auto kernel) {
    return complaint<simt::Deadlock>(
        [&] { launch(kernel, {.blocks = 1, .threads = 64}, nullptr, out.data()); });
  };
  simt::for_each_seed(20, [&] {
    REQUIRE(run(divergent_shuffle_kernel<Fault::none>).empty());
    const std::string text = run(divergent_shuffle_kernel<Fault::planted>);
    INFO(text);
    REQUIRE(contains(text, "deadlock"));
    REQUIRE(contains(text, "block 0 warps 0 lanes 0-30: __shfl_xor_sync at faults_test.cpp:"));
    REQUIRE(contains(text, "mask 0xffffffff"));
    REQUIRE(contains(text, "block 0 warps 0 lanes 31: __syncthreads at faults_test.cpp:"));
    REQUIRE(contains(text, "block 0 warps 1 lanes 0-31: __syncthreads at faults_test.cpp:"));
  });
}

TEST_CASE("lanes that name each other with different masks are found") {
  std::vector<unsigned> out(32);
  const auto run = [&] { launch(wrong_mask_kernel, {.blocks = 1, .threads = 32}, nullptr, out.data()); };
  simt::for_each_seed(20, [&] { REQUIRE(!complaint<simt::Deadlock>(run).empty()); });
}

TEST_CASE("a mask that names lanes which do not exist is found") {
  std::vector<unsigned> out(31);
  const auto run = [&] {
    launch(divergent_shuffle_kernel<Fault::none>, {.blocks = 1, .threads = 31}, nullptr, out.data());
  };
  REQUIRE(contains(complaint<simt::Deadlock>(run), "lanes that have exited or never were"));
}

TEST_CASE("a lane that its own mask leaves out is a fault") {
  const auto run = [] { launch(not_in_mask_kernel, {.blocks = 1, .threads = 32}, nullptr); };
  REQUIRE(contains(complaint<simt::Fault>(run), "a lane that its mask leaves out"));
}

TEST_CASE("threads of a block at different kinds of barrier are a fault") {
  const auto run = [] { launch(other_barrier_kernel, {.blocks = 1, .threads = 64}, nullptr); };
  REQUIRE(contains(complaint<simt::Fault>(run), "while others of the block wait at __syncthreads"));
}

TEST_CASE(
    "a barrier that half of a block never reaches ends with the step budget, and the report names the "
    "waiting half") {
  simt::Session session{.step_budget = 100'000};
  const auto run = [] { launch(skipped_barrier_kernel, {.blocks = 1, .threads = 64}, nullptr); };
  const std::string text = complaint<simt::Deadlock>(run);
  INFO(text);
  REQUIRE(contains(text, "step budget"));
  REQUIRE(contains(text, "warps 0 lanes 0-31: __syncthreads at"));
}

TEST_CASE("a shuffle from a lane outside the mask brings noise") {
  std::vector<unsigned> first(16);
  std::vector<unsigned> second(16);
  simt::Session session;
  launch(shuffle_from_nowhere_kernel, {.blocks = 1, .threads = 32}, nullptr, first.data());
  launch(shuffle_from_nowhere_kernel, {.blocks = 1, .threads = 32}, nullptr, second.data());
  REQUIRE(first != second);
}

TEST_CASE("a failure inside a session's scope prints the seed that replays it") {
  const auto [status, said] = in_child([] {
    simt::Session session{.seed = 4711};
    launch(not_in_mask_kernel, {.blocks = 1, .threads = 32}, nullptr);
  });
  REQUIRE(status != 0);
  REQUIRE(contains(said, "SWEEPSORT_SEED=4711"));
}

TEST_CASE("a device has as much memory as its session says, and takes back only what it gave") {
  simt::Session session{.memory_bytes = 1 << 20};
  void* some = nullptr;
  void* more = nullptr;
  size_t free = 0;
  size_t total = 0;
  REQUIRE(cudaMalloc(&some, 600'000) == cudaSuccess);
  CHECK(cudaMalloc(&more, 600'000) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaMemGetInfo(&free, &total) == cudaSuccess);
  CHECK(free == total - 600'000);
  CHECK(cudaFree(some) == cudaSuccess);
  CHECK(cudaFree(some) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaMalloc(&more, 600'000) == cudaSuccess);
  CHECK(cudaFree(more) == cudaSuccess);
}

TEST_CASE("a collective outside a kernel is a fault") {
  REQUIRE(contains(complaint<simt::Fault>([] { __syncthreads(); }), "outside a kernel"));
}
