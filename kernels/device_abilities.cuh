// device_abilities.cuh - what the current device can do with the code that was compiled for it. The choice of
// algorithm asks nothing else about the device.
//
//                                     code for     shared memory per block
//     full: MSD, grid, ring, counters    9.0           227 KiB            H100, H200, B200
//     everything else                    7.5            64 KiB            Turing to RTX 50
//
// What counts is the code, not the device: a driver translates a binary's PTX for devices newer than all code
// in it, and PTX for 7.5 has no bulk copies even on a device of 9.0.
#pragma once

#include "kernels/cuda_error.cuh"

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>

namespace sweepsort {

/// A number that describes the current device.
inline uint32_t device_attribute(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&value, attribute, device));
  return static_cast<uint32_t>(value);
}

/// The abilities of a device and of the code that runs there.
struct DeviceAbilities {
  static constexpr uint32_t full_code = 90;
  static constexpr uint32_t full_shared_bytes = 227 * 1024;
  static constexpr uint32_t min_code = 75;
  static constexpr uint32_t min_shared_bytes = 64 * 1024;

  uint32_t code;                // the compute capability that the code is for: 75 is 7.5
  uint32_t shared_bytes;        // the most that a block may ask for
  uint32_t cluster_blocks = 0;  // the most blocks of a cluster, if each takes a multiprocessor

  /// Whether every kernel runs.
  constexpr bool is_full() const { return code >= full_code && shared_bytes >= full_shared_bytes; }
  /// Whether a kernel may be set up while the one before it still runs.
  constexpr bool overlaps_launches() const { return code >= 90; }
};

namespace abilities_detail {

/// Never started. The runtime is asked which code it loaded for this kernel.
template <int>
__global__ void probe_kernel() {}

/// The most blocks of a cluster, if each has all the shared memory of a multiprocessor. They may be more than
/// 8, and on some devices fewer. Returns 0 if the runtime cannot tell: there are other sorts.
inline uint32_t ask_for_clusters(const void* kernel, uint32_t shared_bytes) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.dynamicSmemBytes = shared_bytes;
  int blocks = 0;
  const bool is_known =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           static_cast<int>(shared_bytes)) == cudaSuccess &&
      cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) == cudaSuccess &&
      cudaOccupancyMaxPotentialClusterSize(&blocks, kernel, &config) == cudaSuccess;
  if (is_known) return static_cast<uint32_t>(blocks);
  (void)cudaGetLastError();
  return 0;
}

inline DeviceAbilities ask() {
  const void* const kernel = reinterpret_cast<const void*>(&probe_kernel<0>);
  cudaFuncAttributes loaded{};
  check(cudaFuncGetAttributes(&loaded, kernel));
  DeviceAbilities abilities{.code = static_cast<uint32_t>(loaded.ptxVersion),
                            .shared_bytes = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)};
  if (abilities.is_full()) abilities.cluster_blocks = ask_for_clusters(kernel, abilities.shared_bytes);
  return abilities;
}

}  // namespace abilities_detail

/// The abilities of the current device. Each device is asked once. Throws CudaError if no compiled code runs
/// on it.
inline DeviceAbilities device_abilities() {
#if defined(__CUDACC__)
  constexpr uint32_t max_devices = 64;
  static std::atomic<uint64_t> known[max_devices];
  int device = 0;
  check(cudaGetDevice(&device));
  if (static_cast<uint32_t>(device) >= max_devices) return abilities_detail::ask();
  const uint64_t word = known[device].load(std::memory_order_relaxed);
  if (word != 0)
    return {.code = static_cast<uint32_t>(word >> 32 & 0xffff),
            .shared_bytes = static_cast<uint32_t>(word),
            .cluster_blocks = static_cast<uint32_t>(word >> 48)};
  const DeviceAbilities asked = abilities_detail::ask();
  known[device].store(uint64_t{asked.cluster_blocks} << 48 | uint64_t{asked.code} << 32 | asked.shared_bytes,
                      std::memory_order_relaxed);
  return asked;
#else
  return abilities_detail::ask();  // the emulator's device changes from test to test
#endif
}

}  // namespace sweepsort
