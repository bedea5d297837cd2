// bucket_shared.cuh - the shared memory of a block that sorts buckets (bucket_sort.cuh): the words of the
// parts, which of them have late keys, and the keys in order; after these, the values.
#pragma once

#include "core/no_value.hpp"
#include "core/rounding.hpp"
#include "kernels/bucket_digits.cuh"
#include "kernels/bucket_list.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/part_words.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

namespace bucket_sort_detail {

template <class Bits, class Value, class Policy>
struct Shared {
  static constexpr uint32_t part_bits = std::countr_zero(Policy::parts);
  static constexpr uint32_t words = Policy::parts / part_word::bits;
  static constexpr uint32_t warps = Policy::threads / warp_threads;
  static constexpr uint32_t max_keys = Policy::max_keys;
  // A bucket's first place in the output may be in the middle of a vector of 16 bytes. Then its first place
  // here is, too.
  static constexpr uint32_t places = max_keys + sizeof(uint4) / sizeof(Bits);
  static constexpr bool with_values = value_bytes<Value> != 0;
  static constexpr bool sorts_long_words = Policy::number_bits == 16;
  /// A word with more keys than this is sorted by a warp, not by one thread, if sorts_long_words.
  static constexpr uint32_t long_word = 8;
  static_assert(places < 1u << 16 && words <= 1u << 16 && !(with_values && sorts_long_words));
  static_assert(!sorts_long_words || max_keys <= 1u << 15);  // numbers have a sign

  Bits* first_vector;  // where the bucket's keys go: the vector of 16 bytes that contains the first one
  uint32_t warp_keys[warps];
  uint32_t long_words;
  bucket_list::Queue<with_values ? 1 : ceil_divide(Policy::max_keys, dealt_chunk<Bits>)> queue;
  union {
    alignas(16) uint32_t part_words[words + 1];  // part_words.cuh; the word behind them has no parts
    DigitCounts<Bits, warps> digits;             // for a bucket that is sorted digit by digit
  };
  // The words with late keys, by their index among the words that a warp scans, which are neighbours.
  static constexpr uint32_t warp_words = words / warps;
  __device__ __forceinline__ static uint32_t first_word_of_warp() {
    return threadIdx.x / warp_threads * warp_words;
  }
  using WordOfWarp = std::conditional_t<warp_words <= 256, uint8_t, uint16_t>;
  WordOfWarp late_words[warps][warp_words];
  uint16_t long_list[sorts_long_words ? max_keys / long_word : 1];  // words with late keys that have many
                                                                    // keys in all
  uint16_t positions[with_values ? places : 1];  // index in the bucket of the record at a place
  union {
    alignas(16) Bits keys[places];
    Value values[with_values ? max_keys : 1];
  };
};

}  // namespace bucket_sort_detail

}  // namespace sweepsort
