// async_copies_test.cpp - planted faults of asynchronous copies, each of which must be found, beside the same
// kernel without it.
#include "emulated.hpp"
#include "kernels/ptx.cuh"

#include <algorithm>
#include <cuda/atomic>

using namespace sweepsort;

namespace {

constexpr unsigned threads = 64;

/// Where a kernel waits for its copies: where it must, behind what needs them, or nowhere.
enum class Wait { right, late, missing };

/// Every thread stores 16 bytes and then uses their shared memory for something else.
template <Wait wait, bool commits = true>
__global__ void store_kernel(uint4* out) {
  uint4& mine = shared_memory<uint4[threads]>()[threadIdx.x];
  mine = {threadIdx.x, 1, 2, 3};
  ptx::bulk_store(out + threadIdx.x, &mine, sizeof(mine));
  if (commits) ptx::bulk_stores_commit();
  if (wait == Wait::right) ptx::bulk_stores_have_read();
  mine = {};
  if (wait == Wait::late) ptx::bulk_stores_have_read();
}

/// The first block to arrive stores; the other reads that when it is told that this was done, while the first
/// one waits. The fault: what was stored is not there yet.
__global__ void store_and_tell_kernel(unsigned* tickets, unsigned* told, uint4* out, unsigned* missed) {
  const auto tell_and_wait = [&](unsigned all) {
    atomicAdd(told, 1u);
    while (cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*told).load(cuda::memory_order_acquire) <
           all) {
    }
  };
  auto& shared = shared_memory<uint4[threads + 1]>();
  uint4& mine = shared[threadIdx.x];
  if (threadIdx.x == 0) shared[threads].x = atomicAdd(tickets, 1u);
  __syncthreads();
  if (shared[threads].x == 0) {
    mine = {1, 1, 1, 1};
    ptx::bulk_store(out + threadIdx.x, &mine, sizeof(mine));
    ptx::bulk_stores_commit();
    ptx::bulk_stores_have_read();
    tell_and_wait(3 * threads);
  } else {
    tell_and_wait(2 * threads);
    if (out[threadIdx.x].x != 1) *missed = 1;
    atomicAdd(told, 1u);
  }
}

template <Wait wait>
__global__ void load_kernel(const uint4* in, uint4* out) {
  uint4& mine = shared_memory<uint4[threads]>()[threadIdx.x];
  ptx::load_async(&mine, in + threadIdx.x);
  if (wait == Wait::right) ptx::loads_async_have_arrived();
  out[threadIdx.x] = mine;
  if (wait == Wait::late) ptx::loads_async_have_arrived();
}

/// The fault: a lane reads what its neighbour has loaded, but only waits for its own load.
template <Wait wait>
__global__ void load_for_neighbour_kernel(const uint4* in, uint4* out) {
  auto& shared = shared_memory<uint4[threads]>();
  ptx::load_async(&shared[threadIdx.x], in + threadIdx.x);
  ptx::loads_async_have_arrived();
  if (wait == Wait::right) __syncwarp();
  out[threadIdx.x ^ 1] = shared[threadIdx.x ^ 1];
}

/// One thread of each block loads for all.
template <Wait wait>
__global__ void bulk_load_kernel(const uint4* in, uint4* out) {
  struct Shared {
    uint4 loaded[threads];
    ptx::SharedBarrier barrier;
  };
  auto& shared = shared_memory<Shared>();
  if (threadIdx.x == 0) {
    ptx::barrier_init(&shared.barrier, 1);
    ptx::barriers_visible();
  }
  __syncthreads();
  if (threadIdx.x == 0) ptx::bulk_load_and_arrive(shared.loaded, in, sizeof(shared.loaded), &shared.barrier);
  if (wait == Wait::right)
    ptx::barrier_wait(&shared.barrier, 0);
  else
    __syncthreads();
  out[blockIdx.x * threads + threadIdx.x] = shared.loaded[threadIdx.x];
  if (wait == Wait::late) ptx::barrier_wait(&shared.barrier, 0);
}

__global__ void misaligned_kernel(uint4* out) {
  ptx::bulk_store(out, &shared_memory<unsigned[threads]>()[1], 16);
}

/// Its first block fails while copies of the others are on their way.
__global__ void failing_kernel(const uint4* in, uint4* out) {
  auto& shared = shared_memory<uint4[2 * threads]>();
  ptx::load_async(&shared[threadIdx.x], in + threadIdx.x);
  ptx::bulk_store(out + threadIdx.x, &shared[threads + threadIdx.x], 16);
  ptx::bulk_stores_commit();
  __syncthreads();
  if (blockIdx.x == 0) __syncwarp(0);
  ptx::loads_async_have_arrived();
  ptx::bulk_stores_have_read();
}

constexpr LaunchShape one_block{.blocks = 1, .threads = threads, .shared_bytes = 2 * threads * sizeof(uint4)};

std::vector<uint4> numbers() {
  std::vector<uint4> in(threads);
  for (unsigned i = 0; i < threads; ++i) in[i] = {i, 1, 2, 3};
  return in;
}

