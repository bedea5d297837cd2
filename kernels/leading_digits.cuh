// leading_digits.cuh - an LSD sort of large keys that passes only their leading digits. Hashes and other
// numbers that look random hardly ever agree in a few more bits than it takes to number them. Keys that do
// agree in these digits are not yet in order by the digits left out, which is then mended. Sedgewick,
// "Algorithms in C++", 3rd ed., 1998, 10.7 (sublinear-time sorts).
//
//     digit     7 6 5 4 3 | 2 1 0          five passes of eight for 2^24 keys
//     sorted    a b c d d   3 1 2          by 7 to 3
//                     └─┴── 2 > 1: these agree in all leading digits: a run, sorted by one block. Stable.
//
// Before that, a sample shows whether different keys agree in their leading digits. Frequent keys do no harm.
// A sample may mislead: if runs turn out too long or too many, passes by all digits follow.
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "core/rounding.hpp"
#include "kernels/digit.cuh"
#include "kernels/hash_slots.cuh"
#include "kernels/ptx.cuh"
#include "kernels/tickets.cuh"
#include "kernels/vector16.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace sweepsort {

/// Whether passes may sort by the leading digits alone.
template <class Bits, class Policy>
inline constexpr bool can_lead = sizeof(Bits) == 8 && !Policy::is_portable;

/// How many leading digits suffice. They have at least 2^15 times as many values as there are keys. So a key
/// that occurs thousands of times hardly ever shares them with another key; such runs would be too long. 0:
/// use all digits, since with so many keys even random ones make too many runs.
SWEEPSORT_HOST_DEVICE constexpr uint32_t leading_digits_of(uint64_t count) {
  constexpr uint32_t spare_bits = 15;
  if (count > uint64_t{1} << 32) return 0;
  uint32_t digits = ceil_divide(spare_bits, digit_bits);
  while ((count - 1) >> (digits * digit_bits - spare_bits) != 0) ++digits;
  return digits;
}

