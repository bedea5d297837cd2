// thrust_sort.cu - thrust::sort with its temporary memory taken from the workspace.
#include "bench/thrust_arena.hpp"
#include "bench/thrust_sort.hpp"

#include <thrust/execution_policy.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/execution_policy.h>

#include <cstdint>

namespace sweepsort::bench {
namespace {

template <class Key>
void sort_keys(const SortCase& what, const DeviceArrays& arrays, cudaStream_t stream) {
  Arena arena(arrays.workspace);
  auto* const keys = static_cast<Key*>(arrays.keys_out);
  thrust::sort(thrust::cuda::par_nosync(arena).on(stream), keys, keys + what.count);
}

}  // namespace

bool thrust_supports(const SortCase& what) {
  if (what.value_bytes != 0 || what.order != Order::ascending) return false;
  switch (what.type) {
    case KeyType::u8:
    case KeyType::u16:
    case KeyType::u32:
    case KeyType::u64:
    case KeyType::f32: return true;
    default: return false;
  }
}

size_t thrust_workspace_bytes(const SortCase& what) {
  // Thrust does not report its needs in advance: a second array of keys, and CUB's histograms and look-back
  // states.
  constexpr size_t states = size_t{64} << 20;
  return what.keys_bytes() + what.keys_bytes() / 4 + states;
}

void thrust_sort(const SortCase& what, const DeviceArrays& arrays, cudaStream_t stream) {
  switch (what.type) {
    case KeyType::u8: return sort_keys<uint8_t>(what, arrays, stream);
    case KeyType::u16: return sort_keys<uint16_t>(what, arrays, stream);
    case KeyType::u32: return sort_keys<uint32_t>(what, arrays, stream);
    case KeyType::u64: return sort_keys<uint64_t>(what, arrays, stream);
    default: return sort_keys<float>(what, arrays, stream);
  }
}

}  // namespace sweepsort::bench
