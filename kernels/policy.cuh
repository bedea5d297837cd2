// policy.cuh - tuning as data: threads and keys per thread for each kind of record.
//
// Each row is kept with the measurement that chose it. A record without a row for the LSD passes does not
// compile. A record without another row (void) is not sorted by that method. The rows are for compute
// capability 9.0 and newer (227 KiB of shared memory per block); bench/README.md says how they were measured.
// What is called `portable` is for every other device (64 KiB) and was not measured on any.
#pragma once

#include "core/no_value.hpp"
#include "core/rounding.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

/// histogram.cuh: one block per multiprocessor.
struct DigestPolicy {
  uint32_t threads;
  uint32_t vectors_in_flight;  // 16-byte loads a thread issues before it uses the first
  uint32_t shared_bytes;       // counters: as many lane-private columns as fit
};
inline constexpr DigestPolicy digest_policy{
    .threads = 1024, .vectors_in_flight = 4, .shared_bytes = 128 * 1024};
inline constexpr uint32_t portable_digest_shared_bytes = 32 * 1024;

/// radix_onesweep.cuh: one tile is threads * keys_per_thread records.
struct OnesweepRow {
  uint32_t key_bytes = 0;
  uint32_t value_bytes = 0;
  uint32_t threads;
  uint32_t keys_per_thread;
  uint32_t blocks_per_multiprocessor;
};

// H200, CUDA 13.0, 2^28 uniform records, 2026-11-21, whole sorts, against CUB in the same run. Runners-up in
// ms:
//   u32      4.09   (512x20 4.22, 384x24 4.24, 1024x24 4.33, 512x16 4.38, 512x28 4.49; CUB 5.43)
//   u64      12.9   (512x16 13.1, 1024x16 13.2, 512x12 13.5, 1024x12 13.9, 512x10 14.1; CUB 16.4)
// Pairs usually come here because they are skewed: the AND of five, 2026-11-22, microseconds at 2^22 and 2^24
// and ms at 2^28:
//   u32+u32  147   439  5.93   (512x18 155  448 5.84, 512x12 167  483 6.58, 1024x12 178  525 7.21)
//   u64+u32  361  1145 16.4    (512x10 360 1172 17.0, 1024x8 393 1304 19.3)
//   u64+u64  415  1382 20.5    (512x12 429 1371 20.1,  512x8 447 1448 21.5,  1024x8 471 1537 22.6)
// CUB: 183 545 7.86; 406 1240 18.2; 456 1494 22.3. u64+u64 has 384x12 since values move together with their
// keys (figures at moves_at_once). u64+u32 by more sizes, 2026-11-30, AND of three / hashed Zipf, us at 2^21,
// 2^22, 2^24 and ms at 2^28:
//   512x16   201 / 166   366 / 281   1135 / 854   16.2 / 14.3      512x14   231 / 186   359 / 275   1137 / 862   16.3 / 14.4
//   512x13   220 / 180   356 / 270   1134 / 859   16.4 / 14.5      512x12   223 / 179   363 / 275   1142 / 865   16.5 / 14.6
// 1- and 2-byte keys alone take these kernels only if radix is asked for.
// Their rows with values, and that of u32+u64, are carried over from the measured neighbours.
inline constexpr OnesweepRow onesweep_rows[] = {
    {1, 0, 512, 32, 2}, {1, 4, 512, 16, 2}, {1, 8, 512, 12, 2},  //
    {2, 0, 512, 32, 2}, {2, 4, 512, 16, 2}, {2, 8, 512, 12, 2},  //
    {4, 0, 512, 24, 2}, {4, 4, 512, 16, 2}, {4, 8, 512, 12, 2},  //
    {8, 0, 512, 14, 2}, {8, 4, 512, 16, 2}, {8, 8, 384, 12, 2},
};

// Not measured: about as many keys per thread as above, in tiles so small that two blocks fit the 64 KiB of
// compute capability 7.5 and three the 100 KiB of 8.6, 8.9 and 12.0.
inline constexpr OnesweepRow portable_onesweep_rows[] = {
    {1, 0, 256, 32, 2}, {1, 4, 256, 20, 2}, {1, 8, 256, 10, 2},  //
    {2, 0, 256, 32, 2}, {2, 4, 256, 20, 2}, {2, 8, 256, 10, 2},  //
    {4, 0, 256, 20, 2}, {4, 4, 256, 20, 2}, {4, 8, 256, 10, 2},  //
    {8, 0, 256, 10, 2}, {8, 4, 256, 10, 2}, {8, 8, 256, 10, 2},
};

