// msd_survey.cuh - what a sample of the keys tells the MSD sort: their range, how to divide it into buckets,
// and whether they seem to be in order, to have few values, or to have some values that are too frequent.
//
//     4,096 keys at equal distances, and the neighbour of each
//        │ in order? few values?
//        ▼
//     buckets of one width ──uneven──> 1,024 pieces with buckets of their own, from 8,192 places,
//                                         or 4,096 from 32,768 (floats: of their values, if these spread)
//        │ even? (floats: in their values?) then they need no histogram
//        │ a bucket that no block holds?
//        ▼
//     a larger sample says which values are frequent (frequent_survey.cuh), and buckets of the others are made
//
// For pairs, no larger sample is taken: one value may be frequent, and gets a bucket of its own. Pairs with
// 8-byte keys that are crowded nevertheless are divided by splitters (splitters.cuh).
//
// Many blocks collect the sample, and one block then looks at it (msd_sample.cuh).
//
// A sample may mislead, so every guess is checked. A key outside of the guessed range makes an exact count
// impossible and is noticed. An array that is not sorted after all is noticed while it is copied. A bucket is
// counted before it is sorted. If a guess was wrong, the next method is used. The result never depends on the
// sample.
#pragma once

#include "core/key_bits.hpp"
#include "kernels/block.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/frequent_values.cuh"
#include "kernels/hash_slots.cuh"
#include "kernels/histogram.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/msd_sample.cuh"
#include "kernels/ptx.cuh"
#include "kernels/sampled_values.cuh"
#include "kernels/value_table.cuh"
#include "kernels/vector16.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

namespace survey_detail {

/// The range beyond either end of a sample is longer than this many of the samples' mean distances with a
/// probability below 10^-6.
inline constexpr uint32_t slack_samples = 16;
/// Fewer than this many of 4,096 samples meet in one of 8,192 counters by chance.
inline constexpr uint32_t min_crowded = 12;

/// Counters for the samples' buckets.
inline constexpr uint32_t bucket_counters = 2 * samples;
/// If there are a quarter as many values as keys, at most this many samples repeat a value by chance. So
/// fewer repetitions tell nothing (with 2^28 keys, fewer than 512 keys per value are not noticed).
inline constexpr uint32_t max_repeated = 16;
/// The most keys per value: if each bucket is sorted by parts; and if buckets of few values are counted by
/// bytes.
inline constexpr uint32_t sorted_keys_per_value = 4;
inline constexpr uint32_t counted_keys_per_value = 150;
/// If keys are even, each 256th of the buckets gets 16 samples. More than uneven_group do not occur by
/// chance.
inline constexpr uint32_t groups = 256;
inline constexpr uint32_t uneven_group = 40;
/// Floats are divided by values, not by bits, only if no group of values has more samples than this.
/// Otherwise many samples are in few pieces.
inline constexpr uint32_t max_in_value_group = samples / 16;
/// If there are few values, most are met more than once. If more values than this are met once, the array has
/// many others.
SWEEPSORT_HOST_DEVICE constexpr uint32_t max_singles(uint32_t distinct) { return distinct / 8 + 8; }

/// A piece with fewer samples than this is better known from its neighbours' samples.
inline constexpr uint32_t few_in_piece = 16;
/// With fewer keys, the LSD sort takes over, unless one value has half of the keys. H200, hashed Zipf, CUB in
/// brackets: u64 2^22 347 us (340), 2^23 425 (587). H100, hashed Zipf, by the LSD sort and CUB in brackets:
/// u32 2^26 1.40 ms (1.12, 1.37), 2^27 2.44 (2.18, 2.65), 2^28 4.20 (4.29, 5.25); u64 2^26 1.93 (3.11, 4.12).
template <class Bits>
inline constexpr uint64_t frequent_from = uint64_t{1} << (sizeof(Bits) == 8 ? 23 : 28);
inline constexpr uint32_t frequent_top_share = 2;
/// From this many keys on, 4,096 samples no longer tell whether keys clump together.
inline constexpr uint64_t clumps_below = uint64_t{1} << 26;
/// Keys with at most this many live bits need so few passes that splitters are no better (live_bits.cuh).
inline constexpr uint32_t max_passed_bits = 40;
template <class Bits>
struct Shared {
  union {
    alignas(16) AtomicWord<Bits> frequent[value_table::slots];
    SampleCounts<Bits> sampled;
  };
  alignas(16) uint32_t in_bucket[bucket_counters];
  alignas(16) uint32_t in_group[groups];
  alignas(16) uint32_t in_piece[max_map_pieces];
  MapPiece pieces[max_map_pieces];
  uint32_t warp_sums[threads / warp_threads];
  BucketMap<Bits> map;
  RealMap<Bits> real_map;
  Bits least[threads / warp_threads];
  Bits most[threads / warp_threads];
  SampledValues values;
  uint32_t deals;
};

/// A map around the sampled range, with room at its ends. The more samples were seen, the less room it
/// leaves. `may_fill`: the buckets at its ends may be open.
template <class Bits>
__device__ BucketMap<Bits> map_around(Bits least, Bits most, uint32_t seen, uint32_t buckets, bool may_fill) {
  const Bits slack = static_cast<Bits>(most - least) / (seen / slack_samples);
  return may_fill ? BucketMap<Bits>::filling(least, most, slack, buckets)
                  : BucketMap<Bits>::around(least, most, slack, buckets);
}

/// The map for the small sample. If keys may be counted, and the sample spans few values, it has a bucket for
/// each value.
template <class Bits>
__device__ BucketMap<Bits> guess_map(Bits least, Bits most, uint32_t buckets, bool may_count, bool may_fill) {
  constexpr Bits all = static_cast<Bits>(~Bits{0});
  const Bits spread = most - least;
  if (may_count && spread < msd_max_buckets) {
    // Few enough values to count each. The window may begin at a round number or leave room on both sides.
    constexpr Bits window = msd_max_buckets - 1;
    const Bits round = least & ~window;
    const Bits room = (window - spread) / 2;
    const Bits begin = most - round <= window ? round
                       : least > room         ? static_cast<Bits>(least - room)
                                              : Bits{0};
    return BucketMap<Bits>::over(min(begin, static_cast<Bits>(all - window)), window, msd_max_buckets);
  }
  return map_around(least, most, samples, buckets, may_fill);
}

/// The counter for the samples of a bucket, one of 2^bits, which are no fewer than the counters. All counters
/// have as many buckets, which are scattered. (With scattering_hash() they had 0 to 23 of 65,536 buckets
/// instead of 8, and samples that crowd nowhere came up to the limit. So f32 2^28 of a normal distribution
/// went by LSD: 3.68 ms instead of 2.79.)
SWEEPSORT_HOST_DEVICE constexpr uint32_t counter_of_bucket(uint32_t bucket, uint32_t bits) {
  // Permutations of the numbers of `bits` bits, and the leading bits of the last one.
  const uint32_t mixed = (bucket ^ bucket >> bits / 2) * 0x85ebca6b & ((1u << bits) - 1);
  return (mixed ^ mixed >> bits / 2) * 0x9e3779b1 << (32 - bits) >> (32 - std::countr_zero(bucket_counters));
}

/// Runs in one block, all of whose threads call everything. `of_floats`: values may be divided, not bits. (A
/// survey of 2^22 normal u64 keys that could do that, too, took 38 us instead of 33.)
template <class Bits, bool of_floats = false>
class Survey {
 public:
  __device__ __forceinline__ Survey(Shared<Bits>& shared, const Task<Bits>& task, MsdPlan<Bits>& plan,
                                    value_table::Table<Bits>& table)
      : shared_(shared), task_(task), plan_(plan), table_(table) {}

