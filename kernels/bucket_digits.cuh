// bucket_digits.cuh - an LSD radix sort in the shared memory of one block, for buckets whose keys are too
// uneven for bucket_sort.cuh, and for keys of two bytes. Stable. Work O(n) for each digit that varies.
//
//     keys, by warp        12 31 42 | 11 32 41     from shared memory to registers
//     low digit             2  1  2 |  1  2  1
//     rank in the warp      0  0  1 |  0  0  1     among its keys of that digit
//     starts of 1 and 2     0, 3    |  1, 5        behind lower digits, and this digit's keys in lower warps
//     places                3  0  4 |  1  5  2     start + rank
//     after the pass       31 11 41 | 12 42 32     then by the other digit: 11 12 31 | 32 41 42
#pragma once

#include "core/rounding.hpp"
#include "kernels/digit.cuh"
#include "kernels/ptx.cuh"
#include "kernels/radix_rank.cuh"
#include "kernels/tickets.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace bucket_sort_detail {

/// The counts of one pass. A part of the block has 256 threads, which are 8 warps. Thread d of the part sums
/// up digit d over the records of these warps.
template <class Bits, uint32_t warps>
struct DigitCounts {
  static constexpr uint32_t warps_per_part = digit_values / warp_threads;
  static constexpr uint32_t parts = ceil_divide(warps, warps_per_part);

  Bits varying;
  uint32_t of_warp[warps][digit_values];  // records; then where the warp's records of a digit go
  uint32_t of_part[parts][digit_values];
  uint32_t of_32_digits[warps];  // records of the part with one of the 32 digits that the warp's threads sum
                                 // up
};

/// Sorts records in shared memory, one digit per pass.
template <class Shared, class Bits, bool with_values, uint32_t threads, uint32_t keys_per_thread>
class DigitSort {
 public:
  static_assert(threads % digit_values == 0, "a thread a digit");
  using Counts = DigitCounts<Bits, threads / warp_threads>;

  /// For the `size` records from shared.keys[first] and shared.positions[first] on.
  __device__ __forceinline__ DigitSort(Shared& shared, uint32_t first, uint32_t size)
      : counts_(shared.digits),
        keys_(shared.keys + first),
        positions_(shared.positions + (with_values ? first : 0)),
        size_(size),
        rows_(ceil_divide(size, threads)),
        own_(warp() * rows_ * warp_threads + ptx::lane_id()) {}

  /// One stable pass.
  __device__ __forceinline__ void pass(uint32_t place) {
    const DigitOf<Bits> digit_of(place);
    Bits keys[keys_per_thread];
    uint16_t positions[with_values ? keys_per_thread : 1];
    for_rows([&](uint32_t i, uint32_t at, bool is_there) {
      keys[i] = is_there ? keys_[at] : Bits{0};
      if constexpr (with_values) positions[i] = is_there ? positions_[at] : uint16_t{0};
    });
    Packed16<keys_per_thread> ranks;
    WarpRanker<> ranker(counts_.of_warp[warp()]);
    const HotDigits hot = find_run<true>(digit_of(keys[0]), own_ < size_);
    if (hot.share_is_high) {
      for_rows([&](uint32_t i, uint32_t, bool is_there) {
        ranks.set(i, ranker.rank_hot(hot, digit_of(keys[i]), is_there));
      });
      ranker.settle(hot);
    } else {
      for_rows([&](uint32_t i, uint32_t, bool is_there) {
        ranks.set(i, ranker.rank(digit_of(keys[i]), is_there));
      });
    }
    __syncthreads();
    find_starts();
    __syncthreads();
    const uint32_t* const starts = counts_.of_warp[warp()];
    uint32_t to[rows_at_once];
    for_rows(
        [&](uint32_t i, uint32_t, bool is_there) {
          to[i % rows_at_once] = is_there ? starts[digit_of(keys[i])] + ranks.get(i) : 0;
        },
        [&](uint32_t i, uint32_t, bool is_there) {
          if (!is_there) return;
          keys_[to[i % rows_at_once]] = keys[i];
          if constexpr (with_values) positions_[to[i % rows_at_once]] = positions[i];
        });
    __syncthreads();
  }

 private:
  static constexpr uint32_t rows_at_once = 4;

  __device__ __forceinline__ static uint32_t warp() { return threadIdx.x / warp_threads; }

