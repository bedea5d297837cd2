// bucket_sort.cuh - the end of an MSD radix sort: each bucket fits into the shared memory of one block, which
// brings it in order there. Stehle & Jacobsen, 2017; the parts and the comparison of the few keys that share
// one as in Neubert, "The Flashsort1 Algorithm", 1998. Moves 2n records.
//
//     bucket:           61 67 60 64 67      its range is divided into many more parts than it has keys
//     1 parts:           1  7  0  4  7      a counter of four bits each; its old value is the key's slot
//     2 scan:            1  3  0  2  3      keys in lower parts
//     3 place = 2 + slot 1  3  0  2  4      who is alone in its part is at its place
//     4 the others, if they differ or have values, are listed and compared with their part's keys
//
// A bucket whose keys crowd in few parts is sorted by an LSD radix sort in shared memory instead, digit by
// digit.
#pragma once

#include "core/key_bits.hpp"
#include "kernels/block.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/policy.cuh"
#include "kernels/ptx.cuh"
#include "kernels/radix_rank.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace sweepsort {

namespace bucket_sort_detail {

/// Eight counters a word. A part with more keys than `crowd` is too many comparisons; since its counter has
/// room for 15, the key that finds it crowded does so before it runs over.
inline constexpr uint32_t parts_a_word = 8;
inline constexpr uint32_t crowd = 12;

/// A bucket's range in at most 2^bits parts of 2^shift values each.
template <class Bits>
struct Parts {
  Bits first;
  uint32_t shift;

  static __device__ __forceinline__ Parts over(Bits first, Bits last, uint32_t bits) {
    const Bits range = static_cast<Bits>(last - first);
    const uint32_t zeros = static_cast<uint32_t>(sizeof(Bits) == 4 ? __clz(static_cast<int>(range))
                                                                   : __clzll(static_cast<long long>(range)));
    const uint32_t used = sizeof(Bits) * 8 - zeros;
    return {first, used > bits ? used - bits : 0};
  }
  __device__ __forceinline__ uint32_t operator()(Bits ordered) const {
    return static_cast<uint32_t>(static_cast<Bits>(ordered - first) >> shift);
  }
};

template <class Bits, class Value, class Policy>
struct Shared {
  static constexpr uint32_t part_bits = std::countr_zero(Policy::parts);
  static constexpr uint32_t words = Policy::parts / parts_a_word;
  static constexpr uint32_t warps = Policy::threads / warp_threads;
  static constexpr uint32_t most_keys = Policy::most_keys;
  static constexpr bool with_values = value_bytes<Value> != 0;
  static constexpr size_t record_bytes = std::max<size_t>(sizeof(Bits), value_bytes<Value>);
  static_assert(words >= warps * digit_values);

  Parts<Bits> parts;
  uint64_t warp_sums[warps + 1];
  Bits varying;
  uint32_t listed;
  union {
    alignas(16) uint32_t counters[words];
    uint32_t warp_counts[warps][digit_values];  // the other way
  };
  alignas(8) uint16_t before[words];                // keys in the parts of lower words
  uint16_t list[most_keys];                         // places of keys that share their part with others
  uint16_t positions[with_values ? most_keys : 1];  // where the record at a place stood in the bucket
  alignas(16) unsigned char records[most_keys * record_bytes];
};

/// The four-bit counters of a word, two by two in its bytes.
__device__ __forceinline__ uint32_t sum_of_counters(uint32_t word) {
  return ptx::sum_of_bytes((word & 0x0f0f0f0fu) + ((word >> 4) & 0x0f0f0f0fu));
}

template <class Bits, class Value>
struct BucketArrays {
  const Bits* keys_in;
  Bits* keys_out;
  const Value* values_in;
  Value* values_out;
};

template <class Bits, class Value, Ranking ranking, class Policy>
class Bucket {
 public:
  using BucketShared = Shared<Bits, Value, Policy>;
  static constexpr bool with_values = value_bytes<Value> != 0;
  static constexpr uint32_t keys_a_thread = Policy::keys_a_thread;
  static constexpr uint32_t words = BucketShared::words;