  __device__ __forceinline__ void run() {
    clear(shared_.sampled.owners, SampleCounts<Bits>::slots);
    clear(shared_.sampled.times, samples);
    if (threadIdx.x == 0) shared_.values.distinct = shared_.values.singles = shared_.values.most_seen = 0;
    take_sample();
    survey_detail::count_values(shared_.sampled, shared_.values, key_);
    // Pairs whose range fits two digits mostly have one or two live digits, and passes by these are as fast
    // as counting. (This is not so if the range crosses a border of higher digits.)
    const bool is_wide = !task_.with_values || largest_ - smallest_ > 0xffff;
    maybe_few_ = is_wide && shared_.values.distinct <= max_listed_values * 3 / 4 &&
                 shared_.values.singles <= max_singles(shared_.values.distinct);
    const uint32_t top_seen = shared_.values.top_times();
    const bool has_top = top_seen >= min_times && top_seen * (task_.count / samples) > task_.max_keys;
    const Bits top = shared_.sampled.keys[shared_.values.top_owner()];
    if (threadIdx.x == 0) {
      plan_.maybe_few = maybe_few_;
      plan_.frequent.has_top = has_top;
      plan_.frequent.top = task_.map.from_ordered(top);
    }
    if (task_.with_values && has_top) {
      if (!may_stand_apart<Bits> || maybe_few_ || most_seen_besides_top() >= min_times) {
        const bool splits = may_split_now();
        if (threadIdx.x == 0) leave_map(splits);
        return;
      }
      put_apart(top);
    }
    if constexpr (of_floats)
      if (!maybe_few_) look_at_values();
    bool is_crowded = divide(has_apart_ ? task_.count / samples * count_samples_left() : task_.count);
    // Fine pieces hide a crowd from the small sample.
    if (!is_crowded && plan_.is_pieced && plan_.piece_bits == fine_piece_bits)
      is_crowded = is_crowded_at_places();
    const bool has_clumps = task_.asks_for_clumps && !is_crowded && find_clumps();
    // If each value occurs many times, the parts of a bucket are crowded, too, and few digits vary. If keys
    // are uneven, some values may occur much more often than others.
    const bool is_even = is_even_by_value_ || (is_even_ && !plan_.is_pieced);
    const uint32_t keys_per_value = is_even ? task_.keys_per_value : sorted_keys_per_value;
    // With v values, about samples^2 / 2v samples repeat one.
    const uint64_t repeated = samples - min(shared_.values.distinct, samples);
    const bool repeats_often =
        repeated > max_repeated && repeated * (task_.count / samples) > samples / 2 * keys_per_value;
    const bool repeats =
        shared_.map.range < (task_.count - 1) / keys_per_value || (is_even_by_value_ && repeats_often);
    const bool splits = may_split_now();
    if (threadIdx.x == 0) {
      is_crowded |= has_top && !has_apart_;
      const bool may_count = !task_.with_values && shared_.map.is_exact(msd_max_buckets);
      const bool is_unfit = (is_crowded || repeats || has_clumps) && !may_count;
      // If values lie dense, those beside the frequent ones fill a bucket, too.
      const bool is_dense = shared_.map.range / 2 < task_.count || has_dense_values_;
      const bool is_worth_it = task_.count >= frequent_from<Bits> || top_seen >= samples / frequent_top_share;
      const bool is_unordered = !maybe_few_ && plan_.order.guess() == Guess::unordered;
      plan_.is_unfit = is_unfit;
      plan_.deal.is_planned =
          task_.may_deal && is_even && !may_count && !is_unfit && is_unordered && !repeats_often;
      plan_.deal.by_value = is_even_by_value_;
      plan_.frequent.is_looked_for =
          is_unfit && is_crowded && !is_dense && is_worth_it && !task_.with_values && is_unordered;
      shared_.deals = plan_.deal.is_planned;
      if (is_unfit && !plan_.frequent.is_looked_for) leave_map(splits && !repeats);
    }
    __syncthreads();
    if (shared_.deals) narrow_map();
  }

