// lookback.cuh - how the tiles of a single-pass scan learn the sum of all tiles before them.
// Merrill & Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016; a column a digit as
// in Adinets & Merrill, "Onesweep", 2022.
//
//     tile:     0         1        2        3
//     status: PREFIX   PARTIAL  PARTIAL    (me)    <- I add the partials of 2 and 1 and stop at the prefix of
//     0
//
// A tile first publishes its own sum (PARTIAL), then walks back over its predecessors until one has published
// the sum of everything up to itself (PREFIX), and publishes its own. Nobody waits for a tile that has not
// started: a tile's number is a ticket drawn when its block runs, so every lower number belongs to a block
// that is already resident.
//
// A status is one word, flag and value together, so relaxed order suffices: no other memory is published
// through it.
#pragma once

#include "kernels/device_span.cuh"

#include <cuda_runtime.h>

#include <cstdint>
#include <cuda/atomic>

namespace sweepsort {

template <class T>
using DeviceAtomic = cuda::atomic_ref<T, cuda::thread_scope_device>;

/// The next tile's number. One thread of a block calls it and shares the result.
__device__ __forceinline__ uint32_t draw_ticket(uint32_t* tickets) {
  return DeviceAtomic<uint32_t>(*tickets).fetch_add(1, cuda::memory_order_relaxed);
}

/// A table of statuses, one row a tile and `columns` independent scans side by side. Word: the flag in the
/// low two bits, the value above. The table needs no clearing between scans: the meaning of the flags rotates
/// with `epoch`, so that what the last scan left behind (PREFIX in every row) reads as EMPTY in the next.
/// Before the first scan (epoch 0) all words are zero.
template <class Word, uint32_t columns>
class LookbackTable {
 public:
  static constexpr uint64_t value_bits = sizeof(Word) * 8 - 2;

  __device__ LookbackTable(Word* words, uint32_t epoch) : words_(words), empty_((2 * epoch) & 3) {}

  static constexpr uint64_t words(uint64_t rows) { return rows * columns; }

  __device__ __forceinline__ void publish_partial(uint64_t row, uint32_t column, Word sum) const {
    store(row, column, sum, 1);
  }
  __device__ __forceinline__ void publish_prefix(uint64_t row, uint32_t column, Word sum) const {
    store(row, column, sum, 2);
  }

  /// Sum of this column over the rows before `row`, which the caller has published its partial of (row 0:
  /// zero). Several rows are read at once: what bounds the walk is the latency of a load, not their number.
  __device__ __forceinline__ Word sum_before(uint64_t row, uint32_t column) const {
    constexpr uint32_t in_flight = 4;
    Word sum = 0;
    uint64_t next = row;  // rows [next, row) are in `sum`
    while (next > 0) {
      Word status[in_flight];
#pragma unroll
      for (uint32_t k = 0; k < in_flight; ++k)
        status[k] = k < next ? load(next - 1 - k, column) : prefix_flag();
#pragma unroll
      for (uint32_t k = 0; k < in_flight; ++k) {
        const uint32_t flag = flag_of(status[k]);
        if (flag == 0) break;  // not there yet: read again from here
        sum += status[k] >> 2;
        if (flag == 2) return sum;
        --next;
      }
    }
    return sum;
  }

 private:
  __device__ __forceinline__ uint32_t flag_of(Word status) const {
    return (static_cast<uint32_t>(status) - empty_) & 3;
  }
  __device__ __forceinline__ Word prefix_flag() const { return (2 + empty_) & 3; }
  __device__ __forceinline__ Word load(uint64_t row, uint32_t column) const {
    return DeviceAtomic<Word>(words_[row * columns + column]).load(cuda::memory_order_relaxed);
  }
  __device__ __forceinline__ void store(uint64_t row, uint32_t column, Word sum, uint32_t flag) const {
    const Word word = static_cast<Word>(sum << 2) | ((flag + empty_) & 3);
    DeviceAtomic<Word>(words_[row * columns + column]).store(word, cuda::memory_order_relaxed);
  }

  Word* words_;
  uint32_t empty_;
};

}  // namespace sweepsort
