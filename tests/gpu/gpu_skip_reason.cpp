// gpu_skip_reason.cpp - tests that need a GPU.
#include "backend/backend.hpp"
#include "skip_reason.hpp"

namespace sweepsort {

std::string skip_reason() {
  const CudaStatus status = cuda_status();
  return status.usable.empty() ? status.reason : std::string();
}

}  // namespace sweepsort
