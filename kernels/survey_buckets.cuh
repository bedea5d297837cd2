// survey_buckets.cuh - the buckets into which a survey divides the range of its sample (msd_survey.cuh): all
// of one width, or in each piece of the range as many as what a larger sample saw there calls for.
//
//     samples    :    .  . :::::::  .        .
//     pieces     |-----|-----|-----|-----|-----|
//     buckets    |     |  |  |||||||  |  |     |
#pragma once

#include "kernels/block.cuh"
#include "kernels/block_sample.cuh"
#include "kernels/bucket_map.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/msd_sample.cuh"

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace sweepsort {

namespace survey_detail {

/// The range beyond either end of a sample is longer than this many of the samples' mean distances with a
/// probability below 10^-6.
inline constexpr uint32_t slack_samples = 16;
/// A piece with fewer samples than this is better known from its neighbours' samples.
inline constexpr uint32_t few_in_piece = 16;

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

/// What divides the range. Survey::divide() chooses it. `of_floats`: values may be divided, not bits.
template <class Bits, bool of_floats>
class SurveyBuckets : protected BlockSample<Bits> {
 protected:
  using Sample = BlockSample<Bits>;
  using Sample::is_frequent;
  using Sample::plan_;
  using Sample::Sample;
  using Sample::shared_;
  using Sample::task_;

  /// Calls body with the map that makes the words of keys.
  template <class Body>
  __device__ __forceinline__ auto with_map(Body body) const {
    if constexpr (of_floats)
      if (has_real_pieces_) {
        const RealMap<Bits> map = shared_.real_map;
        return body(map);
      }
    const BucketMap<Bits> map = shared_.map;
    return body(map);
  }
  /// Calls body with the buckets that divide the range.
  template <class Body>
  __device__ __forceinline__ auto with_buckets(Body body) const {
    return with_map([&]<class Map>(const Map& map) {
      if constexpr (std::is_same_v<Map, BucketMap<Bits>>)
        if (!is_pieced_) return body(LinearBuckets<Bits>{map});
      return body(PiecedBuckets<Bits, Map>{map, shared_.pieces, piece_bits()});
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
    if (follows_sample && !(has_real_pieces_ && has_even_values_)) {
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

  bool maybe_few_ = false;  // the sample has few values
  bool is_pieced_ = false;
  bool has_real_pieces_ = false;  // for floats: pieces are of values
  bool has_even_values_ = false;  // for floats: the values are even
};

}  // namespace survey_detail

}  // namespace sweepsort
