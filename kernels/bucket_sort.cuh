// bucket_sort.cuh - the end of an MSD radix sort: each bucket fits into the shared memory of one block, which
// brings it in order there. Stehle & Jacobsen, 2017; the parts and the comparison of the few keys that share
// one as in Neubert, "The Flashsort1 Algorithm", 1998. Moves 2n records.
//
//     bucket:           61 67 60 64 67      its range is divided into many more parts than it has keys
//     1 parts:           1  7  0  4  7      a small counter each; its old value is the key's slot
//     2 scan:            1  3  0  2  3      keys in lower parts
//     3 place = 2 + slot 1  3  0  2  4      who is alone in its part is at its place
//     4 a part of several keys, if they may differ or have values, is listed, and one thread sorts it
//
// A bucket whose keys crowd in few parts is sorted digit by digit instead (bucket_digits.cuh), by a later
// launch where there is one: the registers which that needs would slow down all others. Before that, keys
// alone are tried with wider counters, and a warp for a part of many keys, which as a rule are few values.
#pragma once

#include "core/key_bits.hpp"
#include "kernels/block.cuh"
#include "kernels/bucket_digits.cuh"
#include "kernels/bucket_list.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/part_counters.cuh"
#include "kernels/policy.cuh"
#include "kernels/ptx.cuh"

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

namespace bucket_sort_detail {

using bucket_list::BucketArrays;
using bucket_list::BucketTask;

/// Rows of records whose loads and atomics are under way at once.
inline constexpr uint32_t batch = 4;

template <class Bits, class Value, class Policy>
struct Shared {
  using Counters = PartCounters<Policy::counter_bits>;
  static constexpr uint32_t part_bits = std::countr_zero(Policy::parts_of_plan);
  static constexpr uint32_t words = Policy::parts / Counters::a_word;
  static constexpr uint32_t warps = Policy::threads / warp_threads;
  static constexpr uint32_t most_keys = Policy::most_keys;
  // A bucket's first place in the output may be in the midst of a vector of 16 bytes; then so is its first
  // place here.
  static constexpr uint32_t places = most_keys + sizeof(uint4) / sizeof(Bits);
  static constexpr bool with_values = value_bytes<Value> != 0;
  static constexpr bool sorts_long_parts = Policy::counter_bits == 16;
  static_assert(places < 1u << 16 && !(with_values && sorts_long_parts));

  BucketParts parts;   // if they were found here
  Bits* first_vector;  // where the bucket's keys go: the vector of 16 bytes with the first one
  uint64_t warp_sums[warps];
  uint32_t listed;
  uint32_t long_parts;
  bucket_list::Queue<with_values ? 1 : (Policy::most_keys + dealt_chunk<Bits> - 1) / dealt_chunk<Bits>> queue;
  union {
    alignas(16) uint32_t counters[words];
    DigitCounts<Bits, warps> digits;  // the other way
  };
  alignas(8) uint16_t before[words];  // places before those of each word's parts
  uint16_t list[most_keys / 2];       // places of the second keys of parts with several
  uint16_t long_list[sorts_long_parts ? most_keys / Counters::crowd : 1];  // of those with many
  uint16_t positions[with_values ? places : 1];  // where the record at a place stood in the bucket
  union {
    alignas(16) Bits keys[places];
    Value values[with_values ? most_keys : 1];
  };
};

struct BucketRange {
  uint64_t first;  // record of the arrays
  uint32_t size;   // records
};

/// What becomes of a bucket whose keys crowd in few parts.
enum class Crowded : uint32_t { by_digits, left_alone };

template <class Bits, class Value, Ranking ranking, class Policy, Crowded crowded>
class Bucket {
 public:
  using BucketShared = Shared<Bits, Value, Policy>;
  using Counters = typename BucketShared::Counters;
  static constexpr bool with_values = value_bytes<Value> != 0;
  static constexpr uint32_t threads = Policy::threads;
  static constexpr uint32_t keys_a_thread = Policy::keys_a_thread;
  static constexpr uint32_t words = BucketShared::words;

  __device__ __forceinline__ Bucket(BucketShared& shared, const BucketArrays<Bits, Value>& arrays,
                                    const KeyMap<Bits>& map)
      : shared_(shared), arrays_(arrays), map_(map) {}

