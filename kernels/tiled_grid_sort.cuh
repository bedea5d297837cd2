// tiled_grid_sort.cuh - the sort of keys alone that are too many for the blocks of a grid to hold
// (grid_sort.cuh) and too few for the launches of an MSD sort: one partition, without a count before it, then
// the buckets, in one cooperative launch.
//
//     block 0  | share | ─ tile by tile ─┐  bucket 0  |=====>   <=|      ┌─ sort ─> out
//     block 1  | share | ─ tile by tile ─┼─ bucket 1  |======>   <| ─────┼─ sort ─> out
//     block 2  | share | ─ tile by tile ─┘  bucket 2  |====>    <=|      └─ sort ─> out
//
// The buckets divide the range of the keys evenly, for floats the range of their values, as a sample shows it
// (bucket_map.cuh). Each bucket has more room than its share. A block collects a tile's keys in bins, one per
// bucket, and appends whole sectors of 32 bytes to the front of each bucket. What is left over waits for the
// next tile. After the last tile, it goes to the bucket's back. A key that finds no room in its bin goes to
// the back at once. It does not matter which block a key comes from, since keys alone have no identity. Keys
// that are in order, few, repeated or crowded are left to other methods. The sample shows it
// (even_sample.cuh), or a bucket runs over, or many keys of a tile find no room in one bin. All this happens
// before anything is written to the output.
//
// Stehle & Jacobsen, 2017, with one level; write combining as in Satish et al., "Fast Sort on CPUs and GPUs",
// 2010; blocks append by fetch-and-add as in Cederman & Tsigas, "GPU-Quicksort", 2009. Moves 4n keys.
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "core/rounding.hpp"
#include "kernels/block.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/bucket_parts.cuh"
#include "kernels/bucket_sort.cuh"
#include "kernels/device_span.cuh"
#include "kernels/even_sample.cuh"
#include "kernels/launch.cuh"
#include "kernels/policy_even_grid.cuh"
#include "kernels/ptx.cuh"
#include "kernels/tickets.cuh"
#include "kernels/vector16.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <type_traits>

namespace sweepsort {

/// The number of buckets for `count` keys, at least one, on `blocks` blocks. Each block has the same number.
template <class Policy>
constexpr uint64_t tiled_grid_buckets(uint64_t count, uint64_t blocks) {
  return ((count - 1) / blocks / Policy::bucket_keys + 1) * blocks;
}
/// Elements of the scratch array that the sort needs, whatever the number of its blocks.
template <class Policy>
constexpr uint64_t tiled_grid_scratch(uint64_t count) {
  return (count / Policy::bucket_keys + Policy::max_blocks) * Policy::Finish::max_keys;
}

template <class Bits, class Value>
inline constexpr bool has_tiled_grid_sort = !std::is_void_v<TunedTiledGrid<Bits, Value>>;

/// Device memory of a tiled grid sort besides its scratch array. Must be zero before each sort.
template <class Policy>
struct TiledGridWorkspace {
  DeviceSpan<uint32_t> fronts;      // keys at the front of each bucket
  DeviceSpan<uint32_t> backs;       // keys at its back
  DeviceSpan<uint32_t> falls_back;  // 1: nothing but the scratch array was written

