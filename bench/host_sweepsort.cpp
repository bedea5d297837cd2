// host_sweepsort.cpp - the CPU backend as a peer: sorts in place, as users of the library call it.
#include "bench/host_peer.hpp"

#include <algorithm>
#include <chrono>

namespace sweepsort::bench {

HostPeer sweepsort_host_peer(std::shared_ptr<Backend> backend, SortAlgorithm algorithm, uint32_t threads) {
  HostPeer peer;
  peer.name =
      algorithm == SortAlgorithm::automatic ? "sweepsort" : "sweepsort-" + std::string(name(algorithm));
  peer.threads = threads;
  peer.supports = [](const SortCase&) { return true; };
  peer.sort = [=](const SortCase& what, const HostArrays& arrays) {
    std::ranges::copy(arrays.keys_in, arrays.keys_out.begin());
    std::ranges::copy(arrays.values_in, arrays.values_out.begin());
    const SortJob job{.count = what.count,
                      .type = what.type,
                      .order = what.order,
                      .algorithm = algorithm,
                      .value_bytes = what.value_bytes};
    const auto begin = std::chrono::steady_clock::now();
    const SortSummary summary = backend->sort(arrays.keys_out, arrays.values_out, job);
    const std::chrono::duration<double> sort_s = std::chrono::steady_clock::now() - begin;
    return HostRun{.sort_s = sort_s.count(), .detail = summary.algorithm};
  };
  return peer;
}

}  // namespace sweepsort::bench
