// bucket_digits.cuh - an LSD radix sort in the shared memory of one block, for the buckets whose keys are too
// unevenly spread for bucket_sort.cuh. Stable. Work O(n) for each digit that varies.
//
// Not inlined: it needs more registers than the road that nearly all buckets take.
#pragma once

#include "core/key_bits.hpp"
#include "kernels/block.cuh"
#include "kernels/radix_rank.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace sweepsort {

namespace bucket_sort_detail {

template <class Bits, uint32_t warps>
struct DigitCounts {
  Bits varying;
  uint32_t of_warp[warps][digit_values];
};

/// A warp's records are neighbours, its lanes' records interleave: the order of stable ranks.
template <uint32_t keys_a_thread>
__device__ __forceinline__ uint32_t index_in_warp(uint32_t i) {
  const uint32_t warp = threadIdx.x / warp_threads;
  return (warp * keys_a_thread + i) * warp_threads + ptx::lane_id();
}

/// One stable pass over the `size` records from shared.keys[first] and shared.positions[first] on.
template <class Shared, class Bits, bool with_values, Ranking ranking, uint32_t threads,
          uint32_t keys_a_thread>
__device__ __forceinline__ void move_by_digit(Shared& shared, uint32_t first, uint32_t size, uint32_t place) {
  static_assert(threads >= digit_values, "a thread a digit");
  const uint32_t warp = threadIdx.x / warp_threads;
  const DigitOf<Bits> digit_of(place);
  const auto index = [](uint32_t i) { return index_in_warp<keys_a_thread>(i); };
  Bits keys[keys_a_thread] = {};
  uint16_t positions[with_values ? keys_a_thread : 1] = {};
#pragma unroll
  for (uint32_t i = 0; i < keys_a_thread; ++i) {
    if (index(i) >= size) continue;
    keys[i] = shared.keys[first + index(i)];
    if constexpr (with_values) positions[i] = shared.positions[first + index(i)];
  }
  Packed16<keys_a_thread> ranks;
  WarpRanker<ranking> ranker(shared.digits.of_warp[warp]);
#pragma unroll
  for (uint32_t i = 0; i < keys_a_thread; ++i) ranks.set(i, ranker.rank(digit_of(keys[i]), index(i) < size));
  __syncthreads();
  uint32_t records = 0;
  if (threadIdx.x < digit_values)
    for (uint32_t w = 0; w < threads / warp_threads; ++w) {
      const uint32_t here = shared.digits.of_warp[w][threadIdx.x];
      shared.digits.of_warp[w][threadIdx.x] = records;
      records += here;
    }
  uint64_t total = 0;
  const uint64_t below = block_exclusive_sum<threads>(uint64_t{records}, shared.warp_sums, total);
  if (threadIdx.x < digit_values)
    for (uint32_t w = 0; w < threads / warp_threads; ++w)
      shared.digits.of_warp[w][threadIdx.x] += static_cast<uint32_t>(below);
  __syncthreads();
#pragma unroll
  for (uint32_t i = 0; i < keys_a_thread; ++i) {
    if (index(i) >= size) continue;
    const uint32_t to = first + shared.digits.of_warp[warp][digit_of(keys[i])] + ranks.get(i);
    shared.keys[to] = keys[i];
    if constexpr (with_values) shared.positions[to] = positions[i];
  }
  __syncthreads();
}

/// Sorts the `size` keys from shared.keys[first] on; shared.positions becomes where each stood, counted from
/// `first`. The whole block calls it and finds everything done.
template <class Shared, class Bits, bool with_values, Ranking ranking, uint32_t threads,
          uint32_t keys_a_thread>
__device__ __noinline__ void sort_staged_by_digits(Shared& shared, uint32_t first, uint32_t size) {
  const Bits* const keys = shared.keys + first;
  const auto index = [](uint32_t i) { return i * threads + threadIdx.x; };
  if (threadIdx.x == 0) shared.digits.varying = 0;
  __syncthreads();
  Bits differing = 0;
  for (uint32_t i = 0; index(i) < size; ++i) {
    differing |= keys[index(i)] ^ keys[0];
    if constexpr (with_values) shared.positions[first + index(i)] = static_cast<uint16_t>(index(i));
  }
  differing = warp_reduce(differing, [](Bits a, Bits b) { return static_cast<Bits>(a | b); });
  using Word = std::conditional_t<sizeof(Bits) == 8, unsigned long long, uint32_t>;
  if (ptx::lane_id() == 0)
    atomicOr(reinterpret_cast<Word*>(&shared.digits.varying), static_cast<Word>(differing));
  __syncthreads();
  const Bits varying = shared.digits.varying;
  __syncthreads();  // if no digit varies, the caller may take the memory at once
  for (uint32_t place = 0; place < digit_places<Bits>; ++place)
    if (((varying >> (place * digit_bits)) & (digit_values - 1)) != 0)
      move_by_digit<Shared, Bits, with_values, ranking, threads, keys_a_thread>(shared, first, size, place);
}

}  // namespace bucket_sort_detail

}  // namespace sweepsort