  /// `is_wanted` false: takes nothing, and cannot be used.
  explicit TiledGridWorkspace(Workspace& workspace, bool is_wanted = true)
      : fronts(workspace.take<uint32_t>(is_wanted ? Policy::max_buckets : 0)),
        backs(workspace.take<uint32_t>(is_wanted ? Policy::max_buckets : 0)),
        falls_back(workspace.take<uint32_t>(is_wanted)) {}
};

/// For records that have no tiled grid sort.
template <>
struct TiledGridWorkspace<void> {
  explicit TiledGridWorkspace(Workspace& /*workspace*/, bool /*is_wanted*/ = false) {}
};

namespace tiled_grid_detail {

/// A block gives up if more keys than this of one tile find no room in one bin.
inline constexpr uint32_t max_beside_bin = 64;

/// Parts of a bucket. Intervals of f32 have no margin for rounding. Keys that rounding brought into the
/// bucket are moved into its interval. The intervals often have just as many values as there are words, and a
/// margin would halve the words in use. H200, us: f32 of [1, 2), 2^23 107 -> 100, 2^24 220 -> 206. Moving f64
/// keys costs 5 %, and their margin is next to nothing.
template <class Buckets>
using PartsOf =
    std::conditional_t<divides_reals<Buckets>,
                       FloatParts<typename Buckets::Key, sizeof(typename Buckets::Key) == 4>, BucketParts>;
template <class Bits>
__device__ __forceinline__ BucketParts parts_of(const LinearBuckets<Bits>& buckets, uint32_t bucket,
                                                uint32_t bits) {
  return BucketParts::of(interval_of(buckets, bucket), bits);
}
template <class Bits>
__device__ __forceinline__ PartsOf<RealBuckets<Bits>> parts_of(const RealBuckets<Bits>& buckets,
                                                               uint32_t bucket, uint32_t bits) {
  const auto [low, high] = buckets.ends_of(bucket);
  const Bits first = min(buckets.ordered_of(low), buckets.ordered_of(high));
  const Bits last = max(buckets.ordered_of(low), buckets.ordered_of(high));
  if (are_around_zero(low, high)) return {BucketParts::not_known(), first, last};
  if constexpr (sizeof(Bits) == 4)
    return {BucketParts::over(first, last, bits), first, last};
  else  // the first and the last bucket, which are open, are divided by value, too
    return {BucketParts::of(interval_of(buckets, bucket), bits), first, last};
}

template <class Buckets, class Policy>
struct Shared {
  using Bits = typename Buckets::Key;
  static constexpr uint32_t warps = Policy::threads / warp_threads;

  Buckets bucket_of;
  uint32_t warp_sums[warps];
  uint32_t runs_over;
  uint32_t starts[Policy::max_buckets];  // of each bucket in the output
  union {
    even_sample::Shared<Buckets, Policy::threads> sample;
    struct {
      uint32_t counts[Policy::max_buckets];  // keys that came to each bin, with or without room
      uint32_t places[Policy::max_buckets];  // where the bins' whole sectors go in the scratch array
      alignas(16) Bits bins[Policy::bin_slots];
    };
    struct {
      PartsOf<Buckets> parts[Policy::max_buckets];  // of the block's buckets
      uint32_t crowded[Policy::max_buckets];        // those of the block's buckets that were left alone
      bucket_sort_detail::Shared<Bits, NoValue, typename Policy::Finish> bucket;
    };
  };
};

/// The parameters of the kernel.
template <class Bits>
struct Task {
  const Bits* keys_in;
  Bits* keys_scratch;
  Bits* keys_out;
  uint32_t count;
  uint32_t share;    // keys per block, whole vectors; the last block may have fewer
  uint32_t buckets;  // the same number for each block
  uint32_t bin;      // slots per bin, whole vectors
  KeyMap<Bits> map;
  uint32_t* fronts;
  uint32_t* backs;
  uint32_t* falls_back;
};

/// `Buckets` are linear in the ordered bits of integers, or in the values of floats.
template <class Buckets, class Policy>
class TiledGridSort {
 public:
  using Bits = typename Buckets::Key;
  using SortShared = Shared<Buckets, Policy>;
  using Finish = typename Policy::Finish;
  static constexpr uint32_t threads = Policy::threads;
  static constexpr uint32_t keys_per_thread = Policy::keys_per_thread;
  static constexpr uint32_t width = elements_per_vector<Bits>;
  static_assert(Policy::bin_slots / Policy::max_buckets / width * width >= elements_per_sector<Bits>);

  __device__ __forceinline__ TiledGridSort(SortShared& shared, const Task<Bits>& task)
      : shared_(shared),
        task_(task),
        first_(blockIdx.x * task.share),
        size_(min(task.share, task.count - blockIdx.x * task.share)) {}

