// reduce.cuh - the smallest element of an array, and its first position.
// Harris, "Optimizing Parallel Reduction in CUDA", 2007. Work O(n), depth O(log n); moves n elements.
//
//     single pass:  a tile a block, all its loads in flight at once  ──atomic min──>  state
//                   with the position: the minimum says in which tile, and one block looks there again
//     two launches: blocks stride over the array  ──a partial each──>  one block reduces those  ──>  state
//
// Keys are compared as ordered bits: a map makes the wanted end of the order the smallest number, for every
// key type. An array may come in pieces; the state in device memory holds what was found so far.
#pragma once

#include "core/key_bits.hpp"
#include "core/rounding.hpp"
#include "kernels/launch.cuh"
#include "kernels/policy_scan.cuh"
#include "kernels/scan_rows.cuh"
#include "kernels/tickets.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sweepsort {

/// The index that stands for nothing.
inline constexpr uint64_t found_nothing = std::numeric_limits<uint64_t>::max();

/// An element and its position.
template <class Value>
struct Candidate {
  Value value;
  uint64_t index;
};

/// Whether a is preferred to b: it is smaller, or only b is NaN.
template <class Value>
SWEEPSORT_HOST_DEVICE bool precedes(const Value& a, const Value& b) {
  if constexpr (std::is_floating_point_v<Value>) return a < b || (b != b && a == a);
  return a < b;
}

/// Takes the candidate with the smaller value; of equal values, the first one; anything rather than nothing.
struct TakeFirst {
  template <class Value>
  SWEEPSORT_HOST_DEVICE Candidate<Value> operator()(const Candidate<Value>& left,
                                                    const Candidate<Value>& right) const {
    if (left.index == found_nothing || right.index == found_nothing)
      return right.index == found_nothing ? left : right;
    const bool equal = !precedes(left.value, right.value) && !precedes(right.value, left.value);
    return precedes(right.value, left.value) || (equal && right.index < left.index) ? right : left;
  }
};

struct TakeSmaller {
  template <class T>
  SWEEPSORT_HOST_DEVICE T operator()(T left, T right) const {
    return right < left ? right : left;
  }
};

/// The smallest of all threads' values by `op`. This must be commutative, and idempotent, because the last
/// warp's value is taken more than once. Thread 0 gets the result. `warp_values` is shared memory, one
/// element per warp; it may be used again after the next barrier. Every thread of the block calls it.
template <uint32_t threads, class T, class Op>
__device__ __forceinline__ T block_smallest(T value, T* warp_values, const Op& op) {
  constexpr uint32_t warps = threads / warp_threads;
  const uint32_t warp = threadIdx.x / warp_threads;
  value = warp_reduce(value, op);
  if (ptx::lane_id() == 0) warp_values[warp] = value;
  __syncthreads();
  if (warp == 0) value = warp_reduce(warp_values[std::min(ptx::lane_id(), warps - 1)], op);
  return value;
}

/// What the reductions of pieces leave in device memory.
struct ReduceState {
  Candidate<uint64_t> best;  // of all pieces: the ordered bits, and the index if it is wanted
  uint64_t best_in_piece;    // ordered bits; for narrow keys, with the tile in the bits below
};

/// Elements in device memory, with their natural alignment: all of them, or one of the pieces that are folded
/// into a state.
template <class Bits>
struct ReduceArray {
  const Bits* in;
  uint64_t size;
  uint64_t first_index;  // index of in[0] in the whole array
  KeyMap<Bits> map;
};

