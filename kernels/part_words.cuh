// part_words.cuh - which parts of a bucket have keys (bucket_sort.cuh): a bit a part, 16 in a word of shared
// memory, beside a number of the same word, so that one load tells a key's place: rank by a bit vector with
// counts of its blocks, as in Jacobson, "Succinct Static Data Structures", 1989.
//
//     while keys come:   | keys of these 16 parts that came late | which of them have one |
//     once scanned:      | place of the word's first key         | the same               |
//
// A key comes late if another one has set its part's bit. It takes the next number of its word's late keys.
#pragma once

#include "kernels/bucket_map.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace bucket_sort_detail {

namespace part_word {
inline constexpr uint32_t bits = BucketParts::most_in_word;
inline constexpr uint32_t one_late = 1u << bits;

/// While keys come.
__device__ __forceinline__ uint32_t keys(uint32_t word) {
  return static_cast<uint32_t>(__popc(word & (one_late - 1))) + word / one_late;
}
__device__ __forceinline__ bool has_late(uint32_t word) { return word >= one_late; }

/// When the word is scanned.
__device__ __forceinline__ uint32_t scanned(uint32_t word, uint32_t first_place) {
  return __byte_perm(word, first_place, 0x5410);
}
__device__ __forceinline__ uint32_t first_place(uint32_t scanned) { return scanned / one_late; }
__device__ __forceinline__ uint32_t in_time(uint32_t scanned) {
  return static_cast<uint32_t>(__popc(scanned & (one_late - 1)));
}
/// One more than the place of a key of part `part` of the word: those in time come in the order of their
/// parts, then the late ones by number (from 1 on; 0: in time).
__device__ __forceinline__ uint32_t place_behind(uint32_t scanned, uint32_t part, uint32_t number) {
  const uint32_t higher_parts = number == 0 ? part ^ 31 : 31 - (bits - 1);  // shifted out, with the place
  return first_place(scanned) + static_cast<uint32_t>(__popc(scanned << higher_parts)) + number;
}
}  // namespace part_word

/// The numbers of a thread's keys among the late ones of their words, 0: not late. Each has `bits`, 8 or 16.
template <uint32_t bits, uint32_t rows>
class LateNumbers {
 public:
  static constexpr uint32_t a_word = 32 / bits;
  /// So many late keys (a power of two) are too many comparisons for one thread, if a number has a byte. It
  /// has room for many more, so that the key that takes this number is seen before others run over.
  static constexpr uint32_t crowd = 32;

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (uint32_t& word : numbers_) word = 0;
  }
  /// Once for each row that is late.
  __device__ __forceinline__ void set(uint32_t row, uint32_t number) {
    numbers_[row / a_word] |= number << (row % a_word * bits);
  }
  __device__ __forceinline__ uint32_t get(uint32_t row) const {
    return __byte_perm(numbers_[row / a_word], 0,
                       bits == 8      ? 0x4440 + row % 4
                       : row % 2 != 0 ? 0x4432
                                      : 0x4410);
  }
  /// Always false if numbers are wide enough for all keys of a bucket.
  __device__ __forceinline__ bool any_crowded() const {
    if (bits != 8) return false;
    uint32_t any = 0;
#pragma unroll
    for (const uint32_t word : numbers_) any |= word;
    return (any & (0x100 - crowd) * 0x01010101u) != 0;
  }

 private:
  uint32_t numbers_[(rows + a_word - 1) / a_word];
};

}  // namespace bucket_sort_detail

}  // namespace sweepsort
