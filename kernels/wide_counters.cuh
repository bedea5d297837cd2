// wide_counters.cuh - a block's 65,536 counters in 128 KiB of shared memory, which are exact for every input.
// Shams & Kennedy, "Efficient histogram algorithms for NVIDIA CUDA compatible devices", 2007.
//
//     word:  | bin 1: 16 bits | bin 0: 16 bits |
//
// First the keys are counted without looking at what a counter holds. A counter that overflows loses 2^16, or
// it loses 2^16 and adds 1 to its neighbour. So the sum of all counters can only become too small, and a sum
// equal to the number of keys proves every count. If the sum is too small, all is counted again with care: a
// counter that reaches 2^15 hands 2^15 over to device memory.
#pragma once

#include "core/rounding.hpp"
#include "kernels/policy_passes.cuh"
#include "kernels/ptx.cuh"
#include "kernels/vector16.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

/// An array of `count` keys in at most `most` spans of whole vectors of 16 bytes, one span per block.
struct Spans {
  uint64_t keys;  // keys of each span; the last one may have fewer
  uint32_t number;

  Spans(uint64_t count, uint32_t most)
      : keys(round_up(std::max<uint64_t>(count / most + 1, 4096), 16u)),
        number(static_cast<uint32_t>(ceil_divide(count, keys))) {}
};

struct WideCounters {
  static constexpr uint32_t bins = counting_bins;
  static constexpr uint32_t half = 1u << 15;
  static constexpr uint32_t threads = counting_policy.histogram_threads;

  uint32_t words[bins / 2];
  uint32_t sum;
  uint32_t apart;

  /// The part of a bin's count that is left here.
  __device__ __forceinline__ uint32_t at(uint32_t bin) const {
    return (words[word_of(bin)] >> (bin % 2 * 16)) & 0xffff;
  }

  /// Counts `count` (below 2^32) keys from `keys` (aligned to 16 bytes) on. hand_over(bin) must add `half` to
  /// the bin elsewhere. The whole block calls it. The counters are complete when it returns.
  template <class Bits, class BinOf, class HandOver>
  __device__ __forceinline__ void count(const Bits* keys, uint64_t count, BinOf bin_of, HandOver hand_over) {
    (void)count_beside(keys, count, Nothing{}, bin_of, hand_over);
  }

  /// The same, but keys for which is_apart(key) is true are in no bin. Returns their number.
  template <class Bits, class IsApart, class BinOf, class HandOver>
  __device__ __forceinline__ uint32_t count_beside(const Bits* keys, uint64_t count, IsApart is_apart,
                                                   BinOf bin_of, HandOver hand_over) {
    clear();
    const uint32_t in_no_bin = add_all<false>(keys, count, is_apart, bin_of, hand_over);
    if (sum_of_all() == static_cast<uint32_t>(count) - in_no_bin) return in_no_bin;
    clear();
    return add_all<true>(keys, count, is_apart, bin_of, hand_over);
  }

 private:
  struct Nothing {
    template <class Bits>
    __device__ __forceinline__ bool operator()(Bits) const {
      return false;
    }
  };

  __device__ __forceinline__ void clear() {
    uint4* const vectors = reinterpret_cast<uint4*>(words);
    for (uint32_t i = threadIdx.x; i < bins / 8; i += blockDim.x) vectors[i] = make_uint4(0, 0, 0, 0);
    if (threadIdx.x == 0) sum = apart = 0;
    __syncthreads();
  }

  __device__ __forceinline__ uint32_t sum_of_all() {
    const uint4* const vectors = reinterpret_cast<const uint4*>(words);
    uint32_t mine = 0;
    for (uint32_t i = threadIdx.x; i < bins / 8; i += blockDim.x)
      for (const uint32_t word : {vectors[i].x, vectors[i].y, vectors[i].z, vectors[i].w})
        mine += (word & 0xffff) + (word >> 16);
    mine = ptx::warp_sum(mine);
    if (ptx::lane_id() == 0) atomicAdd(&sum, mine);
    __syncthreads();
    const uint32_t all = sum;
    __syncthreads();  // clear() may change it
    return all;
  }

  /// Guarded: right after a barrier, every counter is below `half`. Before the next barrier, a block may add
  /// at most `half` in all.
  template <bool is_guarded, class HandOver>
  __device__ __forceinline__ void add(uint32_t bin, uint32_t keys, HandOver hand_over) {
    const uint32_t shift = bin % 2 * 16;
    const uint32_t added = keys << shift;
    uint32_t* const word = &words[word_of(bin)];
    if constexpr (is_guarded) {
      const uint32_t before = atomicAdd(word, added);
      if ((~before & (before + added) & (half << shift)) != 0) {
        atomicSub(word, half << shift);
        hand_over(bin);
      }
    } else {
      atomicAdd(word, added);
    }
  }

