// histogram.cuh - one read of the keys that finds everything a sort wants to know beforehand.
// Privatised counters as in Shams & Kennedy, "Efficient histogram algorithms for NVIDIA CUDA compatible
// devices", 2007; all digits in one read as in Adinets & Merrill, "Onesweep", 2022. Work O(n), reads n keys,
// writes nothing of size n.
//
//     counters[place][digit][column]      column = lane mod columns: the lanes of a warp hit different
//                                         banks and addresses, and skewed keys cost no more than uniform ones
//
// The result adds up over calls, so a file can be digested chunk by chunk while it is still being uploaded.
#pragma once

#include "core/key_bits.hpp"
#include "core/rounding.hpp"
#include "kernels/block.cuh"
#include "kernels/device_span.cuh"
#include "kernels/digit.cuh"
#include "kernels/launch.cuh"
#include "kernels/policy_passes.cuh"
#include "kernels/ptx.cuh"
#include "kernels/vector16.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace sweepsort {

/// Extremes and order of the digested keys. Not gathered for keys of one byte: their histogram tells both.
template <class Bits>
struct KeyFacts {
  uint64_t largest;             // of the ordered bits
  uint64_t largest_complement;  // of ~ordered, so that zero is neutral here, too: the complement of the
                                // smallest key
  uint32_t rises;               // some key[i] < key[i + 1]
  uint32_t falls;               // some key[i] > key[i + 1]
  uint32_t repeats;             // some key[i] == key[i + 1]; not every one is seen where keys rise and fall

  SWEEPSORT_HOST_DEVICE Bits minimum() const { return static_cast<Bits>(~largest_complement); }
  SWEEPSORT_HOST_DEVICE Bits maximum() const { return static_cast<Bits>(largest); }
};

/// What one read of the keys leaves behind. All zeros is the digest of no keys.
template <class Bits>
struct Digest : KeyFacts<Bits> {
  uint64_t histogram[digit_places<Bits>]
                    [digit_values];  // of the ordered bits; of the raw bits for 1-byte keys
};

namespace digest_detail {

/// The counters, which take at most shared_bytes, and the extremes of each warp.
template <class Bits, uint32_t shared_bytes>
struct Shared {
  static constexpr uint32_t columns = std::min(32u, shared_bytes / 4 / digit_values / digit_places<Bits>);
  uint32_t counters[digit_places<Bits>][digit_values][columns];
  Bits least[digest_policy.threads / warp_threads];
  Bits most[digest_policy.threads / warp_threads];
};

/// What one thread has seen of the keys' order and extremes.
template <class Bits>
struct Seen {
  Bits least = static_cast<Bits>(~Bits{0});
  Bits most = 0;
  bool rise = false;
  bool fall = false;
  bool repeat = false;

  __device__ __forceinline__ void key(Bits ordered) {
    least = min(least, ordered);
    most = max(most, ordered);
  }
  __device__ __forceinline__ void neighbours(Bits left, Bits right) {
    rise |= left < right;
    fall |= left > right;
    repeat |= left == right;
  }
};

/// One atomic per digit, for the lowest `places` digits. The byte offset of a counter takes one shift and one
/// three-way logic instruction.
template <class Bits, uint32_t shared_bytes>
__device__ __forceinline__ void count_digits(Shared<Bits, shared_bytes>& shared, Bits ordered,
                                             uint32_t column, uint32_t places = digit_places<Bits>) {
  constexpr uint32_t row_bytes = Shared<Bits, shared_bytes>::columns * sizeof(uint32_t);
#pragma unroll
  for (uint32_t place = 0; place < digit_places<Bits>; ++place) {
    if (place >= places) break;
    const uint32_t from = place * digit_bits;
    constexpr uint32_t row_shift = std::countr_zero(row_bytes);
    const uint32_t moved = from >= row_shift ? static_cast<uint32_t>(ordered >> (from - row_shift))
                                             : static_cast<uint32_t>(ordered) << (row_shift - from);
    const uint32_t offset = (moved & ((digit_values - 1) * row_bytes)) | (column * 4);
    atomicAdd(reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(shared.counters[place]) + offset), 1u);
  }
}