  /// From `first` on, `size` records are read and, in order, written; the arrays may be the same.
  __device__ __forceinline__ Bucket(BucketShared& shared, const BucketArrays<Bits, Value>& arrays,
                                    uint64_t first, uint32_t size, const KeyMap<Bits>& map)
      : shared_(shared), arrays_(arrays), first_(first), size_(size), map_(map) {}

  /// `plan`: says which keys bucket `number` may hold; null: that is to be found.
  __device__ __forceinline__ void sort(const MsdPlan<Bits>* plan, uint32_t number) {
    load_keys(plan == nullptr);
    if (plan == nullptr) find_range();
    if (threadIdx.x == 0) {
      if (plan != nullptr) {
        const auto interval = plan->map.interval(number, 1u << plan->bucket_bits);
        shared_.parts = Parts<Bits>::over(interval.first, interval.last, BucketShared::part_bits);
      }
      shared_.varying = 0;
      shared_.listed = 0;
    }
    clear_counters();
    __syncthreads();
    if (__syncthreads_or(take_slots()) == 0) {
      scan_counters();
      place_by_parts();
    } else {
      place_by_digits();
    }
    load_values();
    store_keys();
    store_values();
    __syncthreads();  // the next bucket takes the shared memory
  }

 private:
  /// A warp's records are neighbours, its lanes' records interleave.
  __device__ __forceinline__ static uint32_t own_index(uint32_t i) {
    const uint32_t warp = threadIdx.x / warp_threads;
    return (warp * keys_a_thread + i) * warp_threads + ptx::lane_id();
  }
  __device__ __forceinline__ bool has_own(uint32_t i) const { return own_index(i) < size_; }

  __device__ __forceinline__ Bits* staged_keys() { return reinterpret_cast<Bits*>(shared_.records); }
  __device__ __forceinline__ Value* staged_values() { return reinterpret_cast<Value*>(shared_.records); }

