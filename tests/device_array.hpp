// device_array.hpp - device memory for tests, also on the emulator: poisoned, with guard zones on both sides.
#pragma once

#include "catch.hpp"
#include "kernels/device_span.cuh"
#include "kernels/launch.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sweepsort {

/// `count` elements that start at a multiple of 256 bytes, all bytes 0xCD at first.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(uint64_t count) : count_(count) {
    check(cudaMalloc(reinterpret_cast<void**>(&memory_), total_bytes()));
    check(cudaMemset(memory_, poison, total_bytes()));
  }
  explicit DeviceArray(std::span<const T> content) : DeviceArray(content.size()) {
    if (!content.empty())
      check(cudaMemcpy(data(), content.data(), content.size_bytes(), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { (void)cudaFree(memory_); }

  T* data() const { return reinterpret_cast<T*>(memory_ + zone_bytes); }
  uint64_t size() const { return count_; }
  DeviceSpan<T> span() const { return {data(), count_}; }

  std::vector<T> download() const {
    std::vector<T> content(count_);
    check(cudaDeviceSynchronize());
    if (count_ > 0) check(cudaMemcpy(content.data(), data(), count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return content;
  }

  /// True while no byte outside the elements was written.
  bool zones_intact() const {
    std::vector<std::byte> zones(2 * zone_bytes);
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(zones.data(), memory_, zone_bytes, cudaMemcpyDeviceToHost));
    check(cudaMemcpy(zones.data() + zone_bytes, memory_ + zone_bytes + count_ * sizeof(T), zone_bytes,
                     cudaMemcpyDeviceToHost));
    return std::ranges::all_of(zones, [](std::byte byte) { return byte == std::byte{poison}; });
  }

  /// True while no byte was written at all.
  bool is_poisoned() const {
    std::vector<std::byte> bytes(total_bytes());
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(bytes.data(), memory_, bytes.size(), cudaMemcpyDeviceToHost));
    return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{poison}; });
  }

  void check_zones() const {
    INFO("a byte outside of the " << count_ << " elements in device memory was written");
    REQUIRE(zones_intact());
  }

 private:
  static constexpr size_t zone_bytes = 256;
  static constexpr unsigned char poison = 0xcd;
  size_t total_bytes() const { return count_ * sizeof(T) + 2 * zone_bytes; }

  std::byte* memory_ = nullptr;
  uint64_t count_;
};

}  // namespace sweepsort
