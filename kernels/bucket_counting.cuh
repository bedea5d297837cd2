// bucket_counting.cuh - the end of an MSD radix sort for large buckets of no more than 65,536 values, also of
// more keys than a block has room for: they are counted. Seward, "Information Sorting in the Application of
// Electronic Digital Computers", 1954. Keys alone. Moves 2n keys.
//
//     bucket:           63 60 61 63 60 63      1 four bits in shared memory count the keys of each value
//     counts:            2  1  0  3            2 each warp takes its share of the values, 1,024 at a time
//     places:            0  2  3  3              their keys' places by a scan
//     markers:           0  .  1  3  .  .        at a value's first place, its number
//     running maximum:   0  0  1  3  3  3      3 every place learns its value from the last marker before it
//
// If a value comes more than 15 times, all is counted again by 8 bits, half of the values at a time; if more
// than 255 times, by 32 bits, an eighth of the values at a time.
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

inline constexpr uint32_t threads = 256;
inline constexpr uint32_t blocks_a_multiprocessor = 4;
inline constexpr uint32_t warps = threads / warp_threads;
inline constexpr uint32_t values = 1u << few_value_bits;
inline constexpr uint32_t words = values / 8;

/// Places that a warp marks at a time.
inline constexpr uint32_t window = 512;

template <uint32_t most_chunks>
struct Shared {
  bucket_list::Queue<most_chunks> queue;
  uint32_t warp_sums[warps];
  alignas(16) uint32_t counters[words];
  alignas(16) uint16_t markers[warps][window];
};

/// Counters of 4, 8 or 32 bits, as many as fit, for the values from `first` on.
template <uint32_t bits>
struct Counters {
  static constexpr uint32_t a_word = 32 / bits;
  static constexpr uint32_t size = words * a_word;
  static constexpr uint32_t of_warp = size / warps;
  static constexpr uint32_t of_lane = 4 * a_word;  // of those that a warp takes at a time: a vector
  static constexpr uint32_t shares = values / size;
  uint32_t first;

  __device__ __forceinline__ void add(uint32_t* counters, uint32_t value) const {
    const uint32_t counter = value - first;
    if (size == values || counter < size)
      atomicAdd(&counters[counter / a_word], 1u << (counter % a_word * bits));
  }
  static __device__ __forceinline__ uint32_t sum(const uint4& four) {
    if (bits == 32) return four.x + four.y + four.z + four.w;
    return ptx::sum_of_bytes(
        bytes(four.x),
        ptx::sum_of_bytes(bytes(four.y), ptx::sum_of_bytes(bytes(four.z), ptx::sum_of_bytes(bytes(four.w)))));
  }
  static __device__ __forceinline__ uint32_t count(const uint4& four, uint32_t value) {
    const uint32_t of = value / a_word;
    const uint32_t word = of == 0 ? four.x : of == 1 ? four.y : of == 2 ? four.z : four.w;
    return bits == 32 ? word : word >> (value % a_word * bits) & ((1u << bits % 32) - 1);
  }

 private:
  /// Four counters, or sums of two.
  static __device__ __forceinline__ uint32_t bytes(uint32_t word) {
    constexpr uint32_t low = 0x0f0f0f0f;
    return bits == 4 ? (word & low) + (word >> 4 & low) : word;
  }
};

template <class Bits, class CountingShared>
class Counting {
 public:
  using Keys = bucket_list::BucketKeys<Bits, threads>;

  __device__ __forceinline__ Counting(CountingShared& shared, const KeyMap<Bits>& map)
      : shared_(shared), map_(map) {}

  /// Once a block, before the first sort.
  __device__ __forceinline__ void clear() {
    clear_counters();
    static_assert(window * sizeof(uint16_t) == 2 * warp_threads * sizeof(uint4));
    uint4* const own = reinterpret_cast<uint4*>(shared_.markers[threadIdx.x / warp_threads]);
    own[ptx::lane_id()] = own[ptx::lane_id() + warp_threads] = make_uint4(0, 0, 0, 0);
  }

  /// Sorts keys, ordered bits, of which the lowest may be one with these low bits; they go to `to`, in an
  /// array that is aligned to 16 bytes, as the caller has them. `to` may be where they are.
  __device__ __forceinline__ void sort(const Keys& from, uint32_t low_bits, Bits* to) {
    const Bits lowest = from.lowest(low_bits);
    const Counters<4> counters{0};
    count(counters, from, low_bits);
    // A counter that runs over loses 16, or loses 16 and gives its neighbour 1: the sum is too small.
    if (sum_up(counters) == from.size)
      write(counters, lowest, to);
    else if (!sort_by_shares<Counters<8>>(map_, from, low_bits, to))
      (void)sort_by_shares<Counters<32>>(map_, from, low_bits, to);
  }

 private:
  static constexpr uint32_t width = sizeof(uint4) / sizeof(Bits);

