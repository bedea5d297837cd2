// msd_sample.cuh - the sample that the survey looks at (msd_survey.cuh). Many blocks collect it, because one
// block alone would wait for one sector of memory after the other.
//
//     keys     [..|..|..|..|..|..|..|..|..]
//     samples   ab       ab       ab          4,096 pairs of neighbours at equal distances: order, range, values
//     places    ----     ----     ----        8,192 to 262,144 sectors at equal distances: a map's pieces, splitters
#pragma once

#include "core/key_bits.hpp"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"
#include "kernels/tickets.cuh"
#include "kernels/vector16.cuh"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace sweepsort {

namespace survey_detail {

inline constexpr uint32_t threads = 1024;
inline constexpr uint32_t samples_per_thread = 4;
inline constexpr uint32_t samples = threads * samples_per_thread;

/// Larger samples consist of places of 32 bytes: 8 or 4 neighbouring keys.
template <class Bits>
inline constexpr uint32_t keys_per_place = 32 / sizeof(Bits);
inline constexpr uint32_t halves_in_flight = 8;
inline constexpr uint32_t places_per_round = threads * halves_in_flight / 2;
/// Places from which coarse pieces of a map are made. Fine ones are made from four times as many.
inline constexpr uint32_t piece_places = 2 * places_per_round;
inline constexpr uint32_t fine_piece_places = 4 * piece_places;
/// Maps of pairs have only coarse pieces.
constexpr uint32_t max_places(bool with_values) { return with_values ? piece_places : fine_piece_places; }
inline constexpr uint32_t sample_threads = 256;

/// Clears whole vectors of 16 bytes. Called by all threads of a block.
template <class T>
__device__ __forceinline__ void clear(T* words, uint32_t size) {
  uint4* const vectors = reinterpret_cast<uint4*>(words);
  for (uint32_t i = threadIdx.x; i < size * sizeof(T) / sizeof(uint4); i += threads)
    vectors[i] = make_uint4(0, 0, 0, 0);
}

/// Two neighbouring keys, read by one load.
template <class Bits>
struct alignas(2 * sizeof(Bits)) Neighbours {
  Bits left;
  Bits right;
};

/// What collect_kernel has read for the one block that looks at it. A single multiprocessor would ask for one
/// sector after the other, 3.5 cycles each (H100).
template <class Bits>
struct CollectedSample {
  Neighbours<Bits>* neighbours;  // samples + 1; the last one is the array's end
  uint4* places;                 // max_places, in the order of place_at(): so the first ones are equally far
                                 // from each other, too
  uint32_t max_places;           // places_per_round times a power of two

  /// Bytes of both arrays.
  static constexpr uint64_t bytes(uint32_t max_places) {
    return uint64_t{max_places} * 32 + (samples + 2) * sizeof(Neighbours<Bits>);
  }
  /// `memory`: bytes(max_places) bytes, aligned to 16.
  static CollectedSample in(std::byte* memory, uint32_t max_places) {
    return {reinterpret_cast<Neighbours<Bits>*>(memory + uint64_t{max_places} * 32),
            reinterpret_cast<uint4*>(memory), max_places};
  }
  /// Which place, counted by distance from the array's beginning, has number `at`. First come
  /// places_per_round places at equal distances, then those in the middle between them, and so on.
  __device__ __forceinline__ uint32_t place_at(uint32_t at) const {
    const uint32_t each = max_places / places_per_round;  // a power of two
    const uint32_t turned =
        each == 1 ? 0 : __brev(at / places_per_round) >> __clz(static_cast<int>(each - 1));
    return at % places_per_round * each + turned;
  }

  /// Calls body(half) for both halves of the first `wanted` places, which are a power of two of rounds. The
  /// keys are as the caller stores them. Called by all threads of a block.
  template <uint32_t wanted, class Body>
  __device__ __forceinline__ void for_halves(Body body) const {
    for (uint32_t round = 0; round < wanted; round += places_per_round) {
      Vector16<Bits> halves[halves_in_flight];
#pragma unroll
      for (uint32_t i = 0; i < halves_in_flight; ++i)
        halves[i].whole = places[2 * round + i * threads + threadIdx.x];
#pragma unroll
      for (const auto& half : halves) body(half);
    }
  }
  /// The same for each of their keys.
  template <uint32_t wanted, class Body>
  __device__ __forceinline__ void for_places(Body body) const {
    for_halves<wanted>([&](const Vector16<Bits>& half) {
#pragma unroll
      for (const Bits key : half.elements) body(key);
    });
  }
};

/// The parameters from the host.
template <class Bits>
struct Task {
  const Bits* keys;
  uint64_t count;
  KeyMap<Bits> map;
  uint32_t bucket_keys;      // mean keys of a bucket
  uint32_t max_bucket_keys;  // most keys of a bucket that a block sorts
  uint32_t max_keys;         // most keys of a bucket that any kernel finishes
  uint32_t keys_per_value;   // the most for even keys
  uint32_t passed_bits;      // MsdLimits
  uint32_t with_values;
  uint32_t minds_ties;       // pairs with equal keys cannot be reversed (guessed_order.cuh)
  uint32_t checks_order;     // keys that seem to be in order are checked before the survey
  uint32_t has_fine_pieces;  // a map's pieces are fine, if it has any
  uint32_t asks_for_clumps;
  uint32_t may_deal;
  uint32_t split_bits;       // crowded keys get 2^this buckets between splitters; 0: none
  uint32_t splits_by_level;  // these are counted level by level
  CollectedSample<Bits> sample;
};

/// The index of item `which`, if `all` items lie at equal distances among `count`.
__device__ __forceinline__ uint64_t spread(uint64_t which, uint64_t all, uint64_t count) {
  return count / all * which + count % all * which / all;
}

/// Half of the keys of a place. There are `places` places at equal distances. Each is a whole sector if the
/// array begins with one. The last place of an array may be missed.
template <class Bits>
struct HalfPlace {
  static constexpr uint32_t width = elements_per_vector<Bits>;
  Vector16<Bits> vector;

