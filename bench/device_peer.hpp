// device_peer.hpp - the common interface for measuring GPU sorts, including ours.
#pragma once

#include "bench/float_order.hpp"
#include "bench/sort_case.hpp"
#include "bench/sort_options.hpp"
#include "kernels/device_span.cuh"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sweepsort::bench {

/// Device memory of one sort. The inputs are never written.
struct DeviceArrays {
  const void* keys_in = nullptr;
  void* keys_out = nullptr;
  const void* values_in = nullptr;
  void* values_out = nullptr;
  DeviceSpan<std::byte> workspace{};
};

enum class Placement : uint8_t {
  out_of_place,
  in_place,  // sorts keys alone: keys_out, to which the runner copies the input outside of the timed region
};

/// A GPU sort. It runs in stream order and takes all memory from the arrays.
struct DevicePeer {
  std::string name;
  Placement placement = Placement::out_of_place;
  FloatOrder float_order = FloatOrder::total;
  bool capturable = true;  // never synchronises, so it can be recorded in a CUDA graph
  std::function<bool(const SortCase&)> supports;
  std::function<size_t(const SortCase&)> workspace_bytes;
  std::function<void(const SortCase&, const DeviceArrays&, cudaStream_t)> sort;
  /// The algorithm that the last sort used; empty if it did not sort because the data was unsuitable.
  /// Optional.
  std::function<std::optional<std::string>(const SortCase&, DeviceSpan<std::byte> workspace, cudaStream_t)>
      outcome{};
};

/// The peers that the options select, ours first.
std::vector<DevicePeer> device_peers(const SortBenchOptions& options);

}  // namespace sweepsort::bench