namespace leading_detail {

/// A place's digits look random if at least this many digit values are common. A common one has at least a
/// quarter of the keys that an even distribution would give it.
inline constexpr uint32_t spread_values = digit_values * 3 / 4;
SWEEPSORT_HOST_DEVICE constexpr uint64_t common_keys(uint64_t count) { return count / (4 * digit_values); }

/// Places that are sampled, of four keys each; and the most runs. The emulator's arrays are small.
#if defined(__CUDACC__)
inline constexpr uint32_t places = 4096;
inline constexpr uint32_t max_runs = 1u << 16;
#else
inline constexpr uint32_t places = 16;
inline constexpr uint32_t max_runs = 1u << 11;
#endif
inline constexpr uint32_t slots = 4096;
/// The index, counted by fours, of the four keys at place number `place`. It varies within the place's step
/// of the array, so that what repeats at equal distances is not met always or never.
SWEEPSORT_HOST_DEVICE constexpr uint64_t sampled_four(uint32_t place, uint64_t count) {
  const uint64_t step = count / 4 / places;
  return place * step + (step == 0 ? 0 : (place * 0x9e3779b1u >> 8) % step);
}

template <class Bits>
struct ApartShared {
  AtomicWord<Bits> met[slots];  // zero: free
};

/// False if two samples (ordered bits) agree above their lowest `shift` bits and are not the same. If all
/// keys were in runs of k such keys, four such pairs would usually be met with 2^24 keys for k = 2, and with
/// 2^28 keys for k = 17. Called by the whole block.
template <uint32_t threads, class Bits>
__device__ __forceinline__ bool are_told_apart(const Bits* keys, uint64_t count, const KeyMap<Bits>& map,
                                               uint32_t shift, ApartShared<Bits>& shared) {
  using Vector = Vector16<Bits>;
  constexpr uint32_t width = elements_per_vector<Bits>;
  static_assert(2 * width == 4);
  for (uint32_t s = threadIdx.x; s < slots; s += threads) shared.met[s] = 0;
  __syncthreads();
  bool meets = false;
#pragma unroll 4
  for (uint32_t p = threadIdx.x; p < places; p += threads) {
    const uint4* const place = reinterpret_cast<const uint4*>(keys) + 2 * sampled_four(p, count);
    for (const Vector half : {Vector{.whole = place[0]}, Vector{.whole = place[1]}})
      for (const Bits key : half.elements) {
        const auto ordered = static_cast<AtomicWord<Bits>>(map.to_ordered(key));
        AtomicWord<Bits>& slot =
            shared.met[hash<std::countr_zero(slots)>(static_cast<Bits>(ordered >> shift))];
        const AtomicWord<Bits> other = atomicCAS(&slot, AtomicWord<Bits>{0}, ordered);
        meets |= other != 0 && other != ordered && (other ^ ordered) >> shift == 0;
      }
  }
  return __syncthreads_or(meets) == 0;
}

/// Keys that agree in their leading digits, but are not all the same and not in order.
struct Run {
  uint64_t first;
  uint32_t size;
};

/// Rows of a block in the largest run. Its keys take the memory of a tile.
template <class Policy>
inline constexpr uint32_t run_rows = std::min(8u, Policy::keys_per_thread - 1);
/// Keys in the largest run.
template <class Policy>
inline constexpr uint32_t max_run = run_rows<Policy>* Policy::threads;
/// A run of k keys takes k^2 comparisons. All runs together may take at most this many per key of the array.
inline constexpr uint64_t comparisons_per_key = 64;

/// What the blocks share. All zeros before.
struct State {
  unsigned long long comparisons;  // of all runs
  uint32_t runs;                   // number of listed runs
  uint32_t is_hopeless;            // runs are too many, or too large
  uint32_t check_tickets;
  uint32_t rows_checked;
  uint32_t mend_tickets;
};

template <class Bits, class Policy>
struct Shared {
  uint32_t next_row[2];
  uint32_t runs;  // number of the runs that the block mends
  Bits keys[max_run<Policy>];
};

/// One block of those that look for runs in `keys`, sorted by all bits but the lowest `shift`, and mend them.
/// `listed`: room for max_runs runs, or for one run per two keys.
template <class Bits, class Value, class Policy>
class Mender {
 public:
  using MenderShared = Shared<Bits, Policy>;
  static constexpr uint32_t threads = Policy::threads;
  using Vector = Vector16<Bits>;
  static constexpr uint32_t width = elements_per_vector<Bits>;
  static constexpr uint32_t in_flight = 4;
  static constexpr uint32_t row_keys = threads * width * in_flight;

  __device__ __forceinline__ Mender(MenderShared& shared, Bits* keys, Value* values, uint64_t count,
                                    const KeyMap<Bits>& map, uint32_t shift, State& state, Run* listed)
      : shared_(shared),
        keys_(keys),
        values_(values),
        count_(count),
        map_(map),
        shift_(shift),
        state_(state),
        listed_(listed) {}

  SWEEPSORT_HOST_DEVICE static uint32_t rows(uint64_t count) {
    return static_cast<uint32_t>(ceil_divide(count, row_keys));
  }

  /// Lists the runs. Blocks draw rows of keys. Returns how many rows this block has looked at.
  __device__ __forceinline__ uint32_t find_runs() {
    return for_drawn_rows(&state_.check_tickets, rows(count_), shared_.next_row, [&](uint32_t row) {
      // If it is hopeless, rows are only counted.
      if (!warp_sees_no_hope()) look_at(uint64_t{row} * row_keys);
    });
  }

  /// Final when all rows have been looked at.
  __device__ __forceinline__ bool is_hopeless() const {
    return DeviceAtomic<uint32_t>(state_.is_hopeless).load(cuda::memory_order_relaxed) != 0;
  }
  /// A block draws as many runs as it has warps. Each warp mends one of them if it is short. Then all threads
  /// mend the long ones, one after the other.
  __device__ __forceinline__ void mend_runs() {
    constexpr uint32_t warps = threads / warp_threads;
    while (true) {
      if (threadIdx.x == 0) shared_.runs = draw_ticket(&state_.mend_tickets);
      __syncthreads();
      const uint32_t first = shared_.runs * warps;
      if (first >= state_.runs) return;
      const uint32_t end = min(first + warps, state_.runs);
      const uint32_t own = first + threadIdx.x / warp_threads;
      if (own < end && is_short(listed_[own])) mend_short(listed_[own]);
      for (uint32_t run = first; run < end; ++run)
        if (!is_short(listed_[run])) mend(listed_[run]);
      __syncthreads();  // the next ticket
    }
  }

