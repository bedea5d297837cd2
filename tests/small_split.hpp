// small_split.hpp - a CPU backend whose sessions split any keys while they are read. The product's sessions
// do so from 64 MiB on.
#pragma once

#include "backend/cpu/tuning.hpp"

namespace sweepsort {

/// 128 buckets of a few KiB for some 100,000 keys.
inline CpuTuning small_split() {
  return {.bucket_capacity_bytes = 16u << 10,
          .bucket_target_bytes = 4u << 10,
          .split_bits = 7,
          .keys_per_thread = 64,
          .counting_range = 512,
          .split_session_bytes = 0,
          .split_block_bytes = 256,
          .split_extra = 1000};
}

}  // namespace sweepsort
