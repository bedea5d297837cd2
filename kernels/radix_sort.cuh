// radix_sort.cuh - a whole sort in device memory: digest, plan, and the launches that the plan may need.
//
//     up to max_in_one_block:       one block              (one_block_sort.cuh)
//     up to 2^14:                   one cluster of blocks  (grid_sort.cuh)
//     up to 1 to 4 million:         one cooperative launch (grid_sort.cuh)
//     up to 16 or 25 million keys,  another one, for keys that are even (tiled_grid_sort.cuh; pairs
//     4 or 8 million pairs:         portioned_grid_sort.cuh); the others fall back to what follows
//     large arrays:  sample ──> MSD ──┬─ in order, counted, or two partitions and buckets (radix_msd.cuh)
//                                     ├─ pairs of few values: LSD by their codes (value_codes.cuh)
//                                     └─ falls back, and everything else:
//     digest ──> plan ──┬─ nothing | copy | reverse      (rearrange.cuh)
//     (one read)        ├─ counting: count, scan, expand (counting_sort.cuh)
//                       └─ LSD: one pass a live digit    (radix_onesweep.cuh), least significant first;
//                               of random keys the leading ones (leading_digits.cuh), of others
//                               those of the bits that vary, if these are fewer (live_bits.cuh)
//
// Bytes moved per key (u32): tiled grid 16; MSD 24 or 28; digest 4; copy 8; counting 4 + 4; LSD 8 per live
// digit. Larger arrays of 2-byte keys alone are counted without digest and plan. The host launches every
// candidate. The plan, in device memory, makes all but one return at once. The order of the stream is the
// only synchronisation.
//
// A portable policy (PortableOnesweep) uses only the methods of the digest, with kernels whose shared memory
// every device has. It ranks by ballots; all other policies rank in lane order (radix_rank.cuh).
// Which methods the host tries for how many records is in sort_choice.cuh.
#pragma once

#include "core/algorithm.hpp"
#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "core/rounding.hpp"
#include "kernels/counting_sort.cuh"
#include "kernels/grid_sort.cuh"
#include "kernels/histogram.cuh"
#include "kernels/one_block_sort.cuh"
#include "kernels/policy_even_grid.cuh"
#include "kernels/policy_msd.cuh"
#include "kernels/policy_one_launch.cuh"
#include "kernels/policy_passes.cuh"
#include "kernels/portioned_grid_sort.cuh"
#include "kernels/radix_msd.cuh"
#include "kernels/radix_onesweep.cuh"
#include "kernels/rearrange.cuh"
#include "kernels/sort_arrays.cuh"
#include "kernels/sort_choice.cuh"
#include "kernels/sort_plan.cuh"
#include "kernels/tiled_grid_sort.cuh"
#include "kernels/value_codes.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

/// What a sort needs to know besides its arrays.
template <class Bits>
struct SortSettings {
  KeyMap<Bits> map;
  SortAlgorithm algorithm = SortAlgorithm::automatic;
};

/// Whether the statuses of the LSD sort lie in the scratch array, behind the keys. Keys that are sorted
/// without a histogram leave room there. The statuses are needed, and cleared, only if the MSD sort gives up.
/// Keys that are usually counted put their statuses there, too: those of 2^28 keys take 16 MiB.
template <class Bits, class Value, class Policy = TunedOnesweep<Bits, Value>>
constexpr bool puts_statuses_in_scratch(uint64_t count) {
  if constexpr (Policy::is_portable)
    return false;
  else if constexpr (has_msd_sort<Bits, Value>)
    return MsdWorkspace<Bits, Value>::has_dealt(count);
  else
    return sizeof(Bits) <= 2 && value_bytes<Value> == 0;
}

/// Index of the first status, in keys.
template <class Bits>
constexpr uint64_t first_status_key(uint64_t count) {
  return round_up(count, workspace_alignment / sizeof(Bits));
}

/// The byte of a scratch array of pairs at which the column of values begins.
template <class Bits>
constexpr uint64_t values_offset(uint64_t count) {
  return round_up(count * sizeof(Bits), workspace_alignment);
}

