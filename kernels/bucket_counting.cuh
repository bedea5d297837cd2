// bucket_counting.cuh - the end of an MSD radix sort for buckets of few values, whose keys are counted. These
// are large buckets of at most 65,536 values, even with more keys than a block has room for. If there are
// enough keys for such launches, they are also buckets of any size with at most 16,384 values. Seward,
// "Information Sorting in the Application of Electronic Digital Computers", 1954. Keys alone. Moves 2n keys.
//
//     bucket:           63 60 61 63 60 63      1 some bits in shared memory count the keys of each value
//     counts:            2  1  0  3            2 each warp takes its share of the values, some at a time
//     places:            0  2  3  3              their keys' places by a scan
//     markers:           0  .  1  3  .  .        at a value's first place, its number
//     running maximum:   0  0  1  3  3  3      3 every place learns its value from the last marker before it
//
// Buckets of many values begin with counters of 4 bits. If a value occurs more than 15 times, all keys are
// counted again with 8 bits, for half of the values at a time. Buckets of few values begin with 8 bits. If a
// value occurs more than 255 times, all are counted with 32 bits, for an eighth or a fourth of the values at
// a time.
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

namespace bucket_counting_detail {

/// What a kernel counts: buckets of up to 2^value_bits values, at first with counters of counter_bits.
template <uint32_t threads_, uint32_t blocks_per_multiprocessor_, uint32_t value_bits, uint32_t counter_bits_>
struct Shape {
  static constexpr uint32_t threads = threads_;
  static constexpr uint32_t blocks_per_multiprocessor = blocks_per_multiprocessor_;
  static constexpr uint32_t warps = threads / warp_threads;
  static constexpr uint32_t values = 1u << value_bits;
  static constexpr uint32_t counter_bits = counter_bits_;
  static constexpr uint32_t words = values / 32 * counter_bits;
};

/// With at least this many values, most warps have some even if a lane takes 16 at a time.
inline constexpr uint32_t long_steps_from = 2048;

/// Places that a warp marks at a time.
inline constexpr uint32_t window = 512;

template <class Shape, uint32_t max_chunks>
struct Shared {
  bucket_list::Queue<max_chunks> queue;
  uint32_t warp_sums[Shape::warps];
  alignas(16) uint32_t counters[Shape::words];
  alignas(16) uint16_t markers[Shape::warps][window];
};

/// Counters of 4, 8 or 32 bits, as many as fit, for the values from `first` on. `used` of them are used. A
/// lane takes those in lane_words words at a time.
template <class Shape, uint32_t bits, uint32_t lane_words>
struct Counters {
  static constexpr uint32_t per_word = 32 / bits;
  static constexpr uint32_t size = Shape::words * per_word;
  static constexpr uint32_t per_lane = lane_words * per_word;  // counters of a lane when a warp takes some
  static constexpr uint32_t per_step = per_lane * warp_threads;
  static constexpr uint32_t shares = Shape::values / size;
  static_assert(size % (per_step * Shape::warps) == 0);
  uint32_t first;
  uint32_t used;

  /// The counters that a lane takes at a time.
  struct alignas(lane_words * sizeof(uint32_t)) Words {
    uint32_t of[lane_words];
  };

  /// Both calls of mark() in write_as() extract the counts. One of them gets hidden words: otherwise the
  /// counts would be extracted once, before the branch, and kept in registers.
  static __device__ __forceinline__ Words opaque(Words words) {
#pragma unroll
    for (uint32_t& word : words.of) word = ptx::opaque(word);
    return words;
  }
  /// The number of counters of each warp.
  __device__ __forceinline__ uint32_t of_warp() const {
    constexpr uint32_t of_all = per_step * Shape::warps;
    return ceil_divide(used, of_all) * per_step;
  }
  __device__ __forceinline__ void add(uint32_t* counters, uint32_t value) const {
    const uint32_t counter = value - first;
    if (size == Shape::values || counter < size)
      atomicAdd(&counters[counter / per_word], 1u << (counter % per_word * bits));
  }
  static __device__ __forceinline__ uint32_t sum(const Words& words) {
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t w = 0; w < lane_words; ++w)
      sum = bits == 32 ? sum + words.of[w] : ptx::sum_of_bytes(bytes(words.of[w]), sum);
    return sum;
  }
  static __device__ __forceinline__ uint32_t count(const Words& words, uint32_t value) {
    const uint32_t word = words.of[value / per_word];
    return bits == 32 ? word : word >> (value % per_word * bits) & ((1u << bits % 32) - 1);
  }

 private:
  /// Four counters, or the sums of two each.
  static __device__ __forceinline__ uint32_t bytes(uint32_t word) {
    constexpr uint32_t low = 0x0f0f0f0f;
    return bits == 4 ? (word & low) + (word >> 4 & low) : word;
  }
};

