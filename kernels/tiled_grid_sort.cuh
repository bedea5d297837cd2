// tiled_grid_sort.cuh - the sort of keys alone that are too many for the blocks of a grid to hold
// (grid_sort.cuh) and too few for the launches of an MSD sort: one partition, without a count before it, then
// the buckets, in one cooperative launch.
//
//     block 0  | share | ─ tile by tile ─┐  bucket 0  |=====>     |      ┌─ sort ─> out
//     block 1  | share | ─ tile by tile ─┼─ bucket 1  |======>    | ─────┼─ sort ─> out
//     block 2  | share | ─ tile by tile ─┘  bucket 2  |=====>     |      └─ sort ─> out
//
// The buckets divide the range of the keys evenly (bucket_map.cuh), as a sample shows it, and each has more
// room than its share: tiles from all blocks are appended to it, so that all that is written lies together.
// Which key comes from whom does not matter, since keys alone have no identity. Keys that are in order, few,
// repeated or crowded are left to others: the sample shows it, or a bucket that runs over, before anything is
// written to the output.
//
// Stehle & Jacobsen, 2017, with one level; blocks append by fetch-and-add as in Cederman & Tsigas,
// "GPU-Quicksort", 2009. Moves 4n keys.
#pragma once

#include "core/key_bits.hpp"
#include "kernels/block.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/bucket_sort.cuh"
#include "kernels/device_span.cuh"
#include "kernels/histogram.cuh"
#include "kernels/launch.cuh"
#include "kernels/lookback.cuh"
#include "kernels/policy.cuh"
#include "kernels/ptx.cuh"
#include "kernels/radix_rank.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace sweepsort {

/// Buckets of so many keys, at least one, on so many blocks: as many for each block.
template <class Policy>
constexpr uint64_t tiled_grid_buckets(uint64_t count, uint64_t blocks) {
  return ((count - 1) / blocks / Policy::bucket_keys + 1) * blocks;
}
/// Elements of the scratch array that it needs, whatever the number of its blocks.
template <class Policy>
constexpr uint64_t tiled_grid_scratch(uint64_t count) {
  return (count / Policy::bucket_keys + Policy::most_blocks) * Policy::Finish::most_keys;
}

/// Device memory of a tiled grid sort besides its scratch array. Must be zero before each sort.
template <class Policy>
struct TiledGridWorkspace {
  DeviceSpan<uint32_t> sizes;       // by bucket
  DeviceSpan<uint32_t> falls_back;  // 1: nothing but the scratch array was written

  explicit TiledGridWorkspace(Workspace& workspace)
      : sizes(workspace.take<uint32_t>(Policy::most_buckets)), falls_back(workspace.take<uint32_t>(1)) {}
};

namespace tiled_grid_detail {

/// Samples that lie side by side.
inline constexpr uint32_t neighbours = 8;
/// A map leaves so much of the sample's spread as room on both sides: 1/64 (grid_sort.cuh).
inline constexpr uint32_t slack_shift = 6;
/// Parts of the range in which samples are counted.
inline constexpr uint32_t groups = 16;
/// Of one part: twice its share, and what chance may add.
SWEEPSORT_HOST_DEVICE constexpr uint32_t most_in_group(uint32_t samples) { return 2 * samples / groups + 16; }
/// Of so many samples one is that of another place: their values repeat.
inline constexpr uint32_t repeats_worth = 40;

template <class Bits, class Policy>
struct Shared {
  static constexpr uint32_t warps = Policy::threads / warp_threads;

  BucketMap<Bits> map;
  Bits least[warps];
  Bits most[warps];
  Bits first_sample[warps];
  uint32_t in_group[groups];
  uint32_t warp_sums[warps];
  uint32_t runs_over;
  uint32_t starts[Policy::most_buckets];  // of each bucket in the output
  union {
    struct {
      uint32_t counts[Policy::most_buckets];  // the tile's keys by bucket; then where they start in the stage
      uint32_t to_array[Policy::most_buckets];  // from a place in the stage to that in the scratch array
      alignas(16) Bits stage[Policy::most_tile];
    };
    bucket_sort_detail::Shared<Bits, NoValue, typename Policy::Finish> bucket;
  };
};

/// Everything the kernel needs to know.
template <class Bits>
struct Task {
  const Bits* keys_in;
  Bits* keys_scratch;
  Bits* keys_out;
  uint32_t count;
  uint32_t share;    // keys a block, but for the last one: whole vectors
  uint32_t buckets;  // as many for each block
  KeyMap<Bits> map;
  uint32_t* sizes;
  uint32_t* falls_back;
};

template <class Bits, class Policy>
class TiledGridSort {
 public:
  using SortShared = Shared<Bits, Policy>;
  using Finish = typename Policy::Finish;
  static constexpr uint32_t threads = Policy::threads;
  static constexpr uint32_t keys_a_thread = Policy::keys_a_thread;
  static constexpr uint32_t width = digest_detail::keys_a_vector<Bits>;
  static_assert(keys_a_thread % width == 0 && Policy::most_buckets <= 1u << 14);

