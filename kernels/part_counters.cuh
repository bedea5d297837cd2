// part_counters.cuh - the counters of a bucket's parts (bucket_sort.cuh), several in a word of shared memory,
// and the slots that their old values are.
//
// Bytes are what nearly all buckets need, and leave room for many parts. A counter of 16 bits holds whatever
// a bucket holds, so that values which come hundreds of times are no trouble.
#pragma once

#include "kernels/ptx.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace bucket_sort_detail {

template <uint32_t bits>
struct PartCounters;

template <>
struct PartCounters<8> {
  static constexpr uint32_t a_word = 4;
  /// A part of `crowd` keys (a power of two) or more is too many comparisons for one thread. A counter has
  /// room for many more, so that the key that finds it crowded does so before it runs over.
  static constexpr uint32_t crowd = 32;

  static __device__ __forceinline__ uint32_t count(uint32_t word, uint32_t part) {
    return __byte_perm(word, 0, 0x4440 | (part & 3));
  }
  /// Of the parts before, in the same word; all in a word must stay below 256.
  static __device__ __forceinline__ uint32_t count_before(uint32_t word, uint32_t part) {
    return count(word * 0x01010100u, part);
  }
  static __device__ __forceinline__ uint32_t sum(uint32_t word, uint32_t added = 0) {
    return ptx::sum_of_bytes(word, added);
  }

  /// The slots of a thread's keys.
  template <uint32_t rows>
  class Slots {
   public:
    __device__ __forceinline__ void clear() {
#pragma unroll
      for (uint32_t& four : slots_) four = 0;
    }
    /// `old`: a word with the slot in the byte that begins at `shift`. Once for each row.
    __device__ __forceinline__ void set(uint32_t row, uint32_t old, uint32_t shift) {
      slots_[row / 4] = __byte_perm(slots_[row / 4], __funnelshift_r(old, 0, shift),
                                    0x3210 + ((4 - row % 4) << (row % 4 * 4)));
    }
    __device__ __forceinline__ uint32_t get(uint32_t row) const { return count(slots_[row / 4], row); }
    __device__ __forceinline__ bool any_crowded() const {
      uint32_t any = 0;
#pragma unroll
      for (const uint32_t four : slots_) any |= four;
      return (any & (0x100 - crowd) * 0x01010101u) != 0;
    }
    /// How many are 1; none is crowded.
    __device__ __forceinline__ uint32_t ones() const {
      uint32_t ones = 0;
#pragma unroll
      for (const uint32_t four : slots_)
        ones += static_cast<uint32_t>(__popc((0x80808080u - (four ^ 0x01010101u)) & 0x80808080u));
      return ones;
    }

   private:
    uint32_t slots_[(rows + 3) / 4];
  };
};

template <>
struct PartCounters<16> {
  static constexpr uint32_t a_word = 2;
  /// More keys of a part than one thread compares: a warp sorts them.
  static constexpr uint32_t crowd = 32;

  static __device__ __forceinline__ uint32_t count(uint32_t word, uint32_t part) {
    return __byte_perm(word, 0, (part & 1) != 0 ? 0x4432 : 0x4410);
  }
  static __device__ __forceinline__ uint32_t count_before(uint32_t word, uint32_t part) {
    return (part & 1) != 0 ? word & 0xffff : 0;
  }
  static __device__ __forceinline__ uint32_t sum(uint32_t word, uint32_t added = 0) {
    return added + (word & 0xffff) + (word >> 16);
  }

  template <uint32_t rows>
  class Slots {
   public:
    __device__ __forceinline__ void clear() {
#pragma unroll
      for (uint32_t& two : slots_) two = 0;
    }
    __device__ __forceinline__ void set(uint32_t row, uint32_t old, uint32_t shift) {
      slots_[row / 2] =
          __byte_perm(slots_[row / 2], __funnelshift_r(old, 0, shift), row % 2 == 0 ? 0x3254 : 0x5410);
    }
    __device__ __forceinline__ uint32_t get(uint32_t row) const { return count(slots_[row / 2], row); }
    __device__ __forceinline__ bool any_crowded() const { return false; }
    __device__ __forceinline__ uint32_t ones() const {
      uint32_t ones = 0;
#pragma unroll
      for (const uint32_t two : slots_) ones += ((two & 0xffff) == 1) + (two >> 16 == 1);
      return ones;
    }

   private:
    uint32_t slots_[(rows + 1) / 2];
  };
};

}  // namespace bucket_sort_detail

}  // namespace sweepsort