/// Elements of the scratch array for `count` keys. It has room to grow for the buckets of a tiled grid sort
/// and of keys that are sorted without a histogram. `status_words`: words of the statuses in it. It also
/// holds the values.
template <class Bits, class Value, class Policy = TunedOnesweep<Bits, Value>>
constexpr uint64_t scratch_keys(uint64_t count, uint64_t status_words) {
  uint64_t keys = count;
  if (value_bytes<Value> != 0)
    keys = ceil_divide(values_offset<Bits>(count) + count * sizeof(Value), sizeof(Bits));
  if (status_words != 0)  // keys alone
    keys = first_status_key<Bits>(count) + ceil_divide(status_words * sizeof(uint32_t), sizeof(Bits));
  if constexpr (has_tiled_grid_sort<Bits, Value>) {
    using Tiled = TunedTiledGrid<Bits, Value>;
    if (has_room_for_tiled_grid<Bits, Value, Policy>(count))
      keys = std::max(keys, tiled_grid_scratch<Tiled>(std::min(count, Tiled::max_count)));
  }
  if constexpr (has_msd_sort<Bits, Value>)
    if (tries_msd<Bits, Value, Policy>(SortAlgorithm::automatic, count))
      keys = std::max(keys, MsdWorkspace<Bits, Value>::scratch_keys(count));
  return keys;
}

/// All device memory of a sort besides its arrays: `count` records and at most 64 MiB.
template <class Bits, class Value, class Policy = TunedOnesweep<Bits, Value>>
struct SortWorkspace {
  DeviceSpan<Digest<Bits>> digest;
  CountingWorkspace<Bits> counting;
  OnesweepWorkspace<Bits, Value, Policy> onesweep;
  DeviceSpan<SortPlan<Bits>> plan;
  TiledGridWorkspace<TunedTiledGrid<Bits, Value>> tiled_grid;
  DeviceSpan<uint32_t> portioned_falls_back;  // 1: a portioned grid sort wrote nothing
  MsdWorkspace<Bits, Value> msd;
  size_t zeroed_bytes;  // everything above must be zero before a sort
  GridSortWorkspace<Bits> grid;
  DeviceSpan<Bits> scratch_keys;
  DeviceSpan<Value> scratch_values;
  bool has_statuses_in_scratch;  // those of the LSD sort, behind the keys

  SortWorkspace(Workspace& workspace, uint64_t count, uint64_t largest_portion = onesweep_portion<Policy>)
      : digest(workspace.take<Digest<Bits>>(1)),
        counting(workspace, value_bytes<Value> == 0),
        onesweep(workspace, count, largest_portion, !puts_statuses_in_scratch<Bits, Value, Policy>(count)),
        plan(workspace.take<SortPlan<Bits>>(1)),
        tiled_grid(workspace, has_room_for_tiled_grid<Bits, Value, Policy>(count)),
        portioned_falls_back(
            workspace.take<uint32_t>(has_room_for_portioned_grid<Bits, Value, Policy>(count))),
        msd(workspace, tries_msd<Bits, Value, Policy>(SortAlgorithm::automatic, count),
            asks_digest_for_few<Bits, Value, Policy>(SortAlgorithm::automatic, count),
            tries_msd<Bits, Value, Policy>(SortAlgorithm::automatic, count) ? count : 0),
        zeroed_bytes(msd.zeroed),
        grid(workspace, has_room_for_grid<Bits, Value, Policy>(count)),
        scratch_keys(workspace.take<Bits>(sweepsort::scratch_keys<Bits, Value, Policy>(
            count, onesweep.statuses.empty() ? onesweep.status_words() : 0))),
        scratch_values(values_in_scratch(count)),
        has_statuses_in_scratch(puts_statuses_in_scratch<Bits, Value, Policy>(count)) {
    if (has_statuses_in_scratch && scratch_keys.data() != nullptr)
      onesweep.statuses = {reinterpret_cast<uint32_t*>(scratch_keys.data() + first_status_key<Bits>(count)),
                           onesweep.status_words()};
  }

  /// The column of values of an LSD sort, behind that of the keys.
  DeviceSpan<Value> values_in_scratch(uint64_t count) const {
    if (value_bytes<Value> == 0 || scratch_keys.data() == nullptr) return {};
    std::byte* const memory = reinterpret_cast<std::byte*>(scratch_keys.data());
    return {reinterpret_cast<Value*>(memory + values_offset<Bits>(count)), count};
  }

  /// The workspace must start at the digest: nothing may have been taken from it before.
  void clear(cudaStream_t stream) const { check(cudaMemsetAsync(digest.data(), 0, zeroed_bytes, stream)); }
};

