// even_sample.cuh - whether a sample shows that keys are evenly distributed over their range, in no order,
// and hardly repeat. Then a linear map (for floats, linear in their values) divides them into buckets that
// need no count.
//
//     samples:  lines of neighbouring keys, or single ones
//        │ least and most ──> the map
//        │ does none rise, or none fall?  they may be in order
//        │ do neighbours share a bucket?  they are close to order (single ones are not asked)
//        ▼
//     cells:    equal parts of the range, more than samples
//        │ do samples meet in them?       values repeat, or keys clump together
//        │ are many that meet the same?   so do values that are evenly distributed
//        ▼
//     parts:    has one more than its share?
//
// The map is from Neubert, "The Flashsort1 Algorithm", 1998. Samples meet as in the birthday problem.
#pragma once

#include "core/key_bits.hpp"
#include "kernels/bucket_map.cuh"
#include "kernels/ptx.cuh"
#include "kernels/vector16.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace sweepsort::even_sample {

/// Threads whose samples lie side by side, in a line of memory.
inline constexpr uint32_t neighbours = 8;
/// How two successive samples may differ.
inline constexpr uint32_t rises = 1;
inline constexpr uint32_t falls = 2;

/// Samples of a thread that takes a vector of neighbours. With a width of 1, a thread takes a single key.
template <class Bits>
inline constexpr uint32_t vector_width = elements_per_vector<Bits>;

template <class Buckets, uint32_t threads, uint32_t width_ = vector_width<typename Buckets::Key>>
struct Shared {
  using Bits = typename Buckets::Key;
  static constexpr uint32_t width = width_;
  static constexpr bool are_single = width == 1;
  static constexpr uint32_t warps = threads / warp_threads;
  static constexpr uint32_t samples = threads * width;
  static constexpr uint32_t cells = 16 * threads;

  Buckets cell_of;    // of a key
  Bits least[warps];  // of the samples of each warp
  Bits most[warps];
  Bits first[warps];
  uint32_t order[warps];                // whether samples of the warp rise, and whether they fall
  uint32_t is_local[warps];             // threads whose samples are in one bucket
  uint32_t in_part[warps];              // samples in each part of the range; all parts have the same number
                                        // of cells
  uint32_t occupied[warps];             // cells of the part that have samples
  alignas(16) uint32_t in_cell[cells];  // samples
};

/// Each warp counts, in its part of the range, the samples and the cells that have some.
template <class SampleShared>
__device__ __forceinline__ void count_cells(SampleShared& shared) {
  const uint32_t warp = threadIdx.x / warp_threads;
  constexpr uint32_t vectors = SampleShared::cells / SampleShared::warps / 4;
  const uint4* const part = reinterpret_cast<const uint4*>(shared.in_cell) + warp * vectors;
  uint32_t samples = 0;
  uint32_t occupied = 0;
#pragma unroll
  for (uint32_t v = 0; v < vectors; v += warp_threads) {
    const uint4 four = part[v + ptx::lane_id()];
    samples += four.x + four.y + four.z + four.w;
    occupied += (four.x != 0) + (four.y != 0) + (four.z != 0) + (four.w != 0);
  }
  samples = ptx::warp_sum(samples);
  occupied = ptx::warp_sum(occupied);
  if (ptx::lane_id() != 0) return;
  shared.in_part[warp] = samples;
  shared.occupied[warp] = occupied;
}

/// Whether the keys are even, from the results of all warps.
template <class SampleShared>
__device__ __forceinline__ bool is_even(const SampleShared& shared, uint32_t buckets) {
  using std::sqrt;
  constexpr uint32_t warps = SampleShared::warps;
  constexpr float samples = SampleShared::samples;
  const uint32_t warp = ptx::lane_id();
  const bool is_there = warp < warps;
  const auto sum = [&](const uint32_t* of_warps) { return ptx::warp_sum(is_there ? of_warps[warp] : 0); };
  const uint32_t order = is_there ? shared.order[warp] : 0;
  const bool is_unordered =
      __any_sync(full_warp, order & rises) != 0 && __any_sync(full_warp, order & falls) != 0;
  // Neighbouring keys are often close to each other.
  constexpr uint32_t threads = warps * warp_threads;
  const bool are_local =
      !SampleShared::are_single && sum(shared.is_local) > threads / 16 + 2 * threads / buckets;
  // A quarter above the mean, and what chance adds.
  constexpr float in_part = samples / warps;
  constexpr float deviations = SampleShared::are_single ? 4 : 3;  // four with fewer samples in each part
  const bool is_dense =
      is_there && static_cast<float>(shared.in_part[warp]) > in_part * 1.25f + deviations * sqrt(in_part);
  // Samples that meet another one in their cell: more than five standard deviations above the mean.
  constexpr float meetings = samples * samples / 2 / SampleShared::cells;
  const bool repeat = samples - static_cast<float>(sum(shared.occupied)) > meetings + 5 * sqrt(meetings);
  return is_unordered && !are_local && __any_sync(full_warp, is_dense) == 0 && !repeat;
}

