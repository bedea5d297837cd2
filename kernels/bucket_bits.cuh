// bucket_bits.cuh - the end of an MSD radix sort for small buckets of keys alone that span at most 65,536
// values and have few of them. A bit vector in shared memory says which values occur, and the keys are
// written anew from it. Sorting by a bit vector: Bentley, "Programming Pearls", 1986, column 1. Moves 2n
// keys.
//
//     bucket:     67 3 5 67 4
//     1 bits:     . . . 3 4 5 . .  ...  64: . . . 67 . . . .     the second 67 finds its bit set: it is late
//     2 counts:   3                     2                        by thread: its words' bits, and late keys
//     3 places:   0                     3                        by a scan
//     4           3 4 5                 67 67                    each thread writes its keys, in order
//
// If a thread gets too many late keys, the bucket is left to a later launch.
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "core/rounding.hpp"
#include "kernels/bucket_keys.cuh"
#include "kernels/bucket_list.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"
#include "kernels/vector16.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace bucket_bits_detail {

// H200, CUDA 13.0, 2026-11-24, whole sorts of 2^28 u32 keys, ms, threads x blocks: 128x10 2.16, 128x9 2.17,
// 128x8 2.21. Of its first version, 128x10 2.27: 128x8 2.31, 128x6 2.45, 256x5 2.48, 256x4 2.55, 64x16 2.64.
inline constexpr uint32_t threads = 128;
inline constexpr uint32_t blocks_per_multiprocessor = 10;
inline constexpr uint32_t warps = threads / warp_threads;
inline constexpr uint32_t values = 1u << few_value_bits;
inline constexpr uint32_t word_bits = 32;
/// Neighbouring words of one thread: an odd number, so that the words of a warp are in different banks.
inline constexpr uint32_t own_words = (values / word_bits / threads) | 1;
inline constexpr uint32_t words = own_words * threads;
static_assert(words * word_bits >= values);
/// The most late keys of one thread. With 4,096 keys of 65,536 values, one thread in 12,000 has more.
inline constexpr uint32_t max_late = 6;

template <class Bits, uint32_t max_keys>
struct Shared {
  static constexpr uint32_t max_chunks = ceil_divide(max_keys, dealt_chunk<Bits>);

  bucket_list::Queue<max_chunks> queue;
  uint32_t warp_sums[warps];
  alignas(16) uint32_t bits[words];
  uint32_t late[threads];  // number of late keys
  uint16_t late_values[max_late][threads];
  // The values in order, beginning at the place that the first key has in its vector of 16 bytes.
  alignas(16) uint16_t staged[max_keys + sizeof(uint4) / sizeof(Bits)];
};

template <class Bits, uint32_t max_keys>
class BitSort {
 public:
  using Keys = bucket_list::BucketKeys<Bits, threads>;
  using BitsShared = Shared<Bits, max_keys>;

  __device__ __forceinline__ BitSort(BitsShared& shared, const KeyMap<Bits>& map)
      : shared_(shared), map_(map) {
    clear();
    __syncthreads();
  }