  /// `are_raw`: as the caller has them, not ordered bits.
  __device__ __forceinline__ void load_keys(bool are_raw) {
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i)
      if (has_own(i)) keys_[i] = __ldcs(arrays_.keys_in + first_ + own_index(i));
    if (!are_raw || map_.is_identity()) return;
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) keys_[i] = map_.to_ordered(keys_[i]);
  }

  /// Without a map: the range is what the keys span.
  __device__ __forceinline__ void find_range() {
    Bits least = static_cast<Bits>(~Bits{0});
    Bits most = 0;
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) {
      if (!has_own(i)) continue;
      least = min(least, keys_[i]);
      most = max(most, keys_[i]);
    }
    least = warp_reduce(least, [](Bits a, Bits b) { return min(a, b); });
    most = warp_reduce(most, [](Bits a, Bits b) { return max(a, b); });
    // The place of the staged keys is still free.
    Bits* const of_warps = staged_keys();
    if (ptx::lane_id() == 0) {
      of_warps[threadIdx.x / warp_threads] = least;
      of_warps[BucketShared::warps + threadIdx.x / warp_threads] = most;
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (uint32_t w = 0; w < BucketShared::warps; ++w) {
      least = min(least, of_warps[w]);
      most = max(most, of_warps[BucketShared::warps + w]);
    }
    shared_.parts = Parts<Bits>::over(least, most, BucketShared::part_bits);
  }

  __device__ __forceinline__ void clear_counters() {
    uint4* const counters = reinterpret_cast<uint4*>(shared_.counters);
#pragma unroll
    for (uint32_t w = threadIdx.x; w < words / 4; w += Policy::threads) counters[w] = make_uint4(0, 0, 0, 0);
  }

  /// Slots are below 16: eight a register.
  __device__ __forceinline__ uint32_t slot(uint32_t i) const { return (slots_[i / 8] >> (i % 8 * 4)) & 0xf; }

  /// Step 1. True if a part is crowded: then counters may have run over, and slots mean nothing.
  __device__ __forceinline__ bool take_slots() {
    parts_ = shared_.parts;
    uint32_t highest = 0;
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) {
      if (!has_own(i)) continue;
      const uint32_t part = parts_(keys_[i]);
      const uint32_t shift = part % parts_a_word * 4;
      const uint32_t slot = (atomicAdd(&shared_.counters[part / parts_a_word], 1u << shift) >> shift) & 0xf;
      highest = max(highest, slot);
      slots_[i / 8] |= slot << (i % 8 * 4);
    }
    return highest >= crowd;
  }

  /// Step 2. Each thread adds up the counters of `rows` vectors of 16 bytes; their sums, side by side in the
  /// 16-bit fields of one word, are scanned over the block at once.
  __device__ __forceinline__ void scan_counters() {
    constexpr uint32_t rows = words / 4 / Policy::threads;
    static_assert(rows * 4 * Policy::threads == words && rows <= 4);
    const uint4* const counters = reinterpret_cast<const uint4*>(shared_.counters);
    uint32_t sums[rows][4];
    uint64_t row_sums = 0;
#pragma unroll
    for (uint32_t r = 0; r < rows; ++r) {
      const uint4 four = counters[r * Policy::threads + threadIdx.x];
      sums[r][0] = 0;
      sums[r][1] = sum_of_counters(four.x);
      sums[r][2] = sums[r][1] + sum_of_counters(four.y);
      sums[r][3] = sums[r][2] + sum_of_counters(four.z);
      row_sums |= uint64_t{sums[r][3] + sum_of_counters(four.w)} << (16 * r);
    }
    uint64_t totals = 0;
    const uint64_t below = block_exclusive_sum<Policy::threads>(row_sums, shared_.warp_sums, totals);
    uint32_t rows_before = 0;
#pragma unroll
    for (uint32_t r = 0; r < rows; ++r) {
      const uint32_t first = rows_before + (static_cast<uint32_t>(below >> (16 * r)) & 0xffff);
      rows_before += static_cast<uint32_t>(totals >> (16 * r)) & 0xffff;
      reinterpret_cast<uint2*>(shared_.before)[r * Policy::threads + threadIdx.x] =
          make_uint2((first + sums[r][0]) | (first + sums[r][1]) << 16,
                     (first + sums[r][2]) | (first + sums[r][3]) << 16);
    }
    __syncthreads();
  }

  /// The places of one part.
  struct Range {
    uint32_t first;
    uint32_t size;
  };
  __device__ __forceinline__ Range places_of(uint32_t part) const {
    const uint32_t word = shared_.counters[part / parts_a_word];
    const uint32_t shift = part % parts_a_word * 4;
    return {shared_.before[part / parts_a_word] + sum_of_counters(word & ((1u << shift) - 1)),
            (word >> shift) & 0xf};
  }

  /// Steps 3 and 4.
  __device__ __forceinline__ void place_by_parts() {
    const bool compares = with_values || parts_.shift != 0;
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) {
      if (!has_own(i)) continue;
      const Range range = places_of(parts_(keys_[i]));
      const uint32_t place = range.first + slot(i);
      staged_keys()[place] = keys_[i];
      if constexpr (with_values) shared_.positions[place] = static_cast<uint16_t>(own_index(i));
      if (compares && range.size > 1)
        shared_.list[atomicAdd(&shared_.listed, 1u)] = static_cast<uint16_t>(place);
    }
    __syncthreads();
    if (compares) compare_listed();
  }

  /// Every listed key finds its place among those of its part; all look before one moves.
  __device__ __forceinline__ void compare_listed() {
    const uint32_t listed = shared_.listed;
    uint32_t places[keys_a_thread] = {};
    uint32_t position[with_values ? keys_a_thread : 1] = {};
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) {
      const uint32_t entry = i * Policy::threads + threadIdx.x;
      if (entry >= listed) break;
      const uint32_t mine = shared_.list[entry];
      const Bits key = staged_keys()[mine];
      if constexpr (with_values) position[i] = shared_.positions[mine];
      const Range range = places_of(parts_(key));
      uint32_t place = range.first;
      for (uint32_t other = range.first; other < range.first + range.size; ++other) {
        const Bits key_there = staged_keys()[other];
        const bool is_first =
            with_values ? shared_.positions[other] < position[with_values ? i : 0] : other < mine;
        place += key_there < key || (key_there == key && is_first);
      }
      keys_[i] = key;
      places[i] = place;
    }
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) {
      if (i * Policy::threads + threadIdx.x >= listed) break;
      staged_keys()[places[i]] = keys_[i];
      if constexpr (with_values) shared_.positions[places[i]] = static_cast<uint16_t>(position[i]);
    }
    __syncthreads();
  }

  /// LSD, over the digits that vary. Leaves keys and positions as place_by_parts does.
  __device__ __forceinline__ void place_by_digits() {
    find_varying_bits();
    uint16_t positions[keys_a_thread];
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) positions[i] = static_cast<uint16_t>(own_index(i));
    const Bits varying = shared_.varying;
    for (uint32_t place = 0; place < digit_places<Bits>; ++place)
      if (((varying >> (place * digit_bits)) & (digit_values - 1)) != 0) move_by_digit(place, positions);
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) {
      if (!has_own(i)) continue;
      staged_keys()[own_index(i)] = keys_[i];
      if constexpr (with_values) shared_.positions[own_index(i)] = positions[i];
    }
    __syncthreads();
  }

  __device__ __forceinline__ void find_varying_bits() {
    if (threadIdx.x == 0) staged_keys()[0] = keys_[0];
    __syncthreads();
    const Bits one_of_them = staged_keys()[0];
    Bits differing = 0;
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i)
      if (has_own(i)) differing |= keys_[i] ^ one_of_them;
    differing = warp_reduce(differing, [](Bits a, Bits b) { return static_cast<Bits>(a | b); });
    if (ptx::lane_id() == 0) {
      if constexpr (sizeof(Bits) == 8)
        atomicOr(reinterpret_cast<unsigned long long*>(&shared_.varying),
                 static_cast<unsigned long long>(differing));
      else
        atomicOr(&shared_.varying, differing);
    }
    __syncthreads();
  }

  /// One stable pass. Every thread gets the records that now stand at its indices.
  __device__ __forceinline__ void move_by_digit(uint32_t place, uint16_t (&positions)[keys_a_thread]) {
    const uint32_t warp = threadIdx.x / warp_threads;
    const DigitOf<Bits> digit_of(place);
    Packed16<keys_a_thread> ranks;
    WarpRanker<ranking> ranker(shared_.warp_counts[warp]);
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) ranks.set(i, ranker.rank(digit_of(keys_[i]), has_own(i)));
    __syncthreads();
    uint32_t records = 0;
    if (threadIdx.x < digit_values)
      for (uint32_t w = 0; w < BucketShared::warps; ++w) {
        const uint32_t here = shared_.warp_counts[w][threadIdx.x];
        shared_.warp_counts[w][threadIdx.x] = records;
        records += here;
      }
    uint64_t total = 0;
    const uint64_t below = block_exclusive_sum<Policy::threads>(uint64_t{records}, shared_.warp_sums, total);
    if (threadIdx.x < digit_values)
      for (uint32_t w = 0; w < BucketShared::warps; ++w)
        shared_.warp_counts[w][threadIdx.x] += static_cast<uint32_t>(below);
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) {
      if (!has_own(i)) continue;
      const uint32_t to = shared_.warp_counts[warp][digit_of(keys_[i])] + ranks.get(i);
      staged_keys()[to] = keys_[i];
      if constexpr (with_values) shared_.positions[to] = positions[i];
    }
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) {
      if (!has_own(i)) continue;
      keys_[i] = staged_keys()[own_index(i)];
      if constexpr (with_values) positions[i] = shared_.positions[own_index(i)];
    }
    __syncthreads();
  }

  /// The first access to the values: they are under way while the keys are stored.
  __device__ __forceinline__ void load_values() {
    if constexpr (with_values) {
#pragma unroll
      for (uint32_t i = 0; i < keys_a_thread; ++i)
        if (has_own(i)) values_[i] = __ldcs(arrays_.values_in + first_ + own_index(i));
    }
  }

  __device__ __forceinline__ void store_keys() {
    if (map_.is_xor()) {
      const Bits mask = map_.xor_mask();
      store_keys_as([=](Bits key) { return static_cast<Bits>(key ^ mask); });
    } else {
      store_keys_as([&](Bits key) { return map_.from_ordered(key); });
    }
  }

  template <class Raw>
  __device__ __forceinline__ void store_keys_as(Raw raw) {
#pragma unroll
    for (uint32_t i = 0; i < keys_a_thread; ++i) {
      const uint32_t at = i * Policy::threads + threadIdx.x;
      if (at >= size_) break;
      arrays_.keys_out[first_ + at] = raw(staged_keys()[at]);
    }
  }

  __device__ __forceinline__ void store_values() {
    if constexpr (with_values) {
      __syncthreads();
#pragma unroll
      for (uint32_t i = 0; i < keys_a_thread; ++i)
        if (has_own(i)) staged_values()[own_index(i)] = values_[i];
      __syncthreads();
#pragma unroll
      for (uint32_t i = 0; i < keys_a_thread; ++i) {
        const uint32_t at = i * Policy::threads + threadIdx.x;
        if (at >= size_) break;
        arrays_.values_out[first_ + at] = staged_values()[shared_.positions[at]];
      }
    }
  }

  BucketShared& shared_;
  const BucketArrays<Bits, Value>& arrays_;
  uint64_t first_;
  uint32_t size_;
  const KeyMap<Bits>& map_;
  Parts<Bits> parts_;
  Bits keys_[keys_a_thread] = {};
  uint32_t slots_[(keys_a_thread + 7) / 8] = {};
  Value values_[with_values ? keys_a_thread : 1];
};