  /// Divides the range anew, for the keys that are left when the values of the table are taken out. Returns
  /// false if that is no better.
  __device__ __forceinline__ bool divide_rest() {
    for (uint32_t s = threadIdx.x; s < value_table::slots; s += threads)
      shared_.frequent[s] = DeviceAtomic<AtomicWord<Bits>>(table_.keys[s]).load(cuda::memory_order_relaxed);
    has_frequent_ = true;
    take_sample();
    // Smaller buckets, since some have values that are nearly frequent.
    return !divide(task_.count / samples * count_samples_left() * 2) && !is_crowded_at_places();
  }

 private:
  __device__ __forceinline__ static uint32_t first_sample() { return threadIdx.x * samples_per_thread; }

  /// If larger buckets than a block sorts are counted, none may be open, because open ones cannot be counted.
  __device__ __forceinline__ bool may_fill() const { return task_.max_keys == task_.max_bucket_keys; }

  /// The sample and its range.
  __device__ __forceinline__ void take_sample() {
    const KeyMap<Bits>& map = task_.map;
    const Neighbours<Bits>* const own = task_.sample.neighbours + first_sample();
    Neighbours<Bits> pair[samples_per_thread];
#pragma unroll
    for (uint32_t k = 0; k < samples_per_thread; ++k) pair[k] = own[k];
    Bits least = static_cast<Bits>(~Bits{0});
    Bits most = 0;
    const auto meet = [&](Bits key) {
      least = min(least, key);
      most = max(most, key);
    };
#pragma unroll
    for (uint32_t k = 0; k < samples_per_thread; ++k) {
      pair[k] = {map.to_ordered(pair[k].left), map.to_ordered(pair[k].right)};
      key_[k] = k % 2 == 0 ? pair[k].left : pair[k].right;
      meet(pair[k].left);
      meet(pair[k].right);
    }
    if (threadIdx.x == threads - 1) meet(map.to_ordered(own[samples_per_thread].left));
    smallest_ = block_min<threads>(least, shared_.least);
    largest_ = block_max<threads>(most, shared_.most);
  }

  /// How often the sample met its second most frequent value.
  __device__ __forceinline__ uint32_t most_seen_besides_top() {
    uint32_t most = 0;
    for (uint32_t s = threadIdx.x; s < samples; s += threads)
      if (s != shared_.values.top_owner()) most = max(most, shared_.sampled.times[s]);
    return block_max<threads>(most, shared_.warp_sums);
  }

