// cuda_device.cu - whether this build can use a CUDA device, and if not, why and what to do.
#include "backend/backend.hpp"
#include "backend/cuda_device.hpp"
#include "backend/cuda_sort.hpp"
#include "core/error.hpp"
#include "kernels/device_abilities.cuh"

#include <cuda_runtime.h>

#include <string>
#include <utility>
#include <vector>

namespace sweepsort {
namespace {

/// What a device offers of what device_sort_needs() asks for; determined without waking the device.
struct Offer {
  uint32_t compute;
  uint32_t shared_bytes;
  bool suffices() const {
    const DeviceNeeds needs = device_sort_needs();
    return compute >= needs.compute && shared_bytes >= needs.shared_bytes;
  }
};

Offer offer_of(int device) {
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;  // remains 0 if the device is broken
    if (cudaDeviceGetAttribute(&value, which, device) != cudaSuccess) (void)cudaGetLastError();
    return static_cast<uint32_t>(value);
  };
  return {.compute = 10 * attribute(cudaDevAttrComputeCapabilityMajor) +
                     attribute(cudaDevAttrComputeCapabilityMinor),
          .shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)};
}

std::string compute_name(uint32_t compute) {
  return std::to_string(compute / 10) + "." + std::to_string(compute % 10);
}

/// What to do about a device that this build cannot use.
std::string hint_for(const Offer& offer) {
  if (offer.compute < DeviceAbilities::min_code) return "use --backend cpu";
  return "build with -DCMAKE_CUDA_ARCHITECTURES=" + std::to_string(offer.compute) + ", or use --backend cpu";
}

std::string needs_text() {
  const DeviceNeeds needs = device_sort_needs();
  return "this build needs " + compute_name(needs.compute) + " and " +
         std::to_string(needs.shared_bytes / 1024) + " KiB";
}

}  // namespace

void require_usable(int device, const std::string& name) {
  const Offer offer = offer_of(device);
  if (offer.suffices()) return;
  throw Error("--device " + std::to_string(device) + ": " + name + " is of compute capability " +
                  compute_name(offer.compute) + " with " + std::to_string(offer.shared_bytes / 1024) +
                  " KiB of shared memory per block, " + needs_text(),
              hint_for(offer));
}

void wake_up(int device, const std::string& name) {
  check(cudaFree(nullptr));
  try {
    (void)device_abilities();
  } catch (const CudaError& error) {
    if (error.code() != cudaErrorNoKernelImageForDevice && error.code() != cudaErrorInvalidDeviceFunction)
      throw;
    const Offer offer = offer_of(device);
    throw Error("this build has no code for " + name + ", compute capability " + compute_name(offer.compute),
                hint_for(offer));
  }
}

bool has_cuda_driver() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) (void)cudaGetLastError();
  return driver != 0;
}

CudaStatus cuda_status() {
  int count = 0;
  int driver = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found != cudaSuccess) (void)cudaGetLastError();
  if (cudaDriverGetVersion(&driver) != cudaSuccess) (void)cudaGetLastError();
  if (found == cudaErrorInsufficientDriver && driver == 0)
    return {.reason = "no NVIDIA driver is installed",
            .hint = "install the NVIDIA driver, or use --backend cpu"};
  if (found == cudaErrorInsufficientDriver)
    return {.reason = "the NVIDIA driver is too old for this build (CUDA " +
                      std::to_string(CUDART_VERSION / 1000) + ")",
            .hint = "update the NVIDIA driver, or use --backend cpu"};
  if (found == cudaErrorStubLibrary)
    return {.reason = "the CUDA driver library is the toolkit's stub, not a driver",
            .hint = "remove the stubs folder from LD_LIBRARY_PATH, or use --backend cpu"};
  if (found == cudaErrorNoDevice || (found == cudaSuccess && count == 0))
    return {.reason = "no CUDA device is visible",
            .hint = "look at nvidia-smi and CUDA_VISIBLE_DEVICES, or use --backend cpu"};
  if (found != cudaSuccess)
    return {.reason = std::string("CUDA does not start: ") + cudaGetErrorString(found),
            .hint = "look at nvidia-smi, or use --backend cpu"};
  Offer newest{};
  std::vector<int> usable;
  for (int device = 0; device < count; ++device) {
    const Offer offer = offer_of(device);
    if (offer.suffices()) usable.push_back(device);
    if (offer.compute > newest.compute) newest = offer;
  }
  if (!usable.empty()) return {.usable = std::move(usable), .device_count = count};
  return {.device_count = count,
          .reason = "no GPU here can be used: the newest is of compute capability " +
                    compute_name(newest.compute) + " with " + std::to_string(newest.shared_bytes / 1024) +
                    " KiB of shared memory per block, " + needs_text(),
          .hint = hint_for(newest)};
}

}  // namespace sweepsort
