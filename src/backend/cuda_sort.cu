// cuda_sort.cu - from run-time types to the kernels' templates; the only file that instantiates the sorts.
#include "backend/cuda_sort.hpp"
#include "kernels/radix_sort.cuh"

#include <atomic>
#include <type_traits>

namespace sweepsort {
namespace {

template <class F>
void dispatch_record(const DeviceSort& sort, F&& f) {
  dispatch_bits(sort.type, [&](auto bits) {
    if (sort.value_bytes == 0) return f(bits, std::type_identity<NoValue>{});
    if (sort.value_bytes == 4) return f(bits, std::type_identity<uint32_t>{});
    if (sort.value_bytes == 8) return f(bits, std::type_identity<uint64_t>{});
    throw std::invalid_argument("values are of 4 or 8 bytes");
  });
}

/// Tested once a device: the first sort there runs the test and waits for it.
Ranking ranking_of_current_device() {
  enum : int { unknown, lane_order, ballot };
  constexpr int most_devices = 64;
  static std::atomic<int> known[most_devices];
  int device = 0;
  check(cudaGetDevice(&device));
  if (device >= most_devices) return Ranking::ballot;
  if (known[device] == unknown) {
    uint32_t* exceptions = nullptr;
    uint32_t found = 0;
    check(cudaMalloc(&exceptions, sizeof(found)));
    check(cudaMemset(exceptions, 0, sizeof(found)));
    test_lane_order(exceptions, nullptr);
    check(cudaMemcpy(&found, exceptions, sizeof(found), cudaMemcpyDeviceToHost));
    check(cudaFree(exceptions));
    known[device] = found == 0 ? lane_order : ballot;
  }
  return known[device] == lane_order ? Ranking::lane_order : Ranking::ballot;
}

template <class Bits, class Value>
SortWorkspace<Bits, Value> layout_of(const DeviceSort& sort, Workspace& workspace) {
  return {workspace, sort.count, sort.portion_keys != 0 ? sort.portion_keys : onesweep_portion};
}

template <class Bits>
SortSettings<Bits> settings_of(const DeviceSort& sort) {
  return {.map = key_map<Bits>(sort.type, sort.order),
          .algorithm = sort.algorithm,
          .ranking = sort.force_ballot_ranking ? Ranking::ballot : ranking_of_current_device()};
}

DeviceSortOutcome::Road road_of(Road road) {
  switch (road) {
    case Road::nothing:
    case Road::copy: return DeviceSortOutcome::Road::already_sorted;
    case Road::reverse: return DeviceSortOutcome::Road::reversed;
    case Road::counting: return DeviceSortOutcome::Road::counting;
    case Road::radix: return DeviceSortOutcome::Road::radix;
    case Road::unsuitable: break;
  }
  return DeviceSortOutcome::Road::unsuitable;
}

/// Of an MSD sort that did not fall back.
template <class Bits>
DeviceSortOutcome::Road road_of(const MsdPlan<Bits>& plan) {
  if (plan.is_in_order())
    return plan.guess == Guess::ascending ? DeviceSortOutcome::Road::already_sorted
                                          : DeviceSortOutcome::Road::reversed;
  return plan.counts_values() || plan.has_few_values() ? DeviceSortOutcome::Road::counting
                                                       : DeviceSortOutcome::Road::msd;
}

/// Waits for it.
template <class T>
T download(const T* from, cudaStream_t stream) {
  T copy;
  check(cudaMemcpyAsync(&copy, from, sizeof(copy), cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  return copy;
}

}  // namespace

size_t device_sort_workspace_bytes(const DeviceSort& sort) {
  size_t bytes = 0;
  dispatch_record(sort, [&]<class Bits, class Value>(std::type_identity<Bits>, std::type_identity<Value>) {
    Workspace counter;
    (void)layout_of<Bits, Value>(sort, counter);
    bytes = counter.used();
  });
  return bytes;
}

void device_sort_begin(const DeviceSort& sort, Workspace workspace, cudaStream_t stream) {
  dispatch_record(sort, [&]<class Bits, class Value>(std::type_identity<Bits>, std::type_identity<Value>) {
    layout_of<Bits, Value>(sort, workspace).clear(stream);
  });
}

void device_sort_digest(const DeviceSort& sort, uint64_t first, uint64_t count, Workspace workspace,
                        cudaStream_t stream) {
  dispatch_record(sort, [&]<class Bits, class Value>(std::type_identity<Bits>, std::type_identity<Value>) {
    if (sorts_without_digest<Bits, Value>(sort.algorithm)) return;
    const auto layout = layout_of<Bits, Value>(sort, workspace);
    digest(DeviceSpan<const Bits>(static_cast<const Bits*>(sort.keys_in) + first, count),
           key_map<Bits>(sort.type, sort.order), layout.digest.data(), stream);
  });
}

void device_sort_digest_borders(const DeviceSort& sort, DeviceSpan<const uint64_t> starts,
                                Workspace workspace, cudaStream_t stream) {
  dispatch_record(sort, [&]<class Bits, class Value>(std::type_identity<Bits>, std::type_identity<Value>) {
    if (sorts_without_digest<Bits, Value>(sort.algorithm)) return;
    const auto layout = layout_of<Bits, Value>(sort, workspace);
    digest_borders(static_cast<const Bits*>(sort.keys_in), starts, key_map<Bits>(sort.type, sort.order),
                   layout.digest.data(), stream);
  });
}

void device_sort_finish(const DeviceSort& sort, Workspace workspace, cudaStream_t stream) {
  dispatch_record(sort, [&]<class Bits, class Value>(std::type_identity<Bits>, std::type_identity<Value>) {
    const auto layout = layout_of<Bits, Value>(sort, workspace);
    sort_digested<Bits, Value>({static_cast<const Bits*>(sort.keys_in), sort.count},
                               {static_cast<Bits*>(sort.keys_out), sort.count},
                               static_cast<const Value*>(sort.values_in),
                               static_cast<Value*>(sort.values_out), settings_of<Bits>(sort), layout, stream);
  });
}

void device_sort(const DeviceSort& sort, Workspace workspace, cudaStream_t stream) {
  dispatch_record(sort, [&]<class Bits, class Value>(std::type_identity<Bits>, std::type_identity<Value>) {
    const auto layout = layout_of<Bits, Value>(sort, workspace);
    radix_sort<Bits, Value>({static_cast<const Bits*>(sort.keys_in), sort.count},
                            {static_cast<Bits*>(sort.keys_out), sort.count},
                            static_cast<const Value*>(sort.values_in), static_cast<Value*>(sort.values_out),
                            settings_of<Bits>(sort), layout, stream);
  });
}

DeviceSortOutcome device_sort_outcome(const DeviceSort& sort, Workspace workspace, cudaStream_t stream) {
  DeviceSortOutcome outcome;
  if (sort.count == 0) return outcome;
  dispatch_record(sort, [&]<class Bits, class Value>(std::type_identity<Bits>, std::type_identity<Value>) {
    if (sorts_without_digest<Bits, Value>(sort.algorithm)) {
      outcome.road = DeviceSortOutcome::Road::counting;
      return;
    }
    const auto layout = layout_of<Bits, Value>(sort, workspace);
    if (fits_one_block<Bits, Value>(sort.algorithm, sort.count)) {
      outcome.road = DeviceSortOutcome::Road::block;
      return;
    }
    if (fits_grid<Bits, Value>(sort.algorithm, sort.count)) {
      outcome.road = DeviceSortOutcome::Road::grid;
      return;
    }
    if constexpr (has_msd_sort<Bits, Value>)
      if (tries_msd<Bits, Value>(sort.algorithm, sort.count)) {
        const auto plan = download(layout.msd.plan.data(), stream);
        if (!plan.falls_back) {
          outcome.road = road_of(plan);
          return;
        }
      }
    const SortPlan<Bits> plan = download(layout.plan.data(), stream);
    outcome = {.road = road_of(plan.road), .live_digits = plan.scatters ? plan.live_digits : 0};
  });
  return outcome;
}

}  // namespace sweepsort
