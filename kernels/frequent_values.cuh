// frequent_values.cuh - values that so many keys have that no bucket with one of them fits a block: they are
// counted and taken out, the rest is sorted without them, and they are put in. The heavy keys of a semisort,
// Gu, Shun, Sun & Blelloch, "A Top-Down Parallel Semisort", 2015; counted by hashing (value_table.cuh).
//
//     keys      5 z 2 z z 9 z 1             a sample shows that z is frequent
//     taken out 5 2 | 9 1      z: 4         each block's span closes up, z is counted
//     sorted    1 2 5 9                     the MSD sort of what is left; a bucket that z belongs to waits
//     put in    1 2 5 9 z z z z             every other bucket was written behind what comes before it
//
// Keys alone: pairs of one key are told apart by their values. Reads n keys, writes those that are left,
// reads and writes these as often as the sort does, writes n keys.
#pragma once

#include "core/key_bits.hpp"
#include "kernels/hash_slots.cuh"
#include "kernels/histogram.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"
#include "kernels/value_table.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace sweepsort {

namespace frequent_detail {

using value_table::Counters;
using value_table::ListedValues;
using value_table::slots;
using value_table::Table;

/// Whether a value of the table is `key`; zero, which the table cannot hold, is told by `has_zero`.
template <class Bits>
__device__ __forceinline__ bool is_listed(const AtomicWord<Bits>* table, bool has_zero, Bits key,
                                          uint32_t& slot) {
  if (key != 0) return has_slot<slots>(table, key, slot);
  slot = slots;
  return has_zero;
}

/// Every block takes the keys of its span apart: [blockIdx.x * span, ...) of `rest` gets those that are not
/// frequent, in any order, and rest_counts[blockIdx.x] their number. `shared` is zero.
template <class Bits>
__device__ __forceinline__ void take_out(const Bits* keys, uint64_t count, uint64_t span,
                                         const MsdPlan<Bits>& plan, Counters<Bits>& shared,
                                         Table<Bits>* table, Bits* rest, uint32_t* rest_counts) {
  using namespace value_table;
  constexpr uint32_t width = digest_detail::keys_a_vector<Bits>;
  constexpr uint32_t in_flight = 4;
  for (uint32_t s = threadIdx.x; s < slots; s += threads) shared.keys[s] = table->keys[s];
  __syncthreads();
  const bool has_zero = plan.zero_is_frequent != 0;
  const uint32_t column = threadIdx.x % columns;
  const uint64_t first = min(blockIdx.x * span, count);
  const uint64_t size = min(span, count - first);
  const Bits* const own = keys + first;
  Bits* const own_rest = rest + first;
  for (uint64_t row = 0; row < size; row += uint64_t{threads} * width * in_flight) {
    digest_detail::Vector<Bits> vector[in_flight];
    const auto at = [&](uint32_t u) { return row + (u * threads + threadIdx.x) * width; };
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u) {
      if (at(u) + width <= size) {
        vector[u].whole = ptx::load_streaming(reinterpret_cast<const uint4*>(own + at(u)));
      } else {
#pragma unroll
        for (uint32_t k = 0; k < width; ++k)
          if (at(u) + k < size) vector[u].keys[k] = own[at(u) + k];
      }
    }
    uint32_t left[in_flight][width];  // by lane
    uint32_t leaves = 0;
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u)
#pragma unroll
      for (uint32_t k = 0; k < width; ++k) {
        const bool exists = at(u) + k < size;
        uint32_t slot = 0;
        const bool is_frequent = exists && is_listed(shared.keys, has_zero, vector[u].keys[k], slot);
        if (is_frequent) atomicAdd(&shared.counts[slot][column], 1u);
        left[u][k] = __ballot_sync(full_warp, exists && !is_frequent);
        leaves += static_cast<uint32_t>(__popc(left[u][k]));
      }
    uint32_t to = 0;
    if (ptx::lane_id() == 0) to = atomicAdd(&shared.passed_on, leaves);
    to = __shfl_sync(full_warp, to, 0);
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u)
#pragma unroll
      for (uint32_t k = 0; k < width; ++k) {
        if ((left[u][k] >> ptx::lane_id() & 1) != 0)
          own_rest[to + static_cast<uint32_t>(__popc(left[u][k] & ptx::lanes_below()))] = vector[u].keys[k];
        to += static_cast<uint32_t>(__popc(left[u][k]));
      }
  }
  __syncthreads();
  for (uint32_t s = threadIdx.x; s <= slots; s += threads) {
    unsigned long long sum = 0;
    for (uint32_t c = 0; c < columns; ++c) sum += shared.counts[s][c];
    if (sum != 0) atomicAdd(&table->counts[s], sum);
  }
  if (threadIdx.x == 0) rest_counts[blockIdx.x] = shared.passed_on;
}

inline constexpr uint32_t put_in_threads = 256;
/// Keys of frequent values that a block writes at a time.
inline constexpr uint64_t put_in_chunk = 1u << 15;

