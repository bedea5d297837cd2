// partition_bins.cuh - the shared memory of a block that partitions records (radix_partition.cuh): a bin per
// child, each with a number of slots that fits what a tile is expected to bring, and the word by which
// records take slots.
//
//     begin[0]      begin[1]    begin[2]
//     |- - x x x . .|- x . . . .|x x x x x x . .|     -  gap: stands for records of other blocks or bins
//                ^                                    x  a record
//                next[0]: slot 5, 2 left              .  room
#pragma once

#include "core/no_value.hpp"
#include "core/rounding.hpp"
#include "kernels/msd_plan.cuh"
#include "kernels/pair_arrays.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

namespace partition_detail {

/// A bin's room for deviations, in tenths of a standard deviation.
inline constexpr uint32_t tenths_of_deviation = 27;

/// Slots of a bin whose child is expected to get `share` records of a tile. They include room for deviations,
/// for what was left over, and for the gap before an unaligned start.
template <uint32_t granule_>
__device__ __forceinline__ uint32_t bin_capacity(float share) {
  const uint32_t room =
      static_cast<uint32_t>(share + tenths_of_deviation / 10.0f * sqrtf(share)) + granule_ + 3;
  return round_up(room, granule_);
}

/// Slots of all bins together: the sum of bin_capacity, which is largest if all shares are equal. The square
/// roots of 256 equal shares add up to 16 times the square root of a tile.
static_assert(msd_digits == 16 * 16);
template <class Policy, uint32_t granule_>
inline constexpr uint32_t slots =
    Policy::tile +
    tenths_of_deviation* root_rounded_up(Policy::tile) * 16 / 10 + msd_digits*(2 * granule_ + 4);

/// The low half of a word is a slot's number. The high half, signed, is how many slots its bin still has. So
/// one atomic addition takes a slot and tells whether there was room. The numbers of slots without room may
/// pass 2^16 and begin again; the carry does not make room.
namespace slot {
__device__ __forceinline__ uint32_t make(uint32_t number, uint32_t left) { return number | left << 16; }
__device__ __forceinline__ uint32_t number(uint32_t slot) { return slot & 0xffff; }
/// How many slots `slot` is behind the slot with the number `begin`.
__device__ __forceinline__ uint32_t distance(uint32_t begin, uint32_t slot) {
  return (slot - begin) & 0xffff;
}
__device__ __forceinline__ bool has_room(uint32_t slot) { return static_cast<int32_t>(slot) > 0xffff; }
/// The slot `records` further on.
__device__ __forceinline__ uint32_t after(uint32_t slot, uint32_t records) {
  return slot + records * 0xffff0001u;
}
}  // namespace slot

/// Where a level, 0 or 1, takes its records from and where it puts them. `Stored`: the type in which keys are
/// stored.
template <class Bits, class Value, uint32_t level, class Stored>
struct Ways {
  static constexpr bool with_values = value_bytes<Value> != 0;
  static constexpr bool from_records = with_values && level == 1;
  static constexpr bool to_records = with_values && level == 0;
  using In = std::conditional_t<from_records, PairRecords<Bits, Value>, PairColumns<const Bits, const Value>>;
  using Out = std::conditional_t<to_records, PairRecords<Bits, Value>, PairColumns<Stored, Value>>;
  /// The number of records that advances the addresses in all columns by whole sectors.
  static constexpr uint32_t granule =
      to_records ? PairRecord<Bits, Value>::granule : granule_of<Stored, Value>;
};

template <class Bits, class Value, class Policy, uint32_t level, class Stored = Bits>
struct Shared {
  using LevelWays = Ways<Bits, Value, level, Stored>;
  static constexpr bool with_values = LevelWays::with_values;
  static constexpr uint32_t warps = with_values ? Policy::threads / warp_threads : 1;
  static constexpr uint32_t bin_slots = slots<Policy, LevelWays::granule>;
  static_assert(bin_slots < 1u << 16 && Policy::tile <= 1u << 15);

  uint64_t out[msd_digits];  // where in `out` the first slot of a bin goes; whole granules
  uint64_t keys_beyond[sizeof(Stored) == sizeof(Bits) ? 1 : msd_digits];  // narrow: how much further its keys
                                                                          // are
  uint32_t next[msd_digits];       // the next slot of each bin, and how many slots it has left: see slot
  uint32_t begin[msd_digits + 1];  // the first slot of each bin
  uint32_t gap[msd_digits];        // slots at its front that stand for records of other blocks or bins
  uint32_t warp_sums[Policy::threads / warp_threads];
  uint32_t job;
  const Bits* keys_in;  // input of this level; for the second level of pairs: the records
  Stored* keys_out;
  // Also the splitters of a level. The bins of pairs leave no room for more.
  alignas(8) MapPiece pieces[with_values ? 1u << coarse_piece_bits : max_map_pieces];
  uint32_t warp_counts[warps][msd_digits];  // pairs: one histogram per warp, then where its records of a
                                            // digit go
  alignas(128) Stored keys[LevelWays::to_records ? 1 : bin_slots];
  alignas(128) Value values[with_values && !LevelWays::to_records ? bin_slots : 1];
  alignas(128) PairRecord<Bits, Value> records[LevelWays::to_records ? bin_slots : 1];

  __device__ __forceinline__ typename LevelWays::Out bins() {
    if constexpr (LevelWays::to_records)
      return {records};
    else
      return {keys, values};
  }
};

}  // namespace partition_detail

}  // namespace sweepsort