template <size_t rows>
consteval OnesweepRow row_of(const OnesweepRow (&table)[rows], uint32_t key_bytes, uint32_t value_bytes) {
  for (const OnesweepRow& row : table)
    if (row.key_bytes == key_bytes && row.value_bytes == value_bytes) return row;
  throw "no tuning row for this record";
}

/// A row as a type, and its roles.
template <OnesweepRow row>
struct OnesweepPolicy {
  /// A whole sort by it uses only what every device has.
  static constexpr bool is_portable = false;
  /// Pairs lie side by side between the passes.
  static constexpr bool as_records = false;
  /// Makes what the first passes leave to do.
  static constexpr bool comes_second = false;
  static constexpr uint32_t threads = row.threads;
  static constexpr uint32_t keys_per_thread = row.keys_per_thread;
  static constexpr uint32_t blocks_per_multiprocessor = row.blocks_per_multiprocessor;
  static constexpr uint32_t tile = threads * keys_per_thread;
};

/// The same tiles in another role.
template <class Policy>
struct Portable : Policy {
  static constexpr bool is_portable = true;
};
template <class Policy>
struct AsRecords : Policy {
  static constexpr bool as_records = true;
};
template <class Policy>
struct ComesSecond : Policy {
  static constexpr bool comes_second = true;
};

template <class Policy>
inline constexpr uint32_t digest_shared_bytes =
    Policy::is_portable ? portable_digest_shared_bytes : digest_policy.shared_bytes;

template <class Value>
inline constexpr uint32_t value_bytes = std::is_same_v<Value, NoValue> ? 0 : sizeof(Value);

template <class Bits, class Value>
using TunedOnesweep = OnesweepPolicy<row_of(onesweep_rows, sizeof(Bits), value_bytes<Value>)>;
template <class Bits, class Value>
using PortableOnesweep =
    Portable<OnesweepPolicy<row_of(portable_onesweep_rows, sizeof(Bits), value_bytes<Value>)>>;

/// From how many bytes of pairs on passes may move them as records. With fewer bytes, the gain is no more
/// than the time of the additional launch if it finds nothing to do (4 to 6 us).
//
// H100, CUDA 13.0, 2026-11-25, whole sorts by digits (--algorithm radix), columns -> records, microseconds:
//
//               u32+u32 2^23   2^24         2^28              u64+u64 2^24
//   uniform     328 -> 326     634 -> 587   9,800 -> 8,650    2,223 -> 2,001
//   hashed Zipf 318 -> 321     598 -> 571   8,465 -> 7,837    2,053 -> 1,956
//   nearly sorted 319 -> 312   636 -> 594   9,860 -> 8,719    1,151 -> 1,059
//
// Records of 12 bytes, a word at a time: u64+u32 2^24 uniform 1,740 -> 1,820, with 10 keys per thread, their
// values in registers, 1,672; the AND of five 1,350 -> 1,610 and 1,405. Values in registers while keys are
// ranked: 532 bytes of them spilled with u32+u32, uniform 712. Records only in the scratch array: half of the
// gain. Digits that alternate from tile to tile, 16 at each place, lose 4 to 6 %, so such places count as
// hot.
#if defined(__CUDACC__)
inline constexpr uint64_t min_record_bytes = uint64_t{128} << 20;
#else
inline constexpr uint64_t min_record_bytes = 0;  // the emulator's arrays are small
#endif

/// From how many keys on there may be a second launch of passes: after passes by leading digits alone
/// (leading_digits.cuh), or by live bits (live_bits.cuh).
//
// H100, CUDA 13.0, 2026-11-25, whole sorts in a graph, microseconds, without -> with them; CUB in brackets:
//
//   leading digits    u64+u32 2^21       2^24                     u64+u64 2^21       2^24
//   hashed Zipf       270 -> 225 (278)   1,611 -> 1,143 (1,525)   311 -> 258 (322)   1,980 -> 1,377 (1,921)
//   AND of three      276 -> 273 (272)   1,499 -> 1,504 (1,476)   311 -> 317 (310)   1,928 -> 1,932 (1,833)
//
//   live bits         u64+u32 2^21       2^24                     u32+u32 2^24       u32 2^25
//   block-alternating 250 -> 210 (245)   1,374 ->   912 (1,396)   524 -> 384 (563)   604 -> 473
//   AND of three      270 -> 272         1,489 -> 1,491           556 -> 557         640 -> 637
//
// If other methods have sorted the keys, this launch finds nothing to do, which takes 0.8 us. The second
// passes run with 264 blocks; with 132, u64+u32 2^24 block-alternating took 1,041 where it took 958.
#if defined(__CUDACC__)
inline constexpr uint64_t min_second_count = uint64_t{1} << 20;
#else
inline constexpr uint64_t min_second_count = 2'000;
#endif

