// tuning.hpp - the sizes at which the CPU sorts change algorithms. Tests set them small, so that small inputs
// take the big ones.
#pragma once

#include "backend/backend.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sweepsort {

enum class Accelerator : uint8_t {
  automatic,  // Highway's VQSort where it is built in and this processor gains by it
  never,      // own radix sort alone
  always,     // VQSort wherever it is built in
};

struct CpuTuning {
  Accelerator accelerator = Accelerator::automatic;
  /// A bucket of so many bytes (keys and values) or fewer is finished by one thread in a scratch of the same
  /// size.
  size_t bucket_capacity_bytes = 1u << 20;
  /// What a split aims at: a bucket and its scratch in a second-level cache.
  size_t bucket_target_bytes = 256u << 10;
  /// Most ways of one split, as bits. 2^11 write-combining lines are 128 KiB.
  uint32_t split_bits = 11;
  /// Fewer keys than this are not worth starting a thread.
  uint64_t keys_per_thread = 128u << 10;
  /// Keys of a smaller range (max - min) are counted, if there are eight times as many keys.
  uint64_t counting_range = 1u << 16;
  /// SortAlgorithm::counting refuses ranges from here on.
  uint64_t forced_counting_range = 1u << 20;
  /// Splits of at least so many keys look at a sample first, to see whether digits would deal them out
  /// evenly.
  uint64_t sample_from = 64u << 10;
  /// Sessions of at least so many bytes of keys whose sample is known split them while they arrive.
  uint64_t split_session_bytes = 64u << 20;
  /// Of one bucket and thread; a power of two from 256 on.
  uint32_t split_block_bytes = 4096;
  /// What they may take beside the keys, as a share of those.
  double split_extra = 1;
};

/// make_cpu_backend for tests and measurements.
std::unique_ptr<Backend> make_tuned_cpu_backend(uint32_t threads, const CpuTuning& tuning);

}  // namespace sweepsort
