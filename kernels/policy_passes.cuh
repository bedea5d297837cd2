// policy_passes.cuh - tuning rows (policy.cuh) of the digest, the LSD passes and the counting sort. A record
// without a row for the LSD passes does not compile.
//
// The rows called `portable` are for devices that are not of compute capability 9.0 or newer: 64 KiB of
// shared memory per block. They were not measured on any.
#pragma once

#include "core/no_value.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

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
//   u64+u32  361  1145 16.4    (by 512x12; 512x10 360 1172 17.0, 1024x8 393 1304 19.3)
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
/// the 30 bits of a look-back status, and the statuses of its tiles must fit 53 MiB. So 2^28 keys are one
/// portion, except pairs of 16 bytes. (A second portion with few keys costs 3 to 5 % of a sort, because its
/// unused rows have to be marked, too.)
template <class Policy>
inline constexpr uint64_t onesweep_portion = std::min<uint64_t>((uint64_t{1} << 28) + Policy::tile - 1,
                                                                (53u << 10) * Policy::tile);

/// counting_sort.cuh, wide_counters.cuh.
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

/// The most distinct values, anywhere in the range, for which one counter each pays (value_table.cuh).
inline constexpr uint32_t max_listed_values = 2048;

}  // namespace sweepsort
