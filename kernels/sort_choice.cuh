// sort_choice.cuh - which methods the host tries for a number of records, before it knows anything of the
// keys (radix_sort.cuh). What the plan decides on the device is elsewhere (kernels/README.md, "Where is
// ...?").
//
// They are asked in this order: one block, grid, no digest, tiled grid, portioned grid, MSD. A method that
// "fits" sorts the records; one that is "tried" may leave them to the next, at last to a digest and what it
// leads to. A portable policy goes by the digest alone. The functions are pure, but for those that ask how
// many blocks of a grid sort the current device holds at once.
#pragma once

#include "core/algorithm.hpp"
#include "core/no_value.hpp"
#include "kernels/grid_sort.cuh"
#include "kernels/one_block_sort.cuh"
#include "kernels/policy_even_grid.cuh"
#include "kernels/policy_msd.cuh"
#include "kernels/policy_one_launch.cuh"
#include "kernels/policy_passes.cuh"
#include "kernels/portioned_grid_sort.cuh"
#include "kernels/radix_msd.cuh"
#include "kernels/tiled_grid_sort.cuh"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

/// True if one block sorts the records.
template <class Bits, class Value, class Policy = TunedOnesweep<Bits, Value>>
constexpr bool fits_one_block(SortAlgorithm algorithm, uint64_t count) {
  if constexpr (has_one_block<Bits, Value> && !Policy::is_portable)
    return algorithm == SortAlgorithm::automatic && count <= max_in_one_block<Bits, Value>;
  return false;
}

/// Whether the workspace has room for a grid sort. It has from some number of records on, so that more
/// records never need less memory. The same for ...
template <class Bits, class Value, class Policy = TunedOnesweep<Bits, Value>>
constexpr bool has_room_for_grid(uint64_t count) {
  return has_grid_sort<Bits, Value> && !Policy::is_portable &&
         !fits_one_block<Bits, Value>(SortAlgorithm::automatic, count);
}

/// ... a tiled grid sort.
template <class Bits, class Value, class Policy = TunedOnesweep<Bits, Value>>
constexpr bool has_room_for_tiled_grid(uint64_t count) {
  if constexpr (has_tiled_grid_sort<Bits, Value> && !Policy::is_portable)
    return count >= TunedTiledGrid<Bits, Value>::min_count;
  return false;
}

/// ... a portioned grid sort.
template <class Bits, class Value, class Policy = TunedOnesweep<Bits, Value>>
constexpr bool has_room_for_portioned_grid(uint64_t count) {
  if constexpr (has_portioned_grid_sort<Bits, Value> && !Policy::is_portable)
    return count > max_in_grid<std::conditional_t<min_in_large_grid<Bits, Value> != 0,
                                                  MiddleGridSort<Bits, Value>, LargestGridSort<Bits, Value>>>;
  return false;
}

/// True if the MSD sort is tried first.
template <class Bits, class Value, class Policy = TunedOnesweep<Bits, Value>>
constexpr bool tries_msd(SortAlgorithm algorithm, uint64_t count) {
  if constexpr (has_msd_sort<Bits, Value> && !Policy::is_portable) {
    using Msd = TunedMsd<Bits, Value>;
    // The survey recognises keys in order only if no two samples have the same position (SampledOrder).
    static_assert(Msd::limits.min_count / 2 >= survey_detail::samples);
    return algorithm == SortAlgorithm::automatic && count >= Msd::limits.min_count;
  }
  return false;
}

/// Whether the portioned grid sort is tried although the large grid sort could hold the records.
template <class Bits, class Value>
constexpr bool skips_large_grid(uint64_t count) {
  if constexpr (min_in_large_grid<Bits, Value> != 0)
    return count > max_in_grid<MiddleGridSort<Bits, Value>> && count < min_in_large_grid<Bits, Value>;
  return false;
}

/// Whether one cooperative launch of the current device sorts the records.
template <class Bits, class Value, class Policy = TunedOnesweep<Bits, Value>>
bool fits_grid(SortAlgorithm algorithm, uint64_t count) {
  if constexpr (has_grid_sort<Bits, Value> && !Policy::is_portable)
    return algorithm == SortAlgorithm::automatic && !fits_one_block<Bits, Value>(algorithm, count) &&
           !tries_msd<Bits, Value>(algorithm, count) && !skips_large_grid<Bits, Value>(count) &&
           count <= grid_capacity<Bits, Value, LargestGridSort<Bits, Value>>();
  return false;
}

/// Whether a tiled grid sort is tried first on the current device.
template <class Bits, class Value, class Policy = TunedOnesweep<Bits, Value>>
bool tries_tiled_grid(SortAlgorithm algorithm, uint64_t count) {
  if constexpr (has_tiled_grid_sort<Bits, Value> && !Policy::is_portable) {
    using Tiled = TunedTiledGrid<Bits, Value>;
    return algorithm == SortAlgorithm::automatic && count >= Tiled::min_count &&
           count <= std::min(Tiled::max_count, tiled_grid_capacity<Bits, Tiled>());
  }
  return false;
}

/// Whether a portioned grid sort is tried first on the current device.
template <class Bits, class Value, class Policy = TunedOnesweep<Bits, Value>>
bool tries_portioned_grid(SortAlgorithm algorithm, uint64_t count) {
  if constexpr (has_portioned_grid_sort<Bits, Value> && !Policy::is_portable)
    return algorithm == SortAlgorithm::automatic && has_room_for_portioned_grid<Bits, Value>(count) &&
           count <= portioned_grid_capacity<Bits, Value>();
  return false;
}

/// True if keys of this width are sorted without a digest, because the digest would cost as much as the sort.
template <class Bits, class Value, class Policy = TunedOnesweep<Bits, Value>>
constexpr bool sorts_without_digest(SortAlgorithm algorithm) {
  return !Policy::is_portable && sizeof(Bits) == 2 && value_bytes<Value> == 0 &&
         algorithm != SortAlgorithm::radix;
}

/// Whether keys with few different digits in their digest are counted, in case they have few distinct values.
/// True only where no other method looks for few values. H200, 2^22 u32+u32 pairs of two and 16 values, us:
/// 141 and 146 -> 104 and 108 (CUB 135 and 144). H100, 2^24 u32 alone 272 and 297 -> 147 and 150 (339 and
/// 347), uniform 2^23 107.2 -> 109.5.
template <class Bits, class Value, class Policy = TunedOnesweep<Bits, Value>>
constexpr bool asks_digest_for_few(SortAlgorithm algorithm, uint64_t count) {
  if constexpr (has_msd_sort<Bits, Value> && !Policy::is_portable)
    return algorithm == SortAlgorithm::automatic && count >= uint64_t{1} << 20 &&
           !tries_msd<Bits, Value>(algorithm, count);
  return false;
}

}  // namespace sweepsort
