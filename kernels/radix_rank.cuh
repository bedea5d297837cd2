// radix_rank.cuh - where a key stands among the keys of its digit in its warp, in the order of rows and
// lanes.
//
//     row 0, lanes:   a b a a        ranks:  0 0 1 2        counts:  a 3   b 1
//     row 1, lanes:   b b a b                1 2 3 3                 a 4   b 4
//
// Two ways. `ballot`: one ballot a bit finds the lanes of equal digit (McCool et al., "Structured Parallel
// Programming", 2012; CUB calls it match), a leader adds them to the counter. `lane_order`: a shared atomic a
// lane; the hardware serves the lanes of one instruction that hit one address in lane order, which its manual
// does not promise, so it is used only on a device where lane_order_holds() found no exception.
#pragma once

#include "kernels/launch.cuh"
#include "kernels/ptx.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

enum class Ranking : uint32_t { ballot, lane_order };

/// `size` small numbers, two a register.
template <uint32_t size>
class Packed16 {
 public:
  __device__ __forceinline__ void set(uint32_t i, uint32_t value) {
    uint32_t& word = words_[i / 2];
    word = i % 2 == 0 ? (word & 0xffff0000u) | value : (word & 0xffffu) | (value << 16);
  }
  __device__ __forceinline__ uint32_t get(uint32_t i) const {
    return i % 2 == 0 ? words_[i / 2] & 0xffffu : words_[i / 2] >> 16;
  }

 private:
  uint32_t words_[(size + 2) / 2];
};

/// The rank of this lane's `digit`; `counts` (this warp's, in shared memory) grows by one for every lane that
/// is `present`. The whole warp calls it; the absent lanes are the last ones, their rank is meaningless.
template <Ranking ranking, uint32_t bits>
__device__ __forceinline__ uint32_t rank_by_warp(uint32_t* counts, uint32_t digit, bool present) {
  if constexpr (ranking == Ranking::lane_order) {
    return ptx::lane_ordered_add(&counts[digit], present ? 1u : 0u);
  } else {
    const uint32_t peers = warp_match<bits>(digit) & __ballot_sync(full_warp, present);
    const uint32_t below = static_cast<uint32_t>(__popc(peers & ptx::lanes_below()));
    const uint32_t before = counts[digit];
    __syncwarp();  // every peer has read the counter
    if (present && below == 0) counts[digit] = before + static_cast<uint32_t>(__popc(peers));
    __syncwarp();
    return before + below;
  }
}

namespace rank_detail {

inline constexpr uint32_t test_threads = 1024;
inline constexpr uint32_t test_rounds = 64;

struct TestShared {
  uint32_t by_order[test_threads / warp_threads][256];
  uint32_t by_ballot[test_threads / warp_threads][256];
};

/// Ranks the same pseudo-random digits both ways, with few and with many collisions, all warps at once.
static __global__ __launch_bounds__(test_threads) void lane_order_test_kernel(uint32_t* exceptions) {
  TestShared& shared = shared_memory<TestShared>();
  const uint32_t warp = threadIdx.x / warp_threads;
  for (uint32_t i = threadIdx.x; i < sizeof(shared) / 4; i += blockDim.x) (&shared.by_order[0][0])[i] = 0;
  __syncthreads();
  uint32_t state = blockIdx.x * blockDim.x + threadIdx.x + 1;
  for (uint32_t round = 0; round < test_rounds; ++round) {
    state = state * 1664525u + 1013904223u;
    const uint32_t digit = (state >> 16) & (0xffu >> (round % 9));
    const uint32_t by_order = rank_by_warp<Ranking::lane_order, 8>(shared.by_order[warp], digit, true);
    const uint32_t by_ballot = rank_by_warp<Ranking::ballot, 8>(shared.by_ballot[warp], digit, true);
    if (by_order != by_ballot) atomicAdd(exceptions, 1u);
  }
}

}  // namespace rank_detail

/// Counts the exceptions from lane order on the current device into `exceptions` (device memory, zero
/// before).
inline void test_lane_order(uint32_t* exceptions, cudaStream_t stream) {
  using namespace rank_detail;
  launch(lane_order_test_kernel, {multiprocessors(), test_threads, sizeof(TestShared)}, stream, exceptions);
}

}  // namespace sweepsort