  /// Whether splitters are better than passes by digits: the sample must show that many bits vary.
  __device__ __forceinline__ bool may_split_now() {
    if (task_.split_bits == 0 || maybe_few_ || plan_.order.guess() != Guess::unordered) return false;
    Bits differing = 0;
#pragma unroll
    for (uint32_t k = 0; k < samples_per_thread; ++k) differing |= key_[k] ^ smallest_;
    differing = block_or<threads>(differing, shared_.least);
    return __popcll(differing) > static_cast<int>(max_passed_bits);
  }
  /// No map divides the keys. Either splitters do, or no method here is suitable. Called by one thread.
  __device__ __forceinline__ void leave_map(bool splits) {
    plan_.is_unfit = !splits;
    if (!splits) return;
    plan_.is_split = 1;
    plan_.apart.exists = 0;
    plan_.is_pieced = 0;
    plan_.bucket_bits = task_.split_bits;
  }

  /// Pairs: `value` gets a bucket of its own. divide() then divides the range for the other keys.
  __device__ __forceinline__ void put_apart(Bits value) {
    has_apart_ = true;
    apart_ = value;
    if (threadIdx.x != 0) return;
    plan_.apart.exists = 1;
    plan_.apart.value = value;
  }

  /// Whether a key (ordered bits) has a value that stands apart or is taken out.
  __device__ __forceinline__ bool is_frequent(Bits ordered) const {
    if (has_apart_) return ordered == apart_;
    uint32_t slot = 0;
    return has_frequent_ && frequent_detail::is_listed(shared_.frequent, plan_.frequent.has_zero != 0,
                                                       task_.map.from_ordered(ordered), slot);
  }

  __device__ __forceinline__ uint32_t count_samples_left() const {
    int left = 0;
#pragma unroll
    for (uint32_t k = 0; k < samples_per_thread; ++k) left += __syncthreads_count(!is_frequent(key_[k]));
    return static_cast<uint32_t>(left);
  }

  /// Divides the range into buckets for `keys` keys, which are those that are not frequent. Returns true if
  /// one of the buckets has more keys than any block sorts.
  __device__ __forceinline__ bool divide(uint64_t keys) {
    clear(shared_.in_bucket, bucket_counters);
    clear(shared_.in_group, groups);
    // A value apart leaves up to two parents without keys of the map.
    constexpr uint32_t parents_with_apart = msd_digits - 2;
    uint32_t bucket_bits =
        msd_bucket_bits(has_apart_ ? keys * msd_digits / parents_with_apart : keys, task_.bucket_keys);
    const uint32_t children = 1u << (bucket_bits - msd_digit_bits);
    const uint32_t buckets = children * (has_apart_ ? parents_with_apart : msd_digits);  // of the map
    BucketMap<Bits> map = guess_map(smallest_, largest_, buckets, !task_.with_values, may_fill());
    const bool is_exact = !task_.with_values && map.is_exact(msd_max_buckets);
    if (is_exact) bucket_bits = 2 * msd_digit_bits;
    __syncthreads();
    bool is_uneven = false;
    const LinearBuckets<Bits> linear{map};
#pragma unroll
    for (uint32_t k = 0; k < samples_per_thread; ++k) {
      if (is_frequent(key_[k])) continue;
      const uint32_t group = linear(key_[k]) >> (bucket_bits - 8);
      is_uneven |= atomicAdd(&shared_.in_group[group], 1u) >= uneven_group;
    }
    is_even_ = groups_are_even();
    const bool follows_sample = __syncthreads_or(is_uneven) != 0 && !is_exact && task_.count >= piece_places;
    is_pieced_ = follows_sample || has_apart_;
    has_value_pieces_ = false;
    if (follows_sample && spreads_by_value_ && !has_apart_ && !has_frequent_) {
      const auto real_map = RealMap<Bits>::over(smallest_, largest_, slack_of_values(), task_.map);
      has_value_pieces_ = real_map.is_usable();
      if (threadIdx.x == 0) plan_.real_map = shared_.real_map = real_map;
    }
    if (follows_sample && !has_value_pieces_) {
      // Beyond the ends of the sample, too, keys may be denser than elsewhere.
      const Bits margin = static_cast<Bits>(map.range / 2);
      const Bits lowest = map.lowest - min(margin, map.lowest);
      const Bits highest = static_cast<Bits>(map.lowest + map.range);
      const Bits room = min(margin, static_cast<Bits>(~highest));
      map = BucketMap<Bits>::over(lowest, static_cast<Bits>(highest + room - lowest), 1u << bucket_bits);
    }
    if (threadIdx.x == 0) plan_.map = shared_.map = map;
    __syncthreads();
    // What is not set on this return is never read: a map that follows the sample is never exact, so the plan
    // is unfit.
    if (follows_sample &&
        with_map([&](const auto& any) { return is_crowded_in_any_pieces(any, bucket_bits); }))
      return true;
    if (is_pieced_) with_map([&](const auto& any) { return make_pieces(any, buckets, follows_sample); });
    if (threadIdx.x == 0) {
      const PiecedBuckets<Bits> pieced{map, shared_.pieces, piece_bits()};
      if (has_apart_) {
        const uint32_t of_map = pieced(apart_);
        plan_.apart.bucket = (of_map / children + 1) * children;
        plan_.apart.shift = plan_.apart.bucket + children - of_map;
      }
      plan_.bucket_bits = bucket_bits;
      plan_.is_pieced = is_pieced_;
      plan_.has_value_pieces = has_value_pieces_;
      plan_.piece_bits = piece_bits();
    }
    return with_buckets([&](const auto& bucket_of) {
      return finds_crowd(1, [&](Bits key) { return counter_of(bucket_of(key)); });
    });
  }

