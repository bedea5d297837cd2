// cub_pass.cuh - the template that each translation unit of CUB's scans and searches instantiates for one
// type.
#pragma once

#include "bench/cub_pass.hpp"

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include <cstdint>
#include <cuda/functional>
#include <cuda/std/functional>
#include <limits>

namespace sweepsort::bench {

template <class Key, class Op>
cudaError_t cub_scan(const CubPassCall& call, const Op& op, Key identity) {
  const auto* const in = static_cast<const Key*>(call.arrays.in);
  auto* const out = static_cast<Key*>(call.arrays.out);
  void* const workspace = call.arrays.workspace.data();
  const auto count = static_cast<int64_t>(call.what.count);
  return call.what.kind == ScanKind::inclusive
             ? cub::DeviceScan::InclusiveScan(workspace, *call.workspace_bytes, in, out, op, count,
                                              call.stream)
             : cub::DeviceScan::ExclusiveScan(workspace, *call.workspace_bytes, in, out, op, identity, count,
                                              call.stream);
}

template <class Key>
cudaError_t cub_sum(const CubPassCall& call) {
  const auto* const in = static_cast<const Key*>(call.arrays.in);
  auto* const out = static_cast<Key*>(call.arrays.out);
  void* const workspace = call.arrays.workspace.data();
  const auto count = static_cast<int64_t>(call.what.count);
  return call.what.kind == ScanKind::inclusive
             ? cub::DeviceScan::InclusiveSum(workspace, *call.workspace_bytes, in, out, count, call.stream)
             : cub::DeviceScan::ExclusiveSum(workspace, *call.workspace_bytes, in, out, count, call.stream);
}

template <class Key>
cudaError_t cub_search(const CubPassCall& call) {
  const auto* const in = static_cast<const Key*>(call.arrays.in);
  auto* const value = static_cast<Key*>(call.arrays.out);
  auto* const index = static_cast<int64_t*>(call.arrays.out) + 1;
  void* const workspace = call.arrays.workspace.data();
  const auto count = static_cast<int64_t>(call.what.count);
  return call.what.wants_index
             ? cub::DeviceReduce::ArgMin(workspace, *call.workspace_bytes, in, value, index, count,
                                         call.stream)
             : cub::DeviceReduce::Min(workspace, *call.workspace_bytes, in, value, count, call.stream);
}

template <class Key>
cudaError_t cub_pass_call(const CubPassCall& call) {
  if constexpr (cub_has_search<Key>)
    if (call.what.pass == Pass::search) return cub_search<Key>(call);
  if constexpr (cub_has_all_operators<Key>) {
    using Limits = std::numeric_limits<Key>;
    switch (call.what.op) {
      case ScanOp::min: return cub_scan<Key>(call, cuda::minimum<>{}, Limits::max());
      case ScanOp::max: return cub_scan<Key>(call, cuda::maximum<>{}, Limits::lowest());
      case ScanOp::bit_xor: return cub_scan<Key>(call, cuda::std::bit_xor<>{}, Key{0});
      case ScanOp::sum: break;
    }
  }
  return cub_sum<Key>(call);
}

}  // namespace sweepsort::bench
