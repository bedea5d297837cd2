// no_cuda.cpp - the CUDA backend's entry points in a build without CUDA.
#include "backend/backend.hpp"
#include "core/error.hpp"

namespace sweepsort {

bool has_cuda_driver() { return false; }

CudaStatus cuda_status() {
  return {
      .usable = {},
      .device_count = 0,
      .reason = "this build has no CUDA",
      .hint =
          "install the CUDA toolkit (nvcc) and build again with -DSWEEPSORT_CUDA=ON, or use --backend cpu"};
}

std::unique_ptr<Backend> make_cuda_backend(int) {
  const CudaStatus status = cuda_status();
  throw Error(status.reason, status.hint);
}

}  // namespace sweepsort