  /// Loads a bucket's keys. Of keys alone it may be the next bucket, once the present one's are in shared memory.
  __device__ __forceinline__ void load(uint32_t size, const Bits* from) {
    const Bits* const mine = from + threadIdx.x;
    for_rows(size, [&](uint32_t row) { keys_[row] = __ldcs(mine + row * threads); });
  }
  __device__ __forceinline__ void load(uint32_t size, const bucket_list::ChunkedKeys<Bits>& from) {
    for_rows(size, [&](uint32_t row) { keys_[row] = __ldcs(from.at(index_in_row(row))); });
  }
  /// The same where `front` keys are at the beginning of the `room` keys from `from` on and the others at
  /// their end.
  __device__ __forceinline__ void load_ends(uint32_t size, uint32_t front, const Bits* from, uint32_t room) {
    const Bits* const mine = from + threadIdx.x;
#pragma unroll
    for (uint32_t first = 0; first < keys_a_thread; first += batch) {
      if ((first + batch) * threads <= front) {
        Batch<true>{first, size}.for_rows([&](uint32_t row) { keys_[row] = __ldcs(mine + row * threads); });
      } else if (first * threads < size) {
        const uint32_t gap = room - size;
        Batch<false>{first, size}.for_rows([&](uint32_t row) {
          keys_[row] = __ldcs(mine + row * threads + (index_in_row(row) < front ? 0 : gap));
        });
      }
    }
  }
  /// Sorts the records of `range`, whose keys were loaded, are ordered bits and lie in `parts`; the keys go to
  /// `to`, in an array that is aligned to 16 bytes. False if the bucket was left alone; the whole block gets
  /// the same answer. load_next() is called when the keys' registers are free, but not if the bucket is left
  /// alone or goes by digits.
  template <class LoadNext>
  __device__ __forceinline__ bool sort_loaded(BucketRange range, BucketParts parts, Bits* to,
                                              LoadNext load_next) {
    set_goal(to);
    range_ = range;
    parts_ = parts;
    return sort_in_parts(load_next);
  }

  /// The same for keys as the caller has them, of which nothing is known.
  __device__ __forceinline__ void sort_alone(const BucketRange& range) {
    set_goal(arrays_.keys_out + range.first);
    range_ = range;
    load(range.size, arrays_.keys_in + range.first);
    if (!map_.is_identity()) {
#pragma unroll
      for (uint32_t row = 0; row < keys_a_thread; ++row) keys_[row] = map_.to_ordered(keys_[row]);
    }
    find_parts();
    (void)sort_in_parts([] {});
  }

 private:
  /// keys_are_placed(): all keys are in shared memory, and their registers are free. It is not called where
  /// the bucket may still be left alone behind that (wider counters), nor by digits.
  template <class KeysArePlaced>
  __device__ __forceinline__ bool sort_in_parts(KeysArePlaced keys_are_placed) {
    if (threadIdx.x == 0) shared_.listed = shared_.long_parts = 0;
    clear_counters();
    __syncthreads();
    const bool is_crowded = __syncthreads_or(take_slots()) != 0;
    if (crowded == Crowded::left_alone && is_crowded) return false;
    if (is_crowded) {
      place_by_digits();
    } else {
      scan_counters();
      place_by_parts();
      if (!BucketShared::sorts_long_parts) keys_are_placed();
      sort_listed();
      if (BucketShared::sorts_long_parts && !sort_long_parts()) {
        if (crowded == Crowded::left_alone) return false;
        sort_staged();
      }
    }
    load_values();
    store_keys();
    store_values();
    __syncthreads();  // the next bucket takes the shared memory
    return true;
  }

  /// A row is one record of each thread.
  __device__ __forceinline__ static uint32_t index_in_row(uint32_t row) {
    return row * threads + threadIdx.x;
  }

  /// Some rows of a bucket, of which all records exist, as in most batches they do, or each one is to be
  /// asked for.
  template <bool is_full>
  struct Batch {
    uint32_t first;
    uint32_t size;  // of the bucket