namespace reduce_detail {

inline constexpr uint32_t threads = reduce_policy.threads;
inline constexpr uint32_t vectors = reduce_policy.vectors_per_thread;
template <class Bits>
inline constexpr uint32_t tile_elements = threads* vectors* vector_elements<Bits>;

/// Calls use(position in the tile, ordered bits) for the elements of tile `tile`.
template <class Bits, class Use>
__device__ __forceinline__ void for_each_of_tile(const ReduceArray<Bits>& array, uint64_t tile, Use use) {
  const uint64_t first = tile * tile_elements<Bits>;
  const bool whole = first + tile_elements<Bits> <= array.size && is_vector_aligned(array.in);
  if (!whole) {
    const uint64_t end = std::min<uint64_t>(tile_elements<Bits>, array.size - first);
    for (uint32_t at = threadIdx.x; at < end; at += threads)
      use(at, array.map.to_ordered(array.in[first + at]));
    return;
  }
  const auto* const from = reinterpret_cast<const Vector<Bits>*>(array.in + first);
  Vector<Bits> loaded[vectors];
#pragma unroll
  for (uint32_t k = 0; k < vectors; ++k) loaded[k] = from[k * threads + threadIdx.x];
#pragma unroll
  for (uint32_t k = 0; k < vectors; ++k) {
#pragma unroll
    for (uint32_t at = 0; at < vector_elements<Bits>; ++at)
      use((k * threads + threadIdx.x) * vector_elements<Bits> + at, array.map.to_ordered(loaded[k].at[at]));
  }
}

template <class Bits>
__device__ __forceinline__ Bits smallest_of_tile(const ReduceArray<Bits>& array, uint64_t tile,
                                                 Bits* warp_values) {
  Bits best = std::numeric_limits<Bits>::max();
  for_each_of_tile(array, tile, [&](uint32_t, Bits ordered) { best = std::min(best, ordered); });
  return block_smallest<threads>(best, warp_values, TakeSmaller());
}

/// Lowers *best, unless it is low enough already: most blocks need not write.
__device__ __forceinline__ void lower(uint64_t* best, uint64_t candidate) {
  const DeviceAtomic<uint64_t> word(*best);
  if (candidate < word.load(cuda::memory_order_relaxed))
    word.fetch_min(candidate, cuda::memory_order_relaxed);
}

template <class Bits>
static __global__ __launch_bounds__(threads) void smallest_kernel(ReduceArray<Bits> array,
                                                                  ReduceState* state) {
  Bits* const warp_values = &shared_memory<Bits>();
  const Bits best = smallest_of_tile(array, blockIdx.x, warp_values);
  if (threadIdx.x != 0) return;
  lower(&state->best.value, best);
  if (blockIdx.x == 0) state->best.index = 0;  // something was found
}

/// Narrow keys: one word holds the smallest key and the first tile that has it.
template <class Bits>
inline constexpr bool packs_tile = sizeof(Bits) <= 4;

/// As smallest_kernel, for one piece. `tile_bests`: one word per tile, for wide keys only.
template <class Bits>
static __global__ __launch_bounds__(threads) void smallest_and_tile_kernel(ReduceArray<Bits> array,
                                                                           ReduceState* state,
                                                                           uint64_t* tile_bests) {
  Bits* const warp_values = &shared_memory<Bits>();
  const Bits best = smallest_of_tile(array, blockIdx.x, warp_values);
  if (threadIdx.x != 0) return;
  if constexpr (packs_tile<Bits>) {
    lower(&state->best_in_piece, uint64_t{best} << 32 | blockIdx.x);
  } else {
    tile_bests[blockIdx.x] = best;
    lower(&state->best_in_piece, best);
  }
}

/// All threads get the smallest of their values.
__device__ __forceinline__ uint64_t smallest_of_block(uint64_t value, uint64_t* warp_values) {
  const uint64_t smallest = block_smallest<threads>(value, warp_values, TakeSmaller());
  __syncthreads();  // the warps' values have been read
  if (threadIdx.x == 0) warp_values[0] = smallest;
  __syncthreads();
  const uint64_t result = warp_values[0];
  __syncthreads();  // before warp_values are used again
  return result;
}

/// Folds the first position of what smallest_and_tile_kernel found in a piece into the state. One block.
template <class Bits>
static __global__ __launch_bounds__(threads) void locate_kernel(ReduceArray<Bits> array, ReduceState* state,
                                                                const uint64_t* tile_bests, uint32_t tiles) {
  ptx::wait_for_previous_launch();
  uint64_t* const warp_values = &shared_memory<uint64_t>();
  const uint64_t found = state->best_in_piece;
  const auto best = static_cast<Bits>(packs_tile<Bits> ? found >> 32 : found);
  uint64_t tile = found & 0xffffffffu;
  if constexpr (!packs_tile<Bits>) {
    tile = found_nothing;
    constexpr uint32_t in_flight = 16;  // loads per thread: a minimum of 2^28 u64 490 -> 473 us
    for (uint32_t first = threadIdx.x; first < tiles; first += in_flight * threads) {
      Bits of_tile[in_flight];
#pragma unroll
      for (uint32_t k = 0; k < in_flight; ++k)
        of_tile[k] = static_cast<Bits>(tile_bests[std::min(first + k * threads, tiles - 1)]);
#pragma unroll
      for (uint32_t k = 0; k < in_flight; ++k)
        if (of_tile[k] == best) tile = std::min<uint64_t>(tile, std::min(first + k * threads, tiles - 1));
    }
    tile = smallest_of_block(tile, warp_values);
  }
  uint64_t position = found_nothing;
  for_each_of_tile(array, tile, [&](uint32_t at, Bits ordered) {
    if (ordered == best) position = std::min<uint64_t>(position, at);
  });
  position = block_smallest<threads>(position, warp_values, TakeSmaller());
  if (threadIdx.x != 0) return;
  const uint64_t index = array.first_index + tile * tile_elements<Bits> + position;
  state->best = TakeFirst()(state->best, Candidate<uint64_t>{best, index});
  state->best_in_piece = found_nothing;
}

/// Writes one partial result per block, over the indices i < size, for which `at(i)` gives a Candidate.
template <class Value, class At>
static __global__ __launch_bounds__(threads) void partials_kernel(uint64_t size, At at,
                                                                  Candidate<Value>* partials) {
  auto* const warp_values = &shared_memory<Candidate<Value>>();
  // Every block has an element to begin with.
  uint64_t i = uint64_t{blockIdx.x} * threads + threadIdx.x;
  Candidate<Value> best = at(std::min(i, size - 1));
  for (i += uint64_t{gridDim.x} * threads; i < size; i += uint64_t{gridDim.x} * threads)
    best = TakeFirst()(best, at(i));
  best = block_smallest<threads>(best, warp_values, TakeFirst());
  if (threadIdx.x == 0) partials[blockIdx.x] = best;
}

template <class Value>
static __global__ __launch_bounds__(threads) void reduce_partials_kernel(const Candidate<Value>* partials,
                                                                         uint32_t count,
                                                                         Candidate<Value>* result) {
  auto* const warp_values = &shared_memory<Candidate<Value>>();
  Candidate<Value> best = *result;
  for (uint32_t i = threadIdx.x; i < count; i += threads) best = TakeFirst()(best, partials[i]);
  best = block_smallest<threads>(best, warp_values, TakeFirst());
  if (threadIdx.x == 0) *result = best;
}

template <class Bits>
struct ElementAt {
  ReduceArray<Bits> array;
  __device__ Candidate<uint64_t> operator()(uint64_t i) const {
    return {array.map.to_ordered(array.in[i]), array.first_index + i};
  }
};

template <class Value, class Function>
struct ValueAt {
  uint64_t first;
  Function function;
  __device__ Candidate<Value> operator()(uint64_t i) const { return {function(first + i), first + i}; }
};

inline constexpr uint32_t max_partials = 4096;

inline uint32_t partial_blocks(uint64_t size) {
  return static_cast<uint32_t>(std::min<uint64_t>(ceil_divide(size, threads), max_partials));
}

/// Folds `size` > 0 elements into *result by two launches.
template <class Value, class At>
void reduce_by_partials(uint64_t size, const At& at, Candidate<Value>* partials, Candidate<Value>* result,
                        cudaStream_t stream) {
  constexpr size_t shared_bytes = threads / warp_threads * sizeof(Candidate<Value>);
  const uint32_t blocks = partial_blocks(size);
  launch(partials_kernel<Value, At>, {blocks, threads, shared_bytes}, stream, size, at, partials);
  launch(reduce_partials_kernel<Value>, {1, threads, shared_bytes}, stream,
         static_cast<const Candidate<Value>*>(partials), blocks, result);
}

}  // namespace reduce_detail

