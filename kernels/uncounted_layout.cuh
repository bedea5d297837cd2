// uncounted_layout.cuh - how much of the scratch array each region of an uncounted partition gets, and how
// many chunks a bucket may have there (uncounted_partition.cuh).
//
//     region of a parent:   | free     <──────── keys | rest |
//                            \________ room ________/ \____/ rest_room
#pragma once

#include "core/key_bits.hpp"
#include "core/rounding.hpp"
#include "kernels/msd_plan.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace sweepsort {

/// Where an uncounted partition of `count` keys leaves them, in a scratch array of keys() elements.
template <class Bits>
struct UncountedLayout {
  static constexpr uint32_t chunk = dealt_chunk<Bits>;
  // Room for the keys behind: less than a sector from each of at least 160 blocks.
  static constexpr uint32_t rest_room = round_up(160 * (32 / sizeof(Bits) - 1), chunk);
  // The most bytes for room in the regions that the keys do not fill, and for the numbers of chunks. The
  // workspace of a sort must stay below 64 MiB, which matters from 2^28 (8-byte keys) and 2^29 on.
  static constexpr uint64_t max_bytes = 55u << 20;

  uint32_t room = 0;               // keys of a region, in front of its rest
  uint32_t chunks_per_bucket = 0;  // at most

  constexpr UncountedLayout(uint64_t count, uint32_t bucket_bits) {
    const auto bucket = static_cast<uint32_t>(count >> bucket_bits);
    // Two more: one for rounding up, and one that is not full. The numbers fill whole vectors of 16 bytes.
    chunks_per_bucket = ((bucket + bucket / 64 + 8 * deviation(bucket)) / chunk + 2 + 7) / 8 * 8;

    // Room for one chunk per child, for a little room that the map may leave at the ends of the range, and
    // for what chance adds. Three standard deviations suffice: a region that gets more keys also has chunks
    // that random keys leave free. In a simulation of 40 regions their children had up to 142 chunks (8-byte
    // keys) or 182 more than their keys fill, and up to 224 where digits come in turn.
    const auto mean = static_cast<uint32_t>(count / msd_digits);
    const uint32_t wanted = msd_digits * chunk + mean / 512 + 3 * deviation(mean);
    const uint64_t left = max_bytes - sizeof(uint16_t) * (uint64_t{chunks_per_bucket} << bucket_bits);
    const uint64_t most = left / sizeof(Bits) / msd_digits - rest_room;
    room = round_up(mean, chunk) +
           static_cast<uint32_t>(std::min<uint64_t>(round_up(wanted, chunk), most / chunk * chunk));
  }
  SWEEPSORT_HOST_DEVICE constexpr uint32_t region() const { return room + rest_room; }
  constexpr uint64_t keys() const { return uint64_t{region()} * msd_digits; }

 private:
  /// The standard deviation of a Poisson distribution.
  static constexpr uint32_t deviation(uint32_t mean) { return std::max(1u, root_rounded_up(mean)); }
};

}  // namespace sweepsort
