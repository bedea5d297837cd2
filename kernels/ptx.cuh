// ptx.cuh - everything that CUDA C++ cannot express, or that the emulator must be told: each piece with its
// portable twin.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <cuda/atomic>
#if defined(__CUDACC__)
#include <cooperative_groups.h>
#endif

// Bulk copies, barriers that count bytes, and overlapping launches came with compute capability 9.0. Code for
// older devices has nothing in their place: the host does not start it (device_abilities.cuh).
#if defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ >= 900
#define SWEEPSORT_PTX_90
#else
#define SWEEPSORT_PTX_BEFORE_90
#endif
#endif

namespace sweepsort::ptx {

/// True in code for compute capabilities below 9.0. Kernels that are not started there test it, and then
/// compile to nothing.
__device__ __forceinline__ constexpr bool is_before_90() {
#if defined(SWEEPSORT_PTX_BEFORE_90)
  return true;
#else
  return false;
#endif
}

/// Number of this thread inside its warp.
__device__ __forceinline__ uint32_t lane_id() {
#if defined(__CUDA_ARCH__)
  uint32_t lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
#else
  return threadIdx.x % 32;
#endif
}

/// One bit for every lane below this one.
__device__ __forceinline__ uint32_t lanes_below() {
#if defined(__CUDA_ARCH__)
  uint32_t mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
#else
  return (1u << lane_id()) - 1;
#endif
}

/// Hides how `address` was computed, so that the compiler does not compute it again for each access near it.
template <class T>
__device__ __forceinline__ T* opaque(T* address) {
#if defined(__CUDA_ARCH__)
  asm("" : "+l"(address));
#endif
  return address;
}

/// Hides the value of `word`, so that the compiler does not evaluate both sides of a branch in advance.
__device__ __forceinline__ uint32_t opaque(uint32_t word) {
#if defined(__CUDA_ARCH__)
  asm("" : "+r"(word));
#endif
  return word;
}

/// Byte (`bits` 8) or half (16) number `which` of `word`, as a signed number.
template <uint32_t bits>
__device__ __forceinline__ int32_t signed_part(uint32_t word, uint32_t which) {
#if defined(__CUDA_ARCH__)
  // The selector says which byte goes where. With 8 added, the byte's sign is replicated instead.
  const uint32_t selector = bits == 8 ? which * 0x1111 + 0x8880 : which * 0x2222 + 0x9910;
  int32_t part;
  asm("prmt.b32 %0, %1, 0, %2;" : "=r"(part) : "r"(word), "r"(selector));
  return part;
#else
  return static_cast<int32_t>(word << (32 - bits * (which + 1))) >> (32 - bits);
#endif
}

/// The sum of `value` over the warp. The whole warp calls it, and every lane gets the result.
__device__ __forceinline__ uint32_t warp_sum(uint32_t value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
#else
  return __reduce_add_sync(0xffffffffu, value);
#endif
}

/// The maximum of `value` over the warp. The whole warp calls it, and every lane gets the result.
__device__ __forceinline__ uint32_t warp_max(uint32_t value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  for (int distance = 16; distance > 0; distance /= 2)
    value = max(value, __shfl_xor_sync(0xffffffffu, value, distance));
  return value;
#else
  return __reduce_max_sync(0xffffffffu, value);
#endif
}

/// The bitwise or of `value` over the warp. The whole warp calls it, and every lane gets the result.
__device__ __forceinline__ uint32_t warp_or(uint32_t value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  for (int distance = 16; distance > 0; distance /= 2) value |= __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
#else
  return __reduce_or_sync(0xffffffffu, value);
#endif
}

/// Adds 1 to `*counter` (shared memory) for each lane that is `present`, and returns the old value. Lanes
/// that add to the same counter are served in lane order. The other lanes get `otherwise`. The whole warp
/// calls it. The hardware does so, but its manual does not promise it: use it only on a device where
/// test_lane_order() found no exception (radix_rank.cuh). It is one predicated instruction. With `present ?
/// atomicAdd : otherwise`, each of a row of atomics has a branch of its own, and waits for the one before it.
__device__ __forceinline__ uint32_t lane_ordered_increment(uint32_t* counter, bool present,
                                                           uint32_t otherwise = 0) {
#if defined(__CUDACC__)
  uint32_t before = otherwise;
  asm volatile(
      "{\n\t.reg .pred present;\n\tsetp.ne.u32 present, %2, 0;\n\t"
      "@present atom.shared.add.u32 %0, [%1], 1;\n\t}"
      : "+r"(before)
      : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(counter))), "r"(static_cast<uint32_t>(present))
      : "memory");
  return before;