/// Device memory for reducing pieces of up to `size` elements of type Bits.
struct ReduceMemory {
  ReduceState* state;
  Candidate<uint64_t>* partials;  // two launches
  uint64_t* tile_bests;           // single pass with index, wide keys

  template <class Bits>
  static ReduceMemory take(Workspace& workspace, uint64_t size) {
    const uint64_t tiles = ceil_divide(size, reduce_detail::tile_elements<Bits>);
    return {workspace.take<ReduceState>(1).data(),
            workspace.take<Candidate<uint64_t>>(reduce_detail::max_partials).data(),
            workspace.take<uint64_t>(reduce_detail::packs_tile<Bits> ? 0 : tiles).data()};
  }

  /// Forgets what was found.
  void clear(cudaStream_t stream) const { check(cudaMemsetAsync(state, 0xff, sizeof(ReduceState), stream)); }
};

/// Folds the smallest element of a piece into the state. Without an index, best.index only says whether
/// anything was found.
template <class Bits>
void reduce_single_pass(const ReduceArray<Bits>& array, bool wants_index, const ReduceMemory& memory,
                        cudaStream_t stream) {
  using namespace reduce_detail;
  if (array.size == 0) return;
  const auto tiles = static_cast<uint32_t>(ceil_divide(array.size, tile_elements<Bits>));
  const LaunchShape shape{tiles, threads, threads / warp_threads * sizeof(Bits)};
  if (!wants_index) {
    launch(smallest_kernel<Bits>, shape, stream, array, memory.state);
    return;
  }
  launch(smallest_and_tile_kernel<Bits>, shape, stream, array, memory.state, memory.tile_bests);
  launch_chained(locate_kernel<Bits>, {1, threads, threads / warp_threads * sizeof(uint64_t)}, stream, array,
                 memory.state, static_cast<const uint64_t*>(memory.tile_bests), tiles);
}

