// cub_call.hpp - the interface between the caller of CUB and the translation units that compile it.
#pragma once

#include "bench/cub_sort.hpp"

namespace sweepsort::bench {

/// For keys without values.
struct NoValue {};

/// One call of CUB. With an empty workspace it only writes `*workspace_bytes`, as usual in CUB.
struct CubCall {
  CubIndex index = CubIndex::int64;
  Order order = Order::ascending;
  uint64_t count = 0;
  DeviceArrays arrays{};
  size_t* workspace_bytes = nullptr;
  cudaStream_t stream = nullptr;
};

/// Instantiated in one translation unit per key type and value type listed in CMakeLists.txt.
template <class Key, class Value>
cudaError_t cub_call(const CubCall& call);

}  // namespace sweepsort::bench
