// intrinsics_test.cpp - checks bit operations, atomics and the runtime's calls against their definitions.
#include "emulated.hpp"

#include <cuda/atomic>
#include <numeric>
#include <type_traits>

using namespace sweepsort;

namespace {

template <class T>
using DeviceAtomic = cuda::atomic_ref<T, cuda::thread_scope_device>;

template <class T>
__global__ void add_all_kernel(T* functions, T* references) {
  atomicAdd(&functions[0], static_cast<T>(threadIdx.x));
  atomicSub(&functions[1], T{2});
  atomicMin(&functions[2], static_cast<T>(threadIdx.x + 5));
  atomicMax(&functions[3], static_cast<T>(threadIdx.x));
  atomicOr(&functions[4], static_cast<T>(1u << threadIdx.x % 16));
  atomicAnd(&functions[5], static_cast<T>(~(T{1} << threadIdx.x % 16)));
  atomicXor(&functions[6], static_cast<T>(threadIdx.x));
  DeviceAtomic<T>(references[0]).fetch_add(static_cast<T>(threadIdx.x), cuda::memory_order_relaxed);
  DeviceAtomic<T>(references[1]).fetch_sub(T{2}, cuda::std::memory_order_acq_rel);
  DeviceAtomic<T>(references[2]).fetch_min(static_cast<T>(threadIdx.x + 5));
  DeviceAtomic<T>(references[3]).fetch_max(static_cast<T>(threadIdx.x));
  DeviceAtomic<T>(references[4]).fetch_or(static_cast<T>(1u << threadIdx.x % 16));
  DeviceAtomic<T>(references[5]).fetch_and(static_cast<T>(~(T{1} << threadIdx.x % 16)));
  DeviceAtomic<T>(references[6]).fetch_xor(static_cast<T>(threadIdx.x));
}

template <class T>
void check_atomics() {
  simt::for_each_seed(10, [] {
    constexpr uint32_t threads = 96;
    constexpr uint32_t blocks = 3;
    const std::vector<T> before{0, T{1000}, T{500}, 0, 0, static_cast<T>(~T{0}), 0};
    std::vector<T> functions = before;
    std::vector<T> references = before;
    launch(add_all_kernel<T>, {.blocks = blocks, .threads = threads}, nullptr, functions.data(),
           references.data());
    // With an odd number of blocks, one xor of 0 to 95 remains, which is 0 in each group of four.
    const std::vector<T> after{T{blocks * threads * (threads - 1) / 2},
                               T{1000 - 2 * blocks * threads},
                               5,
                               threads - 1,
                               0xffff,
                               static_cast<T>(~T{0xffff}),
                               0};
    REQUIRE(functions == after);
    REQUIRE(references == after);
  });
}

/// A spin lock around a plain counter. `way`: which of the three ways to take the lock.
__global__ void locked_count_kernel(unsigned* lock, uint64_t* counter, int way) {
  DeviceAtomic<unsigned> flag(*lock);
  for (;;) {
    unsigned expected = 0;
    const bool taken = way == 0   ? atomicCAS(lock, 0u, 1u) == 0
                       : way == 1 ? flag.compare_exchange_weak(expected, 1u, cuda::memory_order_acquire)
                                  : flag.exchange(1u, cuda::memory_order_acquire) == 0;
    if (taken) break;
    __nanosleep(20);
  }
  const uint64_t seen = *counter;
  __threadfence();
  *counter = seen + 1;
  flag.store(0, cuda::memory_order_release);
}

__global__ void tickets_kernel(unsigned* tickets, unsigned* drawn) {
  drawn[atomicAdd(tickets, 1u)] += 1;
  DeviceAtomic<unsigned>(tickets[0]).load(cuda::memory_order_relaxed);
}

__global__ void impossible_order_kernel(unsigned* word) {
  DeviceAtomic<unsigned>(*word).load(cuda::memory_order_release);
}

__global__ void misaligned_kernel(const unsigned char* bytes, uint4* out) {
  *out = __ldcs(reinterpret_cast<const uint4*>(bytes + 4));
}

__global__ void parameters_kernel(uint64_t wide, unsigned char narrow, uint64_t* out) {
  wide += narrow;  // a copy: the next thread must not see it
  atomicAdd(out, wide);
}

__global__ void place_kernel(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  __syncthreads();
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] +=
      threadIdx.z * 100 + threadIdx.y * 10 + threadIdx.x;
}

__global__ void nothing_kernel() {}

cudaLaunchConfig_t shape_of(dim3 grid, dim3 block, size_t shared_bytes) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  return config;
}

}  // namespace

TEST_CASE("bit operations agree with CUDA's definitions") {
  REQUIRE(__popc(0xf0f0u) == 8);
  REQUIRE(__popcll(~0ull) == 64);
  REQUIRE(__clz(0) == 32);
  REQUIRE(__clz(1) == 31);
  REQUIRE(__clzll(-1) == 0);
  REQUIRE(__ffs(0) == 0);
  REQUIRE(__ffs(8) == 4);
  REQUIRE(__ffsll(1ll << 40) == 41);
  REQUIRE(__brev(1u) == 0x80000000u);
  REQUIRE(__brev(0x12345678u) == 0x1e6a2c48u);
  REQUIRE(__byte_perm(0x33221100u, 0x77665544u, 0x7520u) == 0x77552200u);
  REQUIRE(__byte_perm(0x00008000u, 0u, 0x9999u) == 0xffffffffu);
  REQUIRE(__funnelshift_l(0x80000001u, 0x1u, 1) == 0x3u);
  REQUIRE(__funnelshift_r(0x80000001u, 0x1u, 1) == 0xc0000000u);
  REQUIRE(__funnelshift_l(5u, 7u, 32) == 7u);
  REQUIRE(__funnelshift_lc(0x80000001u, 0x1u, 1) == 0x3u);
  REQUIRE(__funnelshift_lc(5u, 7u, 32) == 5u);
  REQUIRE(__funnelshift_lc(5u, 7u, ~0u) == 5u);
  REQUIRE(__umulhi(0x80000000u, 6u) == 3u);
  REQUIRE(__umul64hi(1ull << 63, 6) == 3);
}