  /// Room at the ends of the map of values, as a part of the sample's spread. Even values need little. Other
  /// values may be denser beyond the ends than elsewhere. But many distributions end abruptly, so the room is
  /// such that each end lies a quarter of a piece inside its piece.
  __device__ __forceinline__ typename RealBuckets<Bits>::Real slack_of_values() const {
    using Real = typename RealBuckets<Bits>::Real;
    if (has_even_values_) return static_cast<Real>(slack_samples) / samples;
    const Real part = Real{1} / 4 + Real{1} / static_cast<Real>(4u << piece_bits());
    return part / (1 - 2 * part);
  }
  /// The counter for the samples of a bucket or cell. Some of these share a counter by chance. The number is
  /// hashed because samples of keys close to order lie at equal distances. (With the number modulo 8,192, 16
  /// samples of an organ pipe's 2^28 doubles met.)
  __device__ __forceinline__ static uint32_t counter_of(uint32_t number) {
    return scattering_hash<std::countr_zero(bucket_counters)>(number);
  }
  /// Calls body with the map that makes the words of keys.
  template <class Body>
  __device__ __forceinline__ auto with_map(Body body) const {
    if constexpr (of_floats)
      if (has_value_pieces_) {
        const RealMap<Bits> map = shared_.real_map;
        return body(map);
      }
    const BucketMap<Bits> map = shared_.map;
    return body(map);
  }
  /// Calls body with the buckets that divide() made.
  template <class Body>
  __device__ __forceinline__ auto with_buckets(Body body) const {
    return with_map([&]<class Map>(const Map& map) {
      if constexpr (std::is_same_v<Map, BucketMap<Bits>>)
        if (!is_pieced_) return body(LinearBuckets<Bits>{map});
      return body(PiecedBuckets<Bits, Map>{map, shared_.pieces, piece_bits()});
    });
  }

  /// Whether one of the counters that `slot_of` names, each for up to `buckets` buckets, has far more samples
  /// than by chance. True only if one of its buckets has four times as many keys as any kernel finishes. Then
  /// the histogram can be skipped.
  template <class Slot>
  __device__ __forceinline__ bool finds_crowd(uint32_t buckets, Slot slot_of) {
    uint32_t most = 0;
#pragma unroll
    for (uint32_t k = 0; k < samples_per_thread; ++k)
      if (!is_frequent(key_[k])) most = max(most, atomicAdd(&shared_.in_bucket[slot_of(key_[k])], 1u) + 1);
    return __syncthreads_or(most >= buckets * min_crowded &&
                            most * (task_.count / samples) > uint64_t{buckets} * 4 * task_.max_keys) != 0;
  }

  /// The same for buckets that are still to be made, by pieces. Even if one piece had all buckets, they would
  /// be no narrower than a cell, so at most two buckets share a cell.
  template <class Map>
  __device__ __forceinline__ bool is_crowded_in_any_pieces(const Map& map, uint32_t bucket_bits) {
    const uint32_t cell_bits = piece_bits() + bucket_bits;
    const bool crowded =
        finds_crowd(2, [&](Bits key) { return counter_of(map.word_of(key) >> (32 - cell_bits)); });
    clear(shared_.in_bucket, bucket_counters);
    __syncthreads();
    return crowded;
  }