  /// Sorts keys that are ordered bits. The lowest value that they may have has these low bits. The keys go to
  /// `to`, in an array that is aligned to 16 bytes, as the caller stores them. `to` may be where they are.
  /// Returns false, and writes nothing, if values repeat too often.
  __device__ __forceinline__ bool sort(const Keys& from, uint32_t low_bits, Bits* to) {
    const Bits lowest = from.lowest(low_bits);
    from.for_each(low_bits, [&](const auto& some) { mark(some); });
    __syncthreads();
    const uint32_t distinct = count_own_bits();
    const uint32_t late = shared_.late[threadIdx.x];
    const uint32_t up_to_me = warp_inclusive_sum(distinct + late);
    const uint32_t warp = threadIdx.x / warp_threads;
    if (ptx::lane_id() == warp_threads - 1) shared_.warp_sums[warp] = up_to_me;
    const bool is_crowded = __syncthreads_or(late > max_late) != 0;
    if (!is_crowded) {
      const auto lead = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to) % sizeof(uint4) / sizeof(Bits));
      uint32_t end = lead + up_to_me;
#pragma unroll
      for (uint32_t w = 0; w + 1 < warps; ++w) end += w < warp ? shared_.warp_sums[w] : 0;
      stage_own(end, distinct, late);
      __syncthreads();
      store(lowest, to - lead, lead, lead + from.size);
    }
    clear();
    __syncthreads();
    return !is_crowded;
  }

 private:
  __device__ __forceinline__ void clear() {
    static_assert(words % 4 == 0);
    uint4* const vectors = reinterpret_cast<uint4*>(shared_.bits);
    for (uint32_t v = threadIdx.x; v < words / 4; v += threads) vectors[v] = make_uint4(0, 0, 0, 0);
    shared_.late[threadIdx.x] = 0;
  }

  /// The atomics of all keys are in flight at once.
  template <class Some>
  __device__ __forceinline__ void mark(const Some& some) {
    bool is_late[Some::size];
    some.for_values([&](uint32_t value, uint32_t k) {
      const uint32_t bit = __funnelshift_l(0, 1, value);
      is_late[k] = (atomicOr(&shared_.bits[value % values / word_bits], bit) & bit) != 0;
    });
    some.for_values([&](uint32_t value, uint32_t k) {
      if (!is_late[k]) return;
      const uint32_t owner = value % values / word_bits / own_words;
      const uint32_t number = atomicAdd(&shared_.late[owner], 1u);
      if (number < max_late) shared_.late_values[number][owner] = static_cast<uint16_t>(value);
    });
  }

  __device__ __forceinline__ uint32_t count_own_bits() const {
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t w = 0; w < own_words; ++w)
      sum += static_cast<uint32_t>(__popc(shared_.bits[threadIdx.x * own_words + w]));
    return sum;
  }

  /// Writes this thread's values, from the highest down, to the places in front of `end`. Each round takes
  /// one key or one new word: nested loops would wait for the fullest word of a warp each time. (Without
  /// branches except for late keys, one of these per round: 2.30 instead of 2.16 ms for 2^28 keys, as each
  /// round waits for the one before. Upwards, with the next word loaded ahead: 2.19.)
  __device__ __forceinline__ void stage_own(uint32_t end, uint32_t distinct, uint32_t late) {
    int32_t repeated[max_late];
    load_late(late, repeated);
    const uint32_t* next = shared_.bits + (threadIdx.x + 1) * own_words;
    uint32_t first_value = (threadIdx.x + 1) * own_words * word_bits;
    uint16_t* to = shared_.staged + end;
    uint32_t word = 0;
#pragma unroll 1
    while (distinct != 0) {
      if (word == 0) {
        word = *--next;
        first_value -= word_bits;
      }
      const bool is_there = word != 0;
      const uint32_t number = 31 - static_cast<uint32_t>(__clz(static_cast<int>(word)));
      const uint32_t value = first_value + number;
      word ^= __funnelshift_lc(0, 1, number);  // nothing if the word has none
      if (is_there) {
        to[-1] = static_cast<uint16_t>(value);
        --to;
        --distinct;
      }
      if (is_there && static_cast<int32_t>(value) == repeated[0]) {
        do {
          *--to = static_cast<uint16_t>(value);
#pragma unroll
          for (uint32_t k = 0; k + 1 < max_late; ++k) repeated[k] = repeated[k + 1];
          repeated[max_late - 1] = -1;
        } while (static_cast<int32_t>(value) == repeated[0]);
      }
    }
  }

  /// Loads the late values and sorts them in descending order by a sorting network. Behind them, -1.
  __device__ __forceinline__ void load_late(uint32_t late, int32_t (&loaded)[max_late]) const {
#pragma unroll
    for (uint32_t k = 0; k < max_late; ++k) loaded[k] = k < late ? shared_.late_values[k][threadIdx.x] : -1;
    const auto exchange = [&](uint32_t a, uint32_t b) {
      const int32_t low = min(loaded[a], loaded[b]);
      loaded[a] = max(loaded[a], loaded[b]);
      loaded[b] = low;
    };
    static_assert(max_late == 6);
    exchange(0, 5), exchange(1, 3), exchange(2, 4);
    exchange(1, 2), exchange(3, 4);
    exchange(0, 3), exchange(2, 5);
    exchange(0, 1), exchange(2, 3), exchange(4, 5);
    exchange(1, 2), exchange(3, 4);
  }

  /// Writes the places [begin, end), counted from a vector of 16 bytes.
  __device__ __forceinline__ void store(Bits lowest, Bits* to, uint32_t begin, uint32_t end) const {
    if (map_.is_xor()) {
      const Bits mask = map_.flip;
      store_as(lowest, to, begin, end, [=](Bits key) { return static_cast<Bits>(key ^ mask); });
    } else {
      store_as(lowest, to, begin, end, [&](Bits key) { return map_.from_ordered(key); });
    }
  }
  template <class Raw>
  __device__ __forceinline__ void store_as(Bits lowest, Bits* to, uint32_t begin, uint32_t end,
                                           Raw raw) const {
    constexpr uint32_t width = sizeof(uint4) / sizeof(Bits);
    struct alignas(width * sizeof(uint16_t)) Values {
      uint16_t of[width];
    };
    const auto key_of = [&](uint16_t value) { return raw(static_cast<Bits>(lowest + value)); };
    const auto vector_at = [&](uint32_t v) {
      const Values some = reinterpret_cast<const Values*>(shared_.staged)[v];
      Vector16<Bits> vector;
#pragma unroll
      for (uint32_t k = 0; k < width; ++k) vector.elements[k] = key_of(some.of[k]);
      return vector;
    };
    bucket_list::store_places<threads>(to, begin, end, vector_at,
                                       [&](uint32_t place) { return key_of(shared_.staged[place]); });
  }

  BitsShared& shared_;
  const KeyMap<Bits>& map_;
};

