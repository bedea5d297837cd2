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
// Many blocks collect the sample (msd_sample.cuh), and one block then looks at it: at its values
// (sampled_values.cuh), and at how it spreads over buckets (survey_buckets.cuh, sample_spread.cuh).
//
// A sample may mislead, so every guess is checked. A key outside of the guessed range makes an exact count
// impossible and is noticed. An array that is not sorted after all is noticed while it is copied. A bucket is
// counted before it is sorted. If a guess was wrong, the next method is used. The result never depends on the
// sample.
#pragma once

#include "core/key_bits.hpp"
#include "core/rounding.hpp"
#include "kernels/block.cuh"
#include "kernels/block_sample.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/digit.cuh"
#include "kernels/histogram.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/msd_sample.cuh"
#include "kernels/policy_passes.cuh"
#include "kernels/ptx.cuh"
#include "kernels/sample_spread.cuh"
#include "kernels/sampled_values.cuh"
#include "kernels/survey_buckets.cuh"
#include "kernels/value_table.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace sweepsort {

namespace survey_detail {

/// If there are a quarter as many values as keys, at most this many samples repeat a value by chance. So
/// fewer repetitions tell nothing (with 2^28 keys, fewer than 512 keys per value are not noticed).
inline constexpr uint32_t max_repeated = 16;
/// The most keys per value: if each bucket is sorted by parts; if these depend on places, too (PlacedParts,
/// narrow pairs); and if buckets of few values are counted by bytes.
inline constexpr uint32_t sorted_keys_per_value = 4;
inline constexpr uint32_t sorted_pairs_per_value = 16;
inline constexpr uint32_t counted_keys_per_value = 150;
/// Floats are divided by values, not by bits, only if no group of values has more samples than this.
/// Otherwise many samples are in few pieces.
inline constexpr uint32_t max_in_value_group = samples / 16;
/// If there are few values, most are met more than once. If more values than this are met once, the array has
/// many others.
SWEEPSORT_HOST_DEVICE constexpr uint32_t max_singles(uint32_t distinct) { return distinct / 8 + 8; }

/// With fewer keys, the LSD sort takes over, unless one value has half of the keys. H200, hashed Zipf, CUB in
/// brackets: u64 2^22 347 us (340), 2^23 425 (587). H100, hashed Zipf, by the LSD sort and CUB in brackets:
/// u32 2^26 1.40 ms (1.12, 1.37), 2^27 2.44 (2.18, 2.65), 2^28 4.20 (4.29, 5.25); u64 2^26 1.93 (3.11, 4.12).
template <class Bits>
inline constexpr uint64_t frequent_from = uint64_t{1} << (sizeof(Bits) == 8 ? 23 : 28);
inline constexpr uint32_t frequent_top_share = 2;
/// Keys with at most this many live bits need so few passes that splitters are no better (live_bits.cuh).
inline constexpr uint32_t max_passed_bits = 40;
/// Nor are buckets, if the keys of pairs are doubles of so few live bits, as whole numbers are, and this many
/// samples repeat a value: of 2^20 values 8 do. (If each number comes once, passes take longer.)
inline constexpr uint32_t min_repeated_reals = 4;

/// Runs in one block, all of whose threads call everything. `of_floats`: values may be divided, not bits. (A
/// survey of 2^22 normal u64 keys that could do that, too, took 38 us instead of 33.)
template <class Bits, bool of_floats = false>
class Survey : SampleSpread<Bits, of_floats> {
 public:
  __device__ __forceinline__ Survey(Shared<Bits>& shared, const Task<Bits>& task, MsdPlan<Bits>& plan,
                                    value_table::Table<Bits>& table)
      : Spread(shared, task, plan), table_(table) {}