  /// For keys that are not counted: makes the map anew, with less room at its ends, as more samples are
  /// known. Otherwise the parents at the ends would have few children with keys.
  __device__ __forceinline__ void narrow_map() {
    Bits least = smallest_;
    Bits most = largest_;
    task_.sample.template for_places<places_per_round>([&](Bits key) {
      const Bits ordered = task_.map.to_ordered(key);
      least = min(least, ordered);
      most = max(most, ordered);
    });
    least = block_min<threads>(least, shared_.least);
    most = block_max<threads>(most, shared_.most);
    if (threadIdx.x != 0) return;
    constexpr uint32_t seen = places_per_round * keys_per_place<Bits>;
    const uint32_t buckets = 1u << plan_.bucket_bits;
    if (is_even_by_value_) {
      using Buckets = RealBuckets<Bits>;
      constexpr auto slack = static_cast<typename Buckets::Real>(slack_samples) / seen;
      plan_.deal.real = Buckets::over(least, most, slack, buckets, task_.map);
      plan_.deal.is_planned = plan_.deal.real.is_usable();
    } else {
      plan_.map = map_around(least, most, seen, buckets, may_fill());
    }
  }

  /// Floats: whether their values are so even that plan.deal.real may divide them, or even enough for pieces;
  /// and whether the values are whole numbers that lie dense.
  __device__ __forceinline__ void look_at_values() {
    const uint32_t bucket_bits = msd_bucket_bits(task_.count, task_.bucket_keys);
    using Buckets = RealBuckets<Bits>;
    constexpr auto slack = static_cast<typename Buckets::Real>(slack_samples) / samples;
    const Buckets real = Buckets::over(smallest_, largest_, slack, 1u << bucket_bits, task_.map);
    if (!real.is_usable()) return;
    clear(shared_.in_group, groups);
    __syncthreads();
    uint32_t max_in_group = 0;
    bool are_whole = (real.highest - real.lowest) / 2 < static_cast<typename Buckets::Real>(task_.count);
#pragma unroll
    for (uint32_t k = 0; k < samples_per_thread; ++k) {
      are_whole &= real.is_whole(key_[k]);
      max_in_group =
          max(max_in_group, atomicAdd(&shared_.in_group[real(key_[k]) >> (bucket_bits - 8)], 1u) + 1);
    }
    has_dense_values_ = __syncthreads_and(are_whole) != 0;
    has_even_values_ = groups_are_even();
    is_even_by_value_ = has_even_values_ && task_.may_deal;
    if (is_even_by_value_ && threadIdx.x == 0) plan_.deal.real = real;
    spreads_by_value_ = __syncthreads_and(max_in_group <= max_in_value_group) != 0;
  }

  /// Whether chance explains how the numbers of samples differ from group to group: the sum of their squares
  /// is at most six standard deviations above its mean (Pearson's test).
  __device__ __forceinline__ bool groups_are_even() {
    __syncthreads();
    const uint32_t in_group = threadIdx.x < groups ? shared_.in_group[threadIdx.x] : 0;
    constexpr uint32_t mean = samples / groups;
    constexpr uint32_t deviation = 362;  // mean * sqrt(2 * groups)
    static_assert(mean == 16 && groups == 256);
    return sum_of_all(in_group * in_group) <= samples * (mean + 1) + 6 * deviation;
  }

  /// Whether keys clump together inside the buckets, so that these would be sorted digit by digit. Many
  /// samples then meet in the same part of a bucket. H200, 5,000 networks of 256 addresses, u64 2^23 keys,
  /// CUB in brackets: 1.86 ms if the buckets are sorted, 0.52 by LSD (0.60).
  __device__ __forceinline__ bool find_clumps() {
    constexpr uint32_t bits = 18;
    static_assert(bucket_counters * 32 == 1u << bits);
    // The number of samples that meet in a bit by chance, plus seven standard deviations.
    constexpr uint32_t chance = samples / 2 * samples >> bits;
    constexpr uint32_t allowed = chance + 7 * 6;
    static_assert(chance <= 6 * 6);
    clear(shared_.in_bucket, bucket_counters);
    __syncthreads();
    uint32_t met = 0;
    with_buckets([&](const auto& buckets) {
#pragma unroll
      for (uint32_t k = 0; k < samples_per_thread; ++k) {
        const uint32_t bit = scattering_hash<bits>(buckets.part_of_word(buckets.map.word_of(key_[k])));
        const bool counts = !is_frequent(key_[k]);
        const uint32_t before = counts ? atomicOr(&shared_.in_bucket[bit / 32], 1u << bit % 32) : 0;
        met += static_cast<uint32_t>(__syncthreads_count((before >> bit % 32 & 1) != 0));
      }
    });
    return met > allowed;
  }

