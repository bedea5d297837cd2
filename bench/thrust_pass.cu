// thrust_pass.cu - thrust::inclusive_scan, exclusive_scan and min_element, with their temporary memory taken
// from the workspace.
#include "bench/device_pass.hpp"
#include "bench/thrust_arena.hpp"
#include "kernels/launch.cuh"

#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/scan.h>
#include <thrust/system/cuda/execution_policy.h>

#include <cstdint>

namespace sweepsort::bench {
namespace {

void scan(const PassCase& what, const PassArrays& arrays, cudaStream_t stream) {
  Arena arena(arrays.workspace);
  const auto policy = thrust::cuda::par_nosync(arena).on(stream);
  const auto* const in = static_cast<const uint32_t*>(arrays.in);
  auto* const out = static_cast<uint32_t*>(arrays.out);
  if (what.kind == ScanKind::inclusive)
    thrust::inclusive_scan(policy, in, in + what.count, out);
  else
    thrust::exclusive_scan(policy, in, in + what.count, out);
}

void search(const PassCase& what, const PassArrays& arrays, cudaStream_t stream) {
  Arena arena(arrays.workspace);
  const auto* const in = static_cast<const uint32_t*>(arrays.in);
  const auto* const place =
      thrust::min_element(thrust::cuda::par_nosync(arena).on(stream), in, in + what.count);
  // Thrust returns the position to the host, but the checks look for it on the device.
  const int64_t index = place - in;
  auto* const out = static_cast<std::byte*>(arrays.out);
  check(cudaMemcpyAsync(out, place, sizeof *place, cudaMemcpyDeviceToDevice, stream));
  check(cudaMemcpyAsync(out + sizeof(uint64_t), &index, sizeof index, cudaMemcpyHostToDevice, stream));
}

}  // namespace

bool thrust_pass_supports(const PassCase& what) {
  if (what.type != KeyType::u32) return false;
  if (what.pass == Pass::scan) return what.op == ScanOp::sum;
  return what.extreme == Extreme::min && what.wants_index;
}

size_t thrust_pass_workspace_bytes(const PassCase& what) {
  // Thrust does not report its needs in advance: CUB's look-back states, or partial results of many blocks.
  constexpr size_t partial_results = size_t{16} << 20;
  return what.bytes() / 64 + partial_results;
}

void thrust_pass(const PassCase& what, const PassArrays& arrays, cudaStream_t stream) {
  if (what.pass == Pass::scan)
    scan(what, arrays, stream);
  else
    search(what, arrays, stream);
}

}  // namespace sweepsort::bench