/// Adds one vector of keys to the counters, and its extremes to `seen`.
template <class Bits, uint32_t shared_bytes>
__device__ __forceinline__ void take_vector(Shared<Bits, shared_bytes>& shared, const Vector16<Bits>& raw,
                                            const KeyMap<Bits>& map, uint32_t column, Seen<Bits>& seen) {
#pragma unroll
  for (const Bits key : raw.elements) {
    const Bits ordered = sizeof(Bits) == 1 ? key : map.to_ordered(key);
    count_digits(shared, ordered, column);
    if constexpr (sizeof(Bits) > 1) seen.key(ordered);
  }
}

/// Compares neighbouring keys within a lane's vector, and the vector's last key with `next`, the key behind
/// it.
template <class Bits>
__device__ __forceinline__ void compare_neighbours(const Vector16<Bits>& raw, bool has_next, Bits next,
                                                   const KeyMap<Bits>& map, Seen<Bits>& seen) {
  Bits left = map.to_ordered(raw.elements[0]);
#pragma unroll
  for (uint32_t k = 1; k < elements_per_vector<Bits>; ++k) {
    const Bits right = map.to_ordered(raw.elements[k]);
    seen.neighbours(left, right);
    left = right;
  }
  if (has_next) seen.neighbours(left, map.to_ordered(next));
}

/// Adds the columns of every counter to the histograms in device memory.
template <class Bits, uint32_t shared_bytes>
__device__ __forceinline__ void add_counters(const Shared<Bits, shared_bytes>& shared,
                                             uint64_t (*histogram)[digit_values]) {
  constexpr uint32_t columns = Shared<Bits, shared_bytes>::columns;
  for (uint32_t bin = threadIdx.x; bin < digit_places<Bits> * digit_values; bin += blockDim.x) {
    const uint32_t place = bin / digit_values;
    const uint32_t digit = bin % digit_values;
    unsigned long long sum = 0;
    // Each thread starts at a column of its own, so that the 32 lanes read 32 banks.
    for (uint32_t c = 0; c < columns; ++c) sum += shared.counters[place][digit][(c + threadIdx.x) % columns];
    if (sum != 0) atomicAdd(reinterpret_cast<unsigned long long*>(&histogram[place][digit]), sum);
  }
}

template <class Bits, uint32_t shared_bytes>
__device__ __forceinline__ void clear_counters(Shared<Bits, shared_bytes>& shared) {
  for (uint32_t i = threadIdx.x; i < sizeof(shared.counters) / 4; i += blockDim.x)
    (&shared.counters[0][0][0])[i] = 0;
}

/// Adds the counters and the block's extremes to the digest in device memory.
template <class Bits, uint32_t shared_bytes>
__device__ void add_to_digest(Shared<Bits, shared_bytes>& shared, const Seen<Bits>& seen,
                              Digest<Bits>* digest) {
  add_counters(shared, digest->histogram);
  if constexpr (sizeof(Bits) > 1) {
    // By one thread per block: atomics of all warps to these words wait for each other, which took 7 us of a
    // digest (H200).
    constexpr uint32_t threads = digest_policy.threads;
    const Bits least = block_min<threads>(seen.least, shared.least);
    const Bits most = block_max<threads>(seen.most, shared.most);
    const bool rise = __syncthreads_or(seen.rise) != 0;
    const bool fall = __syncthreads_or(seen.fall) != 0;
    const bool repeat = __syncthreads_or(seen.repeat) != 0;
    if (threadIdx.x != 0 || least > most) return;  // least > most: this block saw no key
    atomicMax(reinterpret_cast<unsigned long long*>(&digest->largest), static_cast<unsigned long long>(most));
    atomicMax(reinterpret_cast<unsigned long long*>(&digest->largest_complement),
              static_cast<unsigned long long>(static_cast<Bits>(~least)));
    if (rise) atomicOr(&digest->rises, 1u);
    if (fall) atomicOr(&digest->falls, 1u);
    if (repeat) atomicOr(&digest->repeats, 1u);
  }
}

