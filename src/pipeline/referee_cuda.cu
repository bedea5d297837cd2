// referee_cuda.cu - thrust::sort on the GPU, the device half of the referee.
#include "core/key_bits.hpp"
#include "gpu/handles.hpp"
#include "pipeline/referee_device.hpp"

#include <thrust/execution_policy.h>
#include <thrust/sort.h>
#include <thrust/system_error.h>
#include <thrust/transform.h>

#include <cstddef>
#include <new>
#include <source_location>

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

/// Thrust's temporary memory. Thrust's own containers throw when they free memory of a device that has
/// failed, which ends the process.
class DeviceMemory {
 public:
  using value_type = std::byte;
  explicit DeviceMemory(uint64_t room) : room_(room) {}

  std::byte* allocate(std::ptrdiff_t bytes) {
    void* memory = nullptr;
    const auto wanted = static_cast<uint64_t>(bytes);
    if (wanted > room_ || cudaMalloc(&memory, wanted) != cudaSuccess) {
      (void)cudaGetLastError();
      throw std::bad_alloc();
    }
    room_ -= wanted;
    return static_cast<std::byte*>(memory);
  }
  void deallocate(std::byte* memory, size_t bytes) noexcept {
    (void)cudaFree(memory);
    room_ += bytes;
  }

 private:
  uint64_t room_;
};

/// Narrow keys are sorted as 32-bit keys. That halves the number of sorts to compile, and a referee of bytes
/// need not be fast.
template <class Bits, class Sorted = std::conditional_t<sizeof(Bits) < 4, uint32_t, Bits>>
void sort_bits(std::span<std::byte> keys, KeyMap<Bits> map, uint64_t room) {
  const uint64_t count = keys.size() / sizeof(Bits);
  const uint64_t arrays = count * (sizeof(Bits) + sizeof(Sorted));
  if (arrays > room) throw std::bad_alloc();
  const DeviceBuffer<Bits> raw(count);
  const DeviceBuffer<Sorted> sorted(count);
  DeviceMemory temporary(room - arrays);
  const auto policy = thrust::cuda::par(temporary);
  check(cudaMemcpy(raw.data(), keys.data(), keys.size(), cudaMemcpyHostToDevice));
  thrust::transform(policy, raw.data(), raw.data() + count, sorted.data(), ToOrdered<Bits>{map});
  thrust::sort(policy, sorted.data(), sorted.data() + count);
  thrust::transform(policy, sorted.data(), sorted.data() + count, raw.data(), FromOrdered<Bits>{map});
  check(cudaMemcpy(keys.data(), raw.data(), keys.size(), cudaMemcpyDeviceToHost));
}

void sort_keys(std::span<std::byte> keys, KeyType type, Order order, uint64_t room) {
  switch (key_bytes(type)) {
    case 1: return sort_bits(keys, key_map<uint8_t>(type, order), room);
    case 2: return sort_bits(keys, key_map<uint16_t>(type, order), room);
    case 4: return sort_bits(keys, key_map<uint32_t>(type, order), room);
    default: return sort_bits(keys, key_map<uint64_t>(type, order), room);
  }
}

}  // namespace

void referee_sort_on_device(std::span<std::byte> keys, KeyType type, Order order, int device, Bytes room) {
  const DeviceGuard guard(DeviceId{device});
  const auto sort = [&] {
    try {
      sort_keys(keys, type, order, room.value);
    } catch (const thrust::system_error& error) {
      throw CudaError(static_cast<cudaError_t>(error.code().value()), std::source_location::current());
    }
  };
  try {
    sort();
  } catch (const CudaError& error) {
    if (error.code() != cudaErrorMemoryAllocation) throw;
    throw std::bad_alloc();
  }
}

}  // namespace sweepsort