#else
  const uint32_t before = emulated_lane_ordered_atomic_add(counter, present ? 1u : 0u, 0xffffffffu);
  return present ? before : otherwise;
#endif
}

/// Waits until the kernel before this one in its stream is done and its writes are visible. Every kernel that
/// launch_chained starts calls it before any access to device memory. It has no effect in others, or in code
/// for devices on which launches do not overlap.
__device__ __forceinline__ void wait_for_previous_launch() {
#if defined(SWEEPSORT_PTX_90)
  asm volatile("griddepcontrol.wait;" ::: "memory");
#elif !defined(__CUDACC__)
  emulated_wait_for_previous_launch();
#endif
}

/// Lets the next kernel in the stream be set up, if launch_chained starts it, once all blocks of this one
/// have called this or ended. The next kernel still waits for the end of this one.
__device__ __forceinline__ void let_next_launch_begin() {
#if defined(SWEEPSORT_PTX_90)
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// A barrier of all threads of a cooperative launch, in two halves. Each half is also a barrier of the block.
/// What was written before grid_arrive() is visible to all after grid_wait(). What is done in between is done
/// while the other blocks arrive. Only the first thread's token means anything.
__device__ __forceinline__ uint32_t grid_arrive() {
#if defined(__CUDACC__)
  const auto arrive = [](const auto& grid) -> uint32_t {
    if constexpr (requires { grid.barrier_arrive(); }) return grid.barrier_arrive();
    // Early toolkits of CUDA 12 have only the whole barrier.
    grid.sync();
    return 0;
  };
  return arrive(cooperative_groups::this_grid());
#else
  return emulated_grid_arrive();
#endif
}

__device__ __forceinline__ void grid_wait(uint32_t token) {
#if defined(__CUDACC__)
  const auto wait = [&](const auto& grid) {
    if constexpr (requires { grid.barrier_arrive(); })
      grid.barrier_wait(static_cast<uint32_t&&>(token));
    else
      __syncthreads();
  };
  wait(cooperative_groups::this_grid());
#else
  emulated_grid_wait(token);
#endif
}

__device__ __forceinline__ void grid_sync() { grid_wait(grid_arrive()); }

/// The same for a launch that is one cluster (launch_in_cluster).
__device__ __forceinline__ uint32_t cluster_arrive() {
#if defined(__CUDACC__)
  __syncthreads();
#if defined(SWEEPSORT_PTX_90)
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
  return 0;
#else
  return emulated_cluster_arrive();
#endif
}

__device__ __forceinline__ void cluster_wait([[maybe_unused]] uint32_t token) {
#if defined(__CUDACC__)
#if defined(SWEEPSORT_PTX_90)
  __syncwarp();  // aligned: all lanes at once
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
  __syncthreads();
#else
  emulated_cluster_wait(token);
#endif
}

/// 16 bytes that will not be read again: the load marks them to be evicted first.
__device__ __forceinline__ uint4 load_streaming(const uint4* at) { return __ldcs(at); }

/// 16 bytes of device memory that threads of several blocks read and write as a unit.
struct alignas(16) Pair {
  uint64_t first;
  uint64_t second;
};

/// Relaxed, at device scope, and indivisible: a reader never sees half of a store.
__device__ __forceinline__ Pair load_relaxed(Pair* at) {
#if defined(__CUDA_ARCH__)
  Pair pair;
  asm volatile("{ .reg .b128 both; ld.relaxed.gpu.global.b128 both, [%2]; mov.b128 {%0, %1}, both; }"
               : "=l"(pair.first), "=l"(pair.second)
               : "l"(__cvta_generic_to_global(at))
               : "memory");
  return pair;
#else
  return cuda::atomic_ref<Pair, cuda::thread_scope_device>(*at).load(cuda::memory_order_relaxed);
#endif
}

__device__ __forceinline__ void store_relaxed(Pair* at, Pair pair) {
#if defined(__CUDA_ARCH__)
  asm volatile("{ .reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.gpu.global.b128 [%0], both; }" ::"l"(
                   __cvta_generic_to_global(at)),
               "l"(pair.first), "l"(pair.second)
               : "memory");
#else
  cuda::atomic_ref<Pair, cuda::thread_scope_device>(*at).store(pair, cuda::memory_order_relaxed);
#endif
}

/// A barrier in shared memory that counts arrivals and the bytes of asynchronous loads (mbarrier). Its phases
/// alternate. To wait for phase k is to wait for parity k & 1, at a time when phase k + 1 cannot be over.
/// What a thread did before it arrived is visible to those that waited.
using SharedBarrier = uint64_t;

#if !defined(__CUDACC__)
/// The word of the portable twin: the phase's parity, the arrivals per phase, and the arrivals still missing.
struct BarrierWord {
  uint16_t parity;
  uint16_t arrivals;
  uint32_t missing;
};
using EmulatedBarrier = cuda::atomic_ref<uint64_t, cuda::thread_scope_block>;
#endif

/// Expects `arrivals` arrivals per phase. One thread calls it, then barriers_visible(), then the block
/// synchronises.
__device__ __forceinline__ void barrier_init(SharedBarrier* barrier, uint32_t arrivals) {
#if defined(SWEEPSORT_PTX_90)
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(barrier))),
               "r"(arrivals)
               : "memory");