  /// Returns how many keys are in no bin.
  template <bool is_guarded, class Bits, class IsApart, class BinOf, class HandOver>
  __device__ __forceinline__ uint32_t add_all(const Bits* keys, uint64_t count, IsApart is_apart,
                                              BinOf bin_of, HandOver hand_over) {
    const uint64_t vectors = count / elements_per_vector<Bits>;
    const uint4* const body = reinterpret_cast<const uint4*>(keys);
    // If the first keys often have a neighbour in the same bin, looking for such neighbours saves more than
    // it costs.
    bool has_pair = false;
    if (threadIdx.x < vectors) {
      const Vector16<Bits> first{.whole = body[threadIdx.x]};
#pragma unroll
      for (uint32_t k = 1; k < elements_per_vector<Bits>; ++k)
        has_pair |= bin_of(first.elements[k - 1]) == bin_of(first.elements[k]);
    }
    uint32_t mine = 0;
    if (__syncthreads_count(has_pair) > static_cast<int>(threads / 8))
      mine = add_vectors<is_guarded, true, Bits>(body, vectors, is_apart, bin_of, hand_over);
    else
      mine = add_vectors<is_guarded, false, Bits>(body, vectors, is_apart, bin_of, hand_over);
    for (uint64_t i = vectors * elements_per_vector<Bits> + threadIdx.x; i < count; i += blockDim.x) {
      if (is_apart(keys[i]))
        ++mine;
      else
        add<is_guarded>(bin_of(keys[i]), 1, hand_over);
    }
    if constexpr (!std::is_same_v<IsApart, Nothing>) {
      mine = ptx::warp_sum(mine);
      if (ptx::lane_id() == 0) atomicAdd(&apart, mine);
    }
    __syncthreads();
    return apart;
  }

  /// The exclusive or spreads keys that share many bits, which would otherwise meet in few banks.
  static __device__ __forceinline__ uint32_t word_of(uint32_t bin) {
    const uint32_t word = bin / 2;
    return word ^ (word >> 5) ^ (word >> 10);
  }

  /// `by_runs`: successive keys of one bin take one atomic together. Returns how many of this thread's keys
  /// are in no bin.
  template <bool is_guarded, bool by_runs, class Bits, class IsApart, class BinOf, class HandOver>
  __device__ __forceinline__ uint32_t add_vectors(const uint4* body, uint64_t vectors, IsApart is_apart,
                                                  BinOf bin_of, HandOver hand_over) {
    uint32_t in_no_bin = 0;
    constexpr uint32_t width = elements_per_vector<Bits>;
    constexpr uint32_t round = half / threads / width;  // vectors per thread between two barriers
    constexpr uint32_t in_flight = counting_policy.histogram_vectors_in_flight;
    static_assert(round % in_flight == 0);
    for (uint64_t row = 0; row < vectors; row += uint64_t{threads} * round) {
      for (uint32_t batch = 0; batch < round; batch += in_flight) {
        Vector16<Bits> vector[in_flight];
        const uint64_t mine = row + batch * threads + threadIdx.x;
#pragma unroll
        for (uint32_t u = 0; u < in_flight; ++u)
          if (mine + u * threads < vectors) vector[u].whole = ptx::load_streaming(body + mine + u * threads);
        uint32_t run_bin = 0;
        uint32_t run = 0;
#pragma unroll
        for (uint32_t u = 0; u < in_flight; ++u) {
          if (mine + u * threads >= vectors) break;
#pragma unroll
          for (const Bits key : vector[u].elements) {
            if (is_apart(key)) {
              ++in_no_bin;
              continue;
            }
            const uint32_t bin = bin_of(key);
            if constexpr (!by_runs) {
              add<is_guarded>(bin, 1, hand_over);
            } else if (bin == run_bin) {
              ++run;
            } else {
              if (run != 0) add<is_guarded>(run_bin, run, hand_over);
              run_bin = bin;
              run = 1;
            }
          }
        }
        if (by_runs && run != 0) add<is_guarded>(run_bin, run, hand_over);
      }
      if constexpr (is_guarded) __syncthreads();
    }
    return in_no_bin;
  }
};

}  // namespace sweepsort
