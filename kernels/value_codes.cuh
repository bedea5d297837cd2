// value_codes.cuh - pairs whose keys have few distinct values. The code of a key is the position of its value
// in the ordered list of values. A stable LSD sort by codes of one or two digits is a sort by keys.
// Dictionary encoding as in column stores: Abadi, Madden & Ferreira, "Integrating Compression and Execution
// in Column-Oriented Database Systems", 2006.
//
//     keys    900 7 900 33 7      values   7 33 900      codes   2 0 2 1 0
//
// It is tried if the survey's sample holds few values, or if the digest has few digits at every place. All
// keys are read once and counted (few_values.cuh), and the values are sorted (value_table.cuh), so every key
// is in the list. The first pass looks up each key, and the last one writes its value (radix_onesweep.cuh).
// Codes exist only in the arrays between these two.
#pragma once

#include "kernels/block.cuh"
#include "kernels/sort_plan.cuh"
#include "kernels/value_table.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// Where the passes by code are described, in device memory: a plan, which was all zeros or a plan of other
/// passes, and the offsets of its passes in the form of make_sort_plan(). The policy of the passes must be
/// one for which can_sort_codes holds.
template <class Bits>
struct CodePasses {
  SortPlan<Bits>* plan = nullptr;  // null: nothing is described
  uint64_t* offsets = nullptr;     // null: for keys alone, which are written and not passed
  uint64_t offsets_stride = 0;
  bool in_place = false;
};

namespace codes_detail {

using value_table::ListedValues;
using value_table::threads;
using Shared = plan_detail::Shared<threads>;

inline constexpr uint32_t places = 2;
static_assert(max_listed_values <= digit_values * digit_values);

/// The number of keys whose code has this digit at this place.
template <class Bits>
__device__ __forceinline__ uint64_t keys_with(uint32_t digit, uint32_t place,
                                              const ListedValues<Bits>& listed) {
  constexpr uint32_t most = max_listed_values;
  if (place == 1) {
    const uint32_t first = min(digit * digit_values, most);
    return listed.starts[min(first + digit_values, most)] - listed.starts[first];
  }
  uint64_t keys = 0;
  for (uint32_t code = digit; code < most; code += digit_values)
    keys += listed.starts[code + 1] - listed.starts[code];
  return keys;
}

/// Plans what is left to do with keys of few values: for keys alone, to write runs; for pairs, passes by
/// codes. `counted`: the number of values, and their list. Called by one block, one thread per digit.
template <class Bits>
__device__ __forceinline__ void plan_rest(const SortPlan<Bits>& counted, const ListedValues<Bits>& listed,
                                          const KeyMap<Bits>& map, const CodePasses<Bits>& codes,
                                          Shared& shared) {
  SortPlan<Bits>& plan = *codes.plan;
  const bool passes = codes.offsets != nullptr;
  for (uint32_t place = 0; passes && place < places; ++place) {
    const uint32_t digit = threadIdx.x;
    const uint64_t keys = digit < digit_values ? keys_with(digit, place, listed) : 0;
    uint64_t total = 0;
    const uint64_t start = block_exclusive_sum<threads>(keys, shared.warp_sums, total);
    if (digit < digit_values) codes.offsets[place * codes.offsets_stride + digit] = start;
    plan_detail::find_hot_digits(keys, total, shared, plan.passes[place].hot);
  }
  if (threadIdx.x != 0) return;
  plan.method = Method::counting;
  plan.bins = counted.bins;
  plan.list = counted.list;
  plan.scatters = passes;
  plan.as_records = 0;
  plan.leading_digits = 0;
  plan.copy_back = 0;
  plan.pack = BitPack<Bits>::none();
  if (!passes) return;
  plan.pass_map = map;
  plan.live_digits = plan.bins > digit_values ? 2 : 1;
  for (uint32_t place = 0; place < digit_places<Bits>; ++place)
    plan.passes[place].live = place < plan.live_digits;
  plan_detail::lay_out_passes(plan, codes.in_place);
}

}  // namespace codes_detail

}  // namespace sweepsort