template <class Bits, class Shape, class CountingShared>
class Counting {
 public:
  static constexpr uint32_t threads = Shape::threads;
  static constexpr uint32_t warps = Shape::warps;
  static constexpr uint32_t words = Shape::words;
  static constexpr uint32_t values = Shape::values;
  using Keys = bucket_list::BucketKeys<Bits, threads>;

  __device__ __forceinline__ Counting(CountingShared& shared, const KeyMap<Bits>& map)
      : shared_(shared), map_(map) {}

  /// Called once per block, before the first sort.
  __device__ __forceinline__ void clear() {
    clear_counters();
    static_assert(window * sizeof(uint16_t) == 2 * warp_threads * sizeof(uint4));
    uint4* const own = reinterpret_cast<uint4*>(shared_.markers[threadIdx.x / warp_threads]);
    own[ptx::lane_id()] = own[ptx::lane_id() + warp_threads] = make_uint4(0, 0, 0, 0);
  }

  /// Sorts keys that are ordered bits and have these values. They go to `to`, in an array that is aligned to
  /// 16 bytes, as the caller stores them. `to` may be where they are. Returns false, and writes nothing, if
  /// the first counters do not suffice and `may_leave_alone`.
  __device__ __forceinline__ bool sort(const Keys& from, ValueSpan few, Bits* to, bool may_leave_alone) {
    constexpr uint32_t bits = Shape::counter_bits;
    // With few values, some warps would have none if each took many at a time.
    using LongSteps = Counters<Shape, bits, 4>;
    using ShortSteps = Counters<Shape, bits, 1>;
    const bool is_done = bits == 4 || few.range >= long_steps_from
                             ? sort_by<LongSteps>({0, few.range + 1}, from, few.lowest, to)
                             : sort_by<ShortSteps>({0, few.range + 1}, from, few.lowest, to);
    if (is_done) return true;
    if (may_leave_alone) {
      clear_counters();
      return false;
    }
    if (bits == 8 || !sort_by_shares<Counters<Shape, 8, 4>>(map_, from, few.lowest, to))
      (void)sort_by_shares<Counters<Shape, 32, 4>>(map_, from, few.lowest, to);
    return true;
  }

 private:
  static constexpr uint32_t width = sizeof(uint4) / sizeof(Bits);

  /// Returns false, and writes nothing, if a counter overflowed.
  template <class SomeCounters>
  __device__ __forceinline__ bool sort_by(const SomeCounters& counters, const Keys& from, uint32_t low_bits,
                                          Bits* to) {
    const Bits lowest = from.lowest(low_bits);
    count(counters, from, low_bits);
    // A counter that overflows loses all it holds, and may add 1 to its neighbour, so the sum is too small.
    if (sum_up(counters) != from.size) return false;
    write(counters, lowest, to);
    return true;
  }

  /// Uses wider counters, of which there are fewer. It is a function of its own that nothing points into:
  /// otherwise all shared memory would be accessed by generic addresses.
  template <class Wider>
  static __device__ __noinline__ bool sort_by_shares(KeyMap<Bits> map, Keys from, uint32_t low_bits,
                                                     Bits* to) {
    return Counting(shared_memory<CountingShared>(), map).template sort_shares<Wider>(from, low_bits, to);
  }

