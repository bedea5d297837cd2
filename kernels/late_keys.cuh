// late_keys.cuh - the last step of sorting a bucket (bucket_sort.cuh): its keys are in order but for those of
// the words that some came late to. There, the late ones are behind the others.
//
//     word of few keys:     1 4 6 | 5 0     one thread inserts the late keys: 0 1 4 5 6
//     word of many keys:    7 9 | 9 7 9 ..  if the numbers of late keys are wide enough for it, a warp counts
//                                           the word's values, which usually are few, and writes their runs
#pragma once

#include "kernels/part_words.cuh"
#include "kernels/ptx.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace bucket_sort_detail {

/// Sorts shared.keys, and with them shared.positions, in the words that shared.late_words lists
/// (bucket_shared.cuh).
template <class Bits, class Shared>
class LateKeys {
 public:
  static constexpr bool with_values = Shared::with_values;

  __device__ __forceinline__ explicit LateKeys(Shared& shared) : shared_(shared) {}

  /// The lanes of a warp share its words with late keys, which are few: it has listed `words`. A barrier must
  /// follow.
  __device__ __forceinline__ void sort_words(uint32_t words) {
    const auto* const late_words = shared_.late_words[threadIdx.x / warp_threads];
    for (uint32_t i = ptx::lane_id(); i < words; i += warp_threads)
      sort_word(Shared::first_word_of_warp() + late_words[i]);
  }

  /// One warp per word that is too long for a thread. Returns false if one has too many values.
  __device__ __forceinline__ bool sort_long_words() {
    __syncthreads();
    const uint32_t listed = shared_.long_words;
    bool has_many = false;
    for (uint32_t entry = threadIdx.x / warp_threads; entry < listed; entry += Shared::warps) {
      const uint32_t number = shared_.long_list[entry];
      const uint32_t first = first_of(number);
      has_many |= !sort_few_values(shared_.keys + first, first_of(number + 1) - first);
    }
    return __syncthreads_or(has_many) == 0;
  }

 private:
  /// The place of a word's first key.
  __device__ __forceinline__ uint32_t first_of(uint32_t word) const {
    return part_word::first_place(shared_.part_words[word]);
  }

  /// Inserts the late keys among the others. Most words have at most one.
  __device__ __forceinline__ void sort_word(uint32_t number) {
    const uint32_t word = shared_.part_words[number];
    const uint32_t first = part_word::first_place(word);
    const uint32_t end = first_of(number + 1);
    if (Shared::sorts_long_words && end - first > Shared::long_word) {
      shared_.long_list[atomicAdd(&shared_.long_words, 1u)] = static_cast<uint16_t>(number);
      return;
    }
    for (uint32_t next = first + part_word::in_time(word); next < end; ++next) insert(first, next);
  }

  /// Moves the key at place `next` behind those from `first` on that are not above it. These are in order. A
  /// read takes long, so several are in flight at once, where there are registers for it.
  __device__ __forceinline__ void insert(uint32_t first, uint32_t next) {
    constexpr uint32_t looks = sizeof(Bits) == 4 ? 4 : 1;
    const Bits key = shared_.keys[next];
    const uint16_t position = shared_.positions[with_values ? next : 0];
    uint32_t to = next;
    bool may_go_on = true;
    while (may_go_on) {
      Bits other[looks];
      uint16_t other_position[looks];
#pragma unroll
      for (uint32_t k = 0; k < looks; ++k) {
        if (to - first <= k) continue;
        other[k] = shared_.keys[to - 1 - k];
        other_position[k] = shared_.positions[with_values ? to - 1 - k : 0];
      }
      uint32_t above = 0;
#pragma unroll
      for (uint32_t k = 0; k < looks; ++k) {
        if (to - first <= k) continue;
        if (other[k] < key || (other[k] == key && (!with_values || other_position[k] < position))) continue;
        shared_.keys[to - k] = other[k];
        if constexpr (with_values) shared_.positions[to - k] = other_position[k];
        ++above;
      }
      to -= above;
      may_go_on = above == looks;
    }
    if (to == next) return;
    shared_.keys[to] = key;
    if constexpr (with_values) shared_.positions[to] = position;
  }

  /// Counts the keys' values, one value per lane, and writes their runs. Returns false if there are more
  /// values than lanes; then nothing is written.
  __device__ __forceinline__ static bool sort_few_values(Bits* keys, uint32_t size) {
    const uint32_t lane = ptx::lane_id();
    bool differs = false;
    for (uint32_t at = lane; at < size; at += warp_threads) differs |= keys[at] != keys[0];
    if (!__any_sync(full_warp, differs)) return true;
    Bits value = 0;
    uint32_t count = 0;
    uint32_t values = 0;
    for (uint32_t first = 0; first < size; first += warp_threads) {
      const Bits key = keys[min(first + lane, size - 1)];
      uint32_t left = __ballot_sync(full_warp, first + lane < size);
      while (left != 0) {
        const Bits next = shuffle_from(key, static_cast<uint32_t>(__ffs(static_cast<int>(left)) - 1));
        const uint32_t same = __ballot_sync(full_warp, key == next) & left;
        const uint32_t known = __ballot_sync(full_warp, lane < values && value == next);
        if (known == 0 && values == warp_threads) return false;
        const uint32_t owner =
            known != 0 ? static_cast<uint32_t>(__ffs(static_cast<int>(known)) - 1) : values++;
        if (lane == owner) {
          value = next;
          count += static_cast<uint32_t>(__popc(same));
        }
        left &= ~same;
      }
    }
    uint32_t before = 0;
    for (uint32_t v = 0; v < values; ++v) {
      const uint32_t others = __shfl_sync(full_warp, count, v);
      if (shuffle_from(value, v) < value) before += others;
    }
    __syncwarp();  // all keys have been read
    for (uint32_t v = 0; v < values; ++v) {
      const Bits run_value = shuffle_from(value, v);
      const uint32_t begin = __shfl_sync(full_warp, before, v);
      const uint32_t end = begin + __shfl_sync(full_warp, count, v);
      for (uint32_t at = begin + lane; at < end; at += warp_threads) keys[at] = run_value;
    }
    return true;
  }

  Shared& shared_;
};

}  // namespace bucket_sort_detail

}  // namespace sweepsort
