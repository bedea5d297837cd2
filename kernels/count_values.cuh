// count_values.cuh - the launch of an MSD sort (radix_msd.cuh) that counts values: all of them, if they are
// few (few_values.cuh), or the frequent ones, which it takes out (frequent_values.cuh).
#pragma once

#include "core/key_bits.hpp"
#include "kernels/few_values.cuh"
#include "kernels/frequent_values.cuh"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/msd_workspace.cuh"
#include "kernels/ptx.cuh"
#include "kernels/sort_arrays.cuh"
#include "kernels/sort_plan.cuh"
#include "kernels/tickets.cuh"
#include "kernels/value_codes.cuh"
#include "kernels/value_table.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace msd_detail {

template <class Bits>
union CountValuesShared {
  few_detail::Shared<Bits> few;
  frequent_detail::Shared<Bits> frequent;
  value_table::OrderShared<Bits> order;
  codes_detail::Shared codes;
};

/// If the keys have few values, counts them all. If some values are frequent, counts these and moves the
/// other keys to `rest`. The last block to finish sorts the values. If they are few, it also describes in
/// `codes` what is left to do.
template <class Bits>
__global__ __launch_bounds__(value_table::threads) void count_values_kernel(
    const Bits* keys, uint64_t count, uint64_t span, KeyMap<Bits> map, MsdPlan<Bits>* plan,
    value_table::Table<Bits>* table, Bits* rest, uint32_t* rest_counts,
    value_table::ListedValues<Bits>* listed, SortPlan<Bits>* expansion, CodePasses<Bits> codes) {
  ptx::wait_for_previous_launch();
  if (!plan->tries_few_values() && plan->frequent.count == 0) return;
  auto& shared = cleared_shared_memory<CountValuesShared<Bits>, value_table::threads>();
  if (plan->frequent.count != 0)
    frequent_detail::take_out(keys, count, span, *plan, shared.frequent, table, rest, rest_counts);
  else
    few_detail::count_few(keys, count, plan, shared.few, table);

  if (!completes(expansion->finished_blocks, 1, gridDim.x)) return;
  if (!plan->has_few_values() && plan->frequent.count == 0) return;
  value_table::order_values(table, map, shared.order, plan, listed, expansion);
  __syncthreads();
  if (codes.plan != nullptr && plan->has_few_values())
    codes_detail::plan_rest(*expansion, *listed, map, codes, shared.codes);
}

/// Counts values as far as the plan asks for it.
template <class Bits, class Value, class Policy>
void count_values(const SortArrays<Bits, Value>& arrays, const MsdSettings<Bits>& settings,
                  const Spans& spans, const MsdWorkspace<Bits, Value, Policy>& workspace,
                  cudaStream_t stream) {
  launch_chained(count_values_kernel<Bits>,
                 {spans.number, value_table::threads, sizeof(CountValuesShared<Bits>)}, stream,
                 arrays.keys_in, arrays.count, spans.keys, settings.map, workspace.plan.data(),
                 workspace.values.data(), arrays.keys_scratch, workspace.rest_counts.data(),
                 workspace.listed.data(), workspace.expansion.data(), settings.codes);
}

}  // namespace msd_detail

}  // namespace sweepsort
