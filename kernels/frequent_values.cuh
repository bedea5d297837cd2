// frequent_values.cuh - values with so many keys that no bucket with one of them fits a block. They are
// counted and taken out, the other keys are sorted without them, and then they are put back in. The heavy
// keys of a semisort, Gu, Shun, Sun & Blelloch, "A Top-Down Parallel Semisort", 2015; counted by hashing
// (value_table.cuh).
//
//     keys      5 z 2 z z 9 z 1             a sample shows that z is frequent
//     taken out 5 2 | 9 1      z: 4         each block's span closes up, z is counted
//     sorted    1 2 5 9                     the MSD sort of what is left; a bucket that z belongs to waits
//     put in    1 2 5 9 z z z z             every other bucket was written behind what comes before it
//
// For keys alone, because pairs with equal keys differ in their values. Reads n keys and writes those that
// are left, reads and writes these as often as the sort does, then writes n keys.
#pragma once

#include "core/key_bits.hpp"
#include "core/rounding.hpp"
#include "kernels/bisect.cuh"
#include "kernels/hash_slots.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"
#include "kernels/value_table.cuh"
#include "kernels/vector16.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace sweepsort {

namespace frequent_detail {

using value_table::ListedValues;
using value_table::slots;
using value_table::Table;

/// Bits of a hash that quickly tells most other values from those of the table.
inline constexpr uint32_t filter_bits = 16;

template <class Bits>
struct Shared {
  value_table::Counters<Bits, slots, 4> counters;
  uint32_t may_be_listed[1u << (filter_bits - 5)];  // one bit per hash
  uint32_t left;                                    // keys left so far
};

/// Whether `key` is a value of the table. The table cannot hold zero: `has_zero` says whether it is one of
/// the values.
template <class Bits>
__device__ __forceinline__ bool is_listed(const AtomicWord<Bits>* table, bool has_zero, Bits key,
                                          uint32_t& slot) {
  if (key != 0) return has_slot<slots>(table, key, slot);
  slot = slots;
  return has_zero;
}

/// Counts the keys of frequent values in one block's span, and closes up the others.
template <class Bits>
class Taker {
 public:
  static constexpr uint32_t threads = value_table::threads;
  static constexpr uint32_t width = elements_per_vector<Bits>;
  static constexpr uint32_t in_flight = 4;
  static constexpr uint32_t row_keys = threads * width * in_flight;

  /// `shared` is zero. The whole block calls every function.
  __device__ __forceinline__ Taker(Shared<Bits>& shared, const MsdPlan<Bits>& plan, const Table<Bits>& table)
      : shared_(shared),
        has_zero_(plan.frequent.has_zero != 0),
        has_top_(plan.frequent.has_top != 0),
        top_(plan.frequent.top) {
    for (uint32_t s = threadIdx.x; s < slots; s += threads) {
      const Bits key = static_cast<Bits>(table.keys[s]);
      const uint32_t hashed = hash<filter_bits>(key);
      shared.counters.keys[s] = key;
      if (key != 0) atomicOr(&shared.may_be_listed[hashed / 32], 1u << hashed % 32);
    }
    if (threadIdx.x == 0 && has_zero_) atomicOr(&shared.may_be_listed[0], 1u);
    __syncthreads();
  }

  /// Writes the keys that are left to `rest`, in any order. `keys` is aligned to 16 bytes.
  __device__ __forceinline__ void take(const Bits* keys, uint64_t count, Bits* rest) {
    uint64_t row = 0;
    for (; row + row_keys <= count; row += row_keys) take_row<true>(keys + row, row_keys, rest);
    if (row < count) take_row<false>(keys + row, static_cast<uint32_t>(count - row), rest);
  }

  /// Adds this block's counts to those of all blocks. Returns how many keys are left.
  __device__ __forceinline__ uint32_t finish(Table<Bits>& table) {
    const uint32_t tops = ptx::warp_sum(tops_);
    uint32_t slot = 0;
    if (ptx::lane_id() == 0 && has_top_ && is_listed(shared_.counters.keys, has_zero_, top_, slot))
      shared_.counters.count(slot, tops);
    __syncthreads();
    for (uint32_t s = threadIdx.x; s <= slots; s += threads)
      if (const uint64_t sum = shared_.counters.sum(s))
        atomicAdd(&table.counts[s], static_cast<unsigned long long>(sum));
    return shared_.left;
  }

