// several_gpus_skip_reason.cpp - tests that need more than one GPU.
#include "backend/backend.hpp"
#include "skip_reason.hpp"

namespace sweepsort {

std::string skip_reason() {
  const CudaStatus status = cuda_status();
  if (status.usable.empty()) return status.reason;
  return status.usable.size() == 1 ? "there is only one GPU" : std::string();
}

}  // namespace sweepsort
