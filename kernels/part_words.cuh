// part_words.cuh - which parts of a bucket have keys (bucket_sort.cuh): one bit per part, 16 of them in a
// word of shared memory, beside a number in the same word, so that one load gives a key's place. Rank by a
// bit vector with counts of its blocks, as in Jacobson, "Succinct Static Data Structures", 1989.
//
//     while keys come:   | keys of these 16 parts that came late | which of them have one |
//     once scanned:      | place of the word's first key         | the same               |
//
// A key is late if another one has set its part's bit before. It takes the next number of its word's late
// keys.
#pragma once

#include "core/rounding.hpp"
#include "kernels/bucket_parts.cuh"
#include "kernels/ptx.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace bucket_sort_detail {

namespace part_word {
inline constexpr uint32_t bits = BucketParts::max_in_word;
inline constexpr uint32_t one_late = 1u << bits;

/// For a word that is still collecting keys.
__device__ __forceinline__ uint32_t keys(uint32_t word) {
  return static_cast<uint32_t>(__popc(word & (one_late - 1))) + word / one_late;
}
__device__ __forceinline__ bool has_late(uint32_t word) { return word >= one_late; }

/// The bit of a part. The low bits of `part` are its number in the word.
__device__ __forceinline__ uint32_t bit_of(uint32_t part) { return 1u << part % bits; }

/// For a word that has been scanned.
__device__ __forceinline__ uint32_t scanned(uint32_t word, uint32_t first_place) {
  return __byte_perm(word, first_place, 0x5410);
}
__device__ __forceinline__ uint32_t first_place(uint32_t scanned) { return scanned / one_late; }
__device__ __forceinline__ uint32_t in_time(uint32_t scanned) {
  return static_cast<uint32_t>(__popc(scanned & (one_late - 1)));
}
/// The place of a key. The low bits of `part` are the number of the key's part in the word. Keys in time come
/// first, in the order of their parts, then the late ones by `number`, which is -1 for a key in time.
__device__ __forceinline__ uint32_t place(uint32_t scanned, uint32_t part, int32_t number) {
  // How far the bits of higher parts are shifted out, with the place; for a late key, none are. Modulo 32.
  const uint32_t distance = (~part & static_cast<uint32_t>(number >> 31)) | bits;
  const uint32_t before = __popc(__funnelshift_l(0, scanned, distance));
  return first_place(scanned) + before + static_cast<uint32_t>(number);
}
}  // namespace part_word

/// For each key of a thread: its number among the late keys of its word, from 0 on; -1: in time. Each number
/// has `bits` bits, 8 or 16.
template <uint32_t bits, uint32_t rows>
class LateNumbers {
 public:
  static constexpr uint32_t a_word = 32 / bits;
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (uint32_t& word : numbers_) word = ~0u;
  }
  /// For a row whose key is late. Its number is the count of late keys in `word`, as the key met it.
  __device__ __forceinline__ void set(uint32_t row, uint32_t word) {
    // One or two of the bytes 0 to 3 of `numbers` are replaced by the lowest of the word's count.
    const uint32_t shift = row % a_word * (bits / 2);
    constexpr uint32_t counted = bits == 8 ? 0x6 : 0x76;
    constexpr uint32_t mask = bits == 8 ? 0xf : 0xff;
    uint32_t& numbers = numbers_[row / a_word];
    numbers = __byte_perm(numbers, word, (0x3210 & ~(mask << shift)) | counted << shift);
  }
  __device__ __forceinline__ int32_t get(uint32_t row) const {
    return ptx::signed_part<bits>(numbers_[row / a_word], row % a_word);
  }
  /// Whether some word has more than `crowd` late keys (a power of two), which are too many comparisons for
  /// one thread. Only for numbers of one byte. A byte has room for many more late keys, so the key that takes
  /// this number is seen before others overflow. Always false if numbers are wide enough for all keys of a
  /// bucket.
  template <uint32_t crowd>
  __device__ __forceinline__ bool any_crowded() const {
    if (bits != 8) return false;
    static_assert(crowd == 8 || crowd == 16 || crowd == 32);
    uint32_t any = 0;  // bit 6 of each byte: one of the bits 3, 4 or 5 to 6 is set, but not bit 7
#pragma unroll
    for (const uint32_t word : numbers_) {
      uint32_t high = word << 1 | word;
      if (crowd == 16) high |= word << 2;
      if (crowd == 8) high |= high << 2;
      any |= high & ~(word >> 1);
    }
    return (any & 0x40404040) != 0;
  }

 private:
  uint32_t numbers_[ceil_divide(rows, a_word)];
};

