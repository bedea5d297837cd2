// policy_even_grid.cuh - tuning rows (policy.cuh) of the sorts of one launch for even keys: portion by
// portion and tile by tile.
#pragma once

#include "core/no_value.hpp"
#include "kernels/policy_buckets.cuh"
#include "kernels/policy_one_launch.cuh"

#include <cstdint>

namespace sweepsort {

/// More pairs than the large grid sort holds (portioned_grid_sort.cuh); void for records that have no such
/// sort.
//
// H100, CUDA 13.0, 2026-11-26, microseconds, 8 launches in a row, uniform / nearly sorted; by what they took
// before, in a graph; CUB as here:
//
//                    threads x keys, portions, digits, bucket
//   u32+u32  2^22    1024x16 x 4, 512, 1024x18/64K   115 /  96   /128K 113 /  99   180 / 194   233 / 225
//                    1024x16 x 2, 256, 1024x18/128K  109 /  95   (no more than 2^22)
//            2^23    1024x16 x 4, 512, 1024x18/64K   255 / 183   /128K 251 / 187   330 / 354   376 / 373
//   u64+u32  2^22    512x16 x 4, 512, 512x18/64K     176 / 127   /32K  191 / 129   236 / 233   519 / 476
//                                     512x24/64K     191 / 140
//   u64+u64  2^21    512x16 x 4, 512, 512x18/64K     100 /  85   /32K  104 /  85   158 / 158   371 / 340
//            2^22                                    225 / 160         233 / 159   254 / 250   612 / 569
//
// Not better: smaller portions, eight of them (u32+u32 2^23 268 / 229), or 512x32 (276). If the sample shows
// that the sort does not suit the keys, 5 to 6 us are lost. u32+u64 is carried over from u64+u32.
template <class Bits, class Value>
struct PortionedGridRow {
  using Policy = void;
};
template <>
struct PortionedGridRow<uint32_t, uint32_t> {
  using Policy = GridSortPolicy<GridShape{.threads = 1024,
                                          .keys_per_thread = 16,
                                          .max_blocks = 128,
                                          .min_share = 1024,
                                          .portions = 4,
                                          .digit_bits = 9},
                                BucketSortPolicy<1024, 18, 1, 65536>>;
};
template <>
struct PortionedGridRow<uint64_t, uint32_t> {
  using Policy = GridSortPolicy<GridShape{.threads = 512,
                                          .keys_per_thread = 16,
                                          .max_blocks = 128,
                                          .min_share = 1024,
                                          .portions = 4,
                                          .digit_bits = 9},
                                BucketSortPolicy<512, 18, 1, 65536>>;
};
template <>
struct PortionedGridRow<uint32_t, uint64_t> {
  using Policy = PortionedGridRow<uint64_t, uint32_t>::Policy;
};
template <>
struct PortionedGridRow<uint64_t, uint64_t> {
  using Policy = PortionedGridRow<uint64_t, uint32_t>::Policy;
};
template <class Bits, class Value>
using PortionedGridSort = typename PortionedGridRow<Bits, Value>::Policy;

/// Pairs that the middle grid sort does not hold, but fewer than this, are tried by the portioned sort before
/// the large grid sort; 0: none are. A large share takes nearly as long however full it is, and needs a pass
/// per digit for keys that are not even.
//
// H100, CUDA 13.0, 2026-11-27, u64+u32, microseconds in a graph, large grid -> portioned or what is behind it
// (CUB); dense keys and pairs of a few values lose:
//
//            uniform          1,000 values      hashed Zipf       two values      AND of three
//   1.2 M     71 ->  66 (178)  177 -> 130 (159)  187 -> 138 (172)   23 ->  73 (134)   as before
//   1.6 M     79 ->  83 (211)  200 -> 144 (184)  212 -> 157 (198)   26 ->  80 (152)   as before
//   2^21      90 -> 123 (288)  235 -> 182 (252)  250 -> 198 (276)   37 ->  97 (204)  220 -> 245 (271)
template <class Bits, class Value>
inline constexpr uint64_t min_in_large_grid = 0;
template <>
inline constexpr uint64_t min_in_large_grid<uint64_t, uint32_t> = 7u << 18;

/// The number of values that the range of `count` even keys must have, so that the two grid sorts for even
/// keys above sort them. If it has fewer, the keys are dense and need few digit passes.
//
// H100, CUDA 13.0, 2026-11-26, microseconds in a graph, before -> now where the limit was 4 n and is n / 4
// (u64: n / 16); each of n numbers once, and n random ones of n, of n / 4 and (u64) of n / 16; CUB at the
// last:
//
//   u32      2^23   181 -> 108   185 -> 132   148 -> 110                          230
//            2^24   275 -> 184   316 -> 233   250 -> 188   (of n / 16 248 / 241)  394
//   u64      2^22   208 -> 115   240 -> 127   211 -> 116   181 -> 133             338
//            2^24   480 -> 327   574 -> 376   488 -> 332   467 -> 378             1062
//
// Pairs have to be ranked in parts of several keys: u32+u32 with a limit of n 2^22 159 -> 124, 141 -> 157, of
// 3 n 146 -> 136, 2^23 285 -> 255, 313 -> 321, of 2 n 264 -> 285, of 3 n 326 -> 279; n / 4 is worse (2^23 247
// -> 312). u64+u32 and u64+u64 then need three passes of eight: not tried.
template <class Bits, class Value>
constexpr uint64_t min_even_values(uint64_t count) {
  if (value_bytes<Value> == 0) return count / (sizeof(Bits) == 8 ? 16 : 4);
  return sizeof(Bits) + value_bytes<Value> == 8 ? count : 4 * count;
}

/// tiled_grid_sort.cuh: at most `max_blocks` blocks deal tiles of threads * keys_per_thread keys, through
/// bins with `bin_slots` slots in all, to at most `max_buckets` buckets of about `bucket_keys` keys. It pays
/// for min_count to max_count keys.
struct TiledGridShape {
  uint32_t keys_per_thread;
  uint32_t bin_slots;
  uint32_t max_blocks;
  uint32_t max_buckets;
  uint32_t bucket_keys;
  uint64_t min_count = 0;
  uint64_t max_count = ~uint64_t{0};
};

/// The blocks sort the buckets with the `Finish` row.
template <TiledGridShape shape, class Finish_>
struct TiledGridPolicy {
  using Finish = Finish_;
  static constexpr uint32_t threads = Finish::threads;
  static constexpr uint32_t keys_per_thread = shape.keys_per_thread;
  static constexpr uint32_t bin_slots = shape.bin_slots;
  static constexpr uint32_t max_blocks = shape.max_blocks;
  static constexpr uint32_t max_buckets = shape.max_buckets;
  static constexpr uint32_t bucket_keys = shape.bucket_keys;
  static constexpr uint64_t min_count = shape.min_count;
  static constexpr uint64_t max_count = shape.max_count;
  static constexpr uint32_t tile = threads * keys_per_thread;
};

/// Records without a row have no tiled grid sort. It begins above what the grid sort holds.
//
// H200, CUDA 13.0, 2026-11-23, uniform keys, microseconds of 20 launches in a row; keys per thread / bin
// slots:
//
//   u32 2^24   24/48K 166   16/48K 173   32/48K 176   24/40K 172        two blocks of 512: 233 (without bins)
//   u64 2^23   12/24K 140   16/24K 142    8/24K 145
//
// With buckets of an older kind; now, by bench/tune, 64K parts / 128K / 256K: u32 2^23 99 / 92 / 93, 2^24 183
// / 169 / 170, u64 2^23 142 / 131, 2^24 293 / 272.
//
// Fewer than 16,384 keys per bucket would make more buckets, and fewer keys of a tile would share a bucket.
// 1,720 buckets are enough for max_count keys, with the same number for each block, whatever the number of
// blocks.
template <class Bits, class Value>
struct TiledGridRow {
  using Policy = void;
};
template <>
struct TiledGridRow<uint32_t, NoValue> {
  using Policy = TiledGridPolicy<TiledGridShape{.keys_per_thread = 24,
                                                .bin_slots = 49152,
                                                .max_blocks = 160,
                                                .max_buckets = 1720,
                                                .bucket_keys = 16384,
                                                .min_count = (1u << 22) + 1,
                                                .max_count = 3u << 23},
                                 BucketSortPolicy<1024, 18, 1, 131072>>;
};
template <>
struct TiledGridRow<uint64_t, NoValue> {
  using Policy = TiledGridPolicy<TiledGridShape{.keys_per_thread = 12,
                                                .bin_slots = 24576,
                                                .max_blocks = 160,
                                                .max_buckets = 1720,
                                                .bucket_keys = 10752,
                                                .min_count = (1u << 21) + 1,
                                                .max_count = 1u << 24},
                                 BucketSortPolicy<1024, 12, 1, 131072>>;
};
template <class Bits, class Value>
using TunedTiledGrid = typename TiledGridRow<Bits, Value>::Policy;

}  // namespace sweepsort
