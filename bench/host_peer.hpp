// host_peer.hpp - the common interface for measuring CPU sorts, including ours.
#pragma once

#include "backend/backend.hpp"
#include "bench/float_order.hpp"
#include "bench/sort_case.hpp"
#include "bench/sort_options.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sweepsort::bench {

/// The arrays of one case. The inputs are never written. The value arrays are empty for keys alone.
struct HostArrays {
  std::span<const std::byte> keys_in;
  std::span<std::byte> keys_out;
  std::span<const std::byte> values_in;
  std::span<std::byte> values_out;
};

/// One sort: the measured time, and details from the peer.
struct HostRun {
  double sort_s = 0;
  std::string detail{};
};

/// A CPU sort. `sort` copies the input where it needs it, times the sort itself, and leaves the result in the
/// output arrays.
struct HostPeer {
  std::string name;
  uint32_t threads = 1;
  FloatOrder float_order = FloatOrder::total;
  std::function<bool(const SortCase&)> supports;
  std::function<HostRun(const SortCase&, const HostArrays&)> sort;
};

/// The CPU backend as a peer.
HostPeer sweepsort_host_peer(std::shared_ptr<Backend> backend, SortAlgorithm algorithm, uint32_t threads);

/// The other sorts in this build.
std::vector<HostPeer> other_host_peers(uint32_t threads);

}  // namespace sweepsort::bench
