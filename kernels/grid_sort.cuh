// grid_sort.cuh - the sort of arrays that are too large for one block and too small for many launches: one
// cooperative launch, whose blocks hold all records and meet at barriers of the grid. Pairs keep their order.
//
//                 share             counts of all,                    bucket
//     block 0  | 7 1 5 | ─ rank ─┐  where mine go  ┌─ scatter ─┐  | 1 0 2 | ─ sort ─> out
//     block 1  | 4 0 8 | ─ rank ─┼── grid_counts ──┼─ scatter ─┼─ | 4 5 3 | ─ sort ─> out
//     block 2  | 2 6 3 | ─ rank ─┘                 └─ scatter ─┘  | 7 8 6 | ─ sort ─> out
//
// The buckets, one or two per block, divide the range of the keys (bucket_map.cuh), as a sample shows it.
// Every block takes the same sample, and so makes the same map. If keys crowd in a bucket that no block
// holds, all keys are sorted by the bytes in which they differ, least significant first, by the same rounds
// of ranking, counting and scattering. All blocks see that from the same counts, before any record has moved.
// If the sample shows few values, pairs take one round, by the position of each value in their list. Keys
// alone are counted by that position, and written. Keys of one or two bytes are always sorted by their bytes.
//
// Moves 4n records by the method of the buckets, or 2n for every round. Large shares read their keys once
// more each time.
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "kernels/bisect.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/bucket_parts.cuh"
#include "kernels/bucket_sort.cuh"
#include "kernels/digit.cuh"
#include "kernels/grid_counts.cuh"
#include "kernels/grid_share.cuh"
#include "kernels/hash_slots.cuh"
#include "kernels/launch.cuh"
#include "kernels/policy_one_launch.cuh"
#include "kernels/ptx.cuh"
#include "kernels/radix_rank.cuh"
#include "kernels/sort_arrays.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

template <class Bits, class Value>
inline constexpr bool has_grid_sort = !std::is_void_v<MiddleGridSort<Bits, Value>>;

namespace grid_sort_detail {

/// Samples that lie side by side: they take one or two sectors of memory, and many places are still sampled.
inline constexpr uint32_t neighbours = 8;
/// The most values of the sample for which a list pays. H200, 2^20 u64+u64 pairs of 16 values: 150 us by
/// digits, 26 by their list (CUB 135). With at most max_in_list values, more than one in list_worth samples
/// equals the one it is compared with, on average.
inline constexpr uint32_t max_in_list = 32;
inline constexpr uint32_t list_worth = 40;
inline constexpr uint32_t list_slots = 2048;

template <class Buckets, class Value, class Policy>
struct Shared {
  using Bits = typename Buckets::Key;
  static constexpr uint32_t warps = Policy::threads / warp_threads;
  static constexpr bool with_values = value_bytes<Value> != 0;

  Buckets bucket_of;
  Bits least[warps];
  Bits most[warps];
  // Pairs: bits that are set, and bits that are not, in some key of each warp's sample; digits in which
  // samples differ; whether the records are sorted by these.
  Bits ones[with_values ? warps : 1];
  Bits zeros[with_values ? warps : 1];
  uint32_t live_digits;
  uint32_t has_few_digits;
  GridCounts<> counts;
  uint32_t listed;
  Bits list[max_in_list];  // values in order
  union {
    struct {
      AtomicWord<Bits> slots[list_slots];
      Bits unsorted[max_in_list];
      uint32_t counts[max_in_list][warp_threads];  // keys alone: one column per lane
      uint32_t has_zero;
    } few;
    Stage<Bits, Value, Policy> stage;
    bucket_sort_detail::Shared<Bits, Value, typename Policy::Finish> bucket;
  };
};

/// For keys that are always sorted by their bytes.
template <class Bits>
struct NoBuckets {
  using Key = Bits;
};
template <class Bits>
using UsualBuckets = std::conditional_t<is_short_key<Bits>, NoBuckets<Bits>, LinearBuckets<Bits>>;

/// A key's position among the values of a list in shared memory, or `nowhere` if it is none of them.
template <class Bits>
struct PlaceInList {
  static constexpr uint32_t nowhere = digit_values - 1;
  const Bits* list;
  uint32_t size;

