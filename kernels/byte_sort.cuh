// byte_sort.cuh - a counting sort in the shared memory of one block, for few keys of one byte alone. Seward,
// "Information Sorting in the Application of Electronic Digital Computers", 1954; the columns of counters as
// in Shams & Kennedy, 2007. Work O(n + 256). Moves 2n keys. Its time hardly depends on the keys.
//
//     keys:     3 0 1 0 3 3        1 each lane counts in its own column
//     counts:   2 1 0 3            2 their sums, and a scan of these
//     starts:   0 2 3 3
//     markers:  . . 1 3 . .        3 each value at its first place
//     sorted:   0 0 1 3 3 3        4 every place learns its value from the last marker before it
#pragma once

#include "core/key_bits.hpp"
#include "core/rounding.hpp"
#include "kernels/digit.cuh"
#include "kernels/launch.cuh"
#include "kernels/policy_one_launch.cuh"
#include "kernels/ptx.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace byte_sort_detail {

inline constexpr uint32_t threads = ByteSortPolicy::threads;
inline constexpr uint32_t warps = threads / warp_threads;
/// Two threads sum up the columns of a value.
inline constexpr uint32_t threads_per_value = threads / digit_values;
static_assert(threads_per_value == 2);

/// Keys are loaded and written in such words.
using Word = uint32_t;
inline constexpr uint32_t keys_per_word = sizeof(Word);

struct Shared {
  uint4 columns[digit_values][warp_threads / 4];  // [value][lane]: keys that this lane of all warps has seen
  uint4 starts[digit_values / 4];
  uint4 markers[ceil_divide(ByteSortPolicy::max_keys, sizeof(uint4))];
  uint32_t of_warp[warps];  // keys of the values that the warp's threads sum up
};

class ByteSort {
 public:
  __device__ __forceinline__ ByteSort(Shared& shared, uint32_t count, uint8_t mask)
      : shared_(shared), count_(count), mask_(mask * 0x01010101u) {}

  __device__ __forceinline__ void clear() {
    uint4* const columns = &shared_.columns[0][0];
#pragma unroll
    for (uint32_t c = 0; c < sizeof(shared_.columns) / sizeof(uint4); c += threads)
      columns[c + threadIdx.x] = uint4{};
    for (uint32_t m = threadIdx.x; m * sizeof(uint4) < count_; m += threads) shared_.markers[m] = uint4{};
    __syncthreads();
  }

  /// Step 1.
  __device__ __forceinline__ void count(const uint8_t* keys) {
    const Word* const words = reinterpret_cast<const Word*>(keys);
    const uint32_t whole = count_ / keys_per_word;
#pragma unroll 4
    for (uint32_t w = threadIdx.x; w < whole; w += threads) {
      const Word word = __ldcs(words + w) ^ mask_;
#pragma unroll
      for (uint32_t k = 0; k < keys_per_word; ++k) add(word >> (k * digit_bits) & (digit_values - 1));
    }
    const uint32_t behind = whole * keys_per_word + threadIdx.x;
    if (behind < count_) add((keys[behind] ^ mask_) & (digit_values - 1));
    __syncthreads();
  }

  /// Steps 2 and 3.
  __device__ __forceinline__ void mark_starts() {
    const uint32_t value = threadIdx.x / threads_per_value;
    const bool is_first = threadIdx.x % threads_per_value == 0;
    const uint32_t half = sum_of_columns(value, threadIdx.x % threads_per_value);
    const uint32_t counted = half + __shfl_xor_sync(full_warp, half, 1);
    const uint32_t up_to_me = warp_inclusive_sum(is_first ? counted : 0);
    if (ptx::lane_id() == warp_threads - 1) shared_.of_warp[warp()] = up_to_me;
    __syncthreads();
    const uint32_t before = ptx::warp_sum(ptx::lane_id() < warp() ? shared_.of_warp[ptx::lane_id()] : 0);
    const uint32_t start = before + up_to_me - counted;
    if (is_first) {
      reinterpret_cast<uint32_t*>(shared_.starts)[value] = start;
      if (counted != 0) reinterpret_cast<uint8_t*>(shared_.markers)[start] = static_cast<uint8_t>(value);
    }
    __syncthreads();
  }

