// device_pass_peers.cu - the table of the GPU's scans and searches: ours, CUB, Thrust, and a plain copy or
// read, which none can beat.
#include "backend/cuda_scan.hpp"
#include "bench/device_check.hpp"
#include "bench/device_pass.hpp"
#include "bench/device_place.hpp"
#include "kernels/launch.cuh"

#include <string>

namespace sweepsort::bench {
namespace {

DeviceScan device_scan_of(const PassCase& what, ScanAlgorithm algorithm, const PassArrays& arrays) {
  return {.type = what.type,
          .op = what.op,
          .kind = what.kind,
          .algorithm = algorithm,
          .count = what.count,
          .in = arrays.in,
          .out = arrays.out};
}

DeviceReduce device_reduce_of(const PassCase& what, ReduceAlgorithm algorithm, const PassArrays& arrays) {
  return {.type = what.type,
          .extreme = what.extreme,
          .wants_index = what.wants_index,
          .algorithm = algorithm,
          .count = what.count,
          .in = arrays.in};
}

DevicePassPeer scan_peer(ScanAlgorithm algorithm) {
  DevicePassPeer peer;
  peer.name = std::string(name(algorithm));
  peer.supports = [](const PassCase& what) { return what.pass == Pass::scan; };
  peer.workspace_bytes = [=](const PassCase& what) {
    return device_scan_workspace_bytes(device_scan_of(what, algorithm, {}));
  };
  peer.prepare = [=](const PassCase& what, const PassArrays& arrays, cudaStream_t stream) {
    device_scan_prepare(device_scan_of(what, algorithm, arrays), Workspace(arrays.workspace), stream);
  };
  peer.run = [=](const PassCase& what, const PassArrays& arrays, cudaStream_t stream) {
    device_scan(device_scan_of(what, algorithm, arrays), Workspace(arrays.workspace), stream);
  };
  peer.is_right = scan_is_right;
  return peer;
}

/// Each run is a complete search, including the reset of the previous result.
DevicePassPeer search_peer(ReduceAlgorithm algorithm) {
  DevicePassPeer peer;
  peer.name = std::string(name(algorithm));
  peer.supports = [](const PassCase& what) { return what.pass == Pass::search; };
  peer.workspace_bytes = [=](const PassCase& what) {
    return device_reduce_workspace_bytes(device_reduce_of(what, algorithm, {}));
  };
  peer.run = [=](const PassCase& what, const PassArrays& arrays, cudaStream_t stream) {
    const DeviceReduce reduce = device_reduce_of(what, algorithm, arrays);
    device_reduce_begin(reduce, Workspace(arrays.workspace), stream);
    device_reduce(reduce, Workspace(arrays.workspace), stream);
  };
  peer.is_right = [=](const PassCase& what, const PassArrays& arrays, cudaStream_t stream) {
    const DeviceReduced reduced =
        device_reduce_result(device_reduce_of(what, algorithm, arrays), Workspace(arrays.workspace), stream);
    return reduced.found &&
           search_is_right(what, {.bits = reduced.bits, .index = reduced.index}, arrays, stream);
  };
  return peer;
}

/// Checks the scan in `out`, or the result of a search there: the element, and the index 8 bytes after it.
bool peer_is_right(const PassCase& what, const PassArrays& arrays, cudaStream_t stream) {
  if (what.pass == Pass::scan) return scan_is_right(what, arrays, stream);
  PassFound found;
  check(cudaMemcpyAsync(&found, arrays.out, sizeof found, cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  return search_is_right(what, found, arrays, stream);
}

DevicePassPeer copy_peer() {
  return {.name = "copy",
          .supports = [](const PassCase& what) { return what.pass == Pass::scan; },
          .workspace_bytes = [](const PassCase&) { return size_t{0}; },
          .run =
              [](const PassCase& what, const PassArrays& arrays, cudaStream_t stream) {
                check(cudaMemcpyAsync(arrays.out, arrays.in, what.bytes(), cudaMemcpyDeviceToDevice, stream));
              },
          .is_right =
              [](const PassCase& what, const PassArrays& arrays, cudaStream_t stream) {
                const DeviceSpan<uint32_t> flag(reinterpret_cast<uint32_t*>(arrays.check.data()), 1);
                return equal_on_device(arrays.in, arrays.out, what.bytes(), flag, stream);
              }};
}

DevicePassPeer read_peer() {
  return {
      .name = "read",
      .supports = [](const PassCase& what) { return what.pass == Pass::search && what.bytes() % 16 == 0; },
      .workspace_bytes = [](const PassCase&) { return size_t{0}; },
      .run =
          [](const PassCase& what, const PassArrays& arrays, cudaStream_t stream) {
            enqueue_read(arrays.in, what.bytes(), static_cast<uint64_t*>(arrays.out), stream);
          },
      .is_right =
          [](const PassCase& what, const PassArrays& arrays, cudaStream_t stream) {
            uint64_t found = 0;
            check(cudaMemcpyAsync(&found, arrays.out, sizeof found, cudaMemcpyDeviceToHost, stream));
            check(cudaStreamSynchronize(stream));
            return read_is_right(what, found, arrays, stream);
          }};
}

}  // namespace

std::vector<DevicePassPeer> device_pass_peers(const PassOptions& options) {
  std::vector<DevicePassPeer> peers;
  for (const ScanAlgorithm algorithm : options.scan_algorithms)
    if (is_gpu_algorithm(algorithm)) peers.push_back(scan_peer(algorithm));
  for (const ReduceAlgorithm algorithm : options.reduce_algorithms) peers.push_back(search_peer(algorithm));
  const std::vector<DevicePassPeer> others{
      {.name = "cub",
       .supports = cub_pass_supports,
       .workspace_bytes = cub_pass_workspace_bytes,
       .run = cub_pass,
       .is_right = peer_is_right},
      {.name = "thrust",
       .capturable = false,
       .supports = thrust_pass_supports,
       .workspace_bytes = thrust_pass_workspace_bytes,
       .run = thrust_pass,
       .is_right = peer_is_right},
      copy_peer(),
      read_peer(),
  };
  for (const DevicePassPeer& peer : others)
    if (is_wanted(options.peers, peer.name)) peers.push_back(peer);
  return peers;
}

}  // namespace sweepsort::bench