/// Keys of one portion of a onesweep pass, before rounding to a whole number of tiles. Their counts must fit
/// the 30 bits of a look-back status, and the statuses of its tiles must fit 54 MiB. 2^28 keys are one
/// portion, except pairs of 16 bytes: in a second portion with a few of the keys, all rows would have to be
/// marked, too, and sorts would take 3 to 5 % longer.
template <class Policy>
inline constexpr uint64_t onesweep_portion = std::min<uint64_t>((uint64_t{1} << 28) + Policy::tile - 1,
                                                                (54u << 10) * Policy::tile);

/// radix_partition.cuh: a thread has `batch` atomics in flight at once.
template <uint32_t threads_, uint32_t keys_per_thread_, uint32_t batch_, uint32_t blocks_per_multiprocessor_>
struct PartitionPolicy {
  static constexpr uint32_t blocks_per_multiprocessor = blocks_per_multiprocessor_;
  static constexpr uint32_t threads = threads_;
  static constexpr uint32_t keys_per_thread = keys_per_thread_;
  static constexpr uint32_t batch = batch_;
  static constexpr uint32_t tile = threads * keys_per_thread;
};

/// bucket_sort.cuh: buckets of up to threads * keys_per_thread records, divided into `parts`. The number of a
/// late key among those of its word has `number_bits`, 8 or 16.
template <uint32_t threads_, uint32_t keys_per_thread_, uint32_t blocks_per_multiprocessor_, uint32_t parts_,
          uint32_t number_bits_ = 8>
struct BucketSortPolicy {
  static constexpr uint32_t threads = threads_;
  static constexpr uint32_t keys_per_thread = keys_per_thread_;
  static constexpr uint32_t blocks_per_multiprocessor = blocks_per_multiprocessor_;
  static constexpr uint32_t parts = parts_;
  static constexpr uint32_t number_bits = number_bits_;
  static constexpr uint32_t max_keys = threads * keys_per_thread;
};

/// The same for buckets whose values repeat, so that many keys come late. Open buckets are sorted with it,
/// too.
template <class Policy>
using ForRepeated = BucketSortPolicy<Policy::threads, Policy::keys_per_thread,
                                     Policy::blocks_per_multiprocessor, Policy::parts, 16>;