  /// All keys are read before the first is written. Meanwhile the counts wait in local memory. Returns false,
  /// and writes nothing, if a counter overflowed.
  template <class Wider>
  __device__ __forceinline__ bool sort_shares(const Keys& from, uint32_t low_bits, Bits* to) {
    const Bits lowest = from.lowest(low_bits);
    constexpr uint32_t per_thread = words / threads;
    uint32_t counts[Wider::shares][per_thread];
    uint32_t all = 0;
    for (uint32_t share = 0; share < Wider::shares; ++share) {
      const Wider counters{share * Wider::size, Wider::size};
      __syncthreads();
      clear_counters();
      count(counters, from, low_bits);
      for (uint32_t w = 0; w < per_thread; ++w)
        counts[share][w] = shared_.counters[w * threads + threadIdx.x];
      all += sum_up(counters);
    }
    if (all != from.size) return false;
    for (uint32_t share = 0; share < Wider::shares; ++share) {
      const Wider counters{share * Wider::size, Wider::size};
      __syncthreads();  // the previous ones are no longer read
      for (uint32_t w = 0; w < per_thread; ++w)
        shared_.counters[w * threads + threadIdx.x] = counts[share][w];
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

  /// Counts keys. The counters must be zero before.
  template <class SomeCounters>
  __device__ __forceinline__ void count(const SomeCounters& counters, const Keys& from, uint32_t low_bits) {
    __syncthreads();  // the previous counts are no longer read
    from.for_each(low_bits, [&](const auto& some) {
      some.for_values([&](uint32_t value, auto) { counters.add(shared_.counters, value % values); });
    });
    __syncthreads();
  }

  /// Puts the number of keys that each warp writes in warp_sums, and returns their sum.
  template <class SomeCounters>
  __device__ __forceinline__ uint32_t sum_up(const SomeCounters& counters) {
    using Words = typename SomeCounters::Words;
    const uint32_t warp = threadIdx.x / warp_threads;
    const uint32_t of_warp = counters.of_warp() / SomeCounters::per_lane;
    const Words* const own = reinterpret_cast<const Words*>(shared_.counters) + warp * of_warp;
    uint32_t sum = 0;
    for (uint32_t i = ptx::lane_id(); i < of_warp; i += warp_threads) sum += SomeCounters::sum(own[i]);
    sum = ptx::warp_sum(sum);
    if (ptx::lane_id() == 0) shared_.warp_sums[warp] = sum;
    __syncthreads();
    return sum_of_warps(warps);
  }

  __device__ __forceinline__ uint32_t sum_of_warps(uint32_t end) const {
    const uint32_t lane = ptx::lane_id();
    return ptx::warp_sum(lane < end ? shared_.warp_sums[lane] : 0);
  }

  /// Each warp writes the keys of its values, and clears its counters.
  template <class SomeCounters>
  __device__ __forceinline__ void write(const SomeCounters& counters, Bits lowest, Bits* to) {
    if (map_.is_xor()) {
      const Bits mask = map_.flip;
      write_as(counters, lowest, to, [=](Bits key) { return static_cast<Bits>(key ^ mask); });
    } else {
      write_as(counters, lowest, to, [&](Bits key) { return map_.from_ordered(key); });
    }
  }

  /// Places of a warp's keys are counted from the vector of 16 bytes that holds the first one. They are
  /// written a row at a time, one vector per lane. Markers of a row that is not full yet wait.
  template <class SomeCounters, class Raw>
  __device__ __forceinline__ void write_as(const SomeCounters& counters, Bits lowest, Bits* to, Raw raw) {
    using Words = typename SomeCounters::Words;
    static_assert(SomeCounters::size / warps <= 1u << 16);
    const uint32_t warp = threadIdx.x / warp_threads;
    const uint32_t lane = ptx::lane_id();
    const uint32_t of_warp = counters.of_warp();
    Words* const words_of_lanes =
        reinterpret_cast<Words*>(shared_.counters) + warp * (of_warp / SomeCounters::per_lane) + lane;
    uint16_t* const markers = shared_.markers[warp];
    lowest = static_cast<Bits>(lowest + warp * of_warp);
    Bits* next = to + sum_of_warps(warp);  // a row
    uint32_t begin = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(next) % sizeof(uint4) / sizeof(Bits));
    next -= begin;
    uint32_t end = begin;  // end of the places with markers
    uint32_t last = 0;     // the last marker so far; 0 stands for the first value, and for no marker
#pragma unroll 1
    for (uint32_t step = 0; step < of_warp; step += SomeCounters::per_step) {
      const Words counts = words_of_lanes[step / SomeCounters::per_lane];
      words_of_lanes[step / SomeCounters::per_lane] = {};
      const uint32_t sum = SomeCounters::sum(counts);
      const uint32_t up_to_lane = warp_inclusive_sum(sum);
      auto place = static_cast<int32_t>(end + up_to_lane - sum);  // of this lane's first value
      end += __shfl_sync(full_warp, up_to_lane, warp_threads - 1);
      const bool fits = end <= window;
      bool goes_on = true;
      while (goes_on) {
        goes_on = end > window;
        if (fits)
          mark<SomeCounters>(markers, place, SomeCounters::opaque(counts), step,
                             [](int32_t) { return true; });
        else
          mark<SomeCounters>(markers, place, counts, step,
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

  /// Marks the first place of each value that has keys, if is_inside(place). A lane's first value has
  /// `place`.
  template <class SomeCounters, class IsInside>
  static __device__ __forceinline__ void mark(uint16_t* markers, int32_t place,
                                              const typename SomeCounters::Words& counts, uint32_t step,
                                              IsInside is_inside) {
    const uint32_t first = step + ptx::lane_id() * SomeCounters::per_lane;
    uint16_t* at = markers + place;
#pragma unroll
    for (uint32_t v = 0; v < SomeCounters::per_lane; ++v) {
      const uint32_t count = SomeCounters::count(counts, v);
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

  /// Writes the places [begin, end) of a row. `before`: the last marker before the row. Returns the last
  /// marker so far.
  template <class Raw>
  static __device__ __forceinline__ uint32_t write_row(const Markers& markers, uint32_t before, Bits lowest,
                                                       Bits* to, uint32_t begin, uint32_t end, Raw raw) {
    const uint32_t lane = ptx::lane_id();
    uint32_t value[width];
#pragma unroll
    for (uint32_t k = 0; k < width; ++k) value[k] = max(markers.of[k], k == 0 ? 0 : value[k - 1]);
    // Markers ascend, so the nearest lower lane that has one has the largest.
    const uint32_t marked = __ballot_sync(full_warp, value[width - 1] != 0);
    const uint32_t below = marked & ptx::lanes_below();
    const uint32_t nearest =
        __shfl_sync(full_warp, value[width - 1], 31 - __clz(static_cast<int>(below | 1)));
    const uint32_t carried = below != 0 ? nearest : before;
    Vector16<Bits> vector;
#pragma unroll
    for (uint32_t k = 0; k < width; ++k)
      vector.elements[k] = raw(static_cast<Bits>(lowest + max(value[k], carried)));
    bucket_list::store_own(to, lane, vector, begin, end);
    return __shfl_sync(full_warp, max(value[width - 1], carried), warp_threads - 1);
  }

  CountingShared& shared_;
  const KeyMap<Bits>& map_;
};

/// A block takes one bucket after the other. `max_chunks`: the most chunks of a bucket that was dealt.
template <class Bits, class Shape, uint32_t max_chunks>
__global__ __launch_bounds__(Shape::threads, Shape::blocks_per_multiprocessor) void bucket_counting_kernel(
    bucket_list::BucketTask<Bits, NoValue> task, uint32_t max_left_alone, MsdPlan<Bits>* plan) {
  if (ptx::is_before_90()) return;
  ptx::wait_for_previous_launch();
  if (!bucket_list::has_buckets(task, *plan)) return;
  auto& shared = shared_memory<Shared<Shape, max_chunks>>();
  using Sorter = Counting<Bits, Shape, Shared<Shape, max_chunks>>;
  Sorter counting(shared, task.map);
  counting.clear();
  const bool was_dealt = plan->was_dealt();
  bucket_list::for_listed(
      shared.queue, task, *plan, [&](const ListedBucket& bucket, const uint16_t* chunks, auto...) {
        const typename Sorter::Keys keys{was_dealt ? nullptr : task.source(*plan) + bucket.first,
                                         task.dealt.keys_of(bucket, chunks), bucket.size};
        if (!counting.sort(keys, bucket.few, task.destination(*plan, bucket), bucket.size <= max_left_alone))
          bucket_list::leave_alone_without_parts(task, bucket, plan);
      });
}

}  // namespace bucket_counting_detail

/// Shapes, by how few values the buckets have.
using CountsFewValues = bucket_counting_detail::Shape<256, 4, few_value_bits, 4>;
// H200, CUDA 13.0, 2026-11-24, whole sorts of 2^28 u32 keys of the first 2^30, 2^28, 2^24 numbers, and of f32
// from -1 to 1, ms (without it: 2.47, 2.79, 2.82, 2.59), threads x blocks / value bits: 128x10/14 2.15, 1.96,
// 1.98, 2.16; 128x8/14 2.19, 1.97, 1.97, 2.16; 128x10/13 2.45, 1.94, 1.93, 2.15; 128x12/13 2.47, 1.95, 1.93,
// 2.17.
using CountsDenseValues = bucket_counting_detail::Shape<128, 10, dense_value_bits, 8>;

/// Sorts the buckets of task.list with counters. Those that were dealt have up to `max_dealt` keys. If one
/// value has too many keys for the first counters, buckets of up to `max_left_alone` keys join
/// task.next_list, where their parts are still to be found.
template <class Shape, uint32_t max_dealt, class Bits>
void count_buckets(const bucket_list::BucketTask<Bits, NoValue>& task, uint32_t max_left_alone,
                   MsdPlan<Bits>* plan, cudaStream_t stream) {
  using namespace bucket_counting_detail;
  constexpr uint32_t max_chunks = max_dealt / dealt_chunk<Bits>;
  static_assert(max_dealt % dealt_chunk<Bits> == 0);
  const auto kernel = bucket_counting_kernel<Bits, Shape, max_chunks>;
  constexpr size_t shared_bytes = sizeof(Shared<Shape, max_chunks>);
  const uint32_t blocks = resident_blocks(kernel, Shape::threads, shared_bytes);
  launch_chained(kernel, {blocks, Shape::threads, shared_bytes}, stream, task, max_left_alone, plan);
}

}  // namespace sweepsort
