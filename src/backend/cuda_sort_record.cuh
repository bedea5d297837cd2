// cuda_sort_record.cuh - the kernels of one kind of record. Each kind is its own translation unit
// (cuda_sort_unit.cu.in), so that they compile in parallel. In a single unit, unrelated code changes made the
// compiler spill registers of other kernels: with 104 bytes spilled in the buckets of u64 keys, 2^28 keys
// took 4.47 ms, without 4.19 ms (H200, other cards).
#pragma once

#include "backend/cuda_sort.hpp"
#include "kernels/policy_passes.cuh"
#include "kernels/radix_sort.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace sweepsort {

/// Whether to compile the sorts for devices that run every kernel; no other device can use them. The portable
/// sorts are always compiled. `min_code`: the compute capability of the oldest device that the build
/// supports.
#if defined(__CUDA_ARCH_LIST__)
inline constexpr uint32_t compiled_for[] = {__CUDA_ARCH_LIST__};
constexpr bool may_be_full(uint32_t architecture) {
  return architecture >= 10 * DeviceAbilities::full_code && architecture < 1200;  // 12.x: 99 KiB per block
}
inline constexpr bool has_full_sorts = std::ranges::any_of(compiled_for, may_be_full);
inline constexpr uint32_t min_code = std::ranges::min(compiled_for) / 10;
#else
inline constexpr bool has_full_sorts = true;  // the emulator's device may be of any kind
inline constexpr uint32_t min_code = DeviceAbilities::min_code;
#endif

/// A record and how it is sorted.
template <class Bits, class Value, class Policy>
struct Record {};

/// Calls f(Record) with the policy of the full sorts if they are compiled and wanted, else of the portable
/// ones.
template <class Bits, class Value, class F>
void dispatch_policy(bool is_full, F&& f) {
  if constexpr (has_full_sorts)
    if (is_full) return f(Record<Bits, Value, TunedOnesweep<Bits, Value>>{});
  f(Record<Bits, Value, PortableOnesweep<Bits, Value>>{});
}

template <class Bits, class Value, class Policy>
SortWorkspace<Bits, Value, Policy> layout_of(Record<Bits, Value, Policy>, const DeviceSort& sort,
                                             Workspace& workspace) {
  return {workspace, sort.count, sort.portion_keys != 0 ? sort.portion_keys : onesweep_portion<Policy>};
}

/// Runs device_sort, or device_sort_finish if the keys are digested.
template <class Bits, class Value>
struct RecordSort {
  static void run(const DeviceSort& sort, const SortSettings<Bits>& settings, bool is_full, bool is_digested,
                  Workspace workspace, cudaStream_t stream);
};

// Not inline, because it would then be instantiated wherever it is called.
template <class Bits, class Value>
void RecordSort<Bits, Value>::run(const DeviceSort& sort, const SortSettings<Bits>& settings, bool is_full,
                                  bool is_digested, Workspace workspace, cudaStream_t stream) {
  dispatch_policy<Bits, Value>(is_full, [&]<class Policy>(Record<Bits, Value, Policy> record) {
    const auto layout = layout_of(record, sort, workspace);
    const DeviceSpan<const Bits> keys_in{static_cast<const Bits*>(sort.keys_in), sort.count};
    const DeviceSpan<Bits> keys_out{static_cast<Bits*>(sort.keys_out), sort.count};
    const auto* const values_in = static_cast<const Value*>(sort.values_in);
    auto* const values_out = static_cast<Value*>(sort.values_out);
    if (is_digested)
      sort_digested<Bits, Value>(keys_in, keys_out, values_in, values_out, settings, layout, stream);
    else
      radix_sort<Bits, Value>(keys_in, keys_out, values_in, values_out, settings, layout, stream);
  });
}

}  // namespace sweepsort
