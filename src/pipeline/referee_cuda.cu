// referee_cuda.cu - thrust::sort on the GPU, the device half of the referee.
#include "core/key_bits.hpp"
#include "gpu/handles.hpp"
#include "pipeline/referee_device.hpp"

#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

namespace sweepsort {
namespace {

template <class Bits>
struct ToOrdered {
  KeyMap<Bits> map;
  __host__ __device__ Bits operator()(Bits raw) const { return map.to_ordered(raw); }
};

template <class Bits>
struct FromOrdered {
  KeyMap<Bits> map;
  __host__ __device__ Bits operator()(Bits ordered) const { return map.from_ordered(ordered); }
};

/// Narrow keys are sorted as 32-bit keys. That halves the number of sorts to compile, and a referee of bytes
/// need not be fast.
template <class Bits, class Sorted = std::conditional_t<sizeof(Bits) < 4, uint32_t, Bits>>
void sort_bits(std::span<std::byte> keys, KeyMap<Bits> map) {
  Bits* const first = reinterpret_cast<Bits*>(keys.data());
  Bits* const last = first + keys.size() / sizeof(Bits);
  thrust::device_vector<Bits> raw(first, last);
  thrust::device_vector<Sorted> sorted(raw.size());
  thrust::transform(raw.begin(), raw.end(), sorted.begin(), ToOrdered<Bits>{map});
  thrust::sort(sorted.begin(), sorted.end());
  thrust::transform(sorted.begin(), sorted.end(), raw.begin(), FromOrdered<Bits>{map});
  thrust::copy(raw.begin(), raw.end(), first);
}

}  // namespace

void referee_sort_on_device(std::span<std::byte> keys, KeyType type, Order order, int device) {
  const DeviceGuard guard(DeviceId{device});
  switch (key_bytes(type)) {
    case 1: return sort_bits(keys, key_map<uint8_t>(type, order));
    case 2: return sort_bits(keys, key_map<uint16_t>(type, order));
    case 4: return sort_bits(keys, key_map<uint32_t>(type, order));
    default: return sort_bits(keys, key_map<uint64_t>(type, order));
  }
}

}  // namespace sweepsort
