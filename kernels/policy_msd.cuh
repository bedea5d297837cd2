// policy_msd.cuh - tuning rows (policy.cuh) of the MSD sort, and from how many records on it uses a method.
#pragma once

#include "core/no_value.hpp"
#include "kernels/policy_buckets.cuh"

#include <cstdint>

namespace sweepsort {

/// radix_msd.cuh: how many records a method pays for. A member named `_from` is the number of records from
/// which something is done.
struct MsdLimits {
  /// The most records per bucket on average.
  uint32_t bucket_keys = 4096;
  /// Fewer records than this are left to other sorts.
  uint64_t min_count = uint64_t{1} << 21;
  /// Buckets too large for one block are counted if they span few values. (A smaller array with such a bucket
  /// mostly has one that is too large to be counted, too. Then the launch would find nothing to do: 1.3 us.)
  uint64_t counted_from = uint64_t{1} << 30;
  /// Keys alone: the bucket map has 4,096 pieces instead of 1,024, from four times the sample; 40 us more.
  uint64_t fine_from = uint64_t{1} << 27;
  /// The survey looks for clumps of keys inside the buckets. Fewer keys than the default meet in the same
  /// part of a bucket by chance.
  uint64_t clumps_from = uint64_t{1} << 20;
  /// Large buckets that a block could sort are counted, too, and all buckets that span very few values.
  uint64_t dense_from = uint64_t{1} << 29;
  /// Small buckets of few values are sorted by a bit vector, unless dense_from applies; those of very few
  /// values are counted.
  uint64_t sparse_from = uint64_t{1} << 26;
  /// Pairs: the second level may store only the low half of each key.
  uint64_t narrow_from = uint64_t{1} << 26;
  /// Pairs go by digits if their range has at most this many bits, fewer than 32, and at most half as many
  /// values as there are pairs, unless higher digits differ, too. Narrow pairs use the default. (Figures in
  /// bench/notes/gpu-sort.md, "Pairs whose keys repeat".)
  uint32_t passed_bits = 23;
};

/// How buckets are made and finished.
template <class Partition_, class Small_, class Large_, MsdLimits limits_ = MsdLimits{}>
struct MsdPolicy {
  using Partition = Partition_;
  using Small = Small_;
  using Large = Large_;
  static constexpr MsdLimits limits = limits_;
  static constexpr bool deals = false;
  static constexpr bool splits = false;
};

/// The same, but dealt_from to dealt_to keys alone, if even, are partitioned without being counted
/// (uncounted_partition.cuh), with the `Deal` row. Of dealt_to keys the numbers of a region's chunks fit 16
/// bits; fewer than dealt_from were not tried.
template <class Msd, class Deal_, uint64_t dealt_from_, uint64_t dealt_to_>
struct DealingMsd : Msd {
  using Deal = Deal_;
  static constexpr bool deals = true;
  static constexpr uint64_t dealt_from = dealt_from_;
  static constexpr uint64_t dealt_to = dealt_to_;
};

/// The same, but crowded pairs with keys of 8 bytes are divided by splitters (splitters.cuh) from split_from
/// records on, into buckets of split_keys on average. `SplitSmall` blocks sort these digit by digit,
/// `SplitLarge` blocks sort larger ones, and the MSD sort's blocks sort even larger ones; or, if keys are
/// counted level by level, `SplitLargest` blocks. They are if there are more than 2^bits_at_once buckets.
//
// H100, CUDA 13.0, 2026-11-26, AND of three / of five, us, by a program of radix_msd.cuh alone; passes by
// digits and CUB in brackets:
//
//   u64+u64   2^22    463 /   422  (517,  533 / 519,  506)     2^24  1,442 / 1,112  (1,884, 1,832 / 1,767, 1,736)
//             2^23    801 /   676  (988,  968 / 934,  918)     2^25  2,893 / 2,110
//   u64+u32   2^22    453 /   403  (419,  415 / 437,  433)     2^24  1,333 /   997  (1,490, 1,465 / 1,377, 1,388)
//             2^23    752 /   617  (805,  799 / 755,  757)     2^25  2,587 / 1,852
//
// H200, CUDA 13.0, 2026-11-30, AND of three / of five, us, by a program of radix_sort.cuh alone; by digits
// (2^25: counted at once, buckets of 2,048) -> counted level by level; CUB in brackets:
//
//   u64+u64   2^25   2,325 ->  2,290  (3,091) /  1,547 ->  1,548  (2,889)
//             2^26   5,501 ->  4,412  (6,019) /  5,100 ->  2,952  (5,672)
//             2^27  10,808 ->  8,701 (11,924) /  9,927 ->  5,832 (11,203)
//             2^28  21,992 -> 16,613 (23,730) / 20,477 -> 10,939 (22,223)
//   u64+u32   2^25   2,221 ->  2,154  (2,575) /  1,451 ->  1,436  (2,398)
//             2^26   4,265 ->  4,114  (4,984) /  3,946 ->  2,724  (4,661)
//             2^27   8,280 ->  8,153  (9,788) /  7,629 ->  5,300  (9,145)
//             2^28  16,315 -> 15,369 (19,484) / 15,041 ->  9,954 (18,210)
//
// 2^22 to 2^24 take 2 to 7 % more if they are counted level by level. 2^28 with SplitLarge 512x9x2 18,652 /
// 11,533 (u64+u64) and 17,277 / 10,553 (u64+u32), 1024x9x1 19,091 / 11,542 and 17,822 / 10,653, 512x12x2 (as
// above) 16,787 / 11,046 and 15,571 / 10,070 if the largest try parts first; up to 2^27 1 % more or less.
//
// All buckets of 2^24 u64+u64, AND of three, by ncu, threads x keys x blocks per multiprocessor; 1,024
// records on average, in brackets what larger blocks had to sort: 256x9x4 807 (117), 256x9x3 745 (117),
// 256x9x2 760 (117), 256x7x4 571 (354), 512x4x3 887 (210); 256x7x4 and then 512x9x2, from a sample twice as
// large, 630 (77); of 2,048 512x9x2 938 (140).
template <class Msd, class SplitSmall_, class SplitLarge_, class SplitLargest_, uint32_t split_keys_,
          uint64_t split_from_, uint32_t bits_at_once_ = 14>
struct SplittingMsd : Msd {
  using SplitSmall = SplitSmall_;
  using SplitLarge = SplitLarge_;
  using SplitLargest = SplitLargest_;
  static constexpr bool splits = true;
  static constexpr uint32_t split_keys = split_keys_;
  static constexpr uint64_t split_from = split_from_;
  static constexpr uint32_t bits_at_once = bits_at_once_;
};

/// Records without a row (1- and 2-byte keys) have no MSD sort. It begins above what the grid sort takes,
/// or later (u32, u32+u32, u64+u64) where the LSD sort takes about as long and never gives up
/// (bench/notes/gpu-sort.md, "One launch, up to some million records").
//
// H200, CUDA 13.0, 2^28 uniform records, 2026-11-21, ms, whole sorts by bench/tune. Threads x keys of a
// partition:
//
//   u32       1024x24 2.79   1024x28 2.80     1024x32 2.81    two blocks of 512x24 2.88
//   u64       512x24 4.79    512x30 4.78      1024x14 4.84
//
// with buckets of an older kind. Pairs, which are records between the levels, 2026-11-25, threads x keys /
// batch, 2^28 (ms) and 2^24 (us):
//
//   u32+u32   512x20/10 4.30 382   /5 4.33 383   /4 4.32 384   512x22/11 4.30 387   512x21/3 4.33 388
//   u64+u32   512x14/2 6.70 521   /7 6.86 537   512x15/1 6.71 526   /3 6.73 528   /5 6.81 532
//   u64+u64   512x9/9 8.19 601   /1 8.45 607   512x8/8 8.23 602   /4 8.30 605   512x10/10 8.30 610
//
// (u64+u32 2^21: 512x14/2 153 us, /7 153, in columns 146.) Small buckets, 2026-11-23, with older partitions
// of pairs, by threads x keys x blocks per multiprocessor / parts:
//
//   u32       256x18x4/32K 2.50   /64K 2.55   /16K 2.72   256x18x5/32K 2.57   512x9x3/32K 2.73
//   u64       256x18x3/32K 4.04   /64K 4.13   /16K 4.30   256x18x4/32K 4.40   512x9x2/32K 4.24
//   u32+u32   256x18x3/32K 4.87   /64K 4.93               512x9x2/32K 5.00    512x9x3/32K 5.38
//   u64+u32   256x18x2/64K 7.16   /32K 7.30               256x18x3/32K 7.72   512x9x2/32K 7.44
//   u64+u64   256x18x2/64K 8.47   /32K 8.49               256x18x3/32K 9.70   512x9x2/32K 9.01
//
// and with late words listed by ballots u64+u32 /64K 7.21, /32K 7.25; u64+u64 /64K 8.89 (spills), /32K 8.44.
//
// u32+u64 is carried over, and so are the large buckets of all but u32. Less shared memory per block is
// faster by itself, presumably as it leaves more to the first-level cache, through which all keys come. Large
// buckets, 2^30 and 2^29 u32 keys: 1024x18/128K 10.9 and 6.1, /64K 11.2 and 6.0, /256K 11.4 and 6.6.
//
// Not counted, 2026-11-23, the two levels in us by ncu, threads x keys per thread of the deal; counted, with
// the histogram, u32 284 + 679 + 668, u64 527 + 1,251 + 1,257:
//
//   u32       1024x24 689 + 681   1024x28 724 + 672   1024x32 729 + 771 (spills)
//   u64       512x24 1,184 + 1,365   512x28 1,209 + 1,355   1024x14 1,233 + 1,370; whole sorts 4.60, 4.57, 4.66 ms,
//             when each chunk was asked for by a bulk prefetch
template <class Bits, class Value>
struct MsdRow {
  using Policy = void;
};
template <>
struct MsdRow<uint32_t, NoValue> {
  using Policy =
      DealingMsd<MsdPolicy<PartitionPolicy<1024, 24, 8, 1>, BucketSortPolicy<256, 18, 4, 32768>,
                           BucketSortPolicy<1024, 18, 1, 131072>, MsdLimits{.min_count = (1u << 24) + 1}>,
                 PartitionPolicy<1024, 24, 8, 1>, 1u << 26, 1u << 30>;
};
template <>
struct MsdRow<uint64_t, NoValue> {
  using Policy =
      DealingMsd<MsdPolicy<PartitionPolicy<512, 24, 8, 1>, BucketSortPolicy<256, 18, 3, 32768>,
                           BucketSortPolicy<1024, 18, 1, 131072>, MsdLimits{.min_count = (1u << 21) + 1}>,
                 PartitionPolicy<512, 28, 7, 1>, 1u << 26, 1u << 29>;
};
template <>
struct MsdRow<uint32_t, uint32_t> {
  using Policy = MsdPolicy<PartitionPolicy<512, 20, 10, 1>, BucketSortPolicy<256, 18, 3, 32768>,
                           BucketSortPolicy<1024, 16, 1, 131072>,
                           MsdLimits{.min_count = (1u << 23) + 1, .passed_bits = 24}>;
};
template <>
struct MsdRow<uint32_t, uint64_t> {
  using Policy = MsdPolicy<PartitionPolicy<512, 14, 2, 1>, BucketSortPolicy<256, 18, 2, 65536>,
                           BucketSortPolicy<1024, 12, 1, 131072>,
                           MsdLimits{.min_count = (1u << 21) + 1, .passed_bits = 24}>;
};
template <class Msd, uint64_t split_from>
using TunedSplit = SplittingMsd<Msd, BucketSortPolicy<256, 7, 4, 16384>, BucketSortPolicy<512, 12, 2, 32768>,
                                BucketSortPolicy<1024, 18, 1, 16384>, 1024, split_from>;
template <>
struct MsdRow<uint64_t, uint32_t> {
  using Policy =
      TunedSplit<MsdPolicy<PartitionPolicy<512, 14, 2, 1>, BucketSortPolicy<256, 18, 2, 65536>,
                           BucketSortPolicy<1024, 12, 1, 131072>, MsdLimits{.min_count = (1u << 21) + 1}>,
                 1u << 23>;
};
template <>
struct MsdRow<uint64_t, uint64_t> {
  using Policy = TunedSplit<MsdPolicy<PartitionPolicy<512, 9, 9, 1>, BucketSortPolicy<256, 18, 2, 32768>,
                                      BucketSortPolicy<1024, 12, 1, 131072>, MsdLimits{.passed_bits = 24}>,
                            3u << 20>;
};
template <class Bits, class Value>
using TunedMsd = typename MsdRow<Bits, Value>::Policy;

}  // namespace sweepsort
