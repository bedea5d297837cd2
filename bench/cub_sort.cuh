// cub_sort.cuh - the template that each translation unit of CUB's sort instantiates for one key type (and
// value type).
#pragma once

#include "bench/cub_call.hpp"

#include <cub/device/device_radix_sort.cuh>

#include <cstdint>

namespace sweepsort::bench {

template <class Key, class Value, class Index>
cudaError_t cub_call_with(const CubCall& call) {
  const auto* const keys_in = static_cast<const Key*>(call.arrays.keys_in);
  auto* const keys_out = static_cast<Key*>(call.arrays.keys_out);
  const Index count = static_cast<Index>(call.count);
  constexpr int all_bits = static_cast<int>(sizeof(Key) * 8);
  void* const workspace = call.arrays.workspace.data();
  using Sort = cub::DeviceRadixSort;
  if constexpr (std::is_same_v<Value, NoValue>) {
    return call.order == Order::ascending
               ? Sort::SortKeys(workspace, *call.workspace_bytes, keys_in, keys_out, count, 0, all_bits,
                                call.stream)
               : Sort::SortKeysDescending(workspace, *call.workspace_bytes, keys_in, keys_out, count, 0,
                                          all_bits, call.stream);
  } else {
    const auto* const values_in = static_cast<const Value*>(call.arrays.values_in);
    auto* const values_out = static_cast<Value*>(call.arrays.values_out);
    return call.order == Order::ascending
               ? Sort::SortPairs(workspace, *call.workspace_bytes, keys_in, keys_out, values_in, values_out,
                                 count, 0, all_bits, call.stream)
               : Sort::SortPairsDescending(workspace, *call.workspace_bytes, keys_in, keys_out, values_in,
                                           values_out, count, 0, all_bits, call.stream);
  }
}

template <class Key, class Value>
cudaError_t cub_call(const CubCall& call) {
  return call.index == CubIndex::int32 ? cub_call_with<Key, Value, int32_t>(call)
                                       : cub_call_with<Key, Value, int64_t>(call);
}

}  // namespace sweepsort::bench
