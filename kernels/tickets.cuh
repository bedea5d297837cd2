// tickets.cuh - blocks draw the number of their next piece of work, so that every lower number belongs to a
// block that runs or has run. Also a counter of finished work, and the atomics for both.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cuda/atomic>
#include <type_traits>

namespace sweepsort {

template <class T>
using DeviceAtomic = cuda::atomic_ref<T, cuda::thread_scope_device>;
template <class T>
using BlockAtomic = cuda::atomic_ref<T, cuda::thread_scope_block>;
/// The type that atomicAdd and similar functions take for keys of 4 or 8 bytes.
template <class Bits>
using AtomicWord = std::conditional_t<sizeof(Bits) == 8, unsigned long long, uint32_t>;

/// The number of the next piece of work. One thread of a block calls it and shares the result.
__device__ __forceinline__ uint32_t draw_ticket(uint32_t* tickets) {
  return DeviceAtomic<uint32_t>(*tickets).fetch_add(1, cuda::memory_order_relaxed);
}

/// Adds this block's `mine` to `done`, which all blocks share. Returns true in the block that brings it to
/// `all`: it sees what the others wrote before. The whole block calls it.
__device__ __forceinline__ bool completes(uint32_t& done, uint32_t mine, uint32_t all) {
  __syncthreads();
  const bool is_last = threadIdx.x == 0 &&
                       DeviceAtomic<uint32_t>(done).fetch_add(mine, cuda::memory_order_acq_rel) + mine == all;
  return __syncthreads_or(is_last) != 0;
}

/// Calls body(row) for rows that the block draws, until all `rows` are drawn. Returns how many it got. The
/// next row is drawn while the current one is worked on. `next_row`: shared memory. The whole block calls it.
template <class Body>
__device__ __forceinline__ uint32_t for_drawn_rows(uint32_t* tickets, uint32_t rows, uint32_t (&next_row)[2],
                                                   Body body) {
  uint32_t drawn = 0;
  if (threadIdx.x == 0) next_row[1] = draw_ticket(tickets);
  __syncthreads();
  uint32_t row = next_row[1];
  for (uint32_t turn = 0; row < rows; turn ^= 1) {
    if (threadIdx.x == 0) next_row[turn] = draw_ticket(tickets);
    body(row);
    ++drawn;
    __syncthreads();
    row = next_row[turn];
  }
  return drawn;
}

}  // namespace sweepsort
