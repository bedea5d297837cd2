// msd_plan.cuh - what the MSD sort decides, on the device: from a sample how to look at the keys, from their
// histogram what to do with each bucket.
//
//     some keys ──survey──> which buckets, probably sorted? ──histogram──> decide ──> jobs, lists of buckets
//
// A sample may mislead, and every guess is checked: a key outside of the guessed range makes an exact count
// impossible and is noticed, an array that is not sorted after all is noticed while it is copied. Then the
// next road is taken; the result never hangs on the sample.
#pragma once

#include "core/key_bits.hpp"
#include "kernels/block.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/hash_slots.cuh"
#include "kernels/histogram.cuh"
#include "kernels/launch.cuh"
#include "kernels/policy.cuh"
#include "kernels/ptx.cuh"
#include "kernels/sort_plan.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace sweepsort {

/// Buckets of both levels together at most, and of one level.
inline constexpr uint32_t msd_most_buckets = 1u << 16;
inline constexpr uint32_t msd_digit_bits = 8;
inline constexpr uint32_t msd_digits = 1u << msd_digit_bits;

/// Lists of buckets: small ones, large ones, and those of both that turned out to be crowded.
enum BucketClass : uint32_t { small_buckets, large_buckets, crowded_buckets, bucket_classes };
inline constexpr uint32_t classes_by_size = crowded_buckets;

/// Distinct values that are worth a counter each, wherever they lie (few_values.cuh).
inline constexpr uint32_t few_values = 2048;

enum class Guess : uint32_t { unordered, ascending, descending };

/// A part of one parent's keys that one block partitions. The children of a parent are its digits.
struct PartitionJob {
  uint64_t first;        // its first key
  uint64_t count;        // its keys
  uint32_t parent;       // number of the bucket, of the level above, that it lies in
  uint32_t row;          // of job_counts: its keys by digit
  uint32_t rows_before;  // how many jobs of the same parent come before, in the rows before its own
  uint32_t has_row;      // 0: it is its parent's only job, and the buckets' offsets say its counts
};

template <class Bits>
struct MsdPlan {
  BucketMap<Bits> map;
  uint32_t bucket_bits;  // 2^bucket_bits buckets
  uint32_t is_pieced;    // they follow the keys' distribution: `pieces`
  Bits most;             // of all keys, if their values are counted
  Bits least_inverted;   // ~least: zero before the first key, like all of a plan
  Guess guess;
  uint32_t with_values;
  uint32_t is_other;         // another sort does it better, says the digest
  uint32_t maybe_few;        // the sample held few distinct values
  uint32_t has_many_values;  // the keys have more than few_values
  uint32_t guess_failed;     // the keys are not in the order of `guess`
  uint32_t has_too_large;    // no kernel here finishes one of the buckets
  uint32_t falls_back;       // no road here leads anywhere: nothing was done
  uint32_t jobs;             // of the second level
  uint32_t tickets[2];       // jobs drawn of each level
  uint32_t listed[bucket_classes];
  MapPiece pieces[map_pieces];

