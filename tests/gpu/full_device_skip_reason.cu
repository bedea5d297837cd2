// full_device_skip_reason.cu - tests that need a GPU with code for compute capability 9.0 and its shared
// memory.
#include "backend/backend.hpp"
#include "kernels/device_abilities.cuh"
#include "skip_reason.hpp"

namespace sweepsort {

std::string skip_reason() {
  const CudaStatus status = cuda_status();
  if (status.usable.empty()) return status.reason;
  const DeviceAbilities abilities = device_abilities();
  if (abilities.is_full()) return {};
  return "the kernels need code for compute capability 9.0 and 227 KiB of shared memory per block, here "
         "are " +
         std::to_string(abilities.code) + " and " + std::to_string(abilities.shared_bytes / 1024);
}

}  // namespace sweepsort