/// Whether samples are equal so often that most values must occur dozens of times. Then all keys of a bucket
/// crowd in few of its parts. Called by the whole block, after count_cells().
template <class SampleShared, class Bits = typename SampleShared::Bits>
__device__ __forceinline__ bool values_repeat(const Bits (&own)[SampleShared::width], uint32_t count,
                                              SampleShared& shared) {
  constexpr float samples = SampleShared::samples;
  constexpr float often = 24;
  constexpr float chance = 8;
  // The words are above all counts of samples, which are in the cells.
  const auto word_of = [](Bits key) {
    if constexpr (sizeof(key) == 8) return static_cast<uint32_t>(key ^ key >> 32) | 1u << 31;
    return static_cast<uint32_t>(key) | 1u << 31;
  };
  // Each cell keeps one of its samples, and all are compared with it. It keeps the highest one, not the last
  // to arrive, since every block must get the same result (otherwise some blocks would wait for others for
  // ever).
#pragma unroll
  for (const Bits key : own) (void)atomicMax(&shared.in_cell[shared.cell_of(key)], word_of(key));
  __syncthreads();
  uint32_t same = 0;
#pragma unroll
  for (const Bits key : own) same += shared.in_cell[shared.cell_of(key)] == word_of(key);
  same = ptx::warp_sum(same);
  if (ptx::lane_id() == 0) shared.in_part[threadIdx.x / warp_threads] = same;
  __syncthreads();
  const uint32_t warp = ptx::lane_id();
  const bool is_there = warp < SampleShared::warps;
  const uint32_t others = ptx::warp_sum(is_there ? shared.in_part[warp] - shared.occupied[warp] : 0);
  return static_cast<float>(others) > chance + samples * samples / 2 * often / static_cast<float>(count);
}

/// Loads this thread's samples, as the caller stores them. Returns false if there are too few keys.
template <class SampleShared, class Bits = typename SampleShared::Bits>
__device__ __forceinline__ bool load(const Bits* keys, uint32_t count, Bits (&own)[SampleShared::width]) {
  constexpr uint32_t threads = SampleShared::warps * warp_threads;
  if constexpr (SampleShared::are_single) {
    if (count < threads) return false;
    // The place in this thread's part is pseudo-random. At equal distances, samples of an array that falls as
    // it rose would meet their equals.
    const uint64_t part = uint64_t{threadIdx.x} << 16 | (threadIdx.x * 0x9e3779b1u >> 16);
    own[0] = keys[count * part / (uint64_t{threads} << 16)];
  } else {
    constexpr uint32_t width = SampleShared::width;
    if (count < neighbours * width) return false;
    constexpr uint32_t last_place = threads / neighbours - 1;
    const uint64_t last = count / width - neighbours;
    const uint64_t place = last * (threadIdx.x / neighbours) / last_place;
    Vector16<Bits> vector;
    vector.whole = reinterpret_cast<const uint4*>(keys)[place + threadIdx.x % neighbours];
#pragma unroll
    for (uint32_t k = 0; k < width; ++k) own[k] = vector.elements[k];
  }
  return true;
}

/// Samples `count` keys, whose ordered bits are map_of_keys.to_ordered. Makes the map that divides them into
/// `buckets`, in shared memory. Called by the whole block; every block gets the same result. Returns false if
/// the keys are not even, or too few to tell, or if their range has fewer than `min_values` values (at least
/// 1). `bucket_of` may not be set then.
template <class Buckets, uint32_t threads, uint32_t width, class Bits = typename Buckets::Key>
__device__ __forceinline__ bool finds_even_keys(const Bits* keys, uint32_t count,
                                                const KeyMap<Bits>& map_of_keys, uint32_t buckets,
                                                uint64_t min_values, Shared<Buckets, threads, width>& shared,
                                                Buckets& bucket_of) {
  using SampleShared = Shared<Buckets, threads, width>;
  Bits own[width];
  if (!load<SampleShared>(keys, count, own)) return false;
#pragma unroll
  for (uint32_t v = threadIdx.x; v < SampleShared::cells / 4; v += threads)
    reinterpret_cast<uint4*>(shared.in_cell)[v] = uint4{};
  Bits least = static_cast<Bits>(~Bits{0});
  Bits most = 0;
#pragma unroll
  for (Bits& key : own) {
    key = map_of_keys.to_ordered(key);
    least = min(least, key);
    most = max(most, key);
  }
  const uint32_t warp = threadIdx.x / warp_threads;
  const uint32_t lane = ptx::lane_id();
  least = warp_min(least);
  most = warp_max(most);
  if (lane == 0) {
    shared.least[warp] = least;
    shared.most[warp] = most;
    shared.first[warp] = own[0];
  }
  __syncthreads();
  least = warp_min(shared.least[lane % SampleShared::warps]);
  most = warp_max(shared.most[lane % SampleShared::warps]);
  if (threadIdx.x < 2) {
    const uint32_t number = threadIdx.x == 0 ? buckets : SampleShared::cells;
    (threadIdx.x == 0 ? bucket_of : shared.cell_of) = Buckets::around(least, most, number, map_of_keys);
  }

  uint32_t order = 0;
  const auto compare = [&](Bits before, Bits after) {
    if (before < after) order |= rises;
    if (before > after) order |= falls;
  };
#pragma unroll
  for (uint32_t k = 1; k < width; ++k) compare(own[k - 1], own[k]);
  const Bits first_of_next_lane = shuffle_down(own[0], 1);
  if (lane + 1 < warp_threads)
    compare(own[width - 1], first_of_next_lane);
  else if (warp + 1 < SampleShared::warps)
    compare(own[width - 1], shared.first[warp + 1]);
  order = warp_or(order);
  __syncthreads();

  if (!bucket_of.is_usable() || !shared.cell_of.is_usable()) return false;
  const bool is_local = width > 1 && bucket_of(own[0]) == bucket_of(own[width - 1]);
  const uint32_t local_threads = static_cast<uint32_t>(__popc(__ballot_sync(full_warp, is_local)));
  if (lane == 0) {
    shared.order[warp] = order;
    shared.is_local[warp] = local_threads;
  }
#pragma unroll
  for (const Bits key : own) (void)atomicAdd(&shared.in_cell[shared.cell_of(key)], 1u);
  __syncthreads();
  count_cells(shared);
  __syncthreads();
  return is_even(shared, buckets) && bucket_of.may_hold(min_values) && !values_repeat(own, count, shared);
}

}  // namespace sweepsort::even_sample