  /// By counters that are wider, so that there are fewer. A function of its own, that nothing points into:
  /// else all shared memory would be accessed by generic addresses.
  template <class Wider>
  static __device__ __noinline__ bool sort_by_shares(KeyMap<Bits> map, Keys from, uint32_t low_bits,
                                                     Bits* to) {
    return Counting(shared_memory<CountingShared>(), map).template sort_shares<Wider>(from, low_bits, to);
  }

  /// All keys are read before the first is written: meanwhile the counts wait in local memory. False, and
  /// nothing is written, if a counter ran over.
  template <class Wider>
  __device__ __forceinline__ bool sort_shares(const Keys& from, uint32_t low_bits, Bits* to) {
    const Bits lowest = from.lowest(low_bits);
    constexpr uint32_t a_thread = words / threads;
    uint32_t counts[Wider::shares][a_thread];
    uint32_t all = 0;
    for (uint32_t share = 0; share < Wider::shares; ++share) {
      const Wider counters{share * Wider::size};
      __syncthreads();
      clear_counters();
      count(counters, from, low_bits);
      for (uint32_t w = 0; w < a_thread; ++w) counts[share][w] = shared_.counters[w * threads + threadIdx.x];
      all += sum_up(counters);
    }
    if (all != from.size) return false;
    for (uint32_t share = 0; share < Wider::shares; ++share) {
      const Wider counters{share * Wider::size};
      __syncthreads();  // the last ones are no longer read
      for (uint32_t w = 0; w < a_thread; ++w) shared_.counters[w * threads + threadIdx.x] = counts[share][w];
      __syncthreads();
      const uint32_t counted = sum_up(counters);
      write(counters, static_cast<Bits>(lowest + counters.first), to);
      to += counted;
    }
    return true;
  }

  __device__ __forceinline__ void clear_counters() {
    uint4* const vectors = reinterpret_cast<uint4*>(shared_.counters);
    for (uint32_t v = threadIdx.x; v < words / 4; v += threads) vectors[v] = make_uint4(0, 0, 0, 0);
  }

  /// Adds to counters that are zero.
  template <class Some>
  __device__ __forceinline__ void count(const Some& counters, const Keys& from, uint32_t low_bits) {
    __syncthreads();  // the last counts are no longer read
    from.for_each(low_bits, [&](const auto& some) {
      some.for_values([&](uint32_t value, auto) { counters.add(shared_.counters, value % values); });
    });
    __syncthreads();
  }

  /// Leaves in warp_sums how many keys each warp is to write; returns how many all are.
  template <class Some>
  __device__ __forceinline__ uint32_t sum_up(const Some& counters) {
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

  /// Each warp writes the keys of its values, and clears the counters.
  template <class Some>
  __device__ __forceinline__ void write(const Some& counters, Bits lowest, Bits* to) {
    if (map_.is_xor()) {
      const Bits mask = map_.xor_mask();
      write_as(counters, lowest, to, [=](Bits key) { return static_cast<Bits>(key ^ mask); });
    } else {
      write_as(counters, lowest, to, [&](Bits key) { return map_.from_ordered(key); });
    }
  }

  /// The places of a warp's keys are counted from the vector of 16 bytes on that holds the first one. They
  /// are written a row at a time, a vector a lane; markers of a row that is not yet full wait.
  template <class Some, class Raw>
  __device__ __forceinline__ void write_as(const Some& /*counters*/, Bits lowest, Bits* to, Raw raw) {
    constexpr uint32_t of_step = Some::of_lane * warp_threads;
    static_assert(Some::of_warp % of_step == 0 && Some::of_warp <= 1u << 16);
    const uint32_t warp = threadIdx.x / warp_threads;
    const uint32_t lane = ptx::lane_id();
    uint4* const vectors =
        reinterpret_cast<uint4*>(shared_.counters) + warp * (Some::of_warp / Some::of_lane) + lane;
    uint16_t* const markers = shared_.markers[warp];
    lowest = static_cast<Bits>(lowest + warp * Some::of_warp);
    Bits* next = to + sum_of_warps(warp);  // a row
    uint32_t begin = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(next) % sizeof(uint4) / sizeof(Bits));
    next -= begin;
    uint32_t end = begin;  // of the places with markers
    uint32_t last = 0;     // the last marker so far; 0 is the first value's, and none
#pragma unroll 1
    for (uint32_t step = 0; step < Some::of_warp; step += of_step) {
      const uint4 counts = vectors[step / Some::of_lane];
      vectors[step / Some::of_lane] = make_uint4(0, 0, 0, 0);
      const uint32_t sum = Some::sum(counts);
      const uint32_t up_to_lane = warp_inclusive_sum(sum);
      auto place = static_cast<int32_t>(end + up_to_lane - sum);  // of this lane's first value
      end += __shfl_sync(full_warp, up_to_lane, warp_threads - 1);
      const bool fits = end <= window;
      bool goes_on = true;
      while (goes_on) {
        goes_on = end > window;
        if (fits)
          mark<Some>(markers, place, ptx::opaque(counts), step, [](int32_t) { return true; });
        else
          mark<Some>(markers, place, counts, step,
                     [](int32_t at) { return static_cast<uint32_t>(at) < window; });
        __syncwarp();
        const uint32_t rows = min(end, window) / row_places;
#pragma unroll 1
        for (uint32_t row = 0; row < rows; ++row) {
          last =
              write_row(take_markers(markers + row * row_places), last, lowest, next, begin, row_places, raw);
          next += row_places;
          begin = 0;
        }
        if (rows != 0 && !goes_on) put_markers(markers, take_markers(markers + rows * row_places % window));
        __syncwarp();
        place -= static_cast<int32_t>(rows * row_places);
        end -= rows * row_places;
      }
    }
    if (begin < end) write_row(take_markers(markers), last, lowest, next, begin, end, raw);
    __syncwarp();
  }