/// Makes words that have collected `size` keys in all into scanned ones. A warp scans neighbouring words, a
/// thread rows of 4 words. The sums of a warp's rows are scanned side by side, two packed into a 32-bit word.
/// Each warp lists its words with late keys in shared.late_words (bucket_shared.cuh). Returns how many it has
/// listed.
template <uint32_t threads, class Shared>
__device__ __forceinline__ uint32_t scan_words(Shared& shared, uint32_t first_place, uint32_t size) {
  using part_word::has_late;
  using part_word::keys;
  using part_word::scanned;
  constexpr uint32_t word_rows = Shared::words / 4 / threads;
  static_assert(word_rows * 4 * threads == Shared::words && word_rows <= 4);
  const uint32_t warp = threadIdx.x / warp_threads;
  const uint32_t lane = ptx::lane_id();
  uint4* const vectors = reinterpret_cast<uint4*>(shared.part_words + Shared::first_word_of_warp()) + lane;
  constexpr uint32_t pairs = (word_rows + 1) / 2;
  uint32_t sums[word_rows][3];
  uint32_t row_sums[pairs] = {};
  auto* const late_words = shared.late_words[warp];
  auto* next = late_words;
  const auto list_if_late = [&](uint32_t word, uint32_t number) {
    const bool is_late = has_late(word);
    const uint32_t lanes = __ballot_sync(full_warp, is_late);
    auto* const place = next + __popc(lanes & ptx::lanes_below());
    if (is_late) *place = static_cast<typename Shared::WordOfWarp>(number);
    next += __popc(lanes);
  };
#pragma unroll
  for (uint32_t r = 0; r < word_rows; ++r) {
    const uint4 four = vectors[r * warp_threads];
    sums[r][0] = keys(four.x);
    sums[r][1] = sums[r][0] + keys(four.y);
    sums[r][2] = sums[r][1] + keys(four.z);
    row_sums[r / 2] |= (sums[r][2] + keys(four.w)) << (r % 2 * 16);
    const uint32_t number = (r * warp_threads + lane) * 4;
    list_if_late(four.x, number);
    list_if_late(four.y, number + 1);
    list_if_late(four.z, number + 2);
    list_if_late(four.w, number + 3);
  }
  const auto listed = static_cast<uint32_t>(next - late_words);
  uint32_t below[pairs];
  uint32_t totals[pairs];
  uint32_t warp_keys = 0;
#pragma unroll
  for (uint32_t p = 0; p < pairs; ++p) {
    const uint32_t up_to_me = warp_inclusive_sum(row_sums[p]);
    below[p] = up_to_me - row_sums[p];
    totals[p] = __shfl_sync(full_warp, up_to_me, warp_threads - 1);
    warp_keys += (totals[p] & 0xffff) + (totals[p] >> 16);
  }
  if (lane == 0) shared.warp_keys[warp] = warp_keys;
  __syncthreads();
  uint32_t before = first_place + ptx::warp_sum(lane < warp ? shared.warp_keys[lane] : 0);
#pragma unroll
  for (uint32_t r = 0; r < word_rows; ++r) {
    const uint32_t first = before + (below[r / 2] >> (r % 2 * 16) & 0xffff);
    before += totals[r / 2] >> (r % 2 * 16) & 0xffff;
    const uint4 four = vectors[r * warp_threads];  // read again, as registers are scarce
    vectors[r * warp_threads] =
        make_uint4(scanned(four.x, first), scanned(four.y, first + sums[r][0]),
                   scanned(four.z, first + sums[r][1]), scanned(four.w, first + sums[r][2]));
  }
  if (threadIdx.x == 0) shared.part_words[Shared::words] = scanned(0, first_place + size);
  __syncthreads();
  return listed;
}

}  // namespace bucket_sort_detail

}  // namespace sweepsort