  __device__ __forceinline__ TiledGridSort(SortShared& shared, const Task<Bits>& task)
      : shared_(shared),
        task_(task),
        first_(blockIdx.x * task.share),
        size_(min(task.share, task.count - blockIdx.x * task.share)) {}

  __device__ __forceinline__ void sort() {
    const bool suits = take_sample();
    if (!suits && blockIdx.x == 0 && threadIdx.x == 0) fall_back();
    if (!suits) return;
    const LinearBuckets<Bits> bucket_of{shared_.map};
    deal(bucket_of);
    ptx::grid_sync();
    if (__ldcg(task_.falls_back) != 0) return;
    find_starts();
    sort_buckets(bucket_of);
  }

 private:
  static constexpr uint32_t room = Finish::most_keys;  // of a bucket

  __device__ __forceinline__ void fall_back() const {
    DeviceAtomic<uint32_t>(*task_.falls_back).store(1, cuda::memory_order_relaxed);
  }

  /// Makes the map, the same in every block. False: the keys are not for this sort.
  __device__ __forceinline__ bool take_sample() {
    constexpr uint32_t last_place = threads / neighbours - 1;
    const uint64_t place = uint64_t{task_.count - 1} * (threadIdx.x / neighbours) / last_place;
    const uint32_t index = min(static_cast<uint32_t>(place) + threadIdx.x % neighbours, task_.count - 1);
    const Bits key = task_.map.to_ordered(task_.keys_in[index]);
    const auto lower = [](Bits a, Bits b) { return min(a, b); };
    const auto higher = [](Bits a, Bits b) { return max(a, b); };
    const uint32_t warp = threadIdx.x / warp_threads;
    const uint32_t lane = ptx::lane_id();
    const Bits least_of_warp = warp_reduce(key, lower);
    const Bits most_of_warp = warp_reduce(key, higher);
    if (lane == 0) {
      shared_.least[warp] = least_of_warp;
      shared_.most[warp] = most_of_warp;
      shared_.first_sample[warp] = key;
    }
    if (threadIdx.x < groups) shared_.in_group[threadIdx.x] = 0;
    if (threadIdx.x == 0) shared_.runs_over = 0;
    __syncthreads();
    const Bits least = warp_reduce(shared_.least[lane % SortShared::warps], lower);
    const Bits most = warp_reduce(shared_.most[lane % SortShared::warps], higher);
    constexpr Bits all = static_cast<Bits>(~Bits{0});
    const Bits slack = static_cast<Bits>(most - least) >> slack_shift;
    const Bits lowest = least > slack ? static_cast<Bits>(least - slack) : Bits{0};
    const Bits highest = most < all - slack ? static_cast<Bits>(most + slack) : all;
    const auto range = static_cast<Bits>(highest - lowest);
    if (threadIdx.x == 0) shared_.map = BucketMap<Bits>::over(lowest, range, task_.buckets);
    // The sample behind each one: in order?
    const Bits next_in_warp = shuffle_down(key, 1);
    const bool has_next = threadIdx.x + 1 < threads;
    const Bits next = lane + 1 < warp_threads ? next_in_warp
                      : has_next              ? shared_.first_sample[warp + 1]
                                              : key;
    const bool rises = __syncthreads_or(key < next) != 0;
    const bool falls = __syncthreads_or(key > next) != 0;
    const Bits elsewhere = shuffle_from(key, lane ^ neighbours);
    const bool repeats = __syncthreads_count(key == elsewhere) >= static_cast<int>(threads / repeats_worth);
    const LinearBuckets<Bits> bucket_of{shared_.map};
    const uint32_t part = bucket_of.part_of_word(bucket_of.map.word_of(key));  // of buckets * 2^14
    const uint32_t group = part * groups / (task_.buckets << 14);
    const bool crowds =
        __syncthreads_or(atomicAdd(&shared_.in_group[group], 1u) >= most_in_group(threads)) != 0;
    // Values that must come several times each are counted by others.
    return rises && falls && !repeats && !crowds && range / 4 >= task_.count;
  }

