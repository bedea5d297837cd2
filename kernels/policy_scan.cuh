// policy_scan.cuh - tuning rows (policy.cuh) of the scans, of the search for a minimum and of the stream
// compaction.
#pragma once

#include "core/rounding.hpp"

#include <cstdint>
#include <type_traits>

namespace sweepsort {

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
