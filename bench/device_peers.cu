// device_peers.cu - the table of GPU sorts: ours, CUB with both index types, Thrust, and those for which the
// build was given a path.
#include "backend/cuda_sort.hpp"
#include "bench/cub_sort.hpp"
#include "bench/device_peer.hpp"
#include "bench/gpusorting_sort.hpp"
#include "bench/libcusort_sort.hpp"
#include "bench/thrust_sort.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sweepsort::bench {
namespace {

DeviceSort device_sort_of(const SortCase& what, SortAlgorithm algorithm, const DeviceArrays& arrays) {
  return {.type = what.type,
          .order = what.order,
          .algorithm = algorithm,
          .count = what.count,
          .value_bytes = what.value_bytes,
          .keys_in = arrays.keys_in,
          .keys_out = arrays.keys_out,
          .values_in = arrays.values_in,
          .values_out = arrays.values_out};
}

std::optional<std::string> algorithm_name(const DeviceSortOutcome& outcome) {
  switch (outcome.algorithm) {
    case DeviceSortOutcome::Algorithm::already_sorted: return "already sorted";
    case DeviceSortOutcome::Algorithm::reversed: return "reversed";
    case DeviceSortOutcome::Algorithm::counting: return "counting";
    case DeviceSortOutcome::Algorithm::radix:
      return "radix, " + std::to_string(outcome.live_digits) + " digits";
    case DeviceSortOutcome::Algorithm::msd: return "radix, msd";
    case DeviceSortOutcome::Algorithm::block: return "one block";
    case DeviceSortOutcome::Algorithm::grid: return "one launch";
    case DeviceSortOutcome::Algorithm::unsuitable: break;
  }
  return std::nullopt;
}

DevicePeer sweepsort_peer(SortAlgorithm algorithm) {
  DevicePeer peer;
  peer.name =
      algorithm == SortAlgorithm::automatic ? "sweepsort" : "sweepsort-" + std::string(name(algorithm));
  peer.supports = [](const SortCase&) { return true; };
  peer.workspace_bytes = [=](const SortCase& what) {
    return device_sort_workspace_bytes(device_sort_of(what, algorithm, {}));
  };
  peer.sort = [=](const SortCase& what, const DeviceArrays& arrays, cudaStream_t stream) {
    device_sort(device_sort_of(what, algorithm, arrays), Workspace(arrays.workspace), stream);
  };
  peer.outcome = [=](const SortCase& what, DeviceSpan<std::byte> workspace, cudaStream_t stream) {
    return algorithm_name(
        device_sort_outcome(device_sort_of(what, algorithm, {}), Workspace(workspace), stream));
  };
  return peer;
}

DevicePeer cub_peer(CubIndex index) {
  DevicePeer peer;
  peer.name = index == CubIndex::int32 ? "cub-int32" : "cub-int64";
  peer.float_order = FloatOrder::by_bits;
  peer.supports = [=](const SortCase& what) { return cub_supports(what, index); };
  peer.workspace_bytes = [=](const SortCase& what) { return cub_workspace_bytes(what, index); };
  peer.sort = [=](const SortCase& what, const DeviceArrays& arrays, cudaStream_t stream) {
    cub_sort(what, index, arrays, stream);
  };
  return peer;
}

DevicePeer thrust_peer() {
  return {.name = "thrust",
          .placement = Placement::in_place,
          .float_order = FloatOrder::by_bits,
          .capturable = false,
          .supports = thrust_supports,
          .workspace_bytes = thrust_workspace_bytes,
          .sort = thrust_sort};
}

std::vector<DevicePeer> other_peers() {
  std::vector<DevicePeer> peers{cub_peer(CubIndex::int32), cub_peer(CubIndex::int64), thrust_peer()};
#ifdef SWEEPSORT_BENCH_LIBCUSORT
  peers.push_back({.name = "libcusort",
                   .capturable = false,  // it launches its own graph
                   .supports = libcusort_supports,
                   .workspace_bytes = libcusort_workspace_bytes,
                   .sort = libcusort_sort});
#endif
#ifdef SWEEPSORT_BENCH_GPUSORTING
  peers.push_back({.name = "gpusorting",
                   .placement = Placement::in_place,
                   .supports = gpusorting_supports,
                   .workspace_bytes = gpusorting_workspace_bytes,
                   .sort = gpusorting_sort});
#endif
  return peers;
}

}  // namespace

std::vector<DevicePeer> device_peers(const SortBenchOptions& options) {
  std::vector<DevicePeer> peers;
  for (const SortAlgorithm algorithm : options.algorithms) peers.push_back(sweepsort_peer(algorithm));
  for (DevicePeer& peer : other_peers())
    if (is_wanted(options.peers, peer.name)) peers.push_back(std::move(peer));
  return peers;
}

}  // namespace sweepsort::bench