  /// Looks for crowded buckets again, in a larger sample: taking keys out in vain costs more than this.
  /// Within one half of a place, neighbours that share a bucket count once, because in keys close to order
  /// all of them share one.
  __device__ __forceinline__ bool is_crowded_at_places() {
    __syncthreads();
    clear(shared_.in_bucket, bucket_counters);
    __syncthreads();
    uint32_t max_in_bucket = 0;
    const uint32_t bucket_bits = plan_.bucket_bits;
    with_buckets([&](const auto& bucket_of) {
      task_.sample.template for_halves<piece_places>([&](const Vector16<Bits>& half) {
        uint32_t before = bucket_counters;
#pragma unroll
        for (const Bits key : half.elements) {
          const Bits ordered = task_.map.to_ordered(key);
          const uint32_t counter = counter_of_bucket(bucket_of(ordered), bucket_bits);
          if (counter == before || is_frequent(ordered)) continue;
          before = counter;
          max_in_bucket = max(max_in_bucket, atomicAdd(&shared_.in_bucket[counter], 1u) + 1);
        }
      });
    });
    constexpr uint32_t in_all = piece_places * keys_per_place<Bits>;
    constexpr uint32_t mean = in_all / bucket_counters;
    constexpr uint32_t chance = 20;  // seven standard deviations of a counter, as all have as many buckets
    static_assert(mean <= 8);
    const uint64_t allowed = uint64_t{task_.max_keys} * in_all / task_.count;
    return __syncthreads_or(max_in_bucket > allowed + mean + chance) != 0;
  }

  /// Gives each piece of the range its share of the buckets. The share follows what a larger sample saw in
  /// the piece and, unless an edge is between them, in its neighbours. If the sample saw little in a piece,
  /// its neighbours may only add to the share, since a piece without a sample may have as many keys as
  /// several buckets hold. Each piece inside the range gets one sample more. That is all that pieces of even
  /// values get: no larger sample is counted for them.
  template <class Map>
  __device__ __forceinline__ void make_pieces(const Map& map, uint32_t buckets, bool follows_sample) {
    const uint32_t pieces = 1u << piece_bits();
    const uint32_t word_shift = 32 - piece_bits();
    clear(shared_.in_piece, pieces);
    __syncthreads();
    const auto count = [&](Bits key) {
      const Bits ordered = task_.map.to_ordered(key);
      if (!is_frequent(ordered)) atomicAdd(&shared_.in_piece[map.word_of(ordered) >> word_shift], 1u);
    };
    if (follows_sample && !(has_value_pieces_ && has_even_values_)) {
      if (pieces > 1u << coarse_piece_bits)
        task_.sample.template for_places<fine_piece_places>(count);
      else
        task_.sample.template for_places<piece_places>(count);
    }
    __syncthreads();
    const uint32_t last_inside = map.last_word() >> word_shift;
    const auto share_of = [&](uint32_t piece) {
      const uint32_t here = shared_.in_piece[piece];
      const uint32_t around = (piece > 0 ? shared_.in_piece[piece - 1] : 0) +
                              (piece + 1 < pieces ? shared_.in_piece[piece + 1] : 0);
      const uint32_t alone = 4 * here;
      const uint32_t smoothed = 2 * here + around;
      uint32_t share = alone;
      if (here < few_in_piece) {
        share = max(alone, 2 * here + min(around, 4 * few_in_piece));
      } else {
        // More than three standard deviations apart: the neighbours do not differ by chance, there is an
        // edge.
        const int64_t difference = int64_t{smoothed} - alone;
        if (difference * difference <= 9 * (int64_t{around} + alone)) share = smoothed;
      }
      return share + (piece <= last_inside ? 4 : 0);
    };
    const uint32_t each = pieces / threads;
    static_assert((1u << coarse_piece_bits) % threads == 0);
    const uint32_t own = threadIdx.x * each;
    uint32_t sum = 0;
    for (uint32_t p = 0; p < each; ++p) sum += share_of(own + p);
    uint32_t total = 0;
    uint32_t before = block_exclusive_sum<threads>(sum, shared_.warp_sums, total);
    const auto bucket_at = [&](uint32_t share) {
      return static_cast<uint32_t>(uint64_t{share} * buckets / total);
    };
    for (uint32_t piece = own; piece < own + each; ++piece) {
      // A piece without buckets may name the last bucket at most.
      const uint32_t first = min(bucket_at(before), buckets - 1);
      before += share_of(piece);
      const uint32_t end = min(bucket_at(before), 0xffffu);
      plan_.pieces[piece] = shared_.pieces[piece] = first | (end > first ? end - first : 0) << 16;
    }
    __syncthreads();
  }

  /// The larger sample does not pay for few values, nor for floats that probably need no pieces.
  __device__ __forceinline__ uint32_t piece_bits() const {
    const bool is_worth_it = !maybe_few_ && !has_even_values_;
    return task_.has_fine_pieces && is_worth_it ? fine_piece_bits : coarse_piece_bits;
  }

