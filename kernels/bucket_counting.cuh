// bucket_counting.cuh - the end of an MSD radix sort for buckets of more keys than a block has room for, but
// no more than 65,536 values: they are counted. Seward, "Information Sorting in the Application of Electronic
// Digital Computers", 1954. Keys alone. Moves 2n keys.
//
//     bucket:           63 60 61 63 60 63      1 a byte in shared memory counts the keys of each value
//     counts:            2  1  0  3            2 each warp takes its share of the values, 256 at a time
//     places:            0  2  3  3              their keys' places by a scan
//     markers:           0  .  1  3  .  .        at a value's first place, its number
//     running maximum:   0  0  1  3  3  3      3 every place learns its value from the last marker before it
//
// If a value comes more than 255 times, all is counted again by 32 bits, a quarter of the values at a time.
#pragma once

#include "core/key_bits.hpp"
#include "kernels/bucket_list.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/policy.cuh"
#include "kernels/ptx.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace bucket_counting_detail {

inline constexpr uint32_t threads = 512;
inline constexpr uint32_t blocks_a_multiprocessor = 2;
inline constexpr uint32_t warps = threads / warp_threads;
inline constexpr uint32_t values = 1u << counted_value_bits;
inline constexpr uint32_t words = values / 4;

/// Values that a lane, and that a warp takes at a time.
inline constexpr uint32_t lane_values = 8;
inline constexpr uint32_t step_values = lane_values * warp_threads;

/// Places that a warp marks at a time.
inline constexpr uint32_t window = sizeof(uint4) * warp_threads;

struct Shared {
  bucket_list::Queue<1> queue;
  uint32_t warp_sums[warps];
  alignas(16) uint32_t counters[words];
  alignas(16) uint8_t markers[warps][window];
};

/// Counters of 8 or of 32 bits, as many as fit, for the values from `first` on.
template <uint32_t bits>
struct Counters {
  static constexpr uint32_t a_word = 32 / bits;
  static constexpr uint32_t size = words * a_word;
  static constexpr uint32_t of_warp = size / warps;
  uint32_t first;

  __device__ __forceinline__ void add(uint32_t* counters, uint32_t value) const {
    const uint32_t counter = value - first;
    if (bits == 8)
      atomicAdd(&counters[counter / 4], 1u << (counter % 4 * 8));
    else if (counter < size)
      atomicAdd(&counters[counter], 1u);
  }
  static __device__ __forceinline__ uint32_t sum(const uint4& four) {
    if (bits == 32) return four.x + four.y + four.z + four.w;
    return ptx::sum_of_bytes(four.x,
                             ptx::sum_of_bytes(four.y, ptx::sum_of_bytes(four.z, ptx::sum_of_bytes(four.w))));
  }
  /// The lane's counts of a step that begins at `begin`.
  static __device__ __forceinline__ void counts(const uint32_t* counters, uint32_t begin,
                                                uint32_t (&counts)[lane_values]) {
    const uint32_t* const own = counters + (begin + ptx::lane_id() * lane_values) / a_word;
    if (bits == 8) {
      const uint2 two = *reinterpret_cast<const uint2*>(own);
#pragma unroll
      for (uint32_t v = 0; v < lane_values; ++v) counts[v] = ((v < 4 ? two.x : two.y) >> (v % 4 * 8)) & 0xff;
    } else {
#pragma unroll
      for (uint32_t v = 0; v < lane_values; ++v) counts[v] = own[v];
    }
  }
};

template <class Bits>
class Counting {
 public:
  __device__ __forceinline__ Counting(Shared& shared, const KeyMap<Bits>& map) : shared_(shared), map_(map) {}

  /// Sorts `size` keys, ordered bits that `parts` tells apart, from `from` on; they go to `to`, in an array
  /// that is aligned to 16 bytes, as the caller has them. `to` may be `from`.
  __device__ __forceinline__ void sort(const Bits* from, uint32_t size, BucketParts parts, Bits* to) {
    const Bits lowest = static_cast<Bits>(from[0] - parts.word_of(from[0]));
    const Counters<8> bytes{0};
    count(bytes, from, size, parts);
    // A byte that runs over loses 256, or loses 256 and gives its neighbour 1: the sum is too small.
    if (sum_up(bytes) == size)
      write(bytes, lowest, to);
    else
      sort_by_quarters(from, size, parts, lowest, to);
  }

