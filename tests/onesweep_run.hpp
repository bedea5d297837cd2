// onesweep_run.hpp - a sort by the LSD passes alone, with small tiles. A test can make every choice of the
// plan. For tests of the plan and the passes, on the emulator and on a GPU.
#pragma once

#include "core/rounding.hpp"
#include "device_array.hpp"
#include "kernels/radix_onesweep.cuh"
#include "kernels/rearrange.cuh"
#include "on_device.hpp"
#include "record_arrays.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sweepsort {

/// Tiles of 768 records.
using SmallTiles =
    OnesweepPolicy<OnesweepRow{.threads = 256, .keys_per_thread = 3, .blocks_per_multiprocessor = 1}>;

struct OnesweepCase {
  Order order = Order::ascending;
  bool in_place = false;
  uint64_t portion = uint64_t{1} << 28;
  uint32_t leading = 0;  // digits that may suffice
  bool may_pack = false;
};

/// What the device has decided and found.
template <class Bits>
struct OnesweepOutcome {
  SortPlan<Bits> plan;
  leading_detail::State runs;  // all zeros if leading digits may not suffice
};

namespace onesweep_run_detail {

template <class Bits, class Value>
struct Carved {
  DeviceSpan<Digest<Bits>> digest;
  DeviceSpan<SortPlan<Bits>> plan;
  OnesweepWorkspace<Bits, Value, SmallTiles> onesweep;

  Carved(Workspace& workspace, uint64_t count, uint64_t portion)
      : digest(workspace.take<Digest<Bits>>(1)),
        plan(workspace.take<SortPlan<Bits>>(1)),
        onesweep(workspace, count, portion) {}
};

}  // namespace onesweep_run_detail

/// Sorts keys with these ordered bits, and asks the oracle.
template <class Key, class Value>
OnesweepOutcome<BitsOf<Key>> sort_by_passes(const std::vector<BitsOf<Key>>& ordered,
                                            const OnesweepCase& test) {
  using Bits = BitsOf<Key>;
  using Carved = onesweep_run_detail::Carved<Bits, Value>;
  constexpr bool with_values = value_bytes<Value> != 0;
  const OnDevice session;
  const KeyMap<Bits> map = key_map<Bits>(key_type_of<Key>(), test.order);
  std::vector<Key> input;
  for (const Bits bits : ordered) input.push_back(std::bit_cast<Key>(map.from_ordered(bits)));
  // Records take the place of both columns.
  const uint64_t column = round_up(input.size(), 16u);
  RecordArrays<Key, Value> records(input, test.in_place,
                                   column * (sizeof(Bits) + value_bytes<Value>) / sizeof(Bits));
  const SortArrays<Bits, Value> arrays = records.arrays();

  Workspace counter;
  (void)Carved(counter, arrays.count, test.portion);
  const DeviceArray<std::byte> memory(counter.used());
  check(cudaMemset(memory.data(), 0, memory.size()));
  Workspace workspace(memory.span());
  const Carved carved(workspace, arrays.count, test.portion);
  SortPlan<Bits>* const plan = carved.plan.data();
  uint64_t* const offsets = carved.onesweep.offsets.data();
  const uint64_t stride = carved.onesweep.offsets_stride();
  const DeviceSpan<const Bits> keys_in(arrays.keys_in, arrays.count);
  digest(keys_in, map, carved.digest.data(), nullptr);
  const SortTask task{.count = arrays.count,
                      .algorithm = SortAlgorithm::radix,
                      .with_values = with_values,
                      .in_place = test.in_place,
                      .may_pass_records = may_pass_records<Bits, Value, SmallTiles>(arrays.count),
                      .leading_digits = test.leading,
                      .may_pack = test.may_pack};
  make_sort_plan<Bits>(carved.digest.data(), task, map, nullptr, plan, offsets, stride,
                       {.keys = arrays.keys_in}, nullptr);
  const ColumnArrays<Bits> keys{arrays.keys_in, arrays.keys_scratch, arrays.keys_out};
  const ColumnArrays<Value> values{
      arrays.values_in, with_values ? reinterpret_cast<Value*>(arrays.keys_scratch + column) : nullptr,
      arrays.values_out};
  radix_onesweep(keys, values, arrays.count, plan, carved.onesweep, nullptr);
  if (test.in_place) {
    copy_back(keys.scratch, keys.out, arrays.count, plan, nullptr);
    if constexpr (with_values) copy_back(values.scratch, values.out, arrays.count, plan, nullptr);
  }
  memory.check_zones();
  records.require_sorted(test.order);
  OnesweepOutcome<Bits> outcome{};
  check(cudaMemcpy(&outcome.plan, plan, sizeof(outcome.plan), cudaMemcpyDeviceToHost));
  if (const auto& runs = carved.onesweep.run_state; !runs.empty())
    check(cudaMemcpy(&outcome.runs, runs.data(), sizeof(outcome.runs), cudaMemcpyDeviceToHost));
  return outcome;
}

}  // namespace sweepsort