 private:
  template <bool is_full>
  __device__ __forceinline__ void take_row(const Bits* keys, uint32_t size, Bits* rest) {
    const auto at = [](uint32_t u) { return (u * threads + threadIdx.x) * width; };
    Vector16<Bits> vector[in_flight];
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u) {
      if (is_full || at(u) + width <= size) {
        vector[u].whole = ptx::load_streaming(reinterpret_cast<const uint4*>(keys + at(u)));
      } else {
#pragma unroll
        for (uint32_t k = 0; k < width; ++k)
          if (at(u) + k < size) vector[u].elements[k] = keys[at(u) + k];
      }
    }
    uint32_t left[in_flight][width];  // one bit per lane
    uint32_t leaves = 0;
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u)
#pragma unroll
      for (uint32_t k = 0; k < width; ++k) {
        const bool exists = is_full || at(u) + k < size;
        left[u][k] = __ballot_sync(full_warp, exists && !is_taken(vector[u].elements[k]));
        leaves += static_cast<uint32_t>(__popc(left[u][k]));
      }
    uint32_t first = 0;
    if (ptx::lane_id() == 0) first = atomicAdd(&shared_.left, leaves);
    Bits* to = rest + __shfl_sync(full_warp, first, 0);
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u)
#pragma unroll
      for (uint32_t k = 0; k < width; ++k) {
        if ((left[u][k] >> ptx::lane_id() & 1) != 0)
          to[__popc(left[u][k] & ptx::lanes_below())] = vector[u].elements[k];
        to += __popc(left[u][k]);
      }
  }

  /// Counts the key if it has a frequent value. The most frequent value is counted per thread, because all
  /// lanes of a warp might want its counter.
  __device__ __forceinline__ bool is_taken(Bits key) {
    const bool is_top = has_top_ && key == top_;
    tops_ += is_top;
    const uint32_t hashed = hash<filter_bits>(key);
    if (is_top || (shared_.may_be_listed[hashed / 32] >> hashed % 32 & 1) == 0) return is_top;
    uint32_t slot = 0;
    if (!is_listed(shared_.counters.keys, has_zero_, key, slot)) return false;
    shared_.counters.count(slot);
    return true;
  }

  Shared<Bits>& shared_;
  bool has_zero_;
  bool has_top_;
  Bits top_;
  uint32_t tops_ = 0;  // keys of this thread with the value `top_`
};

/// Every block handles the keys of its span: those that are left go to [blockIdx.x * span, ...) of `rest`,
/// and their number to rest_counts[blockIdx.x].
template <class Bits>
__device__ __forceinline__ void take_out(const Bits* keys, uint64_t count, uint64_t span,
                                         const MsdPlan<Bits>& plan, Shared<Bits>& shared, Table<Bits>* table,
                                         Bits* rest, uint32_t* rest_counts) {
  const uint64_t first = min(blockIdx.x * span, count);
  Taker<Bits> taker(shared, plan, *table);
  taker.take(keys + first, min(span, count - first), rest + first);
  const uint32_t left = taker.finish(*table);
  if (threadIdx.x == 0) rest_counts[blockIdx.x] = left;
}

inline constexpr uint32_t put_in_threads = 256;
/// Keys of frequent values that a block writes in one chunk.
inline constexpr uint64_t put_in_chunk = 1u << 15;

/// How many of the sorted keys [0, end) of `rest` are below `value`; all keys before `first` are. The whole
/// block calls it. Each round divides the range by the number of threads.
template <class Bits>
__device__ __forceinline__ uint64_t lower_bound(const Bits* rest, uint64_t first, uint64_t end,
                                                const KeyMap<Bits>& map, Bits value) {
  while (first < end) {
    const uint64_t step = ceil_divide(end - first, put_in_threads);
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
  constexpr uint64_t width = elements_per_vector<Bits>;
  const uint64_t body = min(round_up(first, width), end);
  const uint64_t body_end = max(end / width * width, body);
  Vector16<Bits> vector;
#pragma unroll
  for (Bits& key : vector.elements) key = value;
  if (first + threadIdx.x < body) out[first + threadIdx.x] = value;
  for (uint64_t at = body + threadIdx.x * width; at < body_end; at += put_in_threads * width)
    __stcs(reinterpret_cast<uint4*>(out + at), vector.whole);
  if (body_end + threadIdx.x < end) out[body_end + threadIdx.x] = value;
}

/// `rest` holds the sorted buckets that contain frequent values. Their keys and the frequent values go to
/// `out`.
template <class Bits>
__global__ __launch_bounds__(put_in_threads) void put_in_kernel(const Bits* rest, Bits* out,
                                                                const uint64_t* offsets, KeyMap<Bits> map,
                                                                const MsdPlan<Bits>* plan,
                                                                const ListedValues<Bits>* listed) {
  ptx::wait_for_previous_launch();
  if (plan->frequent.count == 0 || !plan->partitions()) return;
  const uint32_t values = plan->frequent.count;
  const uint64_t* const starts = listed->starts;
  const auto first_of = [&](uint32_t bucket) {
    return bucket < (1u << plan->bucket_bits) ? offsets[bucket] : plan->keys;
  };
  /// How many keys of `rest` are below a value.
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
    uint32_t value = last_at_most(starts, values, chunk);
    for (uint64_t at = chunk; at < end; ++value) {
      const uint64_t run_end = min(starts[value + 1], end);
      const uint64_t below = rest_below(value);
      fill(out, below + at, below + run_end, listed->values[value]);
      at = run_end;
    }
  }
}

}  // namespace frequent_detail

/// The last step, after the buckets of the other keys have been sorted.
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
