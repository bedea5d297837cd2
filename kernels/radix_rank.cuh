// radix_rank.cuh - a key's rank among the keys with its digit in its warp, in the order of rows and lanes.
//
//     row 0, lanes:   a b a a        ranks:  0 0 1 2        counts:  a 3   b 1
//     row 1, lanes:   b b a b                1 2 3 3                 a 4   b 4
//
// There are two ways. `ballot`: one ballot per bit finds the lanes with the same digit (McCool et al.,
// "Structured Parallel Programming", 2012; CUB calls it match), and a leader adds their number to the
// counter. `lane_order`: one shared atomic per lane. If lanes of one instruction access the same address, the
// hardware serves them in lane order. Its manual does not promise this, so it is used only on a device where
// test_lane_order() found no exception. Other devices take the portable sorts, which rank by ballots.
#pragma once

#include "kernels/digit.cuh"
#include "kernels/launch.cuh"
#include "kernels/ptx.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

enum class Ranking : uint32_t { ballot, lane_order };

/// `size` small numbers, two per register.
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
  uint32_t words_[size == 0 ? 1 : (size + 1) / 2] = {};
};

/// Digits that so many keys have that the lanes of a warp would queue up for their counters.
struct HotDigits {
  static constexpr uint32_t candidates = 2;
  uint32_t share_is_high;       // whether it pays to rank the most frequent digits separately
  uint32_t digits[candidates];  // the most frequent ones
};

/// Judges by one digit of each lane, of `bits` bits: the share is high if more lanes have the same digit than
/// by chance.
template <uint32_t bits = digit_bits>
__device__ __forceinline__ HotDigits find_hot_digits(uint32_t digit, bool present) {
  constexpr uint32_t min_lanes = 5;
  constexpr uint32_t values = 1u << bits;
  const uint32_t peers = warp_match<bits>(digit) & __ballot_sync(full_warp, present);
  const uint32_t mine = present ? static_cast<uint32_t>(__popc(peers)) * values + digit : 0;
  const uint32_t first = warp_max(mine);
  const uint32_t second = warp_max(mine == first ? 0 : mine);
  return {.share_is_high = first / values >= min_lanes, .digits = {first % values, second % values}};
}

/// Less thorough: tests whether many lanes have the first lane's digit. The other candidate is the last
/// lane's digit, which is tested only if `asks_both`.
template <bool asks_both = false>
__device__ __forceinline__ HotDigits find_run(uint32_t digit, bool present) {
  constexpr int min_lanes = 8;
  const uint32_t first = __shfl_sync(full_warp, digit, 0);
  const uint32_t last = __shfl_sync(full_warp, digit, warp_threads - 1);
  const auto are_many = [=](uint32_t candidate) {
    return __popc(__ballot_sync(full_warp, present && digit == candidate)) >= min_lanes;
  };
  const bool first_has = are_many(first);
  return {.share_is_high = first_has || (asks_both && are_many(last)), .digits = {first, last}};
}

/// Ranks the keys of one warp, row after row. `counts` (shared memory, the warp's own) becomes its histogram.
/// The whole warp calls each function. Lanes without a key are not `present` and get no meaningful rank.
/// Digits have `bits` bits.
template <uint32_t bits = digit_bits, Ranking ranking = Ranking::lane_order>
class WarpRanker {
 public:
  __device__ __forceinline__ explicit WarpRanker(uint32_t* counts) : counts_(counts) {
#pragma unroll
    for (uint32_t d = 0; d < 1u << bits; d += warp_threads) counts[d + ptx::lane_id()] = 0;
    __syncwarp();
  }

  /// Lanes without a key get `otherwise`.
  __device__ __forceinline__ uint32_t rank(uint32_t digit, bool present, uint32_t otherwise = 0) {
    if constexpr (ranking == Ranking::lane_order) {
      return ptx::lane_ordered_increment(&counts_[digit], present, otherwise);
    } else {
      const uint32_t peers = warp_match<bits>(digit) & __ballot_sync(full_warp, present);
      const uint32_t below = static_cast<uint32_t>(__popc(peers & ptx::lanes_below()));
      const uint32_t before = counts_[digit];
      __syncwarp();  // every peer has read the counter
      if (present && below == 0) counts_[digit] = before + static_cast<uint32_t>(__popc(peers));
      __syncwarp();
      return present ? before + below : otherwise;
    }
  }

  /// The same, but hot digits are counted in registers: one ballot each instead of a queue for one address.
  __device__ __forceinline__ uint32_t rank_hot(const HotDigits& hot, uint32_t digit, bool present) {
    uint32_t result = 0;
    bool is_hot = false;
#pragma unroll
    for (uint32_t c = 0; c < HotDigits::candidates; ++c) {
      const bool mine = present && digit == hot.digits[c];
      const uint32_t peers = __ballot_sync(full_warp, mine);
      if (mine) result = hot_counts_[c] + static_cast<uint32_t>(__popc(peers & ptx::lanes_below()));
      hot_counts_[c] += static_cast<uint32_t>(__popc(peers));
      is_hot |= mine;
    }
    return rank(digit, present && !is_hot, result);
  }

  /// After the last rank_hot: writes the register counts to the histogram.
  __device__ __forceinline__ void settle(const HotDigits& hot) {
    __syncwarp();
    if (ptx::lane_id() == 0) {
#pragma unroll
      for (uint32_t c = 0; c < HotDigits::candidates; ++c) counts_[hot.digits[c]] = hot_counts_[c];
    }
    __syncwarp();
  }

 private:
  uint32_t* counts_;
  uint32_t hot_counts_[HotDigits::candidates] = {};
};

namespace rank_detail {

inline constexpr uint32_t test_threads = 1024;
inline constexpr uint32_t test_rounds = 64;

struct TestShared {
  uint32_t by_order[test_threads / warp_threads][digit_values];
  uint32_t by_ballot[test_threads / warp_threads][digit_values];
};

/// Ranks the same pseudo-random digits both ways, with few and with many collisions, all warps at once.
static __global__ __launch_bounds__(test_threads) void lane_order_test_kernel(uint32_t* exceptions) {
  TestShared& shared = shared_memory<TestShared>();
  const uint32_t warp = threadIdx.x / warp_threads;
  WarpRanker<digit_bits, Ranking::lane_order> in_order(shared.by_order[warp]);
  WarpRanker<digit_bits, Ranking::ballot> by_ballots(shared.by_ballot[warp]);
  uint32_t state = blockIdx.x * blockDim.x + threadIdx.x + 1;
  for (uint32_t round = 0; round < test_rounds; ++round) {
    state = state * 1664525u + 1013904223u;
    const uint32_t digit = (state >> 16) & (0xffu >> (round % 9));
    const uint32_t by_order = in_order.rank(digit, true);
    const uint32_t by_ballot = by_ballots.rank(digit, true);
    if (by_order != by_ballot) atomicAdd(exceptions, 1u);
  }
}

}  // namespace rank_detail

/// Counts the exceptions from lane order on the current device in `exceptions` (device memory, zero before).
inline void test_lane_order(uint32_t* exceptions, cudaStream_t stream) {
  using namespace rank_detail;
  launch(lane_order_test_kernel, {multiprocessors(), test_threads, sizeof(TestShared)}, stream, exceptions);
}

}  // namespace sweepsort