 private:
  __device__ __forceinline__ Bits key_at(uint64_t i) const { return map_.to_ordered(__ldcs(keys_ + i)); }
  __device__ __forceinline__ Value value_at(uint64_t i) const {
    if constexpr (value_bytes<Value> != 0) return values_[i];
    return Value{};
  }
  __device__ __forceinline__ void store(uint64_t i, Bits key, Value value) const {
    keys_[i] = map_.from_ordered(key);
    if constexpr (value_bytes<Value> != 0) values_[i] = value;
  }
  /// Lanes may read the flag at different times, so one lane that sees it decides for its warp.
  __device__ __forceinline__ bool warp_sees_no_hope() const { return __any_sync(full_warp, is_hopeless()); }
  __device__ __forceinline__ bool agree(Bits a, Bits b) const { return (a ^ b) >> shift_ == 0; }

  __device__ __forceinline__ static uint32_t first_of_warp(uint32_t u) {
    return (threadIdx.x / warp_threads * in_flight + u) * warp_threads * width;
  }

  /// Each warp looks at neighbouring keys. The first look is as fast as possible.
  __device__ __forceinline__ void look_at(uint64_t row) {
    bool is_wrong = row + row_keys >= count_;  // not whole: key by key
    if (!is_wrong) {
      Vector vectors[in_flight];
      const Bits* const own = keys_ + row + first_of_warp(0) + ptx::lane_id() * width;
#pragma unroll
      for (uint32_t u = 0; u < in_flight; ++u)
        vectors[u].whole = __ldcs(reinterpret_cast<const uint4*>(own + u * warp_threads * width));
      const Bits behind = key_at(row + first_of_warp(in_flight));
#pragma unroll
      for (uint32_t u = 0; u < in_flight; ++u) {
#pragma unroll
        for (Bits& key : vectors[u].elements) key = map_.to_ordered(key);
      }
#pragma unroll
      for (uint32_t u = 0; u < in_flight; ++u) {
        const Vector& vector = vectors[u];
#pragma unroll
        for (uint32_t k = 1; k < width; ++k) is_wrong |= vector.elements[k - 1] > vector.elements[k];
        const Bits of_next_lane = shuffle_down(vector.elements[0], 1);
        const Bits of_next_vectors =
            u + 1 < in_flight ? shuffle_from(vectors[(u + 1) % in_flight].elements[0], 0) : behind;
        const bool is_last_lane = ptx::lane_id() == warp_threads - 1;
        is_wrong |= vector.elements[width - 1] > (is_last_lane ? of_next_vectors : of_next_lane);
      }
    }
    if (__any_sync(full_warp, is_wrong)) look_closely(row + first_of_warp(0));
  }

  /// Looks at the warp's keys from `first` on. Called by the whole warp.
  __device__ __forceinline__ void look_closely(uint64_t first) {
    const uint64_t end = min(first + warp_threads * width * in_flight, count_ - 1);
    for (; first < end && !warp_sees_no_hope(); first += warp_threads) {
      const uint64_t own = first + ptx::lane_id();
      const bool falls = own < end && key_at(own) > key_at(own + 1);
      for (uint32_t left = __ballot_sync(full_warp, falls); left != 0; left &= left - 1)
        list_run(first + static_cast<uint32_t>(__ffs(static_cast<int>(left)) - 1));
    }
  }