  /// The keys that this thread has of a tile: vectors side by side in the block, and of a share's end what
  /// there is.
  __device__ __forceinline__ void load_tile(uint32_t tile, Bits (&own)[keys_a_thread]) const {
    const Bits* const keys = task_.keys_in + first_ + tile;
    const uint32_t size = min(size_ - tile, Policy::most_tile);
    if (size == Policy::most_tile) {
#pragma unroll
      for (uint32_t i = 0; i < keys_a_thread; i += width) {
        digest_detail::Vector<Bits> vector;
        vector.whole =
            ptx::load_streaming(reinterpret_cast<const uint4*>(keys) + i / width * threads + threadIdx.x);
#pragma unroll
        for (uint32_t k = 0; k < width; ++k) own[i + k] = vector.keys[k];
      }
    } else {
#pragma unroll
      for (uint32_t i = 0; i < keys_a_thread; ++i)
        if (place_of(i) < size) own[i] = keys[place_of(i)];
    }
  }
  /// In its tile.
  __device__ __forceinline__ static uint32_t place_of(uint32_t i) {
    return (i / width * threads + threadIdx.x) * width + i % width;
  }

  /// The block's keys, tile by tile, to where their buckets are in the scratch array, as ordered bits.
  __device__ __forceinline__ void deal(const LinearBuckets<Bits>& bucket_of) {
    Bits own[keys_a_thread] = {};
    load_tile(0, own);
    for (uint32_t tile = 0; tile < size_; tile += Policy::most_tile) {
      const uint32_t size = min(size_ - tile, Policy::most_tile);
      for (uint32_t b = threadIdx.x; b < task_.buckets; b += threads) shared_.counts[b] = 0;
      __syncthreads();
      Packed16<keys_a_thread> ranks;
#pragma unroll
      for (uint32_t i = 0; i < keys_a_thread; ++i) {
        if (place_of(i) >= size) continue;
        own[i] = task_.map.to_ordered(own[i]);
        ranks.set(i, atomicAdd(&shared_.counts[bucket_of(own[i])], 1u));
      }
      __syncthreads();
      stage_buckets();
      if (shared_.runs_over != 0) break;
#pragma unroll
      for (uint32_t i = 0; i < keys_a_thread; ++i)
        if (place_of(i) < size) shared_.stage[shared_.counts[bucket_of(own[i])] + ranks.get(i)] = own[i];
      if (tile + Policy::most_tile < size_) load_tile(tile + Policy::most_tile, own);
      __syncthreads();
#pragma unroll 8
      for (uint32_t i = 0; i < keys_a_thread; ++i) {
        const uint32_t at = i * threads + threadIdx.x;
        if (at >= size) break;
        const Bits key = shared_.stage[at];
        task_.keys_scratch[shared_.to_array[bucket_of(key)] + at] = key;
      }
      __syncthreads();
    }
  }

  /// Calls body(b, start, keys) for every bucket b, of size_of(b) keys, with the keys of all before it; a
  /// thread has some that are neighbours. The whole block.
  template <class SizeOf, class Body>
  __device__ __forceinline__ void for_buckets_in_row(SizeOf size_of, Body body) {
    const uint32_t each = (task_.buckets + threads - 1) / threads;
    const uint32_t begin = min(threadIdx.x * each, task_.buckets);
    const uint32_t end = min(begin + each, task_.buckets);
    uint32_t sum = 0;
    for (uint32_t b = begin; b < end; ++b) sum += size_of(b);
    uint32_t total = 0;
    uint32_t start = block_exclusive_sum<threads>(sum, shared_.warp_sums, total);
    for (uint32_t b = begin; b < end; ++b) {
      const uint32_t keys = size_of(b);
      body(b, start, keys);
      start += keys;
    }
    __syncthreads();
  }

  /// Where each bucket of the tile begins in the stage, and where in the scratch array its keys go.
  __device__ __forceinline__ void stage_buckets() {
    for_buckets_in_row([&](uint32_t b) { return shared_.counts[b]; },
                       [&](uint32_t b, uint32_t start, uint32_t keys) {
                         const uint32_t before = keys == 0 ? 0 : atomicAdd(task_.sizes + b, keys);
                         if (before + keys > room) {
                           atomicOr(&shared_.runs_over, 1u);
                           fall_back();
                         }
                         shared_.to_array[b] = b * room + before - start;
                         shared_.counts[b] = start;
                       });
  }

  /// Of all buckets in the output.
  __device__ __forceinline__ void find_starts() {
    for_buckets_in_row([&](uint32_t b) { return __ldcg(task_.sizes + b); },
                       [&](uint32_t b, uint32_t start, uint32_t) { shared_.starts[b] = start; });
  }