    /// Calls body(row) for the records that exist.
    template <class Body>
    __device__ __forceinline__ void for_rows(Body body) const {
#pragma unroll
      for (uint32_t row = first; row < min(first + batch, keys_a_thread); ++row)
        if (is_full || index_in_row(row) < size) body(row);
    }
  };
  template <class Body>
  __device__ __forceinline__ static void for_batches(uint32_t size, Body body) {
#pragma unroll
    for (uint32_t row = 0; row < keys_a_thread; row += batch) {
      if (row + batch <= keys_a_thread && (row + batch) * threads <= size)
        body(Batch<true>{row, size});
      else if (row * threads < size)
        body(Batch<false>{row, size});
    }
  }
  template <class Body>
  __device__ __forceinline__ static void for_rows(uint32_t size, Body body) {
    for_batches(size, [&](auto rows) { rows.for_rows(body); });
  }

  __device__ __forceinline__ void set_goal(Bits* to) {
    lead_ = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to) % sizeof(uint4) / sizeof(Bits));
    if (threadIdx.x == 0) shared_.first_vector = to - lead_;
  }

  /// From what the keys span.
  __device__ __forceinline__ void find_parts() {
    Bits least = static_cast<Bits>(~Bits{0});
    Bits most = 0;
    for_rows(range_.size, [&](uint32_t row) {
      least = min(least, keys_[row]);
      most = max(most, keys_[row]);
    });
    least = warp_reduce(least, [](Bits a, Bits b) { return min(a, b); });
    most = warp_reduce(most, [](Bits a, Bits b) { return max(a, b); });
    // The place of the staged keys is still free.
    Bits* const of_warps = shared_.keys;
    if (ptx::lane_id() == 0) {
      of_warps[threadIdx.x / warp_threads] = least;
      of_warps[BucketShared::warps + threadIdx.x / warp_threads] = most;
    }
    __syncthreads();
    if (threadIdx.x < warp_threads) {
      const uint32_t warp = ptx::lane_id() % BucketShared::warps;
      least = warp_reduce(of_warps[warp], [](Bits a, Bits b) { return min(a, b); });
      most = warp_reduce(of_warps[BucketShared::warps + warp], [](Bits a, Bits b) { return max(a, b); });
      if (threadIdx.x == 0) shared_.parts = BucketParts::over(least, most, BucketShared::part_bits);
    }
    __syncthreads();
    parts_ = shared_.parts;
  }

  __device__ __forceinline__ void clear_counters() {
    uint4* const counters = reinterpret_cast<uint4*>(shared_.counters);
#pragma unroll
    for (uint32_t w = threadIdx.x; w < words / 4; w += threads) counters[w] = make_uint4(0, 0, 0, 0);
  }

  /// Wider counters are fewer: two parts of the plan's share one.
  __device__ __forceinline__ uint32_t part_of(Bits key) const {
    return parts_(key) / (Policy::parts_of_plan / Policy::parts);
  }
  __device__ __forceinline__ uint32_t& counters_of(uint32_t part) const {
    return shared_.counters[part / Counters::a_word];
  }

  /// Step 1. True if a part is crowded: then counters may have run over, and slots mean nothing.
  __device__ __forceinline__ bool take_slots() {
    slots_.clear();
    for_batches(range_.size, [&](auto rows) {
      uint32_t shift[batch];
      uint32_t before[batch];
      rows.for_rows([&](uint32_t row) {
        const uint32_t part = part_of(keys_[row]);
        shift[row % batch] = part * Policy::counter_bits;  // modulo 32
        before[row % batch] = atomicAdd(&counters_of(part), __funnelshift_l(0, 1, shift[row % batch]));
      });
      rows.for_rows([&](uint32_t row) { slots_.set(row, before[row % batch], shift[row % batch]); });
    });
    return slots_.any_crowded();
  }

  /// Step 2. Each thread adds up the counters of `rows` vectors of 16 bytes; their sums, side by side in the
  /// 16-bit fields of one word, are scanned over the block at once.
  __device__ __forceinline__ void scan_counters() {
    constexpr uint32_t rows = words / 4 / threads;
    static_assert(rows * 4 * threads == words && rows <= 4);
    const uint4* const counters = reinterpret_cast<const uint4*>(shared_.counters);
    uint32_t sums[rows][3];
    uint64_t row_sums = 0;
#pragma unroll
    for (uint32_t r = 0; r < rows; ++r) {
      const uint4 four = counters[index_in_row(r)];
      sums[r][0] = Counters::sum(four.x);
      sums[r][1] = Counters::sum(four.y, sums[r][0]);
      sums[r][2] = Counters::sum(four.z, sums[r][1]);
      row_sums |= uint64_t{Counters::sum(four.w, sums[r][2])} << (16 * r);
    }
    uint64_t totals = 0;
    const uint64_t below = block_exclusive_sum<threads>(row_sums, shared_.warp_sums, totals);
    uint32_t rows_before = lead_;
#pragma unroll
    for (uint32_t r = 0; r < rows; ++r) {
      const uint32_t first = rows_before + (static_cast<uint32_t>(below >> (16 * r)) & 0xffff);
      rows_before += static_cast<uint32_t>(totals >> (16 * r)) & 0xffff;
      reinterpret_cast<uint2*>(shared_.before)[index_in_row(r)] =
          make_uint2(first | (first + sums[r][0]) << 16, (first + sums[r][1]) | (first + sums[r][2]) << 16);
    }
    __syncthreads();
  }

  __device__ __forceinline__ uint32_t first_place(uint32_t part) const {
    return shared_.before[part / Counters::a_word] + Counters::count_before(counters_of(part), part);
  }

  /// Step 3.
  __device__ __forceinline__ void place_by_parts() {
    const bool compares = with_values || parts_.shift != 0 || Policy::counter_bits > 8;
    uint32_t entry = compares ? reserve_entries() : 0;
    for_batches(range_.size, [&](auto rows) {
      uint32_t place[batch];
      rows.for_rows(
          [&](uint32_t row) { place[row % batch] = first_place(part_of(keys_[row])) + slots_.get(row); });
      rows.for_rows([&](uint32_t row) {
        shared_.keys[place[row % batch]] = keys_[row];
        if constexpr (with_values)
          shared_.positions[place[row % batch]] = static_cast<uint16_t>(index_in_row(row));
        if (compares && slots_.get(row) == 1)
          shared_.list[entry++] = static_cast<uint16_t>(place[row % batch]);
      });
    });
    __syncthreads();
  }

  /// The second key of each part lists it: the first entry of those that this thread needs.
  __device__ __forceinline__ uint32_t reserve_entries() {
    const uint32_t wanted = slots_.ones();
    const uint32_t up_to_me = warp_inclusive_sum(wanted);
    uint32_t base = 0;
    if (ptx::lane_id() == warp_threads - 1) base = atomicAdd(&shared_.listed, up_to_me);
    return __shfl_sync(full_warp, base, warp_threads - 1) + up_to_me - wanted;
  }

  /// Step 4, by insertion; most parts have two keys.
  __device__ __forceinline__ void sort_listed() {
    const uint32_t listed = shared_.listed;
    if (listed == 0) return;
    for (uint32_t entry = threadIdx.x; entry < listed; entry += threads) {
      const uint32_t first = shared_.list[entry] - 1;
      const uint32_t part = part_of(shared_.keys[first]);
      const uint32_t end = first + Counters::count(counters_of(part), part);
      if (BucketShared::sorts_long_parts && end - first > Counters::crowd) {
        shared_.long_list[atomicAdd(&shared_.long_parts, 1u)] = static_cast<uint16_t>(first);
        continue;
      }
      for (uint32_t next = first + 1; next < end; ++next) {
        const Bits key = shared_.keys[next];
        const uint16_t position = shared_.positions[with_values ? next : 0];
        uint32_t to = next;
        for (; to > first; --to) {
          const Bits lower = shared_.keys[to - 1];
          const bool is_in_order =
              lower < key ||
              (lower == key && (!with_values || shared_.positions[with_values ? to - 1 : 0] < position));
          if (is_in_order) break;
          shared_.keys[to] = lower;
          if constexpr (with_values) shared_.positions[to] = shared_.positions[to - 1];
        }
        if (to == next) continue;
        shared_.keys[to] = key;
        if constexpr (with_values) shared_.positions[to] = position;
      }
    }
    __syncthreads();
  }

  /// A warp a part. False if one has too many values.
  __device__ __forceinline__ bool sort_long_parts() {
    const uint32_t listed = shared_.long_parts;
    bool has_many = false;
    for (uint32_t entry = threadIdx.x / warp_threads; entry < listed; entry += threads / warp_threads) {
      const uint32_t first = shared_.long_list[entry];
      const uint32_t part = part_of(shared_.keys[first]);
      has_many |= !sort_few_values(shared_.keys + first, Counters::count(counters_of(part), part));
    }
    return __syncthreads_or(has_many) == 0;
  }

  /// Counts the keys' values, a lane each, and writes their runs. False: more values than lanes, and nothing
  /// is written.
  __device__ __forceinline__ static bool sort_few_values(Bits* keys, uint32_t size) {
    const uint32_t lane = ptx::lane_id();
    bool differs = false;
    for (uint32_t at = lane; at < size; at += warp_threads) differs |= keys[at] != keys[0];
    if (!__any_sync(full_warp, differs)) return true;
    Bits value = 0;
    uint32_t count = 0;
    uint32_t values = 0;
    for (uint32_t first = 0; first < size; first += warp_threads) {
      const Bits key = keys[min(first + lane, size - 1)];
      uint32_t left = __ballot_sync(full_warp, first + lane < size);
      while (left != 0) {
        const Bits next = shuffle_from(key, static_cast<uint32_t>(__ffs(static_cast<int>(left)) - 1));
        const uint32_t same = __ballot_sync(full_warp, key == next) & left;
        const uint32_t known = __ballot_sync(full_warp, lane < values && value == next);
        if (known == 0 && values == warp_threads) return false;
        const uint32_t owner =
            known != 0 ? static_cast<uint32_t>(__ffs(static_cast<int>(known)) - 1) : values++;
        if (lane == owner) {
          value = next;
          count += static_cast<uint32_t>(__popc(same));
        }
        left &= ~same;
      }
    }
    uint32_t before = 0;
    for (uint32_t v = 0; v < values; ++v) {
      const uint32_t others = __shfl_sync(full_warp, count, v);
      if (shuffle_from(value, v) < value) before += others;
    }
    __syncwarp();  // all keys were read
    for (uint32_t v = 0; v < values; ++v) {
      const Bits run_value = shuffle_from(value, v);
      const uint32_t begin = __shfl_sync(full_warp, before, v);
      const uint32_t end = begin + __shfl_sync(full_warp, count, v);
      for (uint32_t at = begin + lane; at < end; at += warp_threads) keys[at] = run_value;
    }
    return true;
  }

  __device__ __forceinline__ void place_by_digits() {
    for_rows(range_.size, [&](uint32_t row) { shared_.keys[lead_ + index_in_row(row)] = keys_[row]; });
    __syncthreads();
    sort_staged();
  }
  __device__ __forceinline__ void sort_staged() {
    sort_staged_by_digits<BucketShared, Bits, with_values, ranking, threads, keys_a_thread>(shared_, lead_,
                                                                                            range_.size);
  }

  /// The first access to the values: they are under way while the keys are stored.
  __device__ __forceinline__ void load_values() {
    if constexpr (with_values) {
      const Value* const mine = arrays_.values_in + range_.first + threadIdx.x;
      for_rows(range_.size, [&](uint32_t row) { values_[row] = __ldcs(mine + row * threads); });
    }
  }

  /// Writes the bucket's places, by 16 bytes where all of them are its own. vector(n): the n-th vector from
  /// `first_vector` on, the first one that the bucket touches; `begin` places of that are another's.
  template <class T, class Vector>
  __device__ __forceinline__ void store(T* first_vector, uint32_t begin, Vector vector) const {
    constexpr uint32_t width = sizeof(uint4) / sizeof(T);
    const uint32_t end = begin + range_.size;
    for (uint32_t v = threadIdx.x; v * width < end; v += threads)
      bucket_list::store_own(first_vector, v, vector(v), begin, end);
  }

  __device__ __forceinline__ void store_keys() const {
    if (map_.is_xor()) {
      const Bits mask = map_.xor_mask();
      store_keys_as([=](Bits key) { return static_cast<Bits>(key ^ mask); });
    } else {
      store_keys_as([&](Bits key) { return map_.from_ordered(key); });
    }
  }

  template <class Raw>
  __device__ __forceinline__ void store_keys_as(Raw raw) const {
    store(shared_.first_vector, lead_, [&](uint32_t v) {
      digest_detail::Vector<Bits> vector{.whole = reinterpret_cast<const uint4*>(shared_.keys)[v]};
#pragma unroll
      for (uint32_t k = 0; k < sizeof(uint4) / sizeof(Bits); ++k) vector.keys[k] = raw(vector.keys[k]);
      return vector;
    });
  }

  __device__ __forceinline__ void store_values() {
    if constexpr (with_values) {
      __syncthreads();
      for_rows(range_.size, [&](uint32_t row) { shared_.values[index_in_row(row)] = values_[row]; });
      __syncthreads();
      constexpr uint32_t width = sizeof(uint4) / sizeof(Value);
      const uint32_t begin = static_cast<uint32_t>(range_.first % width);
      const uint16_t* const positions = shared_.positions + lead_;
      store(arrays_.values_out + (range_.first - begin), begin, [&](uint32_t v) {
        digest_detail::Vector<Value> vector;
#pragma unroll
        for (uint32_t k = 0; k < width; ++k) {
          const uint32_t record = v * width + k - begin;
          if (record < range_.size) vector.keys[k] = shared_.values[positions[record]];
        }
        return vector;
      });
    }
  }

  BucketShared& shared_;
  const BucketArrays<Bits, Value>& arrays_;
  const KeyMap<Bits>& map_;
  BucketRange range_;  // of the keys below
  uint32_t lead_;      // places between first_vector and the bucket's first one
  BucketParts parts_;
  Bits keys_[keys_a_thread] = {};
  typename Counters::template Slots<keys_a_thread> slots_;
  Value values_[with_values ? keys_a_thread : 1];
};