  /// Makes the plan.
  __device__ __forceinline__ void run() {
    // The values of the sample: few, or one that is frequent?
    count_values();
    // Pairs whose range fits two digits mostly have one or two live digits, and passes by these are as fast
    // as counting. (This is not so if the range crosses a border of higher digits.)
    const bool is_wide = !task_.with_values || largest_ - smallest_ > 0xffff;
    maybe_few_ = is_wide && shared_.values.distinct <= max_listed_values * 3 / 4 &&
                 shared_.values.singles <= max_singles(shared_.values.distinct);
    const uint32_t top_seen = shared_.values.top_times();
    const bool has_top = top_seen >= min_times && top_seen * (task_.count / samples) > task_.max_keys;
    const Bits top = shared_.sampled.keys[shared_.values.top_owner()];
    note_values(top, has_top);
    if (task_.with_values && has_top && !put_top_apart(top)) return;

    // The buckets.
    if constexpr (of_floats)
      if (!maybe_few_) look_at_values();
    bool is_crowded = divide_all();
    const bool has_clumps = task_.asks_for_clumps && !is_crowded && find_clumps();

    // The methods. If each value occurs many times, the parts of a bucket are crowded, too, and few digits
    // vary. If keys are uneven, some values may occur much more often than others.
    const bool is_even = is_even_by_value_ || (is_even_ && !plan_.is_pieced);
    const uint32_t keys_per_value = is_even ? task_.keys_per_value : sorted_keys_per_value;
    // With v values, about samples^2 / 2v samples repeat one.
    const uint64_t repeated = samples - min(shared_.values.distinct, samples);
    const bool repeats_often =
        repeated > max_repeated && repeated * (task_.count / samples) > samples / 2 * keys_per_value;
    // (A range may cross a border of higher digits, which would have to be passed, too.)
    const bool has_few_digits = task_.with_values && shared_.map.range <= (task_.count - 1) / 2 &&
                                shared_.map.range >> task_.passed_bits == 0 &&
                                (smallest_ ^ largest_) >> round_up(task_.passed_bits, digit_bits) == 0;
    bool repeats = shared_.map.range < (task_.count - 1) / keys_per_value || has_few_digits ||
                   (is_even_by_value_ && repeats_often);
    if constexpr (of_floats && sizeof(Bits) == 8)
      if (task_.with_values && !has_top && repeated >= min_repeated_reals) {
        repeats |= count_live_bits() <= max_passed_bits;
        __syncthreads();  // may_split_now() uses the same memory
      }
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
      plan_.deal.is_of_reals = is_even_by_value_;
      plan_.frequent.is_looked_for =
          is_unfit && is_crowded && !is_dense && is_worth_it && !task_.with_values && is_unordered;
      shared_.deals = plan_.deal.is_planned;
      if (is_unfit && !plan_.frequent.is_looked_for) leave_map(splits && !repeats);
      plan_.splits_if_too_large = task_.splits_by_level && splits && !repeats;
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
  // (Where a generic lambda uses no member but the function that it calls, GCC 12 needs `this->` instead.)
  using Sample = BlockSample<Bits>;
  using Sample::apart_;
  using Sample::count_samples_left;
  using Sample::has_apart_;
  using Sample::has_frequent_;
  using Sample::key_;
  using Sample::largest_;
  using Sample::most_seen_besides_top;
  using Sample::plan_;
  using Sample::put_apart;
  using Sample::shared_;
  using Sample::smallest_;
  using Sample::take_sample;
  using Sample::task_;
  using Buckets = SurveyBuckets<Bits, of_floats>;
  using Buckets::has_even_values_;
  using Buckets::has_real_pieces_;
  using Buckets::is_pieced_;
  using Buckets::maybe_few_;
  using Buckets::piece_bits;
  using Buckets::slack_of_values;
  using Buckets::with_buckets;
  using Buckets::with_map;
  using Spread = SampleSpread<Bits, of_floats>;
  using Spread::count_groups;
  using Spread::counter_of;
  using Spread::find_clumps;
  using Spread::groups_are_even;
  using Spread::is_crowded_at_places;

  /// Takes the sample and counts its values.
  __device__ __forceinline__ void count_values() {
    clear(shared_.sampled.owners, SampleCounts<Bits>::slots);
    clear(shared_.sampled.times, samples);
    if (threadIdx.x == 0) shared_.values.distinct = shared_.values.singles = shared_.values.most_seen = 0;
    take_sample();
    survey_detail::count_values(shared_.sampled, shared_.values, key_);
  }

  /// Notes what the values tell. `top` is the one that was sampled most.
  __device__ __forceinline__ void note_values(Bits top, bool has_top) {
    if (threadIdx.x == 0) {
      plan_.maybe_few = maybe_few_;
      plan_.frequent.has_top = has_top;
      plan_.frequent.top = task_.map.from_ordered(top);
    }
  }

  /// Pairs with a frequent value: gives it a bucket of its own. Returns false if that is not enough, so that
  /// no map divides the keys.
  __device__ __forceinline__ bool put_top_apart(Bits top) {
    if (!may_stand_apart<Bits> || maybe_few_ || most_seen_besides_top() >= min_times) {
      const bool splits = may_split_now();
      if (threadIdx.x == 0) leave_map(splits);
      return false;
    }
    put_apart(top);
    return true;
  }

  /// Whether splitters are better than passes by digits: the sample must show that many bits vary.
  __device__ __forceinline__ bool may_split_now() {
    if (task_.split_bits == 0 || maybe_few_ || plan_.order.guess() != Guess::unordered) return false;
    return count_live_bits() > max_passed_bits;
  }
  /// In how many bits the samples differ.
  __device__ __forceinline__ uint32_t count_live_bits() {
    Bits differing = 0;
#pragma unroll
    for (uint32_t k = 0; k < samples_per_thread; ++k) differing |= key_[k] ^ smallest_;
    differing = block_or<threads>(differing, shared_.least);
    return static_cast<uint32_t>(__popcll(differing));
  }
  /// No map divides the keys. Either splitters do, or no method here is suitable. Called by one thread.
  __device__ __forceinline__ void leave_map(bool splits) {
    plan_.is_unfit = !splits;
    if (!splits) return;
    plan_.is_split = 1;
    plan_.counts_by_level = task_.splits_by_level;
    plan_.apart.exists = 0;
    plan_.is_pieced = 0;
    plan_.bucket_bits = task_.split_bits;
  }

  /// Floats: whether their values are so even that plan.deal.real may divide them, or even enough for pieces;
  /// and whether the values are whole numbers that lie dense.
  __device__ __forceinline__ void look_at_values() {
    const uint32_t bucket_bits = msd_bucket_bits(task_.count, task_.bucket_keys);
    using Reals = RealBuckets<Bits>;
    constexpr auto slack = static_cast<typename Reals::Real>(slack_samples) / samples;
    const Reals real = Reals::over(smallest_, largest_, slack, 1u << bucket_bits, task_.map);
    if (!real.is_usable()) return;
    clear(shared_.in_group, groups);
    __syncthreads();
    uint32_t max_in_group = 0;
    bool are_whole = (real.highest - real.lowest) / 2 < static_cast<typename Reals::Real>(task_.count);
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

  /// Divides the range for all keys but those of a value apart. Returns true if a bucket is crowded.
  __device__ __forceinline__ bool divide_all() {
    bool is_crowded = divide(has_apart_ ? task_.count / samples * count_samples_left() : task_.count);
    // Fine pieces hide a crowd from the small sample.
    if (!is_crowded && plan_.is_pieced && plan_.piece_bits == fine_piece_bits)
      is_crowded = is_crowded_at_places();
    return is_crowded;
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
    const bool is_uneven = count_groups(LinearBuckets<Bits>{map}, bucket_bits);
    is_even_ = groups_are_even();
    const bool follows_sample = __syncthreads_or(is_uneven) != 0 && !is_exact && task_.count >= piece_places;
    is_pieced_ = follows_sample || has_apart_;
    has_real_pieces_ = false;
    if (follows_sample && spreads_by_value_ && !has_apart_ && !has_frequent_) {
      const auto real_map = RealMap<Bits>::over(smallest_, largest_, slack_of_values(), task_.map);
      has_real_pieces_ = real_map.is_usable();
      if (threadIdx.x == 0) plan_.real_map = shared_.real_map = real_map;
    }
    if (follows_sample && !has_real_pieces_) {
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
        with_map([&](const auto& any) { return this->is_crowded_in_any_pieces(any, bucket_bits); }))
      return true;
    if (is_pieced_)
      with_map([&](const auto& any) { return this->make_pieces(any, buckets, follows_sample); });
    note_buckets(map, bucket_bits, children);
    return with_buckets([&](const auto& bucket_of) {
      return this->finds_crowd(1, [&](Bits key) { return counter_of(bucket_of(key)); });
    });
  }

  /// Notes which buckets divide() made: 2^bucket_bits, `children` in each parent, and the value apart between
  /// those of `map`.
  __device__ __forceinline__ void note_buckets(const BucketMap<Bits>& map, uint32_t bucket_bits,
                                               uint32_t children) {
    if (threadIdx.x == 0) {
      const PiecedBuckets<Bits> pieced{map, shared_.pieces, piece_bits()};
      if (has_apart_) {
        const uint32_t of_map = pieced(apart_);
        plan_.apart.bucket = (of_map / children + 1) * children;
        plan_.apart.shift = plan_.apart.bucket + children - of_map;
      }
      plan_.bucket_bits = bucket_bits;
      plan_.is_pieced = is_pieced_;
      plan_.has_real_pieces = has_real_pieces_;
      plan_.piece_bits = piece_bits();
    }
  }

  /// If larger buckets than a block sorts are counted, none may be open, because open ones cannot be counted.
  __device__ __forceinline__ bool may_fill() const { return task_.max_keys == task_.max_bucket_keys; }

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
      using Reals = RealBuckets<Bits>;
      constexpr auto slack = static_cast<typename Reals::Real>(slack_samples) / seen;
      plan_.deal.real = Reals::over(least, most, slack, buckets, task_.map);
      plan_.deal.is_planned = plan_.deal.real.is_usable();
    } else {
      plan_.map = map_around(least, most, seen, buckets, may_fill());
    }
  }

  value_table::Table<Bits>& table_;
  bool is_even_ = false;  // the keys are even over the groups
  // For floats, look_at_values() sets these: the values are even, and keys may be dealt, too; they are whole
  // numbers that lie dense; no group of values has too many samples.
  bool is_even_by_value_ = false;
  bool has_dense_values_ = false;
  bool spreads_by_value_ = false;
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