  __device__ __forceinline__ void sort_buckets(const LinearBuckets<Bits>& bucket_of) {
    using namespace bucket_sort_detail;
    for (uint32_t b = blockIdx.x; b < task_.buckets; b += gridDim.x) {
      const uint32_t end = b + 1 < task_.buckets ? shared_.starts[b + 1] : task_.count;
      const uint32_t size = end - shared_.starts[b];
      if (size == 0) continue;
      const auto interval = interval_of(bucket_of, b);
      constexpr uint32_t part_bits = decltype(shared_.bucket)::part_bits;
      const auto parts = BucketParts::over(interval.first, interval.last, part_bits);
      // Two instances: what the second one wants of registers would slow the first one down.
      const Bits* const from = task_.keys_scratch + b * room;
      Bits* const to = task_.keys_out + shared_.starts[b];
      if (!sort_bucket<Crowded::left_alone>(from, size, parts, to))
        (void)sort_bucket<Crowded::by_digits>(from, size, parts, to);
    }
  }

  template <bucket_sort_detail::Crowded crowded>
  __device__ __forceinline__ bool sort_bucket(const Bits* from, uint32_t size, BucketParts parts, Bits* to) {
    const bucket_sort_detail::BucketArrays<Bits, NoValue> arrays{from, to, nullptr, nullptr};
    bucket_sort_detail::Bucket<Bits, NoValue, Ranking::ballot, Finish, crowded> bucket(shared_.bucket, arrays,
                                                                                       task_.map);
    return bucket.sort({0, size}, parts, from, to);
  }

  SortShared& shared_;
  const Task<Bits>& task_;
  uint32_t first_;  // key of the block
  uint32_t size_;   // keys
};

template <class Bits, class Policy>
__global__ __launch_bounds__(
    Policy::threads, Policy::Finish::blocks_a_multiprocessor) void tiled_grid_sort_kernel(Task<Bits> task) {
  if (ptx::is_before_90()) return;
  TiledGridSort<Bits, Policy>(shared_memory<Shared<Bits, Policy>>(), task).sort();
}

}  // namespace tiled_grid_detail

/// Blocks on the current device.
template <class Policy>
uint32_t most_tiled_grid_blocks() {
  return std::min(multiprocessors() * Policy::Finish::blocks_a_multiprocessor, Policy::most_blocks);
}

/// Keys that a tiled grid sort takes on the current device; 0 if its blocks cannot wait for each other there.
template <class Bits, class Policy>
uint64_t tiled_grid_capacity() {
  if (device_attribute(cudaDevAttrCooperativeLaunch) == 0 ||
      device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) <
          sizeof(tiled_grid_detail::Shared<Bits, Policy>))
    return 0;
  const uint64_t blocks = most_tiled_grid_blocks<Policy>();
  return Policy::most_buckets / blocks * blocks * Policy::bucket_keys;
}

/// Sorts up to tiled_grid_capacity keys in one launch, unless *workspace.falls_back is 1 behind it: then
/// nothing but `scratch`, of tiled_grid_scratch elements, was written. `out` may be `in`. All arrays are
/// aligned to 16 bytes.
template <class Bits, class Policy>
void tiled_grid_sort(const Bits* in, Bits* scratch, Bits* out, uint64_t count, KeyMap<Bits> map,
                     const TiledGridWorkspace<Policy>& workspace, cudaStream_t stream) {
  using namespace tiled_grid_detail;
  if (count == 0) return;
  constexpr uint64_t vector = sizeof(uint4) / sizeof(Bits);
  const uint64_t most_blocks = most_tiled_grid_blocks<Policy>();
  const uint64_t share = align_up((count + most_blocks - 1) / most_blocks, vector);
  const uint64_t blocks = (count + share - 1) / share;
  const uint64_t buckets = tiled_grid_buckets<Policy>(count, blocks);
  if (buckets > Policy::most_buckets) throw std::length_error("more keys than the buckets of the grid hold");
  const Task<Bits> task{.keys_in = in,
                        .keys_scratch = scratch,
                        .keys_out = out,
                        .count = static_cast<uint32_t>(count),
                        .share = static_cast<uint32_t>(share),
                        .buckets = static_cast<uint32_t>(buckets),
                        .map = map,
                        .sizes = workspace.sizes.data(),
                        .falls_back = workspace.falls_back.data()};
  launch_cooperative(tiled_grid_sort_kernel<Bits, Policy>,
                     {static_cast<uint32_t>(blocks), Policy::threads, sizeof(Shared<Bits, Policy>)}, stream,
                     task);
}

}  // namespace sweepsort