  __device__ __forceinline__ void sort() {
    const bool suits = even_sample::finds_even_keys(
        task_.keys_in, task_.count, task_.map, task_.buckets,
        max(uint64_t{1}, min_even_values<Bits, NoValue>(task_.count)), shared_.sample, shared_.bucket_of);
    if (threadIdx.x == 0) shared_.runs_over = 0;
    __syncthreads();
    const Buckets& bucket_of = shared_.bucket_of;  // no copy: for floats, registers are scarce
    if (suits) {
      deal(bucket_of);
      ptx::grid_sync();
    }
    if (suits && find_starts())
      sort_buckets(bucket_of);
    else if (threadIdx.x == 0)
      give_up();
  }

 private:
  static constexpr bool of_reals = divides_reals<Buckets>;
  static constexpr uint32_t room = Finish::max_keys;  // of a bucket
  /// Buckets begin at a sector, and their fronts grow by sectors.
  static constexpr uint32_t sector = elements_per_sector<Bits>;
  /// Keys of a thread whose atomics are in flight at once.
  static constexpr uint32_t batch = 32 / sizeof(Bits);
  static_assert(room % sector == 0 && keys_per_thread % batch == 0);

  /// The place in a tile of this thread's i-th key. A thread has vectors, which are side by side in the
  /// block.
  __device__ __forceinline__ static uint32_t place_of(uint32_t i) {
    return (i / width * threads + threadIdx.x) * width + i % width;
  }
  /// Starts the loads of this thread's keys [first, first + batch) of a tile, as far as these exist.
  __device__ __forceinline__ void load(uint32_t tile, uint32_t first, Bits (&own)[keys_per_thread]) const {
    const uint32_t begin = min(tile, size_);
    const Bits* const keys = task_.keys_in + first_ + begin;
    if (size_ - begin >= Policy::tile) {
#pragma unroll
      for (uint32_t i = first; i < first + batch; i += width) {
        Vector16<Bits> vector;
        vector.whole =
            ptx::load_streaming(reinterpret_cast<const uint4*>(keys) + i / width * threads + threadIdx.x);
#pragma unroll
        for (uint32_t k = 0; k < width; ++k) own[i + k] = vector.elements[k];
      }
    } else {
#pragma unroll
      for (uint32_t i = first; i < first + batch; ++i)
        if (place_of(i) < size_ - begin) own[i] = keys[place_of(i)];
    }
  }

  /// Moves the block's keys, tile by tile, to their buckets in the scratch array, as ordered bits.
  __device__ __forceinline__ void deal(const Buckets& bucket_of) {
    Bits own[keys_per_thread] = {};
#pragma unroll
    for (uint32_t i = 0; i < keys_per_thread; i += batch) load(0, i, own);
    for (uint32_t b = threadIdx.x; b < task_.buckets; b += threads) shared_.counts[b] = 0;
    __syncthreads();
    for (uint32_t tile = 0; tile < size_ && shared_.runs_over == 0; tile += Policy::tile) {
      if (size_ - tile >= Policy::tile)
        bin_tile<true>(bucket_of, tile, own);
      else
        bin_tile<false>(bucket_of, tile, own);
      __syncthreads();
      find_places();
      __syncthreads();
      empty_bins();
      __syncthreads();
    }
    append_rest();
  }

  /// All blocks learn of this at the end of a tile.
  __device__ __forceinline__ void give_up() const {
    DeviceAtomic<uint32_t>(*task_.falls_back).store(1, cuda::memory_order_relaxed);
  }
  __device__ __forceinline__ bool has_given_up() const {
    return DeviceAtomic<uint32_t>(*task_.falls_back).load(cuda::memory_order_relaxed) != 0;
  }