  /// Each value that has keys at its first place, if is_inside(it). A lane's first value has `place`.
  template <class Some, class IsInside>
  static __device__ __forceinline__ void mark(uint16_t* markers, int32_t place, const uint4& counts,
                                              uint32_t step, IsInside is_inside) {
    const uint32_t first = step + ptx::lane_id() * Some::of_lane;
    uint16_t* at = markers + place;
#pragma unroll
    for (uint32_t v = 0; v < Some::of_lane; ++v) {
      const uint32_t count = Some::count(counts, v);
      if (count != 0 && is_inside(place)) *at = static_cast<uint16_t>(first + v);
      at += count;
      place += static_cast<int32_t>(count);
    }
  }

  /// A lane's markers of a row.
  struct alignas(width * sizeof(uint16_t)) Markers {
    uint16_t of[width];
  };
  static constexpr uint32_t row_places = warp_threads * width;
  static_assert(window % row_places == 0);

  static __device__ __forceinline__ Markers take_markers(uint16_t* row) {
    Markers& own = reinterpret_cast<Markers*>(row)[ptx::lane_id()];
    const Markers taken = own;
    own = {};
    return taken;
  }
  static __device__ __forceinline__ void put_markers(uint16_t* row, const Markers& markers) {
    reinterpret_cast<Markers*>(row)[ptx::lane_id()] = markers;
  }

  /// Writes the places [begin, end) of a row. `before`: the last marker before. Returns the last marker of all.
  template <class Raw>
  static __device__ __forceinline__ uint32_t write_row(const Markers& markers, uint32_t before, Bits lowest,
                                                       Bits* to, uint32_t begin, uint32_t end, Raw raw) {
    const uint32_t lane = ptx::lane_id();
    uint32_t value[width];
#pragma unroll
    for (uint32_t k = 0; k < width; ++k) value[k] = max(markers.of[k], k == 0 ? 0 : value[k - 1]);
    // Markers ascend: the nearest lane below that has one has the largest.
    const uint32_t marked = __ballot_sync(full_warp, value[width - 1] != 0);
    const uint32_t below = marked & ptx::lanes_below();
    const uint32_t nearest =
        __shfl_sync(full_warp, value[width - 1], 31 - __clz(static_cast<int>(below | 1)));
    const uint32_t carried = below != 0 ? nearest : before;
    digest_detail::Vector<Bits> vector;
#pragma unroll
    for (uint32_t k = 0; k < width; ++k)
      vector.keys[k] = raw(static_cast<Bits>(lowest + max(value[k], carried)));
    bucket_list::store_own(to, lane, vector, begin, end);
    return __shfl_sync(full_warp, max(value[width - 1], carried), warp_threads - 1);
  }

  CountingShared& shared_;
  const KeyMap<Bits>& map_;
};

/// Sorts the buckets of task.list, a block one after the other. `most_chunks`: of one that was dealt.
template <class Bits, uint32_t most_chunks>
__global__ __launch_bounds__(threads, blocks_a_multiprocessor) void bucket_counting_kernel(
    bucket_list::BucketTask<Bits, NoValue> task, MsdPlan<Bits>* plan) {
  if (ptx::is_before_90()) return;
  ptx::wait_for_previous_launch();
  if (!plan->partitions()) return;
  auto& shared = shared_memory<Shared<most_chunks>>();
  using Sorter = Counting<Bits, Shared<most_chunks>>;
  Sorter counting(shared, task.map);
  counting.clear();
  const bool was_dealt = plan->was_dealt();
  bucket_list::for_listed(
      shared.queue, task, *plan, [&](const ListedBucket& bucket, const uint16_t* chunks, auto...) {
        const typename Sorter::Keys keys{was_dealt ? nullptr : task.source(*plan) + bucket.first,
                                         task.dealt.keys_of(bucket, chunks), bucket.size};
        counting.sort(keys, bucket.parts.lowest_word, task.destination(*plan, bucket));
      });
}

}  // namespace bucket_counting_detail

}  // namespace sweepsort