  __device__ __forceinline__ uint32_t operator()(Bits key) const {
    const uint32_t place = last_at_most(list, size, key);
    return list[place] == key ? place : nowhere;
  }
};

/// Parts of a bucket. Floats usually have parts by value: parts by bits leave up to a half of all words
/// without keys, which takes longer if buckets differ in size (normal keys, H200, us: f64 2^18 17.4 -> 20.9,
/// f32 2^18 12.9 -> 14.5; f32 of [0, 1) 2^22 56 -> 66). But many doubles per thread need the registers that
/// parts by value take: by value and by bits 2^20 35 and 30, 2^21 73 and 55, though 2^19 21.9 and 23.6. (f32
/// of 2^20 21.0 and 20.7, but normal 23.6 and 36.5.)
template <class Buckets, class Policy, class Bits = typename Buckets::Key>
using PartsOf = std::conditional_t<!divides_reals<Buckets>, BucketParts,
                                   std::conditional_t<sizeof(Bits) == 8 && Policy::keys_per_thread >= 16,
                                                      FloatParts<Bits, false>, RealParts<Bits>>>;

/// `Buckets` are linear in the keys' ordered bits or, for floats, in their values. `of_integers`: no key is a
/// float. `counts_listed`: keys alone of few values are counted by their list.
template <class Buckets, class Value, class Policy, bool of_integers = false, bool counts_listed = false>
class GridSort : GridShare<Shared<Buckets, Value, Policy>, typename Buckets::Key, Value, Policy,
                           PartsOf<Buckets, Policy>, of_integers> {
 public:
  using Bits = typename Buckets::Key;
  using GridShared = Shared<Buckets, Value, Policy>;
  using Base = GridShare<GridShared, Bits, Value, Policy, PartsOf<Buckets, Policy>, of_integers>;
  static_assert(Policy::portions == 1 && Policy::digits == digit_values);
  static_assert(Policy::max_blocks <= digit_values, "a bucket a block");

  __device__ __forceinline__ GridSort(GridShared& shared, const Task<Bits, Value>& task)
      : Base(shared, task) {
    const uint32_t begin = blockIdx.x * task.share;
    this->take(begin, min(task.share, count_ - begin), task.share);
  }

  __device__ __forceinline__ void sort() {
    const SortArrays<Bits, Value>& arrays = task_.arrays;
    const Column<Bits, Value> scratch{arrays.keys_scratch, arrays.values_scratch};
    if constexpr (is_short_key<Bits>)
      return sort_by_digits(scratch, {arrays.keys_out, arrays.values_out});
    else
      sort_as_sampled(scratch);
  }

 private:
  using Base::batch;
  using Base::count_;
  using Base::first_;
  using Base::for_batches;
  using Base::from_ordered;
  using Base::has_own;
  using Base::keys_;
  using Base::load;
  using Base::load_values;
  using Base::reads_twice;
  using Base::shared_;
  using Base::size_;
  using Base::source_;
  using Base::task_;
  using Base::to_ordered;
  using Base::with_values;
  static constexpr bool of_reals = divides_reals<Buckets>;
  static_assert(!of_reals ||
                (!with_values && !counts_listed));  // those methods need the loaded keys as ordered bits

  __device__ __forceinline__ void sort_as_sampled(const Column<Bits, Value>& scratch) {
    const SortArrays<Bits, Value>& arrays = task_.arrays;
    const Bits sample = arrays.keys_in[sample_index()];  // in flight together with the block's own keys
    this->template load<of_reals>(arrays.keys_in);
    const Bits ordered = to_ordered(sample);
    const Buckets bucket_of = look_at_sample(ordered);
    const Column<Bits, Value> out{arrays.keys_out, arrays.values_out};
    if (counts_listed && samples_repeat_ && shared_.live_digits > 1 && list_values(ordered)) {
      count_listed({shared_.list, shared_.listed});
      if (shared_.counts.totals[PlaceInList<Bits>::nowhere] == 0) return write_runs(out.keys);
    } else if (with_values && shared_.live_digits > 1 && samples_repeat(ordered) && list_values(ordered)) {
      const PlaceInList<Bits> place_of{shared_.list, shared_.listed};
      find_places<true>(place_of, digit_values, arrays.values_in, out);
      if (shared_.counts.totals[place_of.nowhere] == 0) return this->template scatter<false>(place_of, out);
    } else if (!shared_.has_few_digits && bucket_of.is_usable() && !is_surely_crowded(bucket_of(ordered))) {
      const auto digit_of = digit_of_bucket(bucket_of);
      find_places<with_values>(digit_of, task_.buckets, arrays.values_in, scratch);
      if (shared_.counts.largest <= task_.max_in_bucket) {
        this->template scatter<true>(digit_of, scratch);
        meet_all();
        this->template sort_buckets<of_reals ? InMemory::as_given : InMemory::ordered>(scratch);
        return;
      }
    }
    sort_by_digits(scratch, out);
  }

  /// The bucket of a float as the caller stores it: such keys are scattered in that form. H200, us, f32 2^20
  /// 24.0 -> 22.9, 2^22 58.5 -> 56.0, f64 2^18 14.5 -> 13.9.
  struct BucketOfRaw {
    using OfRawKeys = void;
    const Buckets& bucket_of;
    __device__ __forceinline__ uint32_t operator()(Bits raw) const { return bucket_of.of_raw(raw); }
  };
  static __device__ __forceinline__ auto digit_of_bucket(const Buckets& bucket_of) {
    if constexpr (of_reals)
      return BucketOfRaw{bucket_of};
    else
      return bucket_of;
  }

  /// A barrier of all blocks, in two halves like that of a grid (ptx::grid_arrive).
  __device__ __forceinline__ static uint32_t arrive() {
    if constexpr (Policy::in_cluster)
      return ptx::cluster_arrive();
    else
      return ptx::grid_arrive();
  }
  __device__ __forceinline__ static void wait_for_all(uint32_t token) {
    if constexpr (Policy::in_cluster)
      ptx::cluster_wait(token);
    else
      ptx::grid_wait(token);
  }
  __device__ __forceinline__ static void meet_all() { wait_for_all(arrive()); }

  /// The index of a sample among all records. It is the same for this thread of every block.
  __device__ __forceinline__ uint32_t sample_index() const {
    constexpr uint32_t last_place = Policy::threads / neighbours - 1;
    const uint64_t place = uint64_t{count_ - 1} * (threadIdx.x / neighbours) / last_place;
    return min(static_cast<uint32_t>(place) + threadIdx.x % neighbours, count_ - 1);
  }

  /// Makes the buckets, and finds what else the sample tells. Every block gets the same result. Clears the
  /// block's counts.
  __device__ __forceinline__ Buckets look_at_sample(Bits key) {
    const Bits least = warp_min(key);
    const Bits most = warp_max(key);
    const uint32_t warp = threadIdx.x / warp_threads;
    if (ptx::lane_id() == 0) {
      shared_.least[warp] = least;
      shared_.most[warp] = most;
    }
    if constexpr (with_values) {
      const Bits ones = or_of_warp(key);
      const Bits zeros = or_of_warp(static_cast<Bits>(~key));
      if (ptx::lane_id() == 0) {
        shared_.ones[warp] = ones;
        shared_.zeros[warp] = zeros;
      }
    }
    if (threadIdx.x < digit_values) shared_.counts.own[threadIdx.x] = 0;
    if constexpr (counts_listed)
      samples_repeat_ = samples_repeat(key);  // is a barrier, too
    else
      __syncthreads();
    if (warp == 0) {
      const uint32_t which = ptx::lane_id() % GridShared::warps;
      Bits varying = 0;
      if constexpr (with_values) varying = or_of_warp(shared_.ones[which]) & or_of_warp(shared_.zeros[which]);
      const Bits first = warp_min(shared_.least[which]);
      const Bits last = warp_max(shared_.most[which]);
      if (ptx::lane_id() == 0) {
        shared_.bucket_of = Buckets::around(first, last, task_.buckets, task_.map);
        // For keys alone: all digits, if samples differ at all.
        shared_.live_digits = counts_listed ? (first == last ? 0 : digit_places<Bits>) : live_digits(varying);
        if constexpr (with_values)
          shared_.has_few_digits = has_few_digits(shared_.bucket_of.map.range, varying);
        else
          shared_.has_few_digits = 0;
      }
    }
    __syncthreads();
    return shared_.bucket_of;
  }

  /// Whether samples of different places are often equal.
  __device__ __forceinline__ bool samples_repeat(Bits sampled) const {
    const Bits elsewhere = shuffle_from(sampled, ptx::lane_id() ^ neighbours);
    return static_cast<uint32_t>(__syncthreads_count(sampled == elsewhere)) >= Policy::threads / list_worth;
  }

  /// Lists the values of the sample, of which each thread has one, in order. Returns false if there are too
  /// many. Every block makes the same list.
  __device__ __forceinline__ bool list_values(Bits sampled) {
    auto& few = shared_.few;
    for (uint32_t s = threadIdx.x; s < list_slots; s += Policy::threads) few.slots[s] = 0;
    if (threadIdx.x == 0) few.has_zero = shared_.listed = 0;
    __syncthreads();
    // The first thread with a value lists it.
    uint32_t slot = 0;
    uint32_t is_first = 0;
    if (sampled == 0)
      is_first = atomicExch(&few.has_zero, 1u) == 0;
    else
      (void)find_slot<list_slots>(few.slots, sampled, slot, is_first);
    if (__syncthreads_count(is_first != 0) > static_cast<int>(max_in_list)) return false;
    if (is_first != 0) few.unsorted[atomicAdd(&shared_.listed, 1u)] = sampled;
    __syncthreads();
    if (is_first != 0) {
      uint32_t place = 0;
      for (uint32_t i = 0; i < shared_.listed; ++i) place += few.unsorted[i] < sampled;
      shared_.list[place] = sampled;
    }
    __syncthreads();
    return true;
  }

  /// Counts how many keys of each listed value all blocks have, and how many keys have no listed value.
  __device__ __forceinline__ void count_listed(const PlaceInList<Bits>& place_of) {
    auto& counts = shared_.few.counts;
    for (uint32_t i = threadIdx.x; i < max_in_list * warp_threads; i += Policy::threads)
      counts[i / warp_threads][i % warp_threads] = 0;
    __syncthreads();
    for_batches([&](uint32_t first) {
#pragma unroll
      for (uint32_t i = 0; i < batch; ++i) {
        const uint32_t place = place_of(keys_[i]);
        if (!has_own(first + i)) continue;
        atomicAdd(place == place_of.nowhere ? &shared_.counts.own[place] : &counts[place][ptx::lane_id()],
                  1u);
      }
    });
    __syncthreads();
    for (uint32_t v = threadIdx.x / warp_threads; v < shared_.listed; v += GridShared::warps) {
      const uint32_t sum = ptx::warp_sum(counts[v][ptx::lane_id()]);
      if (ptx::lane_id() == 0) shared_.counts.own[v] = sum;
    }
    __syncthreads();
    if (threadIdx.x < warp_threads) shared_.counts.publish(task_.counts);
    meet_all();
    shared_.counts.template collect<Policy::threads, Policy::max_blocks, Policy::max_share>(task_.counts,
                                                                                            digit_values);
  }

  /// Every block writes a part as long as its share. All blocks have read their shares before.
  __device__ __forceinline__ void write_runs(Bits* out) const {
    const uint32_t begin = blockIdx.x * task_.share;
    for (uint32_t at = begin + threadIdx.x; at < begin + size_; at += Policy::threads) {
      const uint32_t value = last_at_most(&shared_.counts.starts[0], shared_.listed, at);
      out[at] = from_ordered(shared_.list[value]);
    }
  }

  /// Whether pairs are better sorted by digits. Pairs of equal keys crowd in the parts of every bucket, and
  /// usually few bytes vary. H200, 2^20 u32 pairs of 65,536 keys that are neighbours, 101 us in buckets and
  /// 38 by digits (CUB 67); of keys that differ in the first and the third byte, 100 and 28; 2^16 of the
  /// latter, 54 in buckets (CUB 42).
  __device__ __forceinline__ bool has_few_digits(Bits range, Bits varying) const {
    const uint32_t max_values = count_ / 4;
    const uint64_t values = uint64_t{1} << min(static_cast<uint32_t>(__popcll(varying)), 63u);
    const bool are_apart = range / 16 > values;
    return range < (count_ - 1) / 4 || values < max_values || (are_apart && live_digits(varying) <= 2);
  }

  /// Whether the sample alone shows a bucket with many more keys than a block sorts. This test pays for large
  /// shares, and for pairs: H200, AND of three, 2^16 and 2^20 u32+u32 35.0 -> 30.9 us and 59.8 -> 53.6,
  /// u64+u64 73.9 -> 70.1 and 160 -> 156; uniform 15.7 -> 16.2, 35.6 -> 36.4, 19.6 -> 21.4, 53.7 -> 56.6.
  __device__ __forceinline__ bool is_surely_crowded(uint32_t bucket) {
    if constexpr (!reads_twice && !with_values) return false;
    uint32_t* const samples = shared_.counts.totals;  // not in use yet
    if (threadIdx.x < digit_values) samples[threadIdx.x] = 0;
    __syncthreads();
    const uint32_t most = 4 * (Policy::threads / task_.buckets + neighbours);
    return __syncthreads_or(atomicAdd(&samples[bucket], 1u) >= most) != 0;
  }

  /// Ranks the block's records by digit and publishes how many it has of each digit. Puts them into the stage
  /// in digit order while the other blocks arrive. Then finds where in the whole array they go. Digits are
  /// below `used`. All records are read here, before any block may write to `to`, because they may be there.
  template <bool stable, class DigitOfKey>
  __device__ __forceinline__ void find_places(const DigitOfKey& digit_of, uint32_t used,
                                              const Value* values_in, Column<Bits, Value> to) {
    Packed16<Policy::keys_per_thread> ranks;
    if constexpr (stable)
      this->rank_in_order(digit_of, ranks);
    else
      this->rank_as_they_come(digit_of, ranks);
    if constexpr (!reads_twice) load_values(values_in, 0);
    __syncthreads();
    if (threadIdx.x < warp_threads) shared_.counts.publish(task_.counts);
    // The stage is filled after the arrival, while other blocks arrive. But not if these may then write where
    // the records are read again.
    const bool arrives_late = reads_twice && source_ == to.keys;
    uint32_t token = 0;
    if (arrives_late)
      __syncthreads();
    else
      token = arrive();
    this->template put_in_stage<stable>(digit_of, ranks, values_in);
    if (arrives_late) token = arrive();
    wait_for_all(token);
    shared_.counts.template collect<Policy::threads, Policy::max_blocks, Policy::max_share>(task_.counts,
                                                                                            used);
  }

  /// The other method, and the only one for keys of one or two bytes: by all their bytes. No record has moved
  /// yet.
  __device__ __forceinline__ void sort_by_digits(Column<Bits, Value> scratch, Column<Bits, Value> out) {
    load(task_.arrays.keys_in);
    const Bits varying = is_short_key<Bits> ? static_cast<Bits>(~Bits{0}) : find_varying_bits();
    uint32_t passes = live_digits(varying);
    if (passes == 0) return store(out);
    const Value* values = task_.arrays.values_in;
    for (uint32_t place = 0; passes > 0; ++place) {
      const DigitOf<Bits> digit_of(place);
      if (digit_of(varying) == 0) continue;
      const Column<Bits, Value> to = --passes % 2 == 0 ? out : scratch;
      find_places<true>(digit_of, digit_values, values, to);
      this->template scatter<false>(digit_of, to);
      if (passes == 0) return;
      meet_all();
      load(to.keys);
      values = to.values;
    }
  }

  __device__ __forceinline__ static uint32_t live_digits(Bits varying) {
    uint32_t live = 0;
#pragma unroll
    for (uint32_t place = 0; place < digit_places<Bits>; ++place) live += DigitOf<Bits>(place)(varying) != 0;
    return live;
  }

  /// The bits in which some keys of the array differ.
  __device__ __forceinline__ Bits find_varying_bits() {
    const Bits reference = to_ordered(task_.arrays.keys_in[0]);
    Bits differing = 0;
    for_batches([&](uint32_t first) {
#pragma unroll
      for (uint32_t i = 0; i < batch; ++i)
        if (has_own(first + i)) differing |= keys_[i] ^ reference;
    });
    differing = block_or(differing);
    if (threadIdx.x == 0) task_.differing[blockIdx.x] = differing;
    meet_all();
    static_assert(Policy::max_blocks <= Policy::threads);
    return block_or(threadIdx.x < gridDim.x ? task_.differing[threadIdx.x] : Bits{0});
  }

  /// By shuffles. The compiler knows that all lanes get the same from warp_or. It then lays out the kernel
  /// for most records so that it waits for instructions: 2^21 u32+u32 pairs 51 -> 66 us.
  __device__ __forceinline__ static Bits or_of_warp(Bits value) {
    return warp_reduce(value, [](Bits a, Bits b) { return static_cast<Bits>(a | b); });
  }

  __device__ __forceinline__ Bits block_or(Bits value) {
    const Bits of_warp = or_of_warp(value);
    if (ptx::lane_id() == 0) shared_.least[threadIdx.x / warp_threads] = of_warp;
    __syncthreads();
    const Bits result = or_of_warp(shared_.least[ptx::lane_id() % GridShared::warps]);
    __syncthreads();
    return result;
  }

  __device__ __forceinline__ void store(Column<Bits, Value> to) {
    for_batches([&](uint32_t first) {
#pragma unroll
      for (uint32_t i = 0; i < batch; ++i) {
        if (!has_own(first + i)) continue;
        const uint32_t at = first_ + (first + i) * warp_threads;
        to.keys[at] = from_ordered(keys_[i]);
        if constexpr (with_values) to.values[at] = task_.arrays.values_in[at];
      }
    });
  }

  bool samples_repeat_ = false;  // if counts_listed
};

/// Whether keys alone of few values are counted. H100, 16 values, us: u32 2^20 43.8 -> 16.1, 2^22 98.6 ->
/// 28.5, u64 2^20 93.7 -> 17.6; uniform ones 0.1 to 0.8 us more. Not where the code slows other keys down:
/// u64 2^21 154 -> 26, but uniform 43.9 -> 51.9 for lack of registers; f32 2^16 27.2 -> 12.9, but 10.1 ->
/// 15.3. Nor for the sample of splitters (splitters.cuh), where it took 60 us.
template <class Buckets, class Value, class Policy>
inline constexpr bool pays_to_count_listed = value_bytes<Value> == 0 &&
                                             std::is_same_v<Buckets, LinearBuckets<typename Buckets::Key>> &&
                                             (sizeof(typename Buckets::Key) == 4 ||
                                              Policy::keys_per_thread <= Policy::keys_at_once);

template <class Buckets, class Value, class Policy>
__global__ __launch_bounds__(Policy::threads,
                             1) void grid_sort_kernel(Task<typename Buckets::Key, Value> task) {
  if (ptx::is_before_90()) return;
  if constexpr (Policy::in_cluster) ptx::wait_for_previous_launch();
  // Floats alone have buckets of their own, so all other keys alone are integers.
  constexpr bool of_integers = value_bytes<Value> == 0 && !divides_reals<Buckets>;
  constexpr bool counts_listed = pays_to_count_listed<Buckets, Value, Policy>;
  using Sort = GridSort<Buckets, Value, Policy, of_integers, counts_listed>;
  Sort(shared_memory<Shared<Buckets, Value, Policy>>(), task).sort();
}

template <class Bits, class Value, class Policy>
constexpr size_t shared_bytes() {
  constexpr size_t usual = sizeof(Shared<UsualBuckets<Bits>, Value, Policy>);
  if constexpr (is_short_key<Bits>)
    return usual;
  else
    return std::max(usual, sizeof(Shared<RealBuckets<Bits>, Value, Policy>));
}

}  // namespace grid_sort_detail