bool are_numbers(const std::vector<uint4>& out) {
  for (unsigned i = 0; i < out.size(); ++i)
    if (out[i].x != i % threads || out[i].y != 1 || out[i].z != 2 || out[i].w != 3) return false;
  return true;
}

bool stores_wrong(void (*kernel)(uint4*)) {
  std::vector<uint4> out(threads);
  launch(kernel, one_block, nullptr, out.data());
  return !are_numbers(out);
}

bool loads_wrong(void (*kernel)(const uint4*, uint4*), unsigned blocks = 1) {
  const std::vector<uint4> in = numbers();
  std::vector<uint4> out(blocks * threads);
  LaunchShape shape = one_block;
  shape.blocks = blocks;
  launch(kernel, shape, nullptr, in.data(), out.data());
  return !are_numbers(out);
}

/// How many of 40 schedules find a fault with this text.
template <class Act>
int complaints(const std::string& text, Act&& act) {
  return schedules_that_find(40, [&](auto&) { return contains(complaint<simt::Fault>(act), text); });
}

}  // namespace

TEST_CASE("a bulk store whose shared memory is used too early is found") {
  CHECK(schedules_that_find(40, [](auto&) { return stores_wrong(store_kernel<Wait::right>); }) == 0);
  CHECK(schedules_that_find(40, [](auto&) { return stores_wrong(store_kernel<Wait::late>); }) == 40);
}

TEST_CASE("a thread that ends before its bulk stores have read is a fault, in every schedule") {
  CHECK(complaints("before its bulk stores have read", [] { stores_wrong(store_kernel<Wait::missing>); }) ==
        40);
  CHECK(complaints("did not commit", [] { stores_wrong(store_kernel<Wait::right, false>); }) == 40);
}

TEST_CASE("what a bulk store has read is written when its launch is over, not always before") {
  const int found = schedules_that_find(40, [](simt::Session& session) {
    session.resident_blocks = 2;
    unsigned tickets = 0;
    unsigned told = 0;
    unsigned missed = 0;
    std::vector<uint4> out(threads);
    LaunchShape shape = one_block;
    shape.blocks = 2;
    launch(store_and_tell_kernel, shape, nullptr, &tickets, &told, out.data(), &missed);
    REQUIRE(std::ranges::all_of(out, [](const uint4& each) { return each.x == 1 && each.w == 1; }));
    return missed != 0;
  });
  CHECK(found == 40);
}

TEST_CASE("a missing or late wait for an asynchronous load is found") {
  CHECK(schedules_that_find(40, [](auto&) { return loads_wrong(load_kernel<Wait::right>); }) == 0);
  CHECK(schedules_that_find(40, [](auto&) { return loads_wrong(load_kernel<Wait::late>); }) == 40);
  CHECK(complaints("before its asynchronous loads", [] { loads_wrong(load_kernel<Wait::missing>); }) == 40);
}

TEST_CASE("a wait for an asynchronous load is the thread's own") {
  CHECK(schedules_that_find(40, [](auto&) { return loads_wrong(load_for_neighbour_kernel<Wait::right>); }) ==
        0);
  CHECK(schedules_that_find(
            40, [](auto&) { return loads_wrong(load_for_neighbour_kernel<Wait::missing>); }) >= 20);
}

TEST_CASE("a missing or late wait for a bulk load is found") {
  constexpr unsigned blocks = 8;
  CHECK(schedules_that_find(40, [](auto&) { return loads_wrong(bulk_load_kernel<Wait::right>, blocks); }) ==
        0);
  CHECK(schedules_that_find(40, [](auto&) { return loads_wrong(bulk_load_kernel<Wait::late>, blocks); }) >=
        30);
  CHECK(complaints("before a bulk load has arrived",
                   [] { loads_wrong(bulk_load_kernel<Wait::missing>, blocks); }) >= 30);
}

TEST_CASE("an asynchronous copy that is not aligned to 16 bytes is a fault, and so is one outside a kernel") {
  std::vector<uint4> out(1);
  CHECK(contains(complaint<simt::Fault>([&] { launch(misaligned_kernel, one_block, nullptr, out.data()); }),
                 "multiples of 16 bytes"));
  CHECK(
      contains(complaint<simt::Fault>([&] { ptx::load_async(out.data(), out.data()); }), "outside a kernel"));
}

TEST_CASE("copies of a launch that failed never happen") {
  simt::for_each_seed(20, [] {
    const std::vector<uint4> in = numbers();
    std::vector<uint4> out(threads);
    LaunchShape shape = one_block;
    shape.blocks = 3;
    const auto run = [&] { launch(failing_kernel, shape, nullptr, in.data(), out.data()); };
    REQUIRE(contains(complaint<simt::Fault>(run), "a lane that its mask leaves out"));
    const std::vector<uint4> left = out;
    REQUIRE_FALSE(stores_wrong(store_kernel<Wait::right>));
    REQUIRE_FALSE(loads_wrong(load_kernel<Wait::right>));
    REQUIRE(std::memcmp(left.data(), out.data(), threads * sizeof(uint4)) == 0);
  });
}
