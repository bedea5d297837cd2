// cuda_sort.cu - maps run-time types to the kernels' templates.
#include "backend/cuda_sort_record.cuh"
#include "core/no_value.hpp"
#include "gpu/handles.hpp"
#include "kernels/policy_passes.cuh"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <type_traits>

namespace sweepsort {

#if defined(SWEEPSORT_SORT_UNITS)  // compiled elsewhere
#define SWEEPSORT_UNITS_OF(Bits)                     \
  extern template struct RecordSort<Bits, NoValue>;  \
  extern template struct RecordSort<Bits, uint32_t>; \
  extern template struct RecordSort<Bits, uint64_t>;
SWEEPSORT_UNITS_OF(uint8_t)
SWEEPSORT_UNITS_OF(uint16_t)
SWEEPSORT_UNITS_OF(uint32_t)
SWEEPSORT_UNITS_OF(uint64_t)
#undef SWEEPSORT_UNITS_OF
#endif

namespace {

/// Calls f(Record), with the policy of the full or of the portable sorts.
template <class F>
void dispatch_record(const DeviceSort& sort, bool is_full, F&& f) {
  dispatch_bits(sort.type, [&]<class Bits>(std::type_identity<Bits>) {
    if (sort.value_bytes == 0) return dispatch_policy<Bits, NoValue>(is_full, f);
    if (sort.value_bytes == 4) return dispatch_policy<Bits, uint32_t>(is_full, f);
    if (sort.value_bytes == 8) return dispatch_policy<Bits, uint64_t>(is_full, f);
    throw std::invalid_argument("values are of 4 or 8 bytes");
  });
}

bool find_lane_order() {
  const DeviceBuffer<uint32_t> exceptions(1);
  uint32_t found = 0;
  check(cudaMemset(exceptions.data(), 0, sizeof(found)));
  test_lane_order(exceptions.data(), nullptr);
  check(cudaMemcpy(&found, exceptions.data(), sizeof(found), cudaMemcpyDeviceToHost));
  return found == 0;
}

/// Whether the current device has lane order. Tested once per device: the first sort on it waits for the
/// test.
bool has_lane_order() {
  enum : int { unknown, no, yes };
  constexpr int max_devices = 64;
  static std::atomic<int> known[max_devices];
  int device = 0;
  check(cudaGetDevice(&device));
  if (device >= max_devices) return false;
  if (known[device] == unknown) known[device] = find_lane_order() ? yes : no;
  return known[device] == yes;
}

/// Calls f(Record), with the policy that suits the current device.
template <class F>
void dispatch_record(const DeviceSort& sort, F&& f) {
  const bool is_full = !sort.force_portable && device_abilities().is_full() && has_lane_order();
  dispatch_record(sort, is_full, f);
}

DeviceSortOutcome::Algorithm algorithm_of(Method method) {
  switch (method) {
    case Method::nothing:
    case Method::copy: return DeviceSortOutcome::Algorithm::already_sorted;
    case Method::reverse: return DeviceSortOutcome::Algorithm::reversed;
    case Method::counting: return DeviceSortOutcome::Algorithm::counting;
    case Method::radix: return DeviceSortOutcome::Algorithm::radix;
    case Method::unsuitable: break;
  }
  return DeviceSortOutcome::Algorithm::unsuitable;
}

/// The algorithm of an MSD sort that did not fall back.
template <class Bits>
DeviceSortOutcome::Algorithm algorithm_of(const MsdPlan<Bits>& plan) {
  if (plan.order.is_right())
    return plan.order.guess() == Guess::ascending ? DeviceSortOutcome::Algorithm::already_sorted
                                                  : DeviceSortOutcome::Algorithm::reversed;
  return plan.counts_values() || plan.has_few_values() ? DeviceSortOutcome::Algorithm::counting
                                                       : DeviceSortOutcome::Algorithm::msd;
}

void run(const DeviceSort& sort, bool is_digested, Workspace workspace, cudaStream_t stream) {
  dispatch_record(sort, [&]<class Bits, class Value, class Policy>(Record<Bits, Value, Policy>) {
    const SortSettings<Bits> settings{.map = key_map<Bits>(sort.type, sort.order),
                                      .algorithm = sort.algorithm};
    RecordSort<Bits, Value>::run(sort, settings, !Policy::is_portable, is_digested, workspace, stream);
  });
}

/// Copies a value from the device and waits for it.
template <class T>
T download(const T* from, cudaStream_t stream) {
  T copy;
  check(cudaMemcpyAsync(&copy, from, sizeof(copy), cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  return copy;
}

}  // namespace

DeviceNeeds device_sort_needs() {
  return {.compute = min_code, .shared_bytes = DeviceAbilities::min_shared_bytes};
}

size_t device_sort_workspace_bytes(const DeviceSort& sort) {
  size_t bytes = 0;
  const auto count = [&](auto record) {
    Workspace counter;
    (void)layout_of(record, sort, counter);
    bytes = std::max(bytes, counter.used());
  };
  // The most of both kinds of sorts, because the device that will run one may not be awake yet.
  dispatch_record(sort, true, count);
  dispatch_record(sort, false, count);
  return bytes;
}

void device_sort_begin(const DeviceSort& sort, Workspace workspace, cudaStream_t stream) {
  dispatch_record(sort, [&]<class Bits, class Value, class Policy>(Record<Bits, Value, Policy> record) {
    layout_of(record, sort, workspace).clear(stream);
  });
}

void device_sort_digest(const DeviceSort& sort, uint64_t first, uint64_t count, Workspace workspace,
                        cudaStream_t stream) {
  dispatch_record(sort, [&]<class Bits, class Value, class Policy>(Record<Bits, Value, Policy> record) {
    if (sorts_without_digest<Bits, Value, Policy>(sort.algorithm)) return;
    const auto layout = layout_of(record, sort, workspace);
    digest<Bits, digest_shared_bytes<Policy>>({static_cast<const Bits*>(sort.keys_in) + first, count},
                                              key_map<Bits>(sort.type, sort.order), layout.digest.data(),
                                              stream);
  });
}

void device_sort_digest_borders(const DeviceSort& sort, DeviceSpan<const uint64_t> starts,
                                Workspace workspace, cudaStream_t stream) {
  dispatch_record(sort, [&]<class Bits, class Value, class Policy>(Record<Bits, Value, Policy> record) {
    if (sorts_without_digest<Bits, Value, Policy>(sort.algorithm)) return;
    const auto layout = layout_of(record, sort, workspace);
    digest_borders(static_cast<const Bits*>(sort.keys_in), starts, key_map<Bits>(sort.type, sort.order),
                   layout.digest.data(), stream);
  });
}

void device_sort_finish(const DeviceSort& sort, Workspace workspace, cudaStream_t stream) {
  run(sort, true, workspace, stream);
}

void device_sort(const DeviceSort& sort, Workspace workspace, cudaStream_t stream) {
  run(sort, false, workspace, stream);
}

DeviceSortOutcome device_sort_outcome(const DeviceSort& sort, Workspace workspace, cudaStream_t stream) {
  DeviceSortOutcome outcome;
  if (sort.count == 0) return outcome;
  dispatch_record(sort, [&]<class Bits, class Value, class Policy>(Record<Bits, Value, Policy> record) {
    if (fits_one_block<Bits, Value, Policy>(sort.algorithm, sort.count)) {
      outcome.algorithm = DeviceSortOutcome::Algorithm::block;
      return;
    }
    if (fits_grid<Bits, Value, Policy>(sort.algorithm, sort.count)) {
      outcome.algorithm = DeviceSortOutcome::Algorithm::grid;
      return;
    }
    if (sorts_without_digest<Bits, Value, Policy>(sort.algorithm)) {
      outcome.algorithm = DeviceSortOutcome::Algorithm::counting;
      return;
    }
    const auto layout = layout_of(record, sort, workspace);
    if constexpr (has_tiled_grid_sort<Bits, Value> && !Policy::is_portable)
      if (tries_tiled_grid<Bits, Value, Policy>(sort.algorithm, sort.count) &&
          download(layout.tiled_grid.falls_back.data(), stream) == 0) {
        outcome.algorithm = DeviceSortOutcome::Algorithm::grid;
        return;
      }
    if (tries_portioned_grid<Bits, Value, Policy>(sort.algorithm, sort.count) &&
        download(layout.portioned_falls_back.data(), stream) == 0) {
      outcome.algorithm = DeviceSortOutcome::Algorithm::grid;
      return;
    }
    if constexpr (has_msd_sort<Bits, Value> && !Policy::is_portable)
      if (tries_msd<Bits, Value, Policy>(sort.algorithm, sort.count)) {
        const auto plan = download(layout.msd.plan.data(), stream);
        if (!plan.falls_back) {
          outcome.algorithm = algorithm_of(plan);
          return;
        }
      }
    const SortPlan<Bits> plan = download(layout.plan.data(), stream);
    outcome = {.algorithm = algorithm_of(plan.method), .live_digits = plan.scatters ? plan.live_digits : 0};
  });
  return outcome;
}

}  // namespace sweepsort