 private:
  static constexpr uint32_t in_flight = 16;
  static constexpr uint32_t width = sizeof(uint4) / sizeof(Bits);

  /// All keys are read before the first is written: meanwhile the counts wait in local memory.
  __device__ __noinline__ void sort_by_quarters(const Bits* from, uint32_t size, BucketParts parts,
                                                Bits lowest, Bits* to) {
    constexpr uint32_t quarters = values / Counters<32>::size;
    constexpr uint32_t a_thread = words / threads;
    uint32_t counts[quarters][a_thread];
    for (uint32_t quarter = 0; quarter < quarters; ++quarter) {
      count(Counters<32>{quarter * Counters<32>::size}, from, size, parts);
      for (uint32_t w = 0; w < a_thread; ++w)
        counts[quarter][w] = shared_.counters[w * threads + threadIdx.x];
    }
    for (uint32_t quarter = 0; quarter < quarters; ++quarter) {
      const Counters<32> counters{quarter * Counters<32>::size};
      __syncthreads();  // the last ones are no longer read
      for (uint32_t w = 0; w < a_thread; ++w)
        shared_.counters[w * threads + threadIdx.x] = counts[quarter][w];
      __syncthreads();
      const uint32_t counted = sum_up(counters);
      write(counters, static_cast<Bits>(lowest + counters.first), to);
      to += counted;
    }
  }

  template <uint32_t bits>
  __device__ __forceinline__ void count(const Counters<bits>& counters, const Bits* from, uint32_t size,
                                        BucketParts parts) {
    uint4* const vectors = reinterpret_cast<uint4*>(shared_.counters);
    __syncthreads();  // the last counts are no longer read
    for (uint32_t v = threadIdx.x; v < words / 4; v += threads) vectors[v] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    const Bits* const mine = from + threadIdx.x;
    uint32_t row = 0;
    for (; row + threads * in_flight <= size; row += threads * in_flight) {
      Bits key[in_flight];
#pragma unroll
      for (uint32_t u = 0; u < in_flight; ++u) key[u] = __ldcs(mine + row + u * threads);
#pragma unroll
      for (uint32_t u = 0; u < in_flight; ++u) counters.add(shared_.counters, parts.word_of(key[u]));
    }
    for (uint32_t i = row + threadIdx.x; i < size; i += threads)
      counters.add(shared_.counters, parts.word_of(from[i]));
    __syncthreads();
  }

  /// Leaves in warp_sums how many keys each warp is to write; returns how many all are.
  template <uint32_t bits>
  __device__ __forceinline__ uint32_t sum_up(const Counters<bits>& counters) {
    constexpr uint32_t vectors_a_warp = words / 4 / warps;
    const uint32_t warp = threadIdx.x / warp_threads;
    const uint4* const vectors = reinterpret_cast<const uint4*>(shared_.counters) + warp * vectors_a_warp;
    uint32_t sum = 0;
    for (uint32_t v = ptx::lane_id(); v < vectors_a_warp; v += warp_threads) sum += counters.sum(vectors[v]);
    sum = warp_reduce(sum, [](uint32_t a, uint32_t b) { return a + b; });
    if (ptx::lane_id() == 0) shared_.warp_sums[warp] = sum;
    __syncthreads();
    return sum_of_warps(warps);
  }

  __device__ __forceinline__ uint32_t sum_of_warps(uint32_t end) const {
    const uint32_t lane = ptx::lane_id();
    return warp_reduce(lane < end ? shared_.warp_sums[lane] : 0,
                       [](uint32_t a, uint32_t b) { return a + b; });
  }

  /// Each warp writes the keys of its values.
  template <uint32_t bits>
  __device__ __forceinline__ void write(const Counters<bits>& counters, Bits lowest, Bits* to) {
    const uint32_t warp = threadIdx.x / warp_threads;
    const uint32_t begin = warp * counters.of_warp;
    Bits* own = to + sum_of_warps(warp);
    for (uint32_t step = begin; step < begin + counters.of_warp; step += step_values) {
      uint32_t counts[lane_values];
      counters.counts(shared_.counters, step, counts);
      own += write_step(counts, static_cast<Bits>(lowest + step), own, shared_.markers[warp]);
    }
  }