  /// The keys are in order as they were found, and checked.
  SWEEPSORT_HOST_DEVICE bool is_in_order() const { return guess != Guess::unordered && !guess_failed; }
  SWEEPSORT_HOST_DEVICE bool tries_few_values() const { return maybe_few && !is_other && !is_in_order(); }
  SWEEPSORT_HOST_DEVICE bool has_few_values() const { return tries_few_values() && !has_many_values; }
  /// Nothing is left to do, or not by the roads below.
  SWEEPSORT_HOST_DEVICE bool is_settled() const { return is_other || is_in_order() || has_few_values(); }
  /// The histogram is wanted.
  SWEEPSORT_HOST_DEVICE bool counts_buckets() const { return !is_settled() && !has_too_large; }
  /// The hope is that no two values meet in a bucket: a value's bucket is its distance from `map.lowest`,
  /// modulo the number of buckets, so that the sample need not tell where the values begin.
  SWEEPSORT_HOST_DEVICE bool has_value_buckets() const {
    return !with_values && map.is_exact(msd_most_buckets);
  }
  SWEEPSORT_HOST_DEVICE Bits least() const { return static_cast<Bits>(~least_inverted); }
  SWEEPSORT_HOST_DEVICE bool counts_values() const {
    return !is_settled() && has_value_buckets() && most - least() < msd_most_buckets;
  }
  SWEEPSORT_HOST_DEVICE bool misses_values() const {
    return has_value_buckets() && most - least() >= msd_most_buckets;
  }
  SWEEPSORT_HOST_DEVICE bool partitions() const {
    return !is_settled() && !has_too_large && !counts_values() && !misses_values();
  }
  /// No road here leads anywhere.
  SWEEPSORT_HOST_DEVICE bool gives_up() const {
    return is_other || (!is_settled() && !counts_values() && (has_too_large || misses_values()));
  }
};

/// How many buckets `count` keys are best divided into: 2^this. Two levels, the first one of 8 bits.
template <class Policy>
constexpr uint32_t msd_bucket_bits(uint64_t count) {
  const uint32_t wanted = static_cast<uint32_t>(std::bit_width((count - 1) / Policy::bucket_keys));
  return std::clamp(wanted, msd_digit_bits + 1, 2 * msd_digit_bits);
}