/// radix_msd.cuh: how many records a method pays for. A member named `_from` is the number of records from
/// which something is done.
struct MsdLimits {
  /// The most records per bucket on average.
  uint32_t bucket_keys = 4096;
  /// Fewer records than this are left to other sorts.
  uint64_t min_count = uint64_t{1} << 21;
  /// Buckets too large for one block are counted if they span few values. (With fewer keys, if there are such
  /// buckets, some are usually larger still, and a launch that finds nothing to do takes 1.3 us.)
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
  /// values as there are pairs. Narrow pairs use the default. (Figures in bench/notes/gpu-sort.md, "Pairs
  /// whose keys repeat".)
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
/// (uncounted_partition.cuh), with the `Deal` row.
template <class Msd, class Deal_, uint64_t dealt_from_, uint64_t dealt_to_>
struct DealingMsd : Msd {
  using Deal = Deal_;
  static constexpr bool deals = true;
  static constexpr uint64_t dealt_from = dealt_from_;
  static constexpr uint64_t dealt_to = dealt_to_;
};

/// The same, but crowded pairs with keys of 8 bytes are divided by splitters (splitters.cuh) from split_from
/// records on, into buckets of split_keys on average. `SplitSmall` blocks sort these digit by digit,
/// `SplitLarge` blocks sort larger ones, and the MSD sort's blocks sort even larger ones.
//
// H100, CUDA 13.0, 2026-11-26, AND of three / of five, us, by a program of radix_msd.cuh alone; passes by
// digits and CUB in brackets:
//
//   u64+u64   2^22    463 /   422  (517,  533 / 519,  506)     2^24  1,442 / 1,112  (1,884, 1,832 / 1,767, 1,736)
//             2^23    801 /   676  (988,  968 / 934,  918)     2^25  2,893 / 2,110
//   u64+u32   2^22    453 /   403  (419,  415 / 437,  433)     2^24  1,333 /   997  (1,490, 1,465 / 1,377, 1,388)
//             2^23    752 /   617  (805,  799 / 755,  757)     2^25  2,587 / 1,852
//
// All buckets of 2^24 u64+u64, AND of three, by ncu, threads x keys x blocks per multiprocessor; 1,024
// records on average, in brackets what larger blocks had to sort: 256x9x4 807 (117), 256x9x3 745 (117),
// 256x9x2 760 (117), 256x7x4 571 (354), 512x4x3 887 (210); 256x7x4 and then 512x9x2, from a sample twice as
// large, 630 (77); of 2,048 512x9x2 938 (140).
template <class Msd, class SplitSmall_, class SplitLarge_, uint32_t split_keys_, uint64_t split_from_>
struct SplittingMsd : Msd {
  using SplitSmall = SplitSmall_;
  using SplitLarge = SplitLarge_;
  static constexpr bool splits = true;
  static constexpr uint32_t split_keys = split_keys_;
  static constexpr uint64_t split_from = split_from_;
};

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

/// Records without a row (1- and 2-byte keys) have no MSD sort. It begins above what the grid sort takes. For
/// u32 keys and u32 pairs it begins later, as the LSD sort takes about as long there and never gives up
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
//
// There are at most as many keys as chunk numbers of 16 bits allow. Fewer than 2^26 keys were not tried.
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
using TunedSplit = SplittingMsd<Msd, BucketSortPolicy<256, 7, 4, 16384>, BucketSortPolicy<512, 9, 2, 32768>,
                                1024, split_from>;
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

/// More pairs than that (portioned_grid_sort.cuh); void for records that have no such sort.
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

/// Fewer pairs than this that only the large grid sort holds are tried by the portioned sort first; 0: none
/// are. A large share has nearly the same latency however full it is, and needs a pass per digit for keys
/// that are not even.
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

/// counting_sort.cuh.
struct CountingPolicy {
  uint32_t histogram_threads;
  uint32_t histogram_vectors_in_flight;
  uint32_t expand_threads;
  uint32_t expand_vectors;  // 16-byte stores per thread and chunk
};
inline constexpr CountingPolicy counting_policy{
    .histogram_threads = 1024, .histogram_vectors_in_flight = 4, .expand_threads = 256, .expand_vectors = 4};

/// The most distinct values (largest - smallest + 1) for which keys alone are counted instead of moved.
inline constexpr uint32_t counting_bins = 1u << 16;

/// scan_lookback.cuh: a tile belongs to a block of `threads` threads, each with `rows` vectors of 16 bytes.
/// The look-back reads 32 * statuses_per_lane statuses at once.
template <uint32_t threads_, uint32_t rows_, uint32_t statuses_per_lane_>
struct ScanPolicy {
  static constexpr uint32_t threads = threads_;
  static constexpr uint32_t rows = rows_;
  static constexpr uint32_t statuses_per_lane = statuses_per_lane_;
};

// Operators that do not commute, elements of more than 8 bytes: H200, CUDA 13.0, u32, 2026-11-21,
// microseconds a scan in a graph of 50, data in the second-level cache; CUB last:
//   2^14  512x1 2.7  256x1 3.0                       2.95
//   2^17  512x1 3.4  512x2 3.6  256x1 4.0            3.9
//   2^20  512x4 5.4  1024x4 5.8  1024x2 5.9          6.6
//   2^21  1024x4 7.2  512x8 8.1  512x4 9.3           8.3
using SmallScan = ScanPolicy<512, 1, 5>;
using MediumScan = ScanPolicy<512, 4, 5>;
using LargeScan = ScanPolicy<1024, 4, 1>;

/// scan_wave.cuh: a tile belongs to a block of `threads` threads, each with `rows` vectors of 16 bytes.
template <uint32_t threads_, uint32_t rows_>
struct ScanWavePolicy {
  static constexpr uint32_t threads = threads_;
  static constexpr uint32_t rows = rows_;
  static constexpr uint32_t blocks_each = 1024 / threads;  // on a multiprocessor, all at the same time
};

// H200, CUDA 13.0, 2026-11-22, microseconds as above; CUB last:
//   u32 2^16  256x1 2.1  512x1 2.15  256x2 2.15  512x2 2.55  512x4 2.65   3.9
//   u32 2^18  512x1 2.5  256x2 2.4  512x4 2.75  512x2 2.8  256x1 3.4      4.8
//   u32 2^20  512x4 3.6  512x2 6.1                                        6.8
//   u64 2^16  256x2 2.4  512x2 2.6  512x4 3.35  512x1 3.45                4.3
//   u64 2^18  512x2 3.0  512x4 3.4  512x1 11                              5.1
template <class T>
using SmallScanWave = ScanWavePolicy<512, sizeof(T) == 8 ? 2 : 1>;
template <class T>
using MediumScanWave = ScanWavePolicy<512, 4>;

/// How often a block looks for the sum of a tile, at 0.3 us or more each time, before it adds up the tile
/// itself.
#if defined(__CUDACC__)
inline constexpr uint32_t scan_wave_patience = 2000;
#else
inline constexpr uint32_t scan_wave_patience = 4;  // the emulator runs blocks in any order, so mostly in vain
#endif

/// scan_ring.cuh: a stage holds scan_warps * rows * 512 bytes.
template <uint32_t stages_, uint32_t scan_warps_, uint32_t rows_>
struct ScanRingPolicy {
  static constexpr uint32_t stages = stages_;
  static constexpr uint32_t scan_warps = scan_warps_;
  static constexpr uint32_t rows = rows_;
};

// H200, CUDA 13.0, 2026-11-21, ms; stages/scan_warps/rows; a copy of the same bytes and CUB last:
//   u32 2^28        6/9/5 0.526  6/12/4 0.528  7/9/5 0.529  8/9/5 0.532  6/10/5 0.535    0.508  0.694
//   u32 2^24 cold   6/9/5 0.042  8/11/4 0.041  7/9/5 0.042  8/6/5 0.044  8/12/3 0.044    0.036  0.052
//   u64 2^28        6/9/6 1.047  8/12/4 1.051  8/9/5 1.051  6/9/5 1.054                  1.018  1.254
// 4/12/7 took 0.82 and, with u64, 5/12/6 1.6: not looked into.
template <class T>
using TunedScanRing = std::conditional_t<sizeof(T) == 8, ScanRingPolicy<6, 9, 6>, ScanRingPolicy<6, 9, 5>>;

/// reduce.cuh: a tile is threads * vectors_per_thread loads of 16 bytes.
struct ReducePolicy {
  uint32_t threads;
  uint32_t vectors_per_thread;
};
// H200, u32 2^28, 2026-11-21: 0.235 ms (CUB 0.243); f32 the same (CUB 0.271), u64 0.464 (CUB 0.473).
inline constexpr ReducePolicy reduce_policy{.threads = 512, .vectors_per_thread = 8};

/// unique.cuh: a tile belongs to a block of `threads` threads, each with one key in each of its warp's
/// `rows`.
//
// H200, CUDA 13.0, 2026-11-28, microseconds a launch in a graph of 30; keys stand once, some twice / 4 times
// in the mean / there are a few keys alone; threads x rows / statuses a lane; CUB's run-length encoding,
// which also writes keys and a count each, last:
//   u32 2^18  512x16/1  5.2/4.3/4.1   512x16/4  5.6/ 4.6/ 4.4   512x8/4   5.4/ 4.5/ 4.4  5.1/ 4.7/ 4.7
//   u32 2^21  512x16/1 11.5/8.3/7.1   512x16/4 11.9/ 8.7/ 7.7   512x8/4  14.2/11.2/10.4 12.5/10.4/ 9.8
//   u64 2^20  512x16/1  8.5/6.5/6.1   512x16/4  8.8/ 6.8/ 6.2   512x8/4   9.5/ 7.5/ 7.0 11.4/ 8.2/ 7.6
//   u8  2^21  512x16/1 10.2/8.4/7.1   512x16/4 10.7/ 9.0/ 7.7   512x8/4  12.8/11.4/10.1 12.1/ 9.3/ 8.7
//   u32 2^26  512x16/1  342/245/187   512x16/4  358/ 262/ 212   512x8/4   391/ 307/ 262  287/ 199/ 174
// A chunk of a file has 2^18 to 2^23 keys. CUB's selection, which writes no counts, takes 9.0/7.4/6.7 for
// 2^21 u32.
struct UniquePolicy {
  static constexpr uint32_t threads = 512;
  static constexpr uint32_t rows = 16;
  static constexpr uint32_t statuses_per_lane = 1;
  static constexpr uint32_t tile = threads * rows;
  static constexpr uint64_t tiles(uint64_t keys) { return ceil_divide(keys, tile); }
};

}  // namespace sweepsort