/// A block takes one bucket after the other.
template <class Bits, uint32_t max_keys>
__global__ __launch_bounds__(threads, blocks_per_multiprocessor) void bucket_bits_kernel(
    bucket_list::BucketTask<Bits, NoValue> task, MsdPlan<Bits>* plan) {
  if (ptx::is_before_90()) return;
  ptx::wait_for_previous_launch();
  if (!bucket_list::has_buckets(task, *plan)) return;
  using Sorter = BitSort<Bits, max_keys>;
  auto& shared = shared_memory<typename Sorter::BitsShared>();
  Sorter sorter(shared, task.map);
  const bool was_dealt = plan->was_dealt();
  bucket_list::for_listed(
      shared.queue, task, *plan, [&](const ListedBucket& bucket, const uint16_t* chunks, auto...) {
        const typename Sorter::Keys keys{was_dealt ? nullptr : task.source(*plan) + bucket.first,
                                         task.dealt.keys_of(bucket, chunks), bucket.size};
        if (!sorter.sort(keys, bucket.few.lowest, task.destination(*plan, bucket)))
          bucket_list::leave_alone_without_parts(task, bucket, plan);
      });
}

}  // namespace bucket_bits_detail

/// Sorts the buckets of task.list, of up to `max_keys` keys, with a bit vector. Those that are left alone
/// join task.next_list, where their parts are still to be found.
template <uint32_t max_keys, class Bits>
void sort_buckets_by_bits(const bucket_list::BucketTask<Bits, NoValue>& task, MsdPlan<Bits>* plan,
                          cudaStream_t stream) {
  using namespace bucket_bits_detail;
  launch_chained(bucket_bits_kernel<Bits, max_keys>,
                 {multiprocessors() * blocks_per_multiprocessor, threads, sizeof(Shared<Bits, max_keys>)},
                 stream, task, plan);
}

}  // namespace sweepsort