  /// Step 4. A warp takes neighbouring places, two words per lane.
  __device__ __forceinline__ void write(uint8_t* sorted) const {
    constexpr uint32_t lane_places = 2 * keys_per_word;
    constexpr uint32_t warp_places = lane_places * warp_threads;
    const uint4 some = shared_.starts[2 * ptx::lane_id()];
    const uint4 others = shared_.starts[2 * ptx::lane_id() + 1];
    for (uint32_t first = warp() * warp_places; first < count_; first += warps * warp_places) {
      // The number of values that start at `first` or before. The last of them has keys.
      const auto is_not_behind = [=](uint32_t start) { return start <= first ? 1u : 0u; };
      const uint32_t values =
          ptx::warp_sum(is_not_behind(some.x) + is_not_behind(some.y) + is_not_behind(some.z) +
                        is_not_behind(some.w) + is_not_behind(others.x) + is_not_behind(others.y) +
                        is_not_behind(others.z) + is_not_behind(others.w));
      const uint32_t own = first + lane_places * ptx::lane_id();
      uint2 words{};
      if (own < count_) words = reinterpret_cast<const uint2*>(shared_.markers)[own / lane_places];
      const uint32_t last = last_marker(words.y != 0 ? words.y : words.x);
      const auto larger = [](uint32_t a, uint32_t b) { return max(a, b); };
      const uint32_t below = shuffle_up(warp_inclusive_scan(last, larger), 1);
      uint32_t value = max(values - 1, ptx::lane_id() == 0 ? 0 : below);
      words.x = filled(words.x, value) ^ mask_;
      words.y = filled(words.y, value) ^ mask_;
      if (own + lane_places <= count_) {
        *reinterpret_cast<uint2*>(sorted + own) = words;
      } else {
#pragma unroll
        for (uint32_t k = 0; k < lane_places; ++k) {
          const uint32_t word = k < keys_per_word ? words.x : words.y;
          if (own + k < count_)
            sorted[own + k] = static_cast<uint8_t>(word >> (k % keys_per_word * digit_bits));
        }
      }
    }
  }

 private:
  __device__ __forceinline__ static uint32_t warp() { return threadIdx.x / warp_threads; }

  __device__ __forceinline__ void add(uint32_t value) {
    atomicAdd(reinterpret_cast<uint32_t*>(shared_.columns[value]) + ptx::lane_id(), 1u);
  }

  /// Neighbouring threads begin at different columns, which are in different banks.
  __device__ __forceinline__ uint32_t sum_of_columns(uint32_t value, uint32_t half) const {
    constexpr uint32_t vectors = warp_threads / 4 / threads_per_value;
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t v = 0; v < vectors; ++v) {
      const uint4 four = shared_.columns[value][half * vectors + (v + value) % vectors];
      sum += four.x + four.y + four.z + four.w;
    }
    return sum;
  }

  /// The highest byte that is not 0, which is the largest of the word's markers.
  __device__ __forceinline__ static uint32_t last_marker(Word word) {
    const uint32_t highest = (31u - static_cast<uint32_t>(__clz(static_cast<int>(word)))) / digit_bits;
    return word == 0 ? 0 : word >> (highest * digit_bits);
  }

  /// Copies each marker to all places up to the next one. `value` is the last marker before the word, and
  /// becomes the last one in it.
  __device__ __forceinline__ static Word filled(Word markers, uint32_t& value) {
    Word result = 0;
#pragma unroll
    for (uint32_t k = 0; k < keys_per_word; ++k) {
      value = max(value, markers >> (k * digit_bits) & (digit_values - 1));
      result |= value << (k * digit_bits);
    }
    return result;
  }

  Shared& shared_;
  const uint32_t count_;
  const Word mask_;
};

static __global__ __launch_bounds__(threads) void byte_sort_kernel(const uint8_t* keys, uint8_t* sorted,
                                                                   uint32_t count, uint8_t mask) {
  ByteSort sort(shared_memory<Shared>(), count, mask);
  sort.clear();
  ptx::wait_for_previous_launch();
  sort.count(keys);
  sort.mark_starts();
  sort.write(sorted);
}

}  // namespace byte_sort_detail

/// Sorts up to ByteSortPolicy::max_keys keys in one launch. `sorted` may be `keys`; both are aligned to 8
/// bytes.
inline void byte_sort(const uint8_t* keys, uint8_t* sorted, uint32_t count, KeyMap<uint8_t> map,
                      cudaStream_t stream) {
  using namespace byte_sort_detail;
  launch_chained(byte_sort_kernel, {1, threads, sizeof(Shared)}, stream, keys, sorted, count, map.flip);
}

}  // namespace sweepsort