/// Sorts the buckets that plan->listed[which] and `list` name where they are; without a plan, `count` records
/// as one bucket.
template <class Bits, class Value, Ranking ranking, class Policy>
__global__ __launch_bounds__(Policy::threads, Policy::blocks_a_multiprocessor) void bucket_sort_kernel(
    BucketArrays<Bits, Value> arrays, uint64_t count, const uint64_t* offsets, const uint32_t* list,
    uint32_t which, KeyMap<Bits> map, const MsdPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  if (plan != nullptr && !plan->partitions()) return;
  auto& shared = shared_memory<Shared<Bits, Value, Policy>>();
  const uint32_t buckets = plan != nullptr ? 1u << plan->bucket_bits : 1;
  const uint32_t listed = plan != nullptr ? plan->listed[which] : 1;
  for (uint32_t i = blockIdx.x; i < listed; i += gridDim.x) {
    const uint32_t number = plan != nullptr ? list[i] : 0;
    const uint64_t first = plan != nullptr ? offsets[number] : 0;
    const uint64_t end = number + 1 < buckets ? offsets[number + 1] : count;
    Bucket<Bits, Value, ranking, Policy> bucket(shared, arrays, first, static_cast<uint32_t>(end - first),
                                                map);
    bucket.sort(plan, number);
  }
}

}  // namespace bucket_sort_detail

}  // namespace sweepsort