TEST_CASE("vector types are aligned as on the device") {
  STATIC_REQUIRE(alignof(uint2) == 8);
  STATIC_REQUIRE(alignof(uint4) == 16);
  STATIC_REQUIRE(alignof(ulonglong2) == 16);
  STATIC_REQUIRE(sizeof(uint3) == 12);
}

TEST_CASE("no atomic operation is lost") {
  check_atomics<int>();
  check_atomics<unsigned>();
  check_atomics<unsigned long>();
  check_atomics<unsigned long long>();
}

TEST_CASE("a spin lock excludes, whichever way it is taken") {
  const int way = GENERATE(0, 1, 2);
  simt::for_each_seed(20, [=] {
    unsigned lock = 0;
    uint64_t counter = 0;
    launch(locked_count_kernel, {.blocks = 4, .threads = 40}, nullptr, &lock, &counter, way);
    REQUIRE(counter == 160);
  });
}

TEST_CASE("every ticket is drawn once") {
  simt::for_each_seed(20, [] {
    unsigned tickets = 0;
    std::vector<unsigned> drawn(320);
    launch(tickets_kernel, {.blocks = 10, .threads = 32}, nullptr, &tickets, drawn.data());
    REQUIRE(drawn == std::vector<unsigned>(320, 1));
  });
}

TEST_CASE("a load that releases and a misaligned vector load are faults") {
  unsigned word = 0;
  const auto release = [&] { launch(impossible_order_kernel, {.blocks = 1, .threads = 1}, nullptr, &word); };
  REQUIRE(contains(complaint<simt::Fault>(release), "a load cannot release at "));
  alignas(16) const unsigned char bytes[32] = {};
  uint4 out{};
  const auto misaligned = [&] {
    launch(misaligned_kernel, {.blocks = 1, .threads = 1}, nullptr, bytes, &out);
  };
  REQUIRE(contains(complaint<simt::Fault>(misaligned), "misaligned address"));
}

TEST_CASE("a launch converts its arguments and gives every thread copies") {
  uint64_t out = 0;
  launch(parameters_kernel, {.blocks = 2, .threads = 3}, nullptr, 1, 258, &out);
  REQUIRE(out == 6 * (1 + 2));
}

TEST_CASE("indices in three dimensions name every thread once") {
  std::vector<unsigned> out(2 * 3 * 4 * 5 * 4 * 3);
  const cudaLaunchConfig_t config = shape_of(dim3(2, 3, 4), dim3(5, 4, 3), 0);
  REQUIRE(cudaLaunchKernelEx(&config, place_kernel, out.data()) == cudaSuccess);
  for (unsigned t = 0; t < out.size(); ++t) REQUIRE(out[t] == t % 60 / 20 * 100 + t % 20 / 5 * 10 + t % 5);
}

TEST_CASE("impossible launches are refused with CUDA's codes") {
  const auto code = [](dim3 grid, dim3 block, size_t shared_bytes) {
    const cudaLaunchConfig_t config = shape_of(grid, block, shared_bytes);
    return cudaLaunchKernelEx(&config, nothing_kernel);
  };
  REQUIRE(code(1, 1024, 48 * 1024) == cudaSuccess);
  REQUIRE(code(0, 32, 0) == cudaErrorInvalidConfiguration);
  REQUIRE(code(1, 0, 0) == cudaErrorInvalidConfiguration);
  REQUIRE(code(1, 1025, 0) == cudaErrorInvalidConfiguration);
  REQUIRE(code(1, dim3(32, 32, 2), 0) == cudaErrorInvalidConfiguration);
  REQUIRE(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
  REQUIRE(cudaGetLastError() == cudaErrorInvalidConfiguration);
  REQUIRE(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("more shared memory than 48 KiB must be asked for, and ends at 227 KiB") {
  const auto code = [](size_t shared_bytes) {
    const cudaLaunchConfig_t config = shape_of(1, 32, shared_bytes);
    return cudaLaunchKernelEx(&config, impossible_order_kernel, nullptr);
  };
  REQUIRE(code(48 * 1024 + 1) == cudaErrorInvalidValue);
  const auto attribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
  REQUIRE(cudaFuncSetAttribute(nothing_kernel, attribute, 227 * 1024 + 1) == cudaErrorInvalidValue);
  REQUIRE(cudaFuncSetAttribute(nothing_kernel, attribute, 227 * 1024) == cudaSuccess);
  const cudaLaunchConfig_t config = shape_of(1, 32, 227 * 1024);
  REQUIRE(cudaLaunchKernelEx(&config, nothing_kernel) == cudaSuccess);
  (void)cudaGetLastError();
}

TEST_CASE("occupancy and multiprocessors follow the session") {
  simt::Session session{.multiprocessors = 3, .blocks_per_multiprocessor = 4};
  REQUIRE(resident_blocks(nothing_kernel, 256, 0) == 12);
  REQUIRE(resident_blocks(nothing_kernel, 1024, 0) == 6);
  REQUIRE(resident_blocks(nothing_kernel, 32, 100 * 1024) == 6);
}