namespace msd_plan_detail {

inline constexpr uint32_t survey_threads = 1024;
inline constexpr uint32_t samples_a_thread = 4;
inline constexpr uint32_t samples = survey_threads * samples_a_thread;
/// A sample misses this much of the range at either end with a probability below 10^-6.
inline constexpr uint32_t slack_samples = 16;
/// So many of 4,096 samples do not meet in one of 8,192 counters by chance.
inline constexpr uint32_t least_crowded = 12;

/// Slots for the samples' distinct values, then for their buckets.
inline constexpr uint32_t survey_slots = 2 * samples;
/// Each 256th of the buckets gets 16 samples if keys are even; more than this does not happen by chance.
inline constexpr uint32_t survey_groups = 256;
inline constexpr uint32_t uneven_group = 40;
/// Where the pieces of a map are made from, then: places of 32 bytes each, 8 or 4 neighbouring keys.
inline constexpr uint32_t piece_places = 8192;
inline constexpr uint32_t places_in_flight = 4;
/// Of few values most are met more than once; so many that are not stand for as many again in the array.
inline constexpr uint32_t most_singles = samples / 16;

template <class Bits>
struct SurveyShared {
  union {
    AtomicWord<Bits> values[survey_slots];
    uint32_t in_bucket[survey_slots];
  };
  uint32_t in_group[survey_groups];
  uint32_t in_piece[map_pieces];
  MapPiece pieces[map_pieces];
  uint32_t warp_sums[survey_threads / warp_threads];
  BucketMap<Bits> map;
  uint32_t bucket_bits;
  Bits least[survey_threads / warp_threads];
  Bits most[survey_threads / warp_threads];
  uint32_t distinct[survey_threads / warp_threads];
  uint32_t singles;
  uint32_t seen[survey_slots];  // samples by slot
};

/// The range that holds keys of which a sample spans [least, most].
template <class Bits>
__device__ BucketMap<Bits> guess_map(Bits least, Bits most, uint32_t& bucket_bits) {
  constexpr Bits all = static_cast<Bits>(~Bits{0});
  const Bits spread = most - least;
  if (spread < msd_most_buckets) {
    // Few enough values to count each. The window may begin at a round number or leave room on both sides.
    constexpr Bits window = msd_most_buckets - 1;
    bucket_bits = 2 * msd_digit_bits;
    const Bits round = least & ~window;
    const Bits room = (window - spread) / 2;
    const Bits begin = most - round <= window ? round
                       : least > room         ? static_cast<Bits>(least - room)
                                              : Bits{0};
    return BucketMap<Bits>::over(min(begin, static_cast<Bits>(all - window)), window, msd_most_buckets);
  }
  const Bits slack = spread / (samples / slack_samples);
  const Bits lowest = least > slack ? static_cast<Bits>(least - slack) : Bits{0};
  const Bits highest = most < all - slack ? static_cast<Bits>(most + slack) : all;
  return BucketMap<Bits>::over(lowest, static_cast<Bits>(highest - lowest), 1u << bucket_bits);
}

/// Record number `sample` of `samples_in_all` at equal distances.
__device__ __forceinline__ uint64_t sampled_index(uint64_t count, uint32_t sample, uint32_t samples_in_all) {
  return count / samples_in_all * sample + count % samples_in_all * sample / samples_in_all;
}

/// Gives each piece of the range its share of the buckets: of what a larger sample saw in it or, where that
/// is more, in its neighbourhood, since a piece without a sample may have as many keys as several buckets
/// hold; and one sample more.
template <class Bits>
__device__ void make_pieces(const Bits* keys, uint64_t count, KeyMap<Bits> map, uint32_t bucket_bits,
                            SurveyShared<Bits>& shared, MapPiece* pieces) {
  static_assert(map_pieces == survey_threads);
  static_assert(piece_places % (survey_threads * places_in_flight) == 0);
  using Vector = digest_detail::Vector<Bits>;
  constexpr uint32_t width = digest_detail::keys_a_vector<Bits>;
  const uint4* const vectors = reinterpret_cast<const uint4*>(keys);
  const uint32_t piece = threadIdx.x;
  shared.in_piece[piece] = 0;
  __syncthreads();
  for (uint32_t k = 0; k < piece_places; k += survey_threads * places_in_flight) {
    Vector pair[places_in_flight][2];
#pragma unroll
    for (uint32_t i = 0; i < places_in_flight; ++i) {
      const uint32_t place = k + i * survey_threads + threadIdx.x;
      // Whole sectors; the last one of an array may be missed.
      const uint64_t first =
          min(sampled_index(count, place, piece_places) / width, count / width - 2) & ~uint64_t{1};
      pair[i][0].whole = vectors[first];
      pair[i][1].whole = vectors[first + 1];
    }
#pragma unroll
    for (uint32_t i = 0; i < places_in_flight; ++i)
#pragma unroll
      for (const Vector& vector : pair[i])
#pragma unroll
        for (const Bits key : vector.keys)
          atomicAdd(&shared.in_piece[shared.map.word_of(map.to_ordered(key)) >> (32 - map_piece_bits)], 1u);
  }
  __syncthreads();
  const bool is_inside = piece <= shared.map.last_word() >> (32 - map_piece_bits);
  const uint32_t here = shared.in_piece[piece];
  const uint32_t around = (piece > 0 ? shared.in_piece[piece - 1] : 0) +
                          (piece + 1 < map_pieces ? shared.in_piece[piece + 1] : 0);
  const uint32_t share = max(4 * here, 2 * here + around) + (is_inside ? 4 : 0);
  uint32_t total = 0;
  const uint32_t before = block_exclusive_sum<survey_threads>(share, shared.warp_sums, total);
  const auto bucket_at = [&](uint32_t sum) {
    return static_cast<uint32_t>((uint64_t{sum} << bucket_bits) / total);
  };
  // The last bucket's number is the highest that a piece without buckets may name.
  const uint32_t first = min(bucket_at(before), (1u << bucket_bits) - 1);
  const uint32_t end = min(bucket_at(before + share), 0xffffu);
  pieces[piece] = shared.pieces[piece] = first | (end > first ? end - first : 0) << 16;
  __syncthreads();
}

/// One block looks at keys at equal distances, and at the neighbour of each.
template <class Bits>
__global__ __launch_bounds__(survey_threads) void survey_kernel(const Bits* keys, uint64_t count,
                                                                KeyMap<Bits> map, uint32_t bucket_bits,
                                                                uint32_t with_values,
                                                                uint64_t most_bucket_keys,
                                                                MsdPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  SurveyShared<Bits>& shared = shared_memory<SurveyShared<Bits>>();
  for (uint32_t s = threadIdx.x; s < survey_slots; s += survey_threads) {
    shared.values[s] = 0;
    shared.seen[s] = 0;
  }
  if (threadIdx.x == 0) shared.singles = 0;
  for (uint32_t g = threadIdx.x; g < survey_groups; g += survey_threads) shared.in_group[g] = 0;
  const auto at = [&](uint32_t sample) { return sampled_index(count, sample, samples); };
  Bits key[samples_a_thread + 1];
  Bits neighbour[samples_a_thread];
#pragma unroll
  for (uint32_t k = 0; k <= samples_a_thread; ++k) {
    const uint32_t sample = threadIdx.x * samples_a_thread + k;
    key[k] = map.to_ordered(keys[sample < samples ? at(sample) : count - 1]);
  }
#pragma unroll
  for (uint32_t k = 0; k < samples_a_thread; ++k) {
    const uint64_t next = at(threadIdx.x * samples_a_thread + k) + 1;
    neighbour[k] = map.to_ordered(keys[min(next, count - 1)]);
  }
  Bits least = key[0];
  Bits most = key[0];
  bool rises = false;  // where a stable sort must not reverse, equal neighbours are a rise
  bool falls = false;
#pragma unroll
  for (uint32_t k = 0; k < samples_a_thread; ++k) {
    least = min(least, min(key[k], neighbour[k]));
    most = max(most, max(key[k], neighbour[k]));
    rises |= key[k] < neighbour[k] || neighbour[k] < key[k + 1] || (with_values && key[k] == neighbour[k]);
    falls |= key[k] > neighbour[k] || neighbour[k] > key[k + 1];
  }
  least = warp_reduce(least, [](Bits a, Bits b) { return min(a, b); });
  most = warp_reduce(most, [](Bits a, Bits b) { return max(a, b); });
  __syncthreads();
  uint32_t distinct = threadIdx.x == 0;  // zero, which the table does not hold
#pragma unroll
  for (uint32_t k = 0; k < samples_a_thread; ++k) {
    uint32_t slot = 0;
    if (key[k] != 0 && find_slot<survey_slots>(shared.values, key[k], slot, distinct))
      atomicAdd(&shared.seen[slot], 1u);
  }
  const uint32_t warp = threadIdx.x / warp_threads;
  distinct = warp_reduce(distinct, [](uint32_t a, uint32_t b) { return a + b; });
  if (ptx::lane_id() == 0) {
    shared.distinct[warp] = distinct;
    shared.least[warp] = least;
    shared.most[warp] = most;
  }
  const bool any_rises = __syncthreads_or(rises) != 0;
  uint32_t singles = 0;
  for (uint32_t s = threadIdx.x; s < survey_slots; s += survey_threads) singles += shared.seen[s] == 1;
  singles = warp_reduce(singles, [](uint32_t a, uint32_t b) { return a + b; });
  if (ptx::lane_id() == 0) atomicAdd(&shared.singles, singles);
  const bool any_falls = __syncthreads_or(falls) != 0;
  if (warp == 0) {
    least = warp_reduce(shared.least[ptx::lane_id()], [](Bits a, Bits b) { return min(a, b); });
    most = warp_reduce(shared.most[ptx::lane_id()], [](Bits a, Bits b) { return max(a, b); });
    distinct = warp_reduce(shared.distinct[ptx::lane_id()], [](uint32_t a, uint32_t b) { return a + b; });
  }
  if (threadIdx.x == 0) {
    plan->with_values = with_values;
    plan->maybe_few = !with_values && distinct <= few_values * 3 / 4 && shared.singles <= most_singles;
    plan->guess = !any_falls ? Guess::ascending : !any_rises ? Guess::descending : Guess::unordered;
    shared.map = guess_map(least, most, bucket_bits);
    shared.bucket_bits = bucket_bits;
    plan->map = shared.map;
    plan->bucket_bits = bucket_bits;
  }
  for (uint32_t s = threadIdx.x; s < survey_slots; s += survey_threads) shared.in_bucket[s] = 0;
  __syncthreads();
  bool is_uneven = false;
#pragma unroll
  for (uint32_t k = 0; k < samples_a_thread; ++k) {
    const uint32_t group = LinearBuckets<Bits>{shared.map}(key[k]) >> (shared.bucket_bits - 8);
    is_uneven |= atomicAdd(&shared.in_group[group], 1u) >= uneven_group;
  }
  const bool may_have_pieces = !shared.map.is_exact(msd_most_buckets) && count >= piece_places;
  const bool is_pieced = __syncthreads_or(is_uneven) != 0 && may_have_pieces;
  if (is_pieced) {
    if (threadIdx.x == 0) {
      // Beyond the sampled ends, too, keys may be denser than elsewhere.
      const Bits margin = static_cast<Bits>(shared.map.range / 2);
      const Bits lowest = shared.map.lowest - min(margin, shared.map.lowest);
      const Bits highest = static_cast<Bits>(shared.map.lowest + shared.map.range);
      const Bits room = min(margin, static_cast<Bits>(~highest));
      shared.map =
          BucketMap<Bits>::over(lowest, static_cast<Bits>(highest + room - lowest), 1u << bucket_bits);
      plan->map = shared.map;
    }
    __syncthreads();
    make_pieces(keys, count, map, shared.bucket_bits, shared, plan->pieces);
  }
  if (threadIdx.x == 0) plan->is_pieced = is_pieced;
  // Buckets whose numbers differ by 8,192 share a counter. One with many more samples than chance gives it
  // has a bucket that no kernel finishes, and the histogram can be spared.
  uint32_t most_in_bucket = 0;
#pragma unroll
  for (uint32_t k = 0; k < samples_a_thread; ++k) {
    const uint32_t bucket = is_pieced ? PiecedBuckets<Bits>{shared.map, shared.pieces}(key[k])
                                      : LinearBuckets<Bits>{shared.map}(key[k]);
    most_in_bucket = max(most_in_bucket, atomicAdd(&shared.in_bucket[bucket % survey_slots], 1u) + 1);
  }
  const bool is_crowded =
      most_in_bucket >= least_crowded && most_in_bucket * (count / samples) > 4 * most_bucket_keys;
  const bool any_crowded = __syncthreads_or(is_crowded) != 0;
  // Where each value comes many times, parts of a bucket are crowded, too, and few digits vary.
  const bool repeats = shared.map.range < count / 4;
  if (threadIdx.x == 0 && (any_crowded || repeats) && !shared.map.is_exact(msd_most_buckets))
    plan->has_too_large = 1;
}

/// What a digest knows better than the sample. Keys in order are left to the roads that it chooses.
template <class Bits>
__global__ void survey_digest_kernel(const Digest<Bits>* digest, uint32_t bucket_bits, MsdPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  plan->guess = Guess::unordered;
  plan->is_other = !digest->falls || !digest->rises;
  const Bits range = static_cast<Bits>(digest->maximum() - digest->minimum());
  if (range < msd_most_buckets) {
    plan->map = guess_map(digest->minimum(), digest->maximum(), bucket_bits);
    plan->is_pieced = 0;
  } else if (!plan->is_pieced) {
    plan->map = BucketMap<Bits>::over(digest->minimum(), range, 1u << bucket_bits);
  }
  plan->bucket_bits = bucket_bits;
}

inline constexpr uint32_t decide_threads = 256;

struct DecideShared {
  uint32_t warp_sums[decide_threads / warp_threads];
};

/// Appends this lane's `bucket` to a list if `is_member`: one atomic a warp.
__device__ __forceinline__ void append(uint32_t* list, uint32_t* length, uint32_t bucket, bool is_member) {
  const uint32_t members = __ballot_sync(full_warp, is_member);
  if (members == 0) return;
  uint32_t at = 0;
  if (ptx::lane_id() == 0) at = atomicAdd(length, static_cast<uint32_t>(__popc(members)));
  at = __shfl_sync(full_warp, at, 0);
  if (is_member) list[at + static_cast<uint32_t>(__popc(members & ptx::lanes_below()))] = bucket;
}

struct ClassLimits {
  uint32_t most_keys[classes_by_size];
  uint32_t part_bits[classes_by_size];
};

/// A thread a bucket: which kernel finishes it, and in which parts. The first block also cuts the first
/// level's buckets, a thread each, into the jobs of the second level, none of more than `job_keys` keys.
template <class Bits>
__global__ __launch_bounds__(decide_threads) void decide_kernel(
    const uint64_t* offsets, uint64_t count, uint64_t job_keys, ClassLimits limits, MsdPlan<Bits>* plan,
    SortPlan<Bits>* counting_plan, PartitionJob* jobs, uint32_t* lists, BucketParts* parts) {
  ptx::wait_for_previous_launch();
  static_assert(decide_threads == msd_digits);
  if (plan->is_settled()) return;
  if (plan->counts_values()) {
    if (threadIdx.x == 0 && blockIdx.x == 0) {
      counting_plan->road = Road::counting;
      counting_plan->bins = msd_most_buckets;
      counting_plan->minimum = plan->least();
      counting_plan->first_bin = static_cast<uint32_t>(plan->least() - plan->map.lowest) % msd_most_buckets;
    }
    return;
  }
  const uint32_t buckets = 1u << plan->bucket_bits;
  const auto first_of = [&](uint32_t b) { return b < buckets ? offsets[b] : count; };
  const uint32_t bucket = blockIdx.x * decide_threads + threadIdx.x;
  const uint64_t size = bucket < buckets ? first_of(bucket + 1) - first_of(bucket) : 0;
  uint32_t least = 0;
  uint32_t part_bits = 0;
#pragma unroll
  for (uint32_t c = 0; c < classes_by_size; ++c) {
    const bool is_member = size > least && size <= limits.most_keys[c];
    append(lists + c * msd_most_buckets, &plan->listed[c], bucket, is_member);
    if (is_member) part_bits = limits.part_bits[c];
    least = limits.most_keys[c];
  }
  if (part_bits != 0) {
    const auto interval = plan->is_pieced ? interval_of(PiecedBuckets<Bits>{plan->map, plan->pieces}, bucket)
                                          : interval_of(LinearBuckets<Bits>{plan->map}, bucket);
    parts[bucket] = BucketParts::over(interval.first, interval.last, part_bits);
  }
  if (__syncthreads_or(size > least) != 0 && threadIdx.x == 0) atomicOr(&plan->has_too_large, 1u);

  if (blockIdx.x != 0) return;
  DecideShared& shared = shared_memory<DecideShared>();
  const uint32_t children_bits = plan->bucket_bits - msd_digit_bits;
  const uint32_t parent = threadIdx.x;
  const uint64_t first = first_of(parent << children_bits);
  const uint64_t keys = first_of((parent + 1) << children_bits) - first;
  const uint32_t mine = static_cast<uint32_t>((keys + job_keys - 1) / job_keys);
  uint32_t total = 0;
  const uint32_t row = block_exclusive_sum<decide_threads>(mine, shared.warp_sums, total);
  for (uint32_t j = 0; j < mine; ++j)
    jobs[row + j] = {.first = first + j * job_keys,
                     .count = min(job_keys, keys - j * job_keys),
                     .parent = parent,
                     .row = row + j,
                     .rows_before = j,
                     .has_row = mine > 1};
  if (threadIdx.x == 0) plan->jobs = total;
}

}  // namespace msd_plan_detail

}  // namespace sweepsort