  /// The key at `fall` is above the next one. Lists the run of both, unless keys fall earlier in that run.
  /// Called by the whole warp.
  __device__ __forceinline__ void list_run(uint64_t fall) {
    const Bits key = key_at(fall);
    uint64_t first = fall;
    while (true) {
      const uint32_t back = ptx::lane_id() + 1;
      const Bits other = first >= back ? key_at(first - back) : Bits{0};
      const bool is_in_run = first >= back && agree(other, key);
      const uint32_t others = __ballot_sync(full_warp, !is_in_run);
      const uint32_t in_run =
          others == 0 ? warp_threads : static_cast<uint32_t>(__ffs(static_cast<int>(others)) - 1);
      const bool falls = ptx::lane_id() < in_run && other > key_at(first - back + 1);
      if (__any_sync(full_warp, falls)) return;
      first -= in_run;
      if (in_run < warp_threads) break;
      if (fall - first > max_run<Policy>) return give_up();
    }
    uint64_t end = fall + 1;
    while (true) {
      const uint64_t own = end + ptx::lane_id();
      const uint32_t others = __ballot_sync(full_warp, own >= count_ || !agree(key_at(own), key));
      if (others != 0) {
        end += static_cast<uint32_t>(__ffs(static_cast<int>(others)) - 1);
        break;
      }
      end += warp_threads;
      if (end - first > max_run<Policy>) return give_up();
    }
    if (end - first > max_run<Policy>) return give_up();
    if (ptx::lane_id() != 0) return;
    const uint32_t size = static_cast<uint32_t>(end - first);
    const uint32_t entry = atomicAdd(&state_.runs, 1u);
    if (entry < max_runs) listed_[entry] = {first, size};
    const uint64_t comparisons = uint64_t{size} * size;
    const bool are_too_large =
        atomicAdd(&state_.comparisons, static_cast<unsigned long long>(comparisons)) + comparisons >
        comparisons_per_key * count_;
    if (entry >= max_runs || are_too_large) give_up();
  }
  __device__ __forceinline__ void give_up() const {
    DeviceAtomic<uint32_t>(state_.is_hopeless).store(1, cuda::memory_order_relaxed);
  }

  __device__ __forceinline__ static bool is_short(const Run& run) { return run.size <= warp_threads; }

  /// One warp: a record's place is behind all lower ones, and behind equal ones that stand before it.
  __device__ __forceinline__ void mend_short(const Run& run) {
    const uint32_t lane = ptx::lane_id();
    const uint64_t own = run.first + min(lane, run.size - 1);
    const Bits key = key_at(own);
    const Value value = value_at(own);
    uint32_t place = 0;
    for (uint32_t other = 0; other < run.size; ++other) {
      const Bits its_key = shuffle_from(key, other);
      place += its_key < key || (its_key == key && other < lane);
    }
    __syncwarp();  // all records have been read
    if (lane >= run.size) return;
    store(run.first + place, key, value);
  }

  /// The same by the whole block.
  __device__ __forceinline__ void mend(const Run& run) {
    constexpr uint32_t rows = run_rows<Policy>;
    Bits key[rows];
    Value value[rows];
    uint32_t place[rows];
    const auto for_rows = [&](auto body) {
#pragma unroll
      for (uint32_t r = 0; r < rows; ++r)
        if (r * threads < run.size) body(r, r * threads + threadIdx.x);
    };
    __syncthreads();  // another run's keys have been read
    for_rows([&](uint32_t r, uint32_t i) {
      place[r] = 0;
      if (i >= run.size) return;
      shared_.keys[i] = key[r] = key_at(run.first + i);
      value[r] = value_at(run.first + i);
    });
    __syncthreads();
    for (uint32_t other = 0; other < run.size; ++other) {
      const Bits its_key = shared_.keys[other];
      for_rows(
          [&](uint32_t r, uint32_t i) { place[r] += its_key < key[r] || (its_key == key[r] && other < i); });
    }
    for_rows([&](uint32_t r, uint32_t i) {
      if (i >= run.size) return;
      store(run.first + place[r], key[r], value[r]);
    });
  }

  MenderShared& shared_;
  Bits* keys_;
  Value* values_;
  uint64_t count_;
  const KeyMap<Bits>& map_;
  uint32_t shift_;
  State& state_;
  Run* listed_;
};

}  // namespace leading_detail

}  // namespace sweepsort