  /// Writes the keys of 256 values, from `lowest` on; returns their number. The places are counted from the
  /// vector of 16 bytes on that holds the first one.
  __device__ __forceinline__ uint32_t write_step(const uint32_t (&counts)[lane_values], Bits lowest, Bits* to,
                                                 uint8_t* markers) const {
    const uint32_t lane = ptx::lane_id();
    const uint32_t lead =
        static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to) % sizeof(uint4) / sizeof(Bits));
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t v = 0; v < lane_values; ++v) sum += counts[v];
    const uint32_t up_to_lane = warp_inclusive_sum(sum);
    const uint32_t first = lead + up_to_lane - sum;  // this lane's first place
    const uint32_t end = lead + __shfl_sync(full_warp, up_to_lane, warp_threads - 1);
    Bits* const base = to - lead;
    uint32_t last = 0;  // the last marker so far; 0 is the first value's, and none
    for (uint32_t begin = 0; begin < end; begin += window) {
      __syncwarp();  // the last markers are no longer read
      reinterpret_cast<uint4*>(markers)[lane] = make_uint4(0, 0, 0, 0);
      __syncwarp();
      uint32_t place = first - begin;
#pragma unroll
      for (uint32_t v = 0; v < lane_values; ++v) {
        if (counts[v] != 0 && place < window) markers[place] = static_cast<uint8_t>(lane * lane_values + v);
        place += counts[v];
      }
      __syncwarp();
      const uint32_t end_here = min(end - begin, window);
      for (uint32_t row = 0; row < end_here; row += warp_threads * width)
        last = write_row(markers + row, last, lowest, base + begin + row, begin + row == 0 ? lead : 0,
                         min(end_here - row, warp_threads * width));
    }
    return end - lead;
  }

  /// Writes the places [begin, end) of a row of vectors, one a lane. `before`: the last marker before.
  /// Returns the last marker of all.
  __device__ __forceinline__ uint32_t write_row(const uint8_t* markers, uint32_t before, Bits lowest,
                                                Bits* to, uint32_t begin, uint32_t end) const {
    const uint32_t lane = ptx::lane_id();
    uint32_t value[width];
#pragma unroll
    for (uint32_t k = 0; k < width; ++k) value[k] = markers[lane * width + k];
#pragma unroll
    for (uint32_t k = 1; k < width; ++k) value[k] = max(value[k], value[k - 1]);
    // Markers ascend: the nearest lane below that has one has the largest.
    const uint32_t marked = __ballot_sync(full_warp, value[width - 1] != 0);
    const uint32_t below = marked & ptx::lanes_below();
    const uint32_t nearest =
        __shfl_sync(full_warp, value[width - 1], 31 - __clz(static_cast<int>(below | 1)));
    const uint32_t carried = below != 0 ? nearest : before;
    digest_detail::Vector<Bits> vector;
#pragma unroll
    for (uint32_t k = 0; k < width; ++k)
      vector.keys[k] = map_.from_ordered(static_cast<Bits>(lowest + max(value[k], carried)));
    bucket_list::store_own(to, lane, vector, begin, end);
    return __shfl_sync(full_warp, max(value[width - 1], carried), warp_threads - 1);
  }

  Shared& shared_;
  const KeyMap<Bits>& map_;
};

/// Sorts the buckets of task.list, a block one after the other.
template <class Bits>
__global__ __launch_bounds__(threads, blocks_a_multiprocessor) void bucket_counting_kernel(
    bucket_list::BucketTask<Bits, NoValue> task, MsdPlan<Bits>* plan) {
  if (ptx::is_before_90()) return;
  ptx::wait_for_previous_launch();
  if (!plan->partitions()) return;
  Shared& shared = shared_memory<Shared>();
  Counting<Bits> counting(shared, task.map);
  bucket_list::for_listed(shared.queue, task, *plan, [&](const ListedBucket& bucket, auto...) {
    counting.sort(task.source(*plan) + bucket.first, bucket.size, bucket.parts,
                  task.destination(*plan, bucket));
  });
}

}  // namespace bucket_counting_detail

}  // namespace sweepsort