/// Takes the keys before the first and behind the last whole 16-byte vector. Called by the first warp of the
/// first block of the digest.
template <class Bits, uint32_t shared_bytes>
__device__ void take_ends(Shared<Bits, shared_bytes>& shared, const Bits* keys, uint64_t count,
                          uint64_t body_first, uint64_t body_end, const KeyMap<Bits>& map, Seen<Bits>& seen) {
  const auto take = [&](uint64_t first, uint64_t end) {
    for (uint64_t i = first + threadIdx.x; i < end; i += warp_threads) {
      const Bits ordered = sizeof(Bits) == 1 ? keys[i] : map.to_ordered(keys[i]);
      count_digits(shared, ordered, threadIdx.x % Shared<Bits, shared_bytes>::columns);
      seen.key(ordered);
      if (i + 1 < count) seen.neighbours(ordered, map.to_ordered(keys[i + 1]));
    }
  };
  take(0, body_first);
  take(body_end, count);
}

/// The keys to digest, and the digest to add them to.
template <class Bits>
struct Task {
  const Bits* keys;
  uint64_t count;
  uint64_t body_first;  // the first key that begins a 16-byte vector of memory
  uint64_t vectors;     // whole vectors from there on
  KeyMap<Bits> map;
  Digest<Bits>* digest;

  Task(DeviceSpan<const Bits> all, const KeyMap<Bits>& key_map, Digest<Bits>* result)
      : keys(all.data()), count(all.size()), map(key_map), digest(result) {
    const uint64_t misaligned = reinterpret_cast<uintptr_t>(keys) % sizeof(uint4);
    body_first = std::min<uint64_t>(count, (sizeof(uint4) - misaligned) % sizeof(uint4) / sizeof(Bits));
    vectors = (count - body_first) / elements_per_vector<Bits>;
  }
  uint32_t blocks(uint64_t most) const {
    constexpr uint64_t vectors_per_block = digest_policy.threads * digest_policy.vectors_in_flight;
    return static_cast<uint32_t>(std::clamp<uint64_t>(ceil_divide(vectors, vectors_per_block), 1, most));
  }
};

/// Takes the part of block number `block` out of `blocks` blocks. Called by digest_policy.threads threads.
template <class Bits, uint32_t shared_bytes>
__device__ __forceinline__ void take_digest(const Task<Bits>& task, uint32_t block, uint32_t blocks,
                                            Shared<Bits, shared_bytes>& shared) {
  const Bits* const keys = task.keys;
  const uint64_t count = task.count;
  const uint64_t body_first = task.body_first;
  const uint64_t vectors = task.vectors;
  const KeyMap<Bits>& map = task.map;
  clear_counters(shared);
  __syncthreads();

  constexpr uint32_t unroll = digest_policy.vectors_in_flight;
  const uint4* const body = reinterpret_cast<const uint4*>(keys + body_first);
  const uint64_t body_end = body_first + vectors * elements_per_vector<Bits>;
  const uint32_t column = ptx::lane_id() % Shared<Bits, shared_bytes>::columns;
  Seen<Bits> seen;

  // A block reads `unroll` rows of neighbouring vectors at a time; whole warps stay or leave together.
  const uint64_t step = uint64_t{blocks} * blockDim.x * unroll;
  for (uint64_t row = uint64_t{block} * blockDim.x * unroll; row < vectors; row += step) {
    Vector16<Bits> vector[unroll];
#pragma unroll
    for (uint32_t u = 0; u < unroll; ++u) {
      const uint64_t v = row + u * blockDim.x + threadIdx.x;
      if (v < vectors) vector[u].whole = ptx::load_streaming(body + v);
    }
#pragma unroll
    for (uint32_t u = 0; u < unroll; ++u)
      if (row + u * blockDim.x + threadIdx.x < vectors) take_vector(shared, vector[u], map, column, seen);

    // Once this warp has met a rise and a fall, the keys are neither sorted nor reversed, and it need not
    // compare any more.
    if constexpr (sizeof(Bits) == 1) continue;
    if (__any_sync(full_warp, seen.rise) && __any_sync(full_warp, seen.fall)) continue;
#pragma unroll
    for (uint32_t u = 0; u < unroll; ++u) {
      const uint64_t v = row + u * blockDim.x + threadIdx.x;
      const uint64_t behind = body_first + (v + 1) * elements_per_vector<Bits>;
      Bits next = shuffle_down(v < vectors ? vector[u].elements[0] : Bits{0}, 1);
      if (behind < count && (ptx::lane_id() == warp_threads - 1 || v + 1 == vectors)) next = keys[behind];
      if (v < vectors) compare_neighbours(vector[u], behind < count, next, map, seen);
    }
  }
  if (block == 0 && threadIdx.x < warp_threads)
    take_ends(shared, keys, count, body_first, body_end, map, seen);
  __syncthreads();
  add_to_digest(shared, seen, task.digest);
}