namespace sort_detail {

template <class Bits, class Value, class Policy>
SortArrays<Bits, Value> sort_arrays(DeviceSpan<const Bits> keys_in, DeviceSpan<Bits> keys_out,
                                    const Value* values_in, Value* values_out,
                                    const SortWorkspace<Bits, Value, Policy>& workspace) {
  return {.keys_in = keys_in.data(),
          .keys_scratch = workspace.scratch_keys.data(),
          .keys_out = keys_out.data(),
          .values_in = values_in,
          .values_scratch = workspace.scratch_values.data(),
          .values_out = values_out,
          .count = keys_in.size()};
}

template <class Bits, class Value, class Policy>
CodePasses<Bits> code_passes(const SortWorkspace<Bits, Value, Policy>& workspace, bool in_place) {
  return {.plan = workspace.plan.data(),
          .offsets = value_bytes<Value> != 0 ? workspace.onesweep.offsets.data() : nullptr,
          .offsets_stride = workspace.onesweep.offsets_stride(),
          .in_place = in_place};
}

/// The methods of the digest. If `wanted` (device memory) is not null and *wanted is zero, does only what
/// workspace.plan already says: nothing, or passes by code. `is_unordered`: the keys are known to be neither
/// sorted nor reversed.
template <class Bits, class Value, class Policy>
void sort_by_digest(DeviceSpan<const Bits> keys_in, DeviceSpan<Bits> keys_out, const Value* values_in,
                    Value* values_out, const SortSettings<Bits>& settings, const uint32_t* wanted,
                    bool is_unordered, const SortWorkspace<Bits, Value, Policy>& workspace,
                    cudaStream_t stream) {
  constexpr bool with_values = value_bytes<Value> != 0;
  const uint64_t count = keys_in.size();
  const bool in_place = keys_in.data() == keys_out.data();
  SortPlan<Bits>* const plan = workspace.plan.data();
  const auto& onesweep = workspace.onesweep;
  constexpr bool avoids_counting = Policy::is_portable && sizeof(Bits) > 1;
  const bool asks_for_few = asks_digest_for_few<Bits, Value, Policy>(settings.algorithm, count);
  AskedKeys<Bits> asked{.keys = keys_in.data()};
  if constexpr (has_msd_sort<Bits, Value>)
    if (asks_for_few) asked.maybe_few = &workspace.msd.plan.data()->maybe_few;
  const SortTask task{.count = count,
                      .algorithm = settings.algorithm,
                      .with_values = with_values,
                      .in_place = in_place,
                      .avoids_counting = avoids_counting,
                      .may_pass_records = may_pass_records<Bits, Value, Policy>(count),
                      .leading_digits = may_lead<Bits, Policy>(count) ? leading_digits_of(count) : 0,
                      .may_pack = may_come_second<Bits, Policy>(count)};
  make_sort_plan(workspace.digest.data(), task, settings.map, wanted, plan, onesweep.offsets.data(),
                 onesweep.offsets_stride(), asked, stream);
  if constexpr (has_msd_sort<Bits, Value>) {
    if (asks_for_few)
      count_few_values(sort_arrays(keys_in, keys_out, values_in, values_out, workspace),
                       MsdSettings<Bits>{.map = settings.map, .codes = code_passes(workspace, in_place)},
                       workspace.msd, stream);
  }
  const bool only_counts = takes_no_passes<Bits>(settings.algorithm, with_values);
  if (!only_counts && !is_unordered) {
    rearrange(keys_in.data(), keys_out.data(), count, plan, stream);
    if constexpr (with_values) rearrange(values_in, values_out, count, plan, stream);
  }
  const bool may_count =
      settings.algorithm == SortAlgorithm::counting ||
      (settings.algorithm == SortAlgorithm::automatic && counting_pays<Bits>(count) && !avoids_counting);
  if (!with_values && may_count) {
    if constexpr (avoids_counting)
      portable_counting_sort<Bits>(keys_in, keys_out, settings.map, plan, workspace.counting, stream);
    else
      counting_sort<Bits>(keys_in, keys_out, settings.map, plan, onesweep.offsets.data(), workspace.counting,
                          stream);
  }
  if (!with_values && settings.algorithm == SortAlgorithm::counting) return;
  if (only_counts) return;

  if (workspace.has_statuses_in_scratch) clear_statuses(onesweep, wanted, stream);
  const ColumnArrays<Bits> keys{keys_in.data(), workspace.scratch_keys.data(), keys_out.data()};
  const ColumnArrays<Value> values{values_in, workspace.scratch_values.data(), values_out};
  radix_onesweep(keys, values, count, plan, onesweep, stream);
  if (in_place) {
    copy_back(keys.scratch, keys.out, count, plan, stream);
    if constexpr (with_values) copy_back(values.scratch, values.out, count, plan, stream);
  }
}

/// Whether a digest is taken while the MSD sort takes its sample, in case the MSD sort gives up. H200, us:
/// u64+u32 2^22, AND of five 391 -> 378, uniform 225 -> 229; u32+u32 2^24, 440 -> 430, but 420 -> 445.
template <class Bits, class Value>
constexpr bool digests_early(uint64_t count) {
  return value_bytes<Value> != 0 && count * sizeof(Bits) <= uint64_t{32} << 20;
}

/// Tries the MSD sort, unless *wanted is zero. Returns the address (device memory) of the word that says
/// whether it fell back. `is_digested`: workspace.digest has been made. For pairs with few values, the passes
/// that workspace.plan then describes are still to be made.
template <class Bits, class Value, class Policy>
const uint32_t* try_msd(const SortArrays<Bits, Value>& arrays, const SortSettings<Bits>& settings,
                        bool is_digested, const uint32_t* wanted,
                        const SortWorkspace<Bits, Value, Policy>& workspace, cudaStream_t stream) {
  MsdSettings<Bits> msd{.map = settings.map, .wanted = wanted};
  if (is_digested)
    msd.digest = workspace.digest.data();
  else if (digests_early<Bits, Value>(arrays.count))
    msd.digest_beside = workspace.digest.data();
  if constexpr (value_bytes<Value> != 0) {
    static_assert(can_sort_codes<Bits, Value, Policy>);
    msd.codes = code_passes(workspace, arrays.keys_in == arrays.keys_out);
  }
  radix_msd(arrays, msd, workspace.msd, stream);
  return &static_cast<const MsdPlan<Bits>*>(workspace.msd.plan.data())->falls_back;
}

/// Uses the first of the grid sorts that has room for the records.
template <class Bits, class Value>
void sort_in_grid(const SortArrays<Bits, Value>& arrays, KeyMap<Bits> map,
                  const GridSortWorkspace<Bits>& workspace, cudaStream_t stream) {
  using Cluster = ClusterGridSort<Bits, Value>;
  using Small = SmallGridSort<Bits, Value>;
  using Middle = MiddleGridSort<Bits, Value>;
  if constexpr (!std::is_void_v<Cluster>)
    if (arrays.count <= grid_capacity<Bits, Value, Cluster>())
      return grid_sort<Cluster>(arrays, map, workspace, stream);
  if (arrays.count <= grid_capacity<Bits, Value, Small>())
    grid_sort<Small>(arrays, map, workspace, stream);
  else if (arrays.count <= grid_capacity<Bits, Value, Middle>())
    grid_sort<Middle>(arrays, map, workspace, stream);
  else
    grid_sort<LargestGridSort<Bits, Value>>(arrays, map, workspace, stream);
}

/// The methods of one launch, which need no digest and nothing cleared. Returns false if the records need
/// another method.
template <class Bits, class Value, class Policy>
bool sort_in_one_launch(const SortArrays<Bits, Value>& arrays, const SortSettings<Bits>& settings,
                        const SortWorkspace<Bits, Value, Policy>& workspace, cudaStream_t stream) {
  if (fits_one_block<Bits, Value>(settings.algorithm, arrays.count)) {
    sort_in_one_block(arrays, settings.map, stream);
    return true;
  }
  if (!fits_grid<Bits, Value>(settings.algorithm, arrays.count)) return false;
  if constexpr (has_grid_sort<Bits, Value>) sort_in_grid(arrays, settings.map, workspace.grid, stream);
  return true;
}

/// The methods of several launches. The workspace has been cleared. `is_digested`: workspace.digest has been
/// made.
template <class Bits, class Value, class Policy>
void sort_in_launches(const SortArrays<Bits, Value>& arrays, SortSettings<Bits> settings, bool is_digested,
                      const SortWorkspace<Bits, Value, Policy>& workspace, cudaStream_t stream) {
  const DeviceSpan<const Bits> keys_in(arrays.keys_in, arrays.count);
  const uint32_t* wanted = nullptr;  // null, or *wanted is not zero: the keys are still to be sorted
  if constexpr (has_tiled_grid_sort<Bits, Value> && !Policy::is_portable)
    if (tries_tiled_grid<Bits, Value, Policy>(settings.algorithm, arrays.count)) {
      tiled_grid_sort(arrays.keys_in, arrays.keys_scratch, arrays.keys_out, arrays.count, settings.map,
                      workspace.tiled_grid, stream);
      wanted = workspace.tiled_grid.falls_back.data();
    }
  if constexpr (has_portioned_grid_sort<Bits, Value> && !Policy::is_portable)
    if (tries_portioned_grid<Bits, Value, Policy>(settings.algorithm, arrays.count)) {
      uint32_t* const falls_back = workspace.portioned_falls_back.data();
      portioned_grid_sort<PortionedGridSort<Bits, Value>>(arrays, settings.map, workspace.grid, falls_back,
                                                          stream);
      wanted = falls_back;
    }
  bool is_unordered = false;
  bool takes_digest = !is_digested;
  if constexpr (has_msd_sort<Bits, Value> && !Policy::is_portable)
    if (tries_msd<Bits, Value>(settings.algorithm, arrays.count)) {
      wanted = try_msd(arrays, settings, is_digested, wanted, workspace, stream);
      if (digests_early<Bits, Value>(arrays.count)) takes_digest = false;
      // Had the keys been in order, the MSD sort would have seen it. It would also have counted keys alone of
      // few values.
      is_unordered = !is_digested;
      if (!is_digested && value_bytes<Value> == 0) settings.algorithm = SortAlgorithm::radix;
    }
  if (takes_digest)
    digest<Bits, digest_shared_bytes<Policy>>(keys_in, settings.map, workspace.digest.data(), stream, wanted);
  sort_by_digest(keys_in, DeviceSpan<Bits>(arrays.keys_out, arrays.count), arrays.values_in,
                 arrays.values_out, settings, wanted, is_unordered, workspace, stream);
}

/// The common part of sort_digested() and radix_sort().
template <class Bits, class Value, class Policy>
void sort(DeviceSpan<const Bits> keys_in, DeviceSpan<Bits> keys_out, const Value* values_in,
          Value* values_out, const SortSettings<Bits>& settings, bool is_digested,
          const SortWorkspace<Bits, Value, Policy>& workspace, cudaStream_t stream) {
  if (keys_in.empty()) return;
  const auto arrays = sort_arrays(keys_in, keys_out, values_in, values_out, workspace);
  if constexpr (has_one_block<Bits, Value> && !Policy::is_portable)
    if (sort_in_one_launch(arrays, settings, workspace, stream)) return;
  if (!is_digested) workspace.clear(stream);
  if constexpr (!Policy::is_portable)
    if (sorts_without_digest<Bits, Value>(settings.algorithm)) {
      counting_sort<Bits>(keys_in, keys_out, settings.map, nullptr, nullptr, workspace.counting, stream);
      return;
    }
  sort_in_launches(arrays, settings, is_digested, workspace, stream);
}

}  // namespace sort_detail

/// Sorts records whose keys have been digested into workspace.digest (after workspace.clear). `keys_out` may
/// be `keys_in`, then `values_out` is `values_in`. All arrays are aligned to 16 bytes.
template <class Bits, class Value, class Policy>
void sort_digested(DeviceSpan<const Bits> keys_in, DeviceSpan<Bits> keys_out, const Value* values_in,
                   Value* values_out, const SortSettings<Bits>& settings,
                   const SortWorkspace<Bits, Value, Policy>& workspace, cudaStream_t stream) {
  sort_detail::sort(keys_in, keys_out, values_in, values_out, settings, true, workspace, stream);
}

/// Sorts raw records, otherwise as sort_digested(). Clears the workspace, and first reads what it needs of
/// the keys.
template <class Bits, class Value, class Policy>
void radix_sort(DeviceSpan<const Bits> keys_in, DeviceSpan<Bits> keys_out, const Value* values_in,
                Value* values_out, const SortSettings<Bits>& settings,
                const SortWorkspace<Bits, Value, Policy>& workspace, cudaStream_t stream) {
  sort_detail::sort(keys_in, keys_out, values_in, values_out, settings, false, workspace, stream);
}

}  // namespace sweepsort