/// Records that a grid sort takes on any device.
template <class Policy>
inline constexpr uint64_t max_in_grid = uint64_t{Policy::max_blocks} * Policy::max_share;

/// Records that a grid sort takes on the current device; 0 if its blocks cannot wait for each other there.
template <class Bits, class Value, class Policy = MiddleGridSort<Bits, Value>>
uint64_t grid_capacity() {
  using namespace grid_sort_detail;
  if (!can_cooperate(shared_bytes<Bits, Value, Policy>())) return 0;
  return uint64_t{blocks_at_most<Policy>()} * Policy::max_share;
}

/// Sorts up to grid_capacity records in one launch. keys_out may be keys_in, then values_out is values_in.
template <class Policy, class Bits, class Value>
void grid_sort(const SortArrays<Bits, Value>& arrays, KeyMap<Bits> map,
               const GridSortWorkspace<Bits>& workspace, cudaStream_t stream) {
  using namespace grid_sort_detail;
  if (arrays.count == 0) return;
  const Task<Bits, Value> task = task_of<Policy>(arrays, map, workspace);
  auto kernel = grid_sort_kernel<UsualBuckets<Bits>, Value, Policy>;
  if constexpr (value_bytes<Value> == 0 && !is_short_key<Bits>)
    if (map.is_of_floats()) kernel = grid_sort_kernel<RealBuckets<Bits>, Value, Policy>;
  const LaunchShape shape{blocks_of(task), Policy::threads, shared_bytes<Bits, Value, Policy>()};
  if constexpr (Policy::in_cluster)
    launch_in_cluster(kernel, shape, stream, task);
  else
    launch_cooperative(kernel, shape, stream, task);
}

}  // namespace sweepsort