  /// A shared atomic gives each key a slot. The loads of the next tile's keys start as registers become free.
  template <bool is_full>
  __device__ __forceinline__ void bin_tile(const Buckets& bucket_of, uint32_t tile,
                                           Bits (&own)[keys_per_thread]) {
    if constexpr (!of_reals) {  // integers
      const Bits mask = task_.map.flip;
#pragma unroll
      for (Bits& key : own) key ^= mask;
    }
#pragma unroll
    for (uint32_t first = 0; first < keys_per_thread; first += batch) {
      const auto is_there = [&](uint32_t i) { return is_full || place_of(i) < size_ - tile; };
      uint32_t bucket[batch];
      uint32_t slot[batch];
#pragma unroll
      for (uint32_t i = first; i < first + batch; ++i) {
        if (!is_there(i)) continue;
        if constexpr (of_reals) {
          bucket[i - first] = bucket_of.of_raw(own[i]);
          own[i] = task_.map.to_ordered(own[i]);
        } else {
          bucket[i - first] = bucket_of(own[i]);
        }
        slot[i - first] = atomicAdd(&shared_.counts[bucket[i - first]], 1u);
      }
#pragma unroll
      for (uint32_t i = first; i < first + batch; ++i) {
        if (!is_there(i)) continue;
        if (slot[i - first] < task_.bin)
          shared_.bins[bucket[i - first] * task_.bin + slot[i - first]] = own[i];
        else
          append_to_back(bucket[i - first], own[i], slot[i - first]);
      }
      load(tile + Policy::tile, first, own);
    }
  }
  __device__ __forceinline__ void append_to_back(uint32_t bucket, Bits key, uint32_t slot) const {
    if (slot >= task_.bin + max_beside_bin) {
      give_up();
      return;
    }
    const uint32_t place = atomicAdd(task_.backs + bucket, 1u);
    if (place < room) task_.keys_scratch[bucket * room + room - 1 - place] = key;
  }

  __device__ __forceinline__ uint32_t keys_in_bin(uint32_t bin) const {
    return min(shared_.counts[bin], task_.bin);
  }

  /// Finds where the whole sectors of each bin go.
  __device__ __forceinline__ void find_places() {
    for (uint32_t b = threadIdx.x; b < task_.buckets; b += threads) {
      const uint32_t keys = keys_in_bin(b) / sector * sector;
      const uint32_t before = keys == 0 ? 0 : atomicAdd(task_.fronts + b, keys);
      if (before + keys > room) {
        give_up();
        shared_.runs_over = 1;
      }
      shared_.places[b] = b * room + before;
    }
    if (threadIdx.x == 0 && has_given_up()) shared_.runs_over = 1;
  }

  /// Writes the whole sectors of the bins. What is left over moves to the front of its bin. A few lanes per
  /// bin.
  __device__ __forceinline__ void empty_bins() {
    if (shared_.runs_over != 0) return;
    constexpr uint32_t lanes = 4;
    constexpr uint32_t bins_per_warp = warp_threads / lanes;
    const uint32_t at = threadIdx.x % lanes * width;
    for (uint32_t first = threadIdx.x / warp_threads * bins_per_warp; first < task_.buckets;
         first += SortShared::warps * bins_per_warp) {
      const uint32_t b = first + ptx::lane_id() / lanes;
      const uint32_t keys = b < task_.buckets ? keys_in_bin(b) : 0;
      const uint32_t whole = keys / sector * sector;
      Bits* const bin = shared_.bins + min(b, task_.buckets - 1) * task_.bin;
      const uint4 rest = whole + at < keys ? *reinterpret_cast<const uint4*>(bin + whole + at) : uint4{};
      if (at < whole) {
        Bits* const to = task_.keys_scratch + shared_.places[b];
        for (uint32_t k = at; k < whole; k += lanes * width)
          *reinterpret_cast<uint4*>(to + k) = *reinterpret_cast<const uint4*>(bin + k);
      }
      __syncwarp();
      if (whole + at < keys) *reinterpret_cast<uint4*>(bin + at) = rest;
      if (at == 0 && b < task_.buckets) shared_.counts[b] = keys - whole;
    }
  }

