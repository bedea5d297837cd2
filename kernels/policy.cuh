// policy.cuh - tuning as data: how many threads, how many keys a thread, for each kind of record.
//
// A row is kept with the measurement that chose it. A record without a row does not compile. The rows are for
// compute capability 9.0 and newer (227 KiB of shared memory a block); bench/README.md tells how they were
// measured.
#pragma once

#include <cstdint>

namespace sweepsort {

/// histogram.cuh: one block a multiprocessor.
struct DigestPolicy {
  uint32_t threads;
  uint32_t vectors_in_flight;  // 16-byte loads a thread issues before it uses the first
  uint32_t shared_bytes;       // counters: as many lane-private columns as fit
};
inline constexpr DigestPolicy digest_policy{
    .threads = 1024, .vectors_in_flight = 4, .shared_bytes = 128 * 1024};

/// radix_onesweep.cuh: one tile is threads * keys_a_thread records.
struct OnesweepRow {
  uint32_t key_bytes;
  uint32_t value_bytes;
  uint32_t threads;
  uint32_t keys_a_thread;
  uint32_t blocks_a_multiprocessor;
};

inline constexpr OnesweepRow onesweep_rows[] = {
    {1, 0, 512, 32, 2}, {1, 4, 512, 16, 2}, {1, 8, 512, 12, 2},  //
    {2, 0, 512, 32, 2}, {2, 4, 512, 16, 2}, {2, 8, 512, 12, 2},  //
    {4, 0, 512, 24, 2}, {4, 4, 512, 16, 2}, {4, 8, 512, 12, 2},  //
    {8, 0, 512, 14, 2}, {8, 4, 512, 12, 2}, {8, 8, 512, 12, 2},
};

consteval OnesweepRow onesweep_row(uint32_t key_bytes, uint32_t value_bytes) {
  for (const OnesweepRow& row : onesweep_rows)
    if (row.key_bytes == key_bytes && row.value_bytes == value_bytes) return row;
  throw "no tuning row for this record";
}

/// A row as a type, which is what a kernel's template arguments can carry.
template <uint32_t threads_, uint32_t keys_a_thread_, uint32_t blocks_a_multiprocessor_>
struct OnesweepPolicy {
  static constexpr uint32_t threads = threads_;
  static constexpr uint32_t keys_a_thread = keys_a_thread_;
  static constexpr uint32_t blocks_a_multiprocessor = blocks_a_multiprocessor_;
  static constexpr uint32_t tile = threads * keys_a_thread;
};

template <uint32_t key_bytes, uint32_t value_bytes>
using TunedOnesweep = OnesweepPolicy<onesweep_row(key_bytes, value_bytes).threads,
                                     onesweep_row(key_bytes, value_bytes).keys_a_thread,
                                     onesweep_row(key_bytes, value_bytes).blocks_a_multiprocessor>;

/// Keys that one launch of the onesweep kernel takes: their counts must fit the 30 bits of a look-back
/// status.
inline constexpr uint64_t onesweep_portion = uint64_t{1} << 29;

/// counting_sort.cuh.
struct CountingPolicy {
  uint32_t histogram_threads;
  uint32_t expand_threads;
  uint32_t expand_vectors;  // 16-byte stores a thread and tile
  uint32_t expand_blocks_a_multiprocessor;
};
inline constexpr CountingPolicy counting_policy{.histogram_threads = 1024,
                                                .expand_threads = 256,
                                                .expand_vectors = 8,
                                                .expand_blocks_a_multiprocessor = 64};

/// Distinct values (largest - smallest + 1) up to which keys alone are counted instead of moved.
inline constexpr uint32_t counting_bins = 1u << 16;

}  // namespace sweepsort