#elif !defined(__CUDACC__)
  const BarrierWord word{.parity = 0, .arrivals = static_cast<uint16_t>(arrivals), .missing = arrivals};
  memcpy(barrier, &word, sizeof(word));
#endif
}

/// Makes initialised barriers visible to the asynchronous loads.
__device__ __forceinline__ void barriers_visible() {
#if defined(SWEEPSORT_PTX_90)
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

__device__ __forceinline__ void barrier_arrive(SharedBarrier* barrier) {
#if defined(SWEEPSORT_PTX_90)
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(barrier)))
               : "memory");
#elif !defined(__CUDACC__)
  uint64_t old = EmulatedBarrier(*barrier).load(cuda::memory_order_relaxed);
  uint64_t wanted = 0;
  do {
    BarrierWord word;
    memcpy(&word, &old, sizeof(word));
    if (--word.missing == 0) {
      word.missing = word.arrivals;
      word.parity ^= 1;
    }
    memcpy(&wanted, &word, sizeof(word));
  } while (!EmulatedBarrier(*barrier).compare_exchange_weak(old, wanted, cuda::memory_order_acq_rel));
#endif
}

__device__ __forceinline__ void barrier_wait(SharedBarrier* barrier, uint32_t parity) {
#if defined(SWEEPSORT_PTX_90)
  uint32_t done = 0;
  do {
    asm volatile(
        "{ .reg .pred over; mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2; selp.u32 %0, 1, 0, "
        "over; }"
        : "=r"(done)
        : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(barrier))), "r"(parity)
        : "memory");
  } while (done == 0);
#elif !defined(__CUDACC__)
  const auto is_over = [&] {
    const uint64_t now = EmulatedBarrier(*barrier).load(cuda::memory_order_acquire);
    BarrierWord word;
    memcpy(&word, &now, sizeof(word));
    return word.parity != parity;
  };
  while (!is_over())
    if (emulated_late_bulk_load(barrier)) barrier_arrive(barrier);
#endif
}

/// Starts a copy of `bytes` (a multiple of 16) from device to shared memory, both aligned to 16 bytes, and
/// arrives at `barrier`. The barrier's phase is over only when the bytes are there.
__device__ __forceinline__ void bulk_load_and_arrive(void* shared, const void* global, uint32_t bytes,
                                                     SharedBarrier* barrier) {
#if defined(SWEEPSORT_PTX_90)
  const uint32_t on_barrier = static_cast<uint32_t>(__cvta_generic_to_shared(barrier));
  asm volatile(
      "{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1; }" ::"r"(on_barrier),
      "r"(bytes)
      : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          static_cast<uint32_t>(__cvta_generic_to_shared(shared))),
      "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(on_barrier)
      : "memory");
#elif !defined(__CUDACC__)
  if (emulated_bulk_load(shared, global, bytes, barrier)) barrier_arrive(barrier);
#endif
}