  __device__ __forceinline__ uint32_t sum_of_all(uint32_t mine) {
    return block_sum<threads>(mine, shared_.warp_sums);
  }

  Shared<Bits>& shared_;
  const Task<Bits>& task_;
  MsdPlan<Bits>& plan_;
  value_table::Table<Bits>& table_;
  Bits key_[samples_per_thread];  // in order
  Bits smallest_;
  Bits largest_;
  bool has_frequent_ = false;
  bool maybe_few_ = false;
  bool has_apart_ = false;
  bool is_even_ = false;  // the keys are even over the groups
  bool is_pieced_ = false;
  // For floats, look_at_values() sets these: the values are even; they are even, and keys may be dealt, too;
  // they are whole numbers that lie dense; no group of values has too many samples. divide() sets the last:
  // pieces are of values.
  bool has_even_values_ = false;
  bool is_even_by_value_ = false;
  bool has_dense_values_ = false;
  bool spreads_by_value_ = false;
  bool has_value_pieces_ = false;
  Bits apart_ = 0;
};

template <class Bits>
using DigestShared = digest_detail::Shared<Bits, digest_policy.shared_bytes>;
static_assert(digest_policy.threads == threads);

/// The first block makes the survey. The others, if there are any, take a digest in the meantime. Keys in
/// order were sorted when their order was checked. (2^28 u32, surveyed before that and now, us: sorted 601,
/// 586, all equal 606, 600; H200, other cards.)
template <class Bits, bool of_floats>
__global__ __launch_bounds__(threads) void survey_kernel(Task<Bits> task, digest_detail::Task<Bits> digest,
                                                         MsdPlan<Bits>* plan,
                                                         value_table::Table<Bits>* table) {
  ptx::wait_for_previous_launch();
  if (plan->is_not_wanted || plan->order.is_right()) return;  // this launch writes nothing that these read
  if (blockIdx.x == 0)
    Survey<Bits, of_floats>(shared_memory<Shared<Bits>>(), task, *plan, *table).run();
  else
    digest_detail::take_digest(digest, blockIdx.x - 1, gridDim.x - 1, shared_memory<DigestShared<Bits>>());
}

/// Corrects the plan where a digest knows more than the sample. Keys in order are left to the methods that
/// the digest chooses.
template <class Bits>
__global__ void survey_digest_kernel(const Digest<Bits>* digest, uint32_t bucket_keys, MsdPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  if (plan->is_not_wanted) return;
  plan->is_other = !digest->falls || !digest->rises;
  const Bits range = static_cast<Bits>(digest->maximum() - digest->minimum());
  const uint32_t bucket_bits =
      plan->frequent.count != 0 ? plan->bucket_bits : msd_bucket_bits(plan->keys, bucket_keys);
  if (range < msd_max_buckets && !plan->with_values) {
    plan->map = guess_map(digest->minimum(), digest->maximum(), 1u << bucket_bits, true, false);
    plan->bucket_bits = 2 * msd_digit_bits;
    plan->deal.is_planned = 0;
    plan->is_pieced = 0;
    plan->frequent.count = 0;
  } else if (!plan->is_pieced && !plan->is_split) {
    plan->map = BucketMap<Bits>::over(digest->minimum(), range, 1u << bucket_bits);
    plan->bucket_bits = bucket_bits;
  }
}

}  // namespace survey_detail

/// Surveys the collected sample. Meanwhile other blocks take a digest of all keys, unless `digest` is null.
template <class Bits>
void survey(const survey_detail::Task<Bits>& task, Digest<Bits>* digest, MsdPlan<Bits>* plan,
            value_table::Table<Bits>* table, cudaStream_t stream) {
  using namespace survey_detail;
  const digest_detail::Task<Bits> beside(DeviceSpan<const Bits>(task.keys, task.count), task.map, digest);
  const uint32_t idle = std::max(multiprocessors(), 2u) - 1;
  const uint32_t digesting = digest == nullptr ? 0 : beside.blocks(idle);
  launch_chained(task.map.is_of_floats() ? survey_kernel<Bits, true> : survey_kernel<Bits, false>,
                 {1 + digesting, threads, std::max(sizeof(Shared<Bits>), sizeof(DigestShared<Bits>))}, stream,
                 task, beside, plan, table);
}

/// Corrects the plan where `digest`, of all keys, knows more than the sample.
template <class Bits>
void correct_survey(const Digest<Bits>* digest, uint32_t bucket_keys, MsdPlan<Bits>* plan,
                    cudaStream_t stream) {
  launch_chained(survey_detail::survey_digest_kernel<Bits>, {1, 1}, stream, digest, bucket_keys, plan);
}

}  // namespace sweepsort