  /// What the last tile left over goes to the back of its bucket.
  __device__ __forceinline__ void append_rest() {
    for (uint32_t b = threadIdx.x; b < task_.buckets; b += threads) {
      const uint32_t keys = shared_.counts[b];
      shared_.places[b] = keys == 0 ? 0 : atomicAdd(task_.backs + b, keys);
    }
    __syncthreads();
    for (uint32_t at = threadIdx.x; at < task_.buckets * sector; at += threads) {
      const uint32_t b = at / sector;
      const uint32_t place = shared_.places[b] + at % sector;
      if (at % sector < shared_.counts[b] && place < room)
        task_.keys_scratch[b * room + room - 1 - place] = shared_.bins[b * task_.bin + at % sector];
    }
  }

  /// Finds the start of every bucket in the output. Each thread has some neighbouring buckets. Returns false
  /// if a bucket has run over, or a block gave up. Every block gets the same result.
  __device__ __forceinline__ bool find_starts() {
    const auto keys_of = [&](uint32_t b) { return __ldcg(task_.fronts + b) + __ldcg(task_.backs + b); };
    const uint32_t each = ceil_divide(task_.buckets, threads);
    const uint32_t begin = min(threadIdx.x * each, task_.buckets);
    const uint32_t end = min(begin + each, task_.buckets);
    uint32_t sum = 0;
    for (uint32_t b = begin; b < end; ++b) sum += keys_of(b);
    uint32_t total = 0;
    uint32_t start = block_exclusive_sum<threads>(sum, shared_.warp_sums, total);
    bool has_room = !has_given_up();
    for (uint32_t b = begin; b < end; ++b) {
      const uint32_t keys = keys_of(b);
      has_room &= keys <= room;
      shared_.starts[b] = start;
      start += keys;
    }
    return __syncthreads_and(has_room) != 0;
  }

  __device__ __forceinline__ void sort_buckets(const Buckets& bucket_of) {
    const bucket_sort_detail::BucketArrays<Bits, NoValue> none;
    // One thread per bucket, as the divisions take long.
    constexpr uint32_t part_bits = decltype(shared_.bucket)::part_bits;
    for (uint32_t own = threadIdx.x; own * gridDim.x < task_.buckets; own += threads)
      shared_.parts[own] = parts_of(bucket_of, own * gridDim.x + blockIdx.x, part_bits);
    __syncthreads();
    uint32_t crowded = 0;
    {
      BucketSorter<Crowded::left_alone, PartsOf<Buckets>> sorter(shared_.bucket, none, task_.map);
      load_bucket(sorter, blockIdx.x);
      for (uint32_t own = 0, b = blockIdx.x; b < task_.buckets; ++own, b += gridDim.x) {
        const auto load_next = [&] { load_bucket(sorter, b + gridDim.x); };
        if (sorter.template sort_loaded<!of_reals>({0, size_of(b)}, shared_.parts[own],
                                                   task_.keys_out + shared_.starts[b], load_next))
          continue;
        if (threadIdx.x == 0) shared_.crowded[crowded] = b;
        ++crowded;
        load_next();
      }
    }
    __syncthreads();
    if (crowded != 0) sort_crowded(shared_, task_, crowded);
  }

  /// Sorts the buckets that were left alone. A function of its own, because its registers would slow the
  /// others down.
  static __device__ __noinline__ void sort_crowded(SortShared& shared, const Task<Bits>& task,
                                                   uint32_t crowded) {
    const bucket_sort_detail::BucketArrays<Bits, NoValue> none;
    const TiledGridSort sort(shared, task);
    BucketSorter<Crowded::by_digits, BucketParts> sorter(shared.bucket, none, task.map);
    for (uint32_t i = 0; i < crowded; ++i) {
      const uint32_t b = shared.crowded[i];
      sort.load_bucket(sorter, b);
      (void)sorter.sort_loaded({0, sort.size_of(b)}, task.keys_out + shared.starts[b], [] {});
    }
  }

  template <Crowded crowded, class Parts>
  using BucketSorter = bucket_sort_detail::Bucket<Bits, NoValue, Finish, crowded, Parts>;

