// device_sort_cases.hpp - one sort on the device for tests: described by a Case, judged by the oracle.
#pragma once

#include "backend/cuda_sort.hpp"
#include "catch.hpp"
#include "datasets/distributions.hpp"
#include "device_array.hpp"
#include "on_device.hpp"
#include "oracle.hpp"
#include "seed.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sweepsort {

struct Case {
  std::string distribution = "uniform";
  uint64_t count = 0;
  Order order = Order::ascending;
  SortAlgorithm algorithm = SortAlgorithm::automatic;
  bool in_place = false;
  bool portable = false;
  uint64_t portion_keys = 0;
  std::vector<uint64_t> chunks = {};  // lengths; empty: one digest of everything
  unsigned multiprocessors = 4;       // of the emulator
};

template <class Value>
std::vector<Value> positions(uint64_t count) {
  std::vector<Value> values(count);
  for (uint64_t i = 0; i < count; ++i) values[i] = static_cast<Value>(i * 0x9e3779b97f4a7c15ull + i);
  return values;
}

/// Sorts and returns what the device found.
inline DeviceSortOutcome run_sort(const DeviceSort& sort, const Case& test) {
  DeviceArray<std::byte> memory(device_sort_workspace_bytes(sort));
  const Workspace workspace(memory.span());
  if (test.chunks.empty()) {
    device_sort(sort, workspace, nullptr);
  } else {
    device_sort_begin(sort, workspace, nullptr);
    std::vector<uint64_t> starts;
    uint64_t first = 0;
    for (const uint64_t length : test.chunks) {
      starts.push_back(first);
      device_sort_digest(sort, first, length, workspace, nullptr);
      first += length;
    }
    REQUIRE(first == sort.count);
    const DeviceArray<uint64_t> device_starts{std::span<const uint64_t>(starts)};
    device_sort_digest_borders(sort, device_starts.span(), workspace, nullptr);
    device_sort_finish(sort, workspace, nullptr);
    check(cudaDeviceSynchronize());
  }
  memory.check_zones();
  return device_sort_outcome(sort, workspace, nullptr);
}

template <class Key>
DeviceSort describe(const Case& test) {
  return {.type = key_type_of<Key>(),
          .order = test.order,
          .algorithm = test.algorithm,
          .count = test.count,
          .force_portable = test.portable,
          .portion_keys = test.portion_keys};
}

/// Sorts `input`, of test.count keys. They are called test.distribution.
template <class Key>
DeviceSortOutcome sort_these(const std::vector<Key>& input, const Case& test) {
  const OnDevice session(test.multiprocessors);
  INFO(name(key_type_of<Key>()) << " " << test.distribution << " n=" << test.count << " " << name(test.order)
                                << " " << name(test.algorithm) << (test.in_place ? " in place" : "")
                                << (test.portable ? " portable" : ""));
  DeviceArray<Key> in{std::span<const Key>(input)};
  DeviceArray<Key> elsewhere(test.in_place ? 0 : test.count);
  DeviceArray<Key>& out = test.in_place ? in : elsewhere;
  DeviceSort sort = describe<Key>(test);
  sort.keys_in = in.data();
  sort.keys_out = out.data();
  const DeviceSortOutcome outcome = run_sort(sort, test);
  out.check_zones();
  in.check_zones();
  const auto output = out.download();
  oracle::require_sorted<Key>(input, output, test.order);
  if (!test.in_place) oracle::require(oracle::compare<Key>(input, in.download()));
  return outcome;
}

template <class Key>
DeviceSortOutcome sort_keys(const Case& test) {
  return sort_these(make_keys<Key>(test.distribution, test.count, test_seed()), test);
}

template <class Key, class Value>
DeviceSortOutcome sort_pairs(const Case& test) {
  const OnDevice session(test.multiprocessors);
  INFO(name(key_type_of<Key>()) << "+" << sizeof(Value) << " " << test.distribution << " n=" << test.count
                                << " " << name(test.order) << " " << name(test.algorithm)
                                << (test.in_place ? " in place" : "") << (test.portable ? " portable" : ""));
  const auto input = make_keys<Key>(test.distribution, test.count, test_seed());
  const auto values = positions<Value>(test.count);
  DeviceArray<Key> in{std::span<const Key>(input)};
  DeviceArray<Value> values_in{std::span<const Value>(values)};
  DeviceArray<Key> elsewhere(test.in_place ? 0 : test.count);
  DeviceArray<Value> values_elsewhere(test.in_place ? 0 : test.count);
  DeviceArray<Key>& out = test.in_place ? in : elsewhere;
  DeviceArray<Value>& values_out = test.in_place ? values_in : values_elsewhere;
  DeviceSort sort = describe<Key>(test);
  sort.value_bytes = sizeof(Value);
  sort.keys_in = in.data();
  sort.keys_out = out.data();
  sort.values_in = values_in.data();
  sort.values_out = values_out.data();
  const DeviceSortOutcome outcome = run_sort(sort, test);
  out.check_zones();
  in.check_zones();
  values_out.check_zones();
  values_in.check_zones();
  oracle::require_sorted_pairs<Key, Value>(input, values, out.download(), values_out.download(), test.order);
  if (!test.in_place) {
    oracle::require(oracle::compare<Key>(input, in.download()));
    oracle::require(oracle::compare<Value>(values, values_in.download()));
  }
  return outcome;
}

}  // namespace sweepsort