/// How many of the sorted keys [first, end) of `rest` are below `value`, counted from 0. The whole block
/// calls it; each round divides the range by the number of threads.
template <class Bits>
__device__ __forceinline__ uint64_t lower_bound(const Bits* rest, uint64_t first, uint64_t end,
                                                const KeyMap<Bits>& map, Bits value) {
  while (first < end) {
    const uint64_t step = (end - first + put_in_threads - 1) / put_in_threads;
    const uint64_t mine = first + threadIdx.x * step;
    const bool is_below = mine < end && map.to_ordered(rest[mine]) < value;
    const uint64_t below = static_cast<uint64_t>(__syncthreads_count(is_below));
    if (below == 0) return first;
    end = min(first + below * step, end);
    first += (below - 1) * step + 1;
  }
  return first;
}

template <class Bits>
__device__ __forceinline__ void fill(Bits* out, uint64_t first, uint64_t end, Bits value) {
  constexpr uint64_t width = digest_detail::keys_a_vector<Bits>;
  const uint64_t body = min((first + width - 1) / width * width, end);
  const uint64_t body_end = max(end / width * width, body);
  digest_detail::Vector<Bits> vector;
#pragma unroll
  for (Bits& key : vector.keys) key = value;
  if (first + threadIdx.x < body) out[first + threadIdx.x] = value;
  for (uint64_t at = body + threadIdx.x * width; at < body_end; at += put_in_threads * width)
    __stcs(reinterpret_cast<uint4*>(out + at), vector.whole);
  if (body_end + threadIdx.x < end) out[body_end + threadIdx.x] = value;
}

/// `rest` holds the sorted buckets that frequent values belong to; their keys and these values go to `out`.
template <class Bits>
__global__ __launch_bounds__(put_in_threads) void put_in_kernel(const Bits* rest, Bits* out,
                                                                const uint64_t* offsets, KeyMap<Bits> map,
                                                                const MsdPlan<Bits>* plan,
                                                                const ListedValues<Bits>* listed) {
  ptx::wait_for_previous_launch();
  if (plan->frequent == 0 || !plan->partitions()) return;
  const uint32_t values = plan->frequent;
  const uint64_t* const starts = listed->starts;
  const auto first_of = [&](uint32_t bucket) {
    return bucket < (1u << plan->bucket_bits) ? offsets[bucket] : plan->keys;
  };
  /// How many keys of the rest are below a value.
  const auto rest_below = [&](uint32_t value) {
    const uint32_t bucket = listed->buckets[value];
    return lower_bound(rest, first_of(bucket), first_of(bucket + 1), map,
                       map.to_ordered(listed->values[value]));
  };
  const auto copy = [&](uint64_t first, uint64_t end, uint64_t distance) {
    for (uint64_t at = first + threadIdx.x; at < end; at += put_in_threads) out[at + distance] = rest[at];
  };
  for (uint32_t value = blockIdx.x; value < values; value += gridDim.x) {
    const uint32_t bucket = listed->buckets[value];
    const bool is_first = value == 0 || listed->buckets[value - 1] != bucket;
    const bool is_last = value + 1 == values || listed->buckets[value + 1] != bucket;
    const uint64_t below = rest_below(value);
    copy(is_first ? first_of(bucket) : rest_below(value - 1), below, starts[value]);
    if (is_last) copy(below, first_of(bucket + 1), starts[value + 1]);
  }
  const uint64_t taken_out = starts[values];
  for (uint64_t chunk = blockIdx.x * put_in_chunk; chunk < taken_out; chunk += gridDim.x * put_in_chunk) {
    const uint64_t end = min(chunk + put_in_chunk, taken_out);
    uint32_t value = 0;
    for (uint32_t high = values; high - value > 1;) {
      const uint32_t middle = (value + high) / 2;
      (starts[middle] <= chunk ? value : high) = middle;
    }
    for (uint64_t at = chunk; at < end; ++value) {
      const uint64_t run_end = min(starts[value + 1], end);
      const uint64_t below = rest_below(value);
      fill(out, below + at, below + run_end, listed->values[value]);
      at = run_end;
    }
  }
}

}  // namespace frequent_detail

/// The last step: after the buckets of what is left.
template <class Bits>
void put_in_frequent_values(const Bits* rest, DeviceSpan<Bits> out, const uint64_t* offsets, KeyMap<Bits> map,
                            const MsdPlan<Bits>* plan, const value_table::ListedValues<Bits>* listed,
                            cudaStream_t stream) {
  using namespace frequent_detail;
  const uint64_t most = uint64_t{multiprocessors()} * 8;
  const uint64_t blocks = std::clamp<uint64_t>(out.size() / put_in_chunk, 1, most);
  launch_chained(put_in_kernel<Bits>, {static_cast<uint32_t>(blocks), put_in_threads}, stream, rest,
                 out.data(), offsets, map, plan, listed);
}

}  // namespace sweepsort
