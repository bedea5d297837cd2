// tuning.hpp - the sizes at which the CPU sorts change algorithms. Tests make them small, so that small
// inputs use the algorithms for large ones.
#pragma once

#include "backend/backend.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sweepsort {

enum class Accelerator : uint8_t {
  automatic,  // Highway's VQSort if it is compiled in and faster on this processor
  never,      // only our own radix sort
  always,     // VQSort whenever it is compiled in
};

struct CpuTuning {
  Accelerator accelerator = Accelerator::automatic;
  /// A bucket of at most this many bytes (keys and values) is finished by one thread, with scratch memory of
  /// the same size.
  size_t bucket_capacity_bytes = 1u << 20;
  /// The bucket size that a split aims at: a bucket and its scratch fit in a second-level cache.
  size_t bucket_target_bytes = 256u << 10;
  /// Most ways of one split, in bits. 2^11 write-combining lines take 128 KiB.
  uint32_t split_bits = 11;
  /// A thread is not worth starting for fewer keys than this.
  uint64_t keys_per_thread = 128u << 10;
  /// Keys with a smaller range (max - min) are counted, if there are eight times as many keys as the range.
  /// Keys of one byte are always counted.
  uint64_t counting_range = 1u << 16;
  /// SortAlgorithm::counting refuses ranges of this size or larger.
  uint64_t forced_counting_range = 1u << 20;
  /// Splits of at least this many keys first look at a sample, to see whether digits would distribute them
  /// evenly.
  uint64_t sample_from = 64u << 10;
  /// Sessions with at least this many bytes of keys and a known sample split the keys while they arrive.
  uint64_t split_session_bytes = 64u << 20;
  /// Size of a block, which holds keys of one bucket and thread; a power of two, at least 256.
  uint32_t split_block_bytes = 4096;
  /// Memory that such sessions may use besides the keys, as a multiple of the keys' size.
  double split_extra = 1;
};

/// make_cpu_backend for tests and measurements.
std::unique_ptr<Backend> make_tuned_cpu_backend(uint32_t threads, const CpuTuning& tuning);

}  // namespace sweepsort
