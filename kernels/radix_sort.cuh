// radix_sort.cuh - a whole sort in device memory: digest, plan, and the launches that the plan may need.
//
//     digest ──> plan ──┬─ nothing | copy | reverse      (rearrange.cuh)
//     (one read)        ├─ counting: count, scan, expand (counting_sort.cuh)
//                       └─ radix: one pass a live digit  (radix_onesweep.cuh), least significant first
//
// Bytes a key (u32): digest 4, copy 8, counting 4 + 4, radix 8 a live digit. 2-byte keys alone skip digest
// and plan. The host launches every candidate and the plan, in device memory, lets all but one return at
// once: the order of the stream is the only synchronisation.
#pragma once

#include "core/algorithm.hpp"
#include "core/key_bits.hpp"
#include "kernels/counting_sort.cuh"
#include "kernels/histogram.cuh"
#include "kernels/radix_onesweep.cuh"
#include "kernels/rearrange.cuh"
#include "kernels/sort_plan.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// What a sort does not find in its arrays.
template <class Bits>
struct SortSettings {
  KeyMap<Bits> map;
  SortAlgorithm algorithm = SortAlgorithm::automatic;
  Ranking ranking = Ranking::ballot;
};

/// True if keys of this width are sorted without a digest: the digest would cost as much as the sort.
template <class Bits, class Value>
constexpr bool sorts_without_digest(SortAlgorithm algorithm) {
  return sizeof(Bits) == 2 && value_bytes<Value> == 0 && algorithm != SortAlgorithm::radix;
}

/// All device memory of a sort besides its arrays: `count` records and a little (about 1/32 of them at the
/// most).
template <class Bits, class Value, class Policy = TunedOnesweep<Bits, Value>>
struct SortWorkspace {
  DeviceSpan<Digest<Bits>> digest;
  CountingWorkspace<Bits> counting;
  OnesweepWorkspace<Bits, Value, Policy> onesweep;
  size_t zeroed_bytes;  // everything above must be zero before a sort
  DeviceSpan<SortPlan<Bits>> plan;
  DeviceSpan<Bits> scratch_keys;
  DeviceSpan<Value> scratch_values;

  SortWorkspace(Workspace& workspace, uint64_t count, uint64_t largest_portion = onesweep_portion)
      : digest(workspace.take<Digest<Bits>>(1)),
        counting(workspace),
        onesweep(workspace, count, largest_portion),
        zeroed_bytes(workspace.used()),
        plan(workspace.take<SortPlan<Bits>>(1)),
        scratch_keys(workspace.take<Bits>(count)),
        scratch_values(workspace.take<Value>(value_bytes<Value> == 0 ? 0 : count)) {}

  /// The workspace must start at the digest: nothing may have been taken from it before.
  void clear(cudaStream_t stream) const { check(cudaMemsetAsync(digest.data(), 0, zeroed_bytes, stream)); }
};

/// Sorts records whose keys have been digested into workspace.digest (after workspace.clear). `keys_out` may
/// be `keys_in`, then `values_out` is `values_in`. All arrays are aligned to 16 bytes.
template <class Bits, class Value, class Policy>
void sort_digested(DeviceSpan<const Bits> keys_in, DeviceSpan<Bits> keys_out, const Value* values_in,
                   Value* values_out, const SortSettings<Bits>& settings,
                   const SortWorkspace<Bits, Value, Policy>& workspace, cudaStream_t stream) {
  constexpr bool with_values = value_bytes<Value> != 0;
  const uint64_t count = keys_in.size();
  if (count == 0) return;
  const bool in_place = keys_in.data() == keys_out.data();
  SortPlan<Bits>* const plan = workspace.plan.data();
  const auto& onesweep = workspace.onesweep;

  if (sorts_without_digest<Bits, Value>(settings.algorithm)) {
    counting_sort<Bits>(keys_in, keys_out, settings.map, nullptr, nullptr, workspace.counting, stream);
    return;
  }
  make_sort_plan(workspace.digest.data(), SortTask{count, settings.algorithm, with_values, in_place},
                 settings.map, plan, onesweep.offsets.data(), onesweep.offsets_stride(), stream);
  rearrange(keys_in.data(), keys_out.data(), count, plan, stream);
  if constexpr (with_values) rearrange(values_in, values_out, count, plan, stream);
  if (!with_values && settings.algorithm != SortAlgorithm::radix)
    counting_sort<Bits>(keys_in, keys_out, settings.map, plan, onesweep.offsets.data(), workspace.counting,
                        stream);
  if (!with_values && settings.algorithm == SortAlgorithm::counting) return;

  const ColumnArrays<Bits> keys{keys_in.data(), workspace.scratch_keys.data(), keys_out.data()};
  const ColumnArrays<Value> values{values_in, workspace.scratch_values.data(), values_out};
  for (uint32_t place = 0; place < digit_places<Bits>; ++place) {
    if (settings.ranking == Ranking::lane_order)
      radix_onesweep<Ranking::lane_order>(keys, values, count, place, plan, onesweep, stream);
    else
      radix_onesweep<Ranking::ballot>(keys, values, count, place, plan, onesweep, stream);
  }
  if (in_place) {
    copy_back(keys.scratch, keys.out, count, plan, stream);
    if constexpr (with_values) copy_back(values.scratch, values.out, count, plan, stream);
  }
}

/// The same from raw records: clears the workspace and digests first.
template <class Bits, class Value, class Policy>
void radix_sort(DeviceSpan<const Bits> keys_in, DeviceSpan<Bits> keys_out, const Value* values_in,
                Value* values_out, const SortSettings<Bits>& settings,
                const SortWorkspace<Bits, Value, Policy>& workspace, cudaStream_t stream) {
  workspace.clear(stream);
  if (!sorts_without_digest<Bits, Value>(settings.algorithm))
    digest(keys_in, settings.map, workspace.digest.data(), stream);
  sort_digested(keys_in, keys_out, values_in, values_out, settings, workspace, stream);
}

}  // namespace sweepsort