/// Sorts the buckets of task.list. Those that are left alone join task.next_list.
template <class Bits, class Value, Ranking ranking, class Policy, Crowded crowded>
__global__ __launch_bounds__(Policy::threads, Policy::blocks_a_multiprocessor) void bucket_sort_kernel(
    BucketTask<Bits, Value> task, MsdPlan<Bits>* plan) {
  if (ptx::is_before_90()) return;
  ptx::wait_for_previous_launch();
  if (!plan->partitions()) return;
  auto& shared = shared_memory<Shared<Bits, Value, Policy>>();
  Bucket<Bits, Value, ranking, Policy, crowded> sorter(shared, task.arrays, task.map);
  const auto keys_of = [&](const ListedBucket& bucket) { return task.source(*plan) + bucket.first; };
  const auto leave_alone = [&](const ListedBucket& bucket) {
    if (threadIdx.x == 0) task.next_list[atomicAdd(&plan->listed[task.next], 1u)] = bucket;
  };
  // Where no other block computes while this one loads. Digits would want the registers. H200, 2^30 keys, ms:
  // u64 21.35 -> 20.46, but u32 10.42 -> 10.53.
  constexpr bool loads_ahead = value_bytes<Value> == 0 && sizeof(Bits) == 8 &&
                               Policy::blocks_a_multiprocessor == 1 && Policy::counter_bits == 8 &&
                               crowded == Crowded::left_alone;
  const bool was_dealt = plan->was_dealt();
  const auto load = [&](const ListedBucket& bucket, const uint16_t* chunks) {
    if (value_bytes<Value> == 0 && was_dealt)
      sorter.load(bucket.size, {task.dealt.region_of(bucket.number), chunks});
    else
      sorter.load(bucket.size, keys_of(bucket));
  };
  bool is_loaded = false;
  bucket_list::for_listed(shared.queue, task, *plan,
                          [&](const ListedBucket& bucket, const uint16_t* chunks, const ListedBucket* next,
                              const uint16_t* next_chunks) {
                            if (!is_loaded) load(bucket, chunks);
                            is_loaded = false;
                            const auto load_next = [&] {
                              is_loaded = loads_ahead && next != nullptr;
                              if (is_loaded) load(*next, next_chunks);
                            };
                            if (!sorter.sort_loaded({bucket.first, bucket.size}, bucket.parts,
                                                    task.destination(*plan, bucket), load_next))
                              leave_alone(bucket);
                          });
}

/// Sorts `count` records as one bucket.
template <class Bits, class Value, Ranking ranking, class Policy>
__global__ __launch_bounds__(Policy::threads) void sort_alone_kernel(BucketArrays<Bits, Value> arrays,
                                                                     uint32_t count, KeyMap<Bits> map) {
  if (ptx::is_before_90()) return;
  ptx::wait_for_previous_launch();
  auto& shared = shared_memory<Shared<Bits, Value, Policy>>();
  Bucket<Bits, Value, ranking, Policy, Crowded::by_digits> bucket(shared, arrays, map);
  bucket.sort_alone({0, count});
}

}  // namespace bucket_sort_detail

}  // namespace sweepsort