  template <class Sorter>
  __device__ __forceinline__ void load_bucket(Sorter& sorter, uint32_t b) const {
    if (b >= task_.buckets) return;
    sorter.keys().load_ends(size_of(b), __ldcg(task_.fronts + b), task_.keys_scratch + b * room, room);
  }
  __device__ __forceinline__ uint32_t size_of(uint32_t b) const {
    return (b + 1 < task_.buckets ? shared_.starts[b + 1] : task_.count) - shared_.starts[b];
  }

  SortShared& shared_;
  const Task<Bits>& task_;
  uint32_t first_;  // the block's first key
  uint32_t size_;   // its number of keys
};

template <class Buckets, class Policy>
__global__
__launch_bounds__(Policy::threads, Policy::Finish::blocks_per_multiprocessor) void tiled_grid_sort_kernel(
    const __grid_constant__ Task<typename Buckets::Key> task) {
  if (ptx::is_before_90()) return;
  TiledGridSort<Buckets, Policy>(shared_memory<Shared<Buckets, Policy>>(), task).sort();
}

template <class Bits, class Policy>
inline constexpr size_t shared_bytes = std::max(sizeof(Shared<LinearBuckets<Bits>, Policy>),
                                                sizeof(Shared<RealBuckets<Bits>, Policy>));

}  // namespace tiled_grid_detail

/// The most blocks on the current device.
template <class Policy>
uint32_t max_tiled_grid_blocks() {
  return std::min(multiprocessors() * Policy::Finish::blocks_per_multiprocessor, Policy::max_blocks);
}

/// Keys that a tiled grid sort takes on the current device; 0 if its blocks cannot wait for each other there.
template <class Bits, class Policy>
uint64_t tiled_grid_capacity() {
  if (!can_cooperate(tiled_grid_detail::shared_bytes<Bits, Policy>)) return 0;
  const uint64_t blocks = max_tiled_grid_blocks<Policy>();
  return Policy::max_buckets / blocks * blocks * Policy::bucket_keys;
}

/// Sorts up to tiled_grid_capacity keys in one launch. If *workspace.falls_back is 1 afterwards, nothing but
/// `scratch`, of tiled_grid_scratch elements, was written. `out` may be `in`. All arrays are aligned to 16
/// bytes.
template <class Bits, class Policy>
void tiled_grid_sort(const Bits* in, Bits* scratch, Bits* out, uint64_t count, KeyMap<Bits> map,
                     const TiledGridWorkspace<Policy>& workspace, cudaStream_t stream) {
  using namespace tiled_grid_detail;
  if (count == 0) return;
  constexpr uint64_t vector = sizeof(uint4) / sizeof(Bits);
  const uint64_t max_blocks = max_tiled_grid_blocks<Policy>();
  const uint64_t share = round_up(ceil_divide(count, max_blocks), vector);
  const uint64_t blocks = ceil_divide(count, share);
  const uint64_t buckets = tiled_grid_buckets<Policy>(count, blocks);
  if (buckets > Policy::max_buckets) throw std::length_error("more keys than the buckets of the grid hold");
  const Task<Bits> task{.keys_in = in,
                        .keys_scratch = scratch,
                        .keys_out = out,
                        .count = static_cast<uint32_t>(count),
                        .share = static_cast<uint32_t>(share),
                        .buckets = static_cast<uint32_t>(buckets),
                        .bin = static_cast<uint32_t>(Policy::bin_slots / buckets / vector * vector),
                        .map = map,
                        .fronts = workspace.fronts.data(),
                        .backs = workspace.backs.data(),
                        .falls_back = workspace.falls_back.data()};
  const auto kernel = map.is_of_floats() ? tiled_grid_sort_kernel<RealBuckets<Bits>, Policy>
                                         : tiled_grid_sort_kernel<LinearBuckets<Bits>, Policy>;
  launch_cooperative(kernel, {static_cast<uint32_t>(blocks), Policy::threads, shared_bytes<Bits, Policy>},
                     stream, task);
}

}  // namespace sweepsort