template <class Bits, uint32_t shared_bytes>
__global__ __launch_bounds__(digest_policy.threads) void digest_kernel(Task<Bits> task,
                                                                       const uint32_t* wanted) {
  ptx::wait_for_previous_launch();
  if (wanted != nullptr && *wanted == 0) return;
  take_digest(task, blockIdx.x, gridDim.x, shared_memory<Shared<Bits, shared_bytes>>());
}

/// Compares the last key before each chunk with the chunk's first key. No call of digest() saw these
/// neighbours.
template <class Bits>
__global__ void digest_borders_kernel(const Bits* keys, const uint64_t* starts, uint32_t chunks,
                                      KeyMap<Bits> map, Digest<Bits>* digest) {
  ptx::wait_for_previous_launch();
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= chunks || starts[i] == 0) return;
  Seen<Bits> seen;
  seen.neighbours(map.to_ordered(keys[starts[i] - 1]), map.to_ordered(keys[starts[i]]));
  if (seen.rise) atomicOr(&digest->rises, 1u);
  if (seen.fall) atomicOr(&digest->falls, 1u);
  if (seen.repeat) atomicOr(&digest->repeats, 1u);
}

}  // namespace digest_detail

/// Adds the keys of one chunk to `digest`, which starts as all zeros. The keys need only their natural
/// alignment. Does nothing if `wanted` (device memory) is not null and *wanted is zero.
template <class Bits, uint32_t shared_bytes = digest_policy.shared_bytes>
void digest(DeviceSpan<const Bits> keys, KeyMap<Bits> map, Digest<Bits>* digest, cudaStream_t stream,
            const uint32_t* wanted = nullptr) {
  using namespace digest_detail;
  if (keys.empty()) return;
  const Task<Bits> task(keys, map, digest);
  const auto kernel = digest_kernel<Bits, shared_bytes>;
  constexpr size_t bytes = sizeof(Shared<Bits, shared_bytes>);
  const uint32_t blocks = task.blocks(resident_blocks(kernel, digest_policy.threads, bytes));
  launch_chained(kernel, {blocks, digest_policy.threads, bytes}, stream, task, wanted);
}

/// Completes a digest taken in chunks: `starts` are the indices of the chunks' first keys.
template <class Bits>
void digest_borders(const Bits* keys, DeviceSpan<const uint64_t> starts, KeyMap<Bits> map,
                    Digest<Bits>* digest, cudaStream_t stream) {
  if (starts.empty()) return;
  constexpr uint32_t threads = 128;
  const uint32_t chunks = static_cast<uint32_t>(starts.size());
  launch_chained(digest_detail::digest_borders_kernel<Bits>, {ceil_divide(chunks, threads), threads}, stream,
                 keys, starts.data(), chunks, map, digest);
}

}  // namespace sweepsort