/// The same by two launches: a partial result per block, then the result of these. Always with the index.
template <class Bits>
void reduce_two_launch(const ReduceArray<Bits>& array, const ReduceMemory& memory, cudaStream_t stream) {
  if (array.size == 0) return;
  reduce_detail::reduce_by_partials<uint64_t>(array.size, reduce_detail::ElementAt<Bits>{array},
                                              memory.partials, &memory.state->best, stream);
}

/// Device memory for transform_argmin.
template <class Value>
size_t transform_argmin_workspace_bytes() {
  Workspace workspace;
  (void)workspace.take<Candidate<Value>>(reduce_detail::max_partials);
  return workspace.used();
}

/// Folds the smallest of function(first), ..., function(last - 1) into *result (device memory); of equal
/// values, the one with the smallest argument. Before the first call result->index is found_nothing. Nothing
/// is read from memory. `function` is a device function object that takes a uint64_t. Value has operator<,
/// and its size is a multiple of 4 bytes. Neither allocates nor synchronises.
template <class Value, class Function>
void transform_argmin(uint64_t first, uint64_t last, const Function& function, Candidate<Value>* result,
                      Workspace workspace, cudaStream_t stream) {
  if (first >= last) return;
  auto* const partials = workspace.take<Candidate<Value>>(reduce_detail::max_partials).data();
  reduce_detail::reduce_by_partials<Value>(
      last - first, reduce_detail::ValueAt<Value, Function>{first, function}, partials, result, stream);
}

}  // namespace sweepsort
