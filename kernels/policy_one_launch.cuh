// policy_one_launch.cuh - tuning rows (policy.cuh) of the sorts of one launch: by one block, and by a grid
// whose blocks hold a share each.
#pragma once

#include "core/no_value.hpp"
#include "kernels/policy_buckets.cuh"

#include <cstdint>
#include <type_traits>

namespace sweepsort {

/// grid_sort.cuh: each of at most `max_blocks` blocks takes up to threads * keys_per_thread records. There is
/// at most one block per `min_share` records, rounded up. portioned_grid_sort.cuh: a block takes this many
/// records up to `portions` times, and there are up to 2^digit_bits buckets.
struct GridShape {
  uint32_t threads;
  uint32_t keys_per_thread;
  uint32_t max_blocks;
  uint32_t min_share;
  uint32_t portions = 1;
  uint32_t digit_bits = 8;
};

/// Each block sorts a bucket with the `Finish` row at last.
template <GridShape shape, class Finish_>
struct GridSortPolicy {
  using Finish = Finish_;
  static constexpr uint32_t threads = shape.threads;
  static constexpr uint32_t keys_per_thread = shape.keys_per_thread;
  static constexpr uint32_t max_blocks = shape.max_blocks;
  static constexpr uint32_t min_share = shape.min_share;
  static constexpr uint32_t portions = shape.portions;
  static constexpr uint32_t digit_bits = shape.digit_bits;
  static constexpr uint32_t digits = 1u << digit_bits;
  static constexpr bool in_cluster = false;
  static constexpr uint32_t max_portion = threads * keys_per_thread;
  static constexpr uint32_t max_share = portions * max_portion;
  /// The keys that fit a thread's registers. A larger share or portion is read twice: to rank its keys, and
  /// to place them.
  static constexpr uint32_t keys_at_once = threads > 512 ? 8 : 16;
};

/// The same, but the blocks are one cluster: their barriers take less time, and so does the launch.
template <class Grid>
struct InCluster : Grid {
  static constexpr bool in_cluster = true;
};

/// bucket_sort.cuh for a whole array that one block sorts: the first row that holds it is used.
//
// H100, CUDA 13.0, 2026-11-26, microseconds a sort in a graph; uniform / two values / AND of three; CUB's on
// an H200 in brackets:
//
//   u32      2^10   256x9  2.5 /  6.0 /  6.2   512x9   3.0 /  7.1 /  7.4                   (9 / 9 / 9)
//            2^12   256x18 4.6 / 12.4 / 12.6   512x9   3.7 /  9.0 / 11.4
//                   512x18 4.1 / 10.7 / 15.1                                               (10 / 9 / 10)
//   u32+u32  2^12   256x18 5.7 / 14.8 / 14.9   512x9   5.0 / 10.9 / 13.5                   (13 / 11 / 13)
//
// u16 uses the rows of u32 (no parts; pairs are left to others): 2^10 3.0 / 3.6 / 3.7, 2^12 4.6 / 5.3 / 6.3.
// More records are left to a cluster (figures at ClusterGridSort).
struct OneBlockPolicy {
  using Small = BucketSortPolicy<256, 9, 1, 16384>;
  using Large = BucketSortPolicy<512, 9, 1, 32768>;
  static constexpr uint32_t max_keys = Large::max_keys;
};

/// byte_sort.cuh. H100, CUDA 13.0, 2026-11-26, microseconds a sort in a graph, whatever the keys: 2^10 1.6,
/// 2^12 2.0, 2^14 3.4 (digit by digit 2.1 to 2.5, 3.1 to 4.0, 7.4 to 10.0); larger arrays take the grid, 2^15
/// 5.3. Other numbers of threads were not tried.
struct ByteSortPolicy {
  static constexpr uint32_t threads = 512;
  static constexpr uint32_t max_keys = 18'432;
};

/// Pairs with keys of one or two bytes have no sorts in one launch: their rows below are void.
template <class Bits, class Value>
inline constexpr bool is_of_small_sorts = sizeof(Bits) >= 4 || value_bytes<Value> == 0;

template <class Bits, class Value>
using TunedOneBlock =
    std::conditional_t<!is_of_small_sorts<Bits, Value>, void,
                       std::conditional_t<sizeof(Bits) == 1, ByteSortPolicy, OneBlockPolicy>>;

/// Up to 2^14 records that are too many for one block; void for keys of one byte, too.
//
// H100, CUDA 13.0, 2026-11-28, microseconds a sort in a graph, uniform / 1,000 values / AND of three; one
// block of 1,024x18 (pairs x16, x12), and blocks of 512x4, from 512 records each on: of a cooperative launch,
// of a cluster of at most 16 or 8; CUB:
//
//                     one block        cooperative      16               8                CUB
//   u32      4,609     5.8/13.2/13.9    8.2/ 9.7/25.0    6.9/ 8.3/19.7    7.1/ 8.6/15.4   10.4/10.4/10.3
//             2^13     6.4/18.4/20.1    8.5/12.1/25.2    7.1/10.6/20.2    7.3/11.0/17.2   41
//             2^14     9.9/27.7/30.5    8.6/13.4/25.3    7.4/12.0/21.4    8.1/12.8/22.8   43
//             2^15                      8.6/13.3/25.7    8.3/13.4/23.6                    40
//   u64       2^13     8.4/21.4/44.7    9.0/14.8/45.6    7.7/13.6/36.8    8.0/15.6/32.2   73
//             2^14    13.7/66.8/68.7    9.1/19.0/45.7    8.7/18.7/39.6    9.3/20.8/42.5   77
//             2^15                      9.1/19.4/46.2    9.8/21.9/45.1                    71
//   u32+u32   2^14    14.4/34.7/37.5   10.5/23.3/23.2    9.7/20.2/20.5   10.7/22.4/21.7   55
//   u64+u64   2^13    11.2/46.6/51.6   10.7/23.4/44.2    9.5/22.0/37.2   10.0/22.3/38.6   80
//   u16       2^13     8.8/ 9.4/11.4    9.9/ 9.8/ 9.8    7.9/ 7.8/ 7.7                    26
//
// The row is 512x2, which holds what 16 blocks get: 2^14 u32 7.4/12.3/21.7, u64 8.4/19.3/40.8 (another run,
// a11cc5a). Blocks of 1,024x4 take 1 to 7 more. Two values, 2^13: 17.2, 6.2, 5.4, 5.4 (u32), 21.5, 7.3, 6.1,
// 6.4 (u32+u32). A least share of 1,024 gains if keys are crowded (u32 2^13 17.2) and loses otherwise
// (uniform 7.3, 1,000 values of 4,609 9.2). Up to 4,608 records, one block is faster if they are even: u32
// 2^12 3.9 against 7.0.
template <class Bits, class Value>
using ClusterGridSort = std::conditional_t<
    is_of_small_sorts<Bits, Value> && sizeof(Bits) >= 2,
    InCluster<
        GridSortPolicy<GridShape{.threads = 512, .keys_per_thread = 2, .max_blocks = 16, .min_share = 512},
                       BucketSortPolicy<512, 12, 1, 32768>>>,
    void>;

/// Up to 2^18 records; void for pairs with keys of one or two bytes, which have no grid sort.
//
// H100, CUDA 13.0, 2026-11-26, microseconds a sort in a graph, uniform / AND of three; threads x keys a
// thread, least share (bucket's keys per thread, parts). When one kernel, 1024x8 (9 or 12, 64K), sorted all
// up to 2^20, a third of all samples waited for instructions: few keys per thread make short code.
//
//                      1024x8, 1024   512x2, 512 (5, 32K)  512x2, 1024   512x4, 512 (9, 32K)  256x4, 1024 (9, 16K)
//   u32       2^14     10.6 / 30.4      8.4 / 25.5          8.7 / 26.4     8.7 / 25.8          9.2 / 28.9
//             2^16     10.7 / 30.5      9.0 / 27.2          8.7 / 27.0     9.2 / 27.4          9.4 / 29.6
//             2^18     11.6 / 33.8                                        10.3 / 30.4
//   u64       2^16     12.2 / 58.5      9.7 / 48.8          9.8 / 49.0     9.9 / 49.4         11.0 / 54.4
//             2^18     13.8 / 66.7                                        12.2 / 57.9
//   u32+u32   2^16     14.4 / 31.1     11.0 / 25.5         10.7 / 25.3    11.6 / 25.9         11.2 / 27.3
//             2^18     16.3 / 35.8                                        13.4 / 29.9
//   u64+u64   2^16     20.3 / 72.4     16.4 / 48.2         16.8 / 48.9    17.1 / 49.0         21.5 / 53.2
//             2^18     25.2 / 92.6                                        20.6 / 62.6
//
// With 12 keys per thread of a bucket in place of 9, so that normal keys of 2^18 fit: u32 10.3 / 30.4, normal
// 29.9 -> 11.3; u64 11.8 / 57.0, 57.6 -> 13.9; u64+u64 15.4 / 61.9, 74.2 -> 17.9.
//
// More than 128 blocks cost 3.5 us: another round of loads when the matrix of counts is summed.
template <class Bits, class Value>
using SmallGridSort = std::conditional_t<
    is_of_small_sorts<Bits, Value>,
    GridSortPolicy<GridShape{.threads = 512, .keys_per_thread = 4, .max_blocks = 128, .min_share = 512},
                   BucketSortPolicy<512, 12, 1, 32768>>,
    void>;

/// Up to 2^20 records; void for the same records.
//
// As above, 2^20, and two values; a thread's keys that its registers hold (1024 threads: half as many):
//
//             1024x8, 8           512x16, 16 (18, 32K)   (18, 64K)            512x16, 8 (24, 64K)
//   u32       19.6 /  47.5 / 43    18.7 /  47.4 / 43     18.9 /  47.4 / 43    19.8 /  43.9 / 38
//   u64       25.3 / 104.9 / 95    24.9 / 102.6 / 93     24.7 / 103.4 / 94    26.7 /  99.6 / 86
//   u32+u32   29.6 /  55.0 / 15    26.6 /  51.5 / 15     26.3 /  51.5 / 15    28.3 /  54.0 / 16
//   u64+u64   48.3 / 185.3 / 28    55.8 / 135.4 / 24     56.5 / 135.4 / 24    65.4 / 137.6 / 24
//
// 2^19, u64+u64: 30.0 / 115.8 / 17, 30.1 / 89.5 / 18; by 512x8 (18, 64K) 26.5 / 84.1 / 18.
template <uint32_t bucket_keys_per_thread>
using MiddleGridRow =
    GridSortPolicy<GridShape{.threads = 512, .keys_per_thread = 16, .max_blocks = 128, .min_share = 1024},
                   BucketSortPolicy<512, bucket_keys_per_thread, 1, 32768>>;
template <class Bits, class Value>
using MiddleGridSort = std::conditional_t<
    !is_of_small_sorts<Bits, Value>, void,
    std::conditional_t<sizeof(Bits) <= 4 && value_bytes<Value> == 0, MiddleGridRow<24>, MiddleGridRow<18>>>;

/// Larger arrays in the same way, but their keys are read twice; void for records that are left to other
/// sorts.
//
// H200, CUDA 13.0, 2026-11-22, microseconds a sort in a graph, uniform / AND of three; by LSD; by MSD; CUB:
//
//   u32 2^21   37 /  67    76 /  85                99 /  96
//   u32 2^22   57 / 110   111 / 127   129 / 188   161 / 157
//   u64 2^21   44 / 167   158 / 174   118 / 243   228 / 221
//
// 2^21, H100, 2026-11-26, 1024x16 (12, 64K) and 512x32 (24, 64K): u64 45.1 / 184.9 and 42.8 / 172.2, u32+u32
// 49.8 / 95.4 and 49.9 / 90.6. u16 by the row of u32: 2^21 24 / 29, 2^22 37 / 45; counted 63 / 97, CUB 80 /
// 82 (H200).
template <class Bits, class Value>
struct LargeGridRow {
  using Policy = void;
};
template <>
struct LargeGridRow<uint32_t, NoValue> {
  using Policy =
      GridSortPolicy<GridShape{.threads = 1024, .keys_per_thread = 32, .max_blocks = 128, .min_share = 1024},
                     BucketSortPolicy<1024, 18, 1, 65536>>;
};
template <>
struct LargeGridRow<uint16_t, NoValue> {
  using Policy = LargeGridRow<uint32_t, NoValue>::Policy;
};
template <>
struct LargeGridRow<uint64_t, NoValue> {
  using Policy =
      GridSortPolicy<GridShape{.threads = 512, .keys_per_thread = 32, .max_blocks = 128, .min_share = 1024},
                     BucketSortPolicy<512, 24, 1, 65536>>;
};
template <>
struct LargeGridRow<uint32_t, uint32_t> {
  using Policy = LargeGridRow<uint64_t, NoValue>::Policy;
};
template <>
struct LargeGridRow<uint32_t, uint64_t> {
  using Policy = LargeGridRow<uint64_t, NoValue>::Policy;
};
template <>
struct LargeGridRow<uint64_t, uint32_t> {
  using Policy = LargeGridRow<uint64_t, NoValue>::Policy;
};
template <class Bits, class Value>
using LargeGridSort = typename LargeGridRow<Bits, Value>::Policy;
template <class Bits, class Value>
using LargestGridSort = std::conditional_t<std::is_void_v<LargeGridSort<Bits, Value>>,
                                           MiddleGridSort<Bits, Value>, LargeGridSort<Bits, Value>>;

}  // namespace sweepsort
