// value_codes.cuh - pairs whose keys have few distinct values: the place of a key's value among them is its
// code, and a stable LSD sort by codes of one or two digits is one by keys. Dictionary encoding as column
// stores do it: Abadi, Madden & Ferreira, "Integrating Compression and Execution in Column-Oriented Database
// Systems", 2006.
//
//     keys    900 7 900 33 7      values   7 33 900      codes   2 0 2 1 0
//
// It is tried where the survey's sample holds few values. Then all keys are read once and counted
// (few_values.cuh), and the values put in order (value_table.cuh): every key is in the list. The first pass
// looks each one up, the last one writes its value (radix_onesweep.cuh): codes are nowhere but in the arrays
// between the two.
#pragma once

#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/sort_plan.cuh"
#include "kernels/value_table.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace codes_detail {

inline constexpr uint32_t places = 2;
static_assert(most_listed_values <= digit_values * digit_values);

/// Keys whose code has this digit at this place.
template <class Bits>
__device__ __forceinline__ uint64_t keys_with(uint32_t digit, uint32_t place,
                                              const value_table::ListedValues<Bits>& listed) {
  constexpr uint32_t most = most_listed_values;
  if (place == 1) {
    const uint32_t first = min(digit * digit_values, most);
    return listed.starts[min(first + digit_values, most)] - listed.starts[first];
  }
  uint64_t keys = 0;
  for (uint32_t code = digit; code < most; code += digit_values)
    keys += listed.starts[code + 1] - listed.starts[code];
  return keys;
}

/// One block: a thread a digit.
template <class Bits>
__global__ __launch_bounds__(digit_values) void plan_codes_kernel(
    const MsdPlan<Bits>* found, const SortPlan<Bits>* counted, const value_table::ListedValues<Bits>* listed,
    KeyMap<Bits> map, bool in_place, SortPlan<Bits>* plan, uint64_t* offsets, uint64_t offsets_stride) {
  ptx::wait_for_previous_launch();
  if (!found->has_few_values()) return;
  auto& shared = shared_memory<plan_detail::Shared<Bits>>();
  uint64_t total = 0;
  for (uint32_t place = 0; place < places; ++place) {
    const uint64_t keys = keys_with(threadIdx.x, place, *listed);
    offsets[place * offsets_stride + threadIdx.x] =
        block_exclusive_sum<digit_values>(keys, shared.warp_sums, total);
    plan_detail::find_hot_digits(keys, total, shared, plan->passes[place].hot);
  }
  if (threadIdx.x != 0) return;
  plan->road = Road::counting;
  plan->bins = counted->bins;
  plan->list = counted->list;
  plan->pass_map = map;
  plan->scatters = 1;
  plan->live_digits = plan->bins > digit_values ? 2 : 1;
  for (uint32_t place = 0; place < plan->live_digits; ++place) plan->passes[place].live = 1;
  plan_detail::lay_out_passes(*plan, in_place);
}

}  // namespace codes_detail

/// Writes `plan`, which was all zeros, and the offsets of its passes as make_sort_plan() does; nothing if the
/// MSD sort, whose plan is `found`, did not find few values. `counted`: their number and list. The passes must
/// be of a policy for which can_sort_codes holds.
template <class Bits>
void plan_codes(const MsdPlan<Bits>* found, const SortPlan<Bits>* counted,
                const value_table::ListedValues<Bits>* listed, KeyMap<Bits> map, bool in_place,
                SortPlan<Bits>* plan, uint64_t* offsets, uint64_t offsets_stride, cudaStream_t stream) {
  launch_chained(codes_detail::plan_codes_kernel<Bits>, {1, digit_values, sizeof(plan_detail::Shared<Bits>)},
                 stream, found, counted, listed, map, in_place, plan, offsets, offsets_stride);
}

}  // namespace sweepsort