  /// `half` is below 2 * places. Neighbouring lanes take the two halves of a place.
  __device__ __forceinline__ void load(const Task<Bits>& task, uint64_t half, uint64_t places) {
    const uint64_t wanted = spread(half / 2, places, task.count) / width;
    const uint64_t first = min(wanted, task.count / width - 2) & ~uint64_t{1};
    vector.whole = reinterpret_cast<const uint4*>(task.keys)[first + half % 2];
  }
  template <class Body>
  __device__ __forceinline__ void for_each(Body body) const {
#pragma unroll
    for (uint32_t k = 0; k < width; ++k) body(k, vector.elements[k]);
  }
};

/// What a sample tells of the keys' order: it compares the sample's two neighbours, and the right one with
/// the next sample.
template <class Bits>
struct SampledOrder {
  bool rises;  // if ties cannot be reversed, they count as a rise
  bool falls;

  __device__ __forceinline__ SampledOrder(const Task<Bits>& task, const Neighbours<Bits>& mine, Bits next) {
    const Bits left = task.map.to_ordered(mine.left);
    const Bits right = task.map.to_ordered(mine.right);
    const Bits after = task.map.to_ordered(next);
    const bool are_apart = task.count / 2 >= samples;  // in a short array, samples may have the same position
    rises = left < right || (are_apart && right < after) || (task.minds_ties != 0 && left == right);
    falls = left > right || (are_apart && right > after);
  }
};

/// Each thread reads half a place and, in the first threads, one pair of neighbours. Begins the plan.
template <class Bits>
__global__ __launch_bounds__(sample_threads) void collect_kernel(Task<Bits> task, const uint32_t* wanted,
                                                                 MsdPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  const bool is_first = blockIdx.x == 0 && threadIdx.x == 0;
  if (wanted != nullptr && *wanted == 0) {
    if (is_first) plan->is_not_wanted = 1;
    return;
  }
  const CollectedSample<Bits>& sample = task.sample;
  const uint32_t i = blockIdx.x * sample_threads + threadIdx.x;
  const bool has_places = task.count >= 2 * HalfPlace<Bits>::width;  // fewer keys need none
  HalfPlace<Bits> half{};
  if (has_places) half.load(task, 2 * sample.place_at(i / 2) + i % 2, sample.max_places);
  bool rises = false;
  bool falls = false;
  if (i < samples) {
    const auto* const pairs = reinterpret_cast<const Neighbours<Bits>*>(task.keys);
    const Neighbours<Bits> mine = pairs[spread(i, samples, task.count / 2)];
    const Bits next =
        i + 1 < samples ? pairs[spread(i + 1, samples, task.count / 2)].left : task.keys[task.count - 1];
    const SampledOrder<Bits> order(task, mine, next);
    rises = order.rises;
    falls = order.falls;
    sample.neighbours[i] = mine;
    if (i + 1 == samples) sample.neighbours[samples].left = next;
  }
  sample.places[i] = half.vector.whole;
  const bool any_rises = __syncthreads_or(rises) != 0;
  const bool any_falls = __syncthreads_or(falls) != 0;
  if (threadIdx.x == 0 && any_rises)
    DeviceAtomic<uint32_t>(plan->order.rises).store(1, cuda::memory_order_relaxed);
  if (threadIdx.x == 0 && any_falls)
    DeviceAtomic<uint32_t>(plan->order.falls).store(1, cuda::memory_order_relaxed);
  if (is_first) {
    plan->keys = task.count;
    plan->with_values = task.with_values;
    plan->order.is_checked = task.checks_order;
  }
}

template <class Bits>
void collect_sample(const Task<Bits>& task, const uint32_t* wanted, MsdPlan<Bits>* plan,
                    cudaStream_t stream) {
  launch_chained(collect_kernel<Bits>, {2 * task.sample.max_places / sample_threads, sample_threads}, stream,
                 task, wanted, plan);
}

}  // namespace survey_detail

}  // namespace sweepsort