/// Makes this thread's writes to shared memory visible to bulk copies that are started after the next
/// barrier.
__device__ __forceinline__ void shared_writes_visible_to_bulk_copies() {
#if defined(SWEEPSORT_PTX_90)
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// Starts a copy of `bytes` (a multiple of 16) from shared to device memory, both aligned to 16 bytes.
__device__ __forceinline__ void bulk_store(void* global, const void* shared, uint32_t bytes) {
#if defined(SWEEPSORT_PTX_90)
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(global)),
      "r"(static_cast<uint32_t>(__cvta_generic_to_shared(shared))), "r"(bytes)
      : "memory");
#elif !defined(__CUDACC__)
  emulated_bulk_store(global, shared, bytes);
#endif
}
/// The same, but the second-level cache keeps what is written longer than other data, as the bytes behind it
/// will soon be written, too: a line that goes to memory in parts takes longer than a whole one. H200, 256
/// copies of 224 bytes per tile, each behind the one before: 3.17 -> 3.35 TB/s, and 3.43 if the tile was
/// loaded plainly, not streaming; of 256 aligned bytes 3.75 to 3.87.
__device__ __forceinline__ void bulk_store_to_keep(void* global, const void* shared, uint32_t bytes) {
#if defined(SWEEPSORT_PTX_90)
  uint64_t keep;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(keep));
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(
                   __cvta_generic_to_global(global)),
               "r"(static_cast<uint32_t>(__cvta_generic_to_shared(shared))), "r"(bytes), "l"(keep)
               : "memory");
#else
  bulk_store(global, shared, bytes);
#endif
}

/// Prefetches `count` elements of device memory into the second-level cache, except up to 15 bytes at their
/// end.
template <class T>
__device__ __forceinline__ void prefetch([[maybe_unused]] const T* elements,
                                         [[maybe_unused]] uint32_t count) {
#if defined(SWEEPSORT_PTX_90)
  const uintptr_t begin = reinterpret_cast<uintptr_t>(elements) & ~uintptr_t{15};
  const uintptr_t end = reinterpret_cast<uintptr_t>(elements + count) & ~uintptr_t{15};
  if (begin >= end) return;
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(
                   __cvta_generic_to_global(reinterpret_cast<const void*>(begin))),
               "r"(static_cast<uint32_t>(end - begin)));
#endif
}

/// Prefetches the 128 bytes from `line` on, aligned to 128 bytes, into the second-level cache. For pieces of
/// 512 bytes this is cheaper than prefetch(): 2^28 keys in chunks, ms: u32 2.65 -> 2.57, u64 4.60 -> 4.24.
__device__ __forceinline__ void prefetch_line([[maybe_unused]] const void* line) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(line)));
#endif
}

/// Starts a copy of 16 bytes from device to shared memory, both aligned to 16 bytes.
__device__ __forceinline__ void load_async(void* shared, const void* global) {
#if defined(SWEEPSORT_PTX_90)
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(shared))),
               "l"(__cvta_generic_to_global(global))
               : "memory");
#elif !defined(__CUDACC__)
  emulated_load_async(shared, global);
#endif
}

/// Waits for all load_async() of this thread.
__device__ __forceinline__ void loads_async_have_arrived() {
#if defined(SWEEPSORT_PTX_90)
  asm volatile("cp.async.wait_all;" ::: "memory");
#elif !defined(__CUDACC__)
  emulated_loads_async_have_arrived();
#endif
}

/// Ends this thread's group of bulk stores.
__device__ __forceinline__ void bulk_stores_commit() {
#if defined(SWEEPSORT_PTX_90)
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#elif !defined(__CUDACC__)
  emulated_bulk_stores_commit();
#endif
}

/// Waits until this thread's bulk stores have read their shared memory, which may then be overwritten.
__device__ __forceinline__ void bulk_stores_have_read() {
#if defined(SWEEPSORT_PTX_90)
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#elif !defined(__CUDACC__)
  emulated_bulk_stores_have_read();
#endif
}

/// `sum` plus the four bytes of a word.
__device__ __forceinline__ uint32_t sum_of_bytes(uint32_t word, uint32_t sum) {
#if defined(__CUDACC__)
  return __dp4a(word, 0x01010101u, sum);
#else
  return sum + (word & 0xff) + (word >> 8 & 0xff) + (word >> 16 & 0xff) + (word >> 24);
#endif
}

}  // namespace sweepsort::ptx