  /// Calls body(i, at, is_there) for this thread's record i, which is at place `at`. The order is
  /// warp-striped, as stable ranks need it: a warp's records are neighbours, and its lanes' records
  /// interleave. Some rows are taken at a time, and each body runs for all of these before the next body, so
  /// that their accesses are in flight together. First come four rows, then two at a time, because rows that
  /// the bucket does not have take as long as others (figures in bench/notes/gpu-sort.md).
  template <class... Bodies>
  __device__ __forceinline__ void for_rows(Bodies... bodies) const {
    constexpr uint32_t last = keys_per_thread < rows_at_once ? rows_at_once : keys_per_thread + 1;
#pragma unroll
    for (uint32_t end = rows_at_once; end <= last; end += 2) {
      const uint32_t first = end == rows_at_once ? 0 : end - 2;
      if (first >= rows_) break;
      (for_batch(first, end, bodies), ...);
    }
  }
  template <class Body>
  __device__ __forceinline__ void for_batch(uint32_t first, uint32_t end, Body body) const {
#pragma unroll
    for (uint32_t i = first; i < end; ++i) {
      if (i >= keys_per_thread) break;
      const uint32_t at = own_ + i * warp_threads;
      body(i, at, i < rows_ && at < size_);
    }
  }

  /// Finds where each warp's records of a digit go: behind those of lower digits, those of the digit in lower
  /// parts, and those of the digit in lower warps of the part.
  __device__ __forceinline__ void find_starts() {
    constexpr uint32_t warps_per_part = Counts::warps_per_part;
    const uint32_t digit = threadIdx.x % digit_values;
    const uint32_t part = threadIdx.x / digit_values;
    uint32_t(*const of_warp)[digit_values] = counts_.of_warp + part * warps_per_part;
    uint32_t records[warps_per_part];
    uint32_t in_part = 0;
#pragma unroll
    for (uint32_t w = 0; w < warps_per_part; ++w) in_part += records[w] = of_warp[w][digit];
    counts_.of_part[part][digit] = in_part;
    const uint32_t of_32_digits = ptx::warp_sum(in_part);
    if (ptx::lane_id() == 0) counts_.of_32_digits[warp()] = of_32_digits;
    __syncthreads();
    uint32_t of_digit = 0;
    uint32_t start = 0;
#pragma unroll
    for (uint32_t p = 0; p < Counts::parts; ++p) {
      if (p < part) start += counts_.of_part[p][digit];
      of_digit += counts_.of_part[p][digit];
    }
    start += warp_inclusive_sum(of_digit) - of_digit;  // lower digits that this warp sums up, and below those
                                                       // of other warps:
    const uint32_t other = ptx::lane_id();
    const bool is_lower = other < threads / warp_threads && other % warps_per_part < warp() % warps_per_part;
    start += ptx::warp_sum(is_lower ? counts_.of_32_digits[other] : 0);
#pragma unroll
    for (uint32_t w = 0; w < warps_per_part; ++w) {
      of_warp[w][digit] = start;
      start += records[w];
    }
  }

  Counts& counts_;
  Bits* const keys_;
  uint16_t* const positions_;
  const uint32_t size_;
  const uint32_t rows_;
  const uint32_t own_;  // this thread's first record
};

/// Sorts the `size` keys from shared.keys[first] on. shared.positions becomes the place where each key was,
/// counted from `first`. The whole block calls it. All is done when it returns.
template <class Shared, class Bits, bool with_values, uint32_t threads, uint32_t keys_per_thread>
__device__ __forceinline__ void sort_staged_by_digits(Shared& shared, uint32_t first, uint32_t size) {
  const Bits* const keys = shared.keys + first;
  if (threadIdx.x == 0) shared.digits.varying = 0;
  Bits differing = 0;
  const Bits reference = keys[0];
#pragma unroll
  for (uint32_t row = 0; row < keys_per_thread; ++row) {
    const uint32_t i = row * threads + threadIdx.x;
    if (i >= size) break;
    differing |= keys[i] ^ reference;
    if constexpr (with_values) shared.positions[first + i] = static_cast<uint16_t>(i);
  }
  differing = warp_or(differing);
  __syncthreads();
  using Word = AtomicWord<Bits>;
  if (ptx::lane_id() == 0)
    atomicOr(reinterpret_cast<Word*>(&shared.digits.varying), static_cast<Word>(differing));
  __syncthreads();
  const Bits varying = shared.digits.varying;
  if (varying == 0) {
    __syncthreads();  // the caller may take the memory at once
    return;
  }
  DigitSort<Shared, Bits, with_values, threads, keys_per_thread> sort(shared, first, size);
  uint32_t place = 0;
  for (Bits rest = varying; rest != 0; rest = static_cast<Bits>(rest >> digit_bits), ++place)
    if (rest % digit_values != 0) sort.pass(place);
}

/// The same, not inlined: it needs more registers than the method for nearly all other buckets.
template <class Shared, class Bits, bool with_values, uint32_t threads, uint32_t keys_per_thread>
__device__ __noinline__ void call_sort_staged_by_digits(Shared& shared, uint32_t first, uint32_t size) {
  sort_staged_by_digits<Shared, Bits, with_values, threads, keys_per_thread>(shared, first, size);
}

}  // namespace bucket_sort_detail

}  // namespace sweepsort
