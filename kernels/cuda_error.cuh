// cuda_error.cuh - the check of CUDA calls and launches that is never left out.
#pragma once

#include "core/error.hpp"

#include <cuda_runtime.h>

#include <source_location>
#include <string>

namespace sweepsort {

/// A CUDA call or launch failed. `code()` tells out-of-memory from a lost device.
class CudaError : public Error {
 public:
  CudaError(cudaError_t code, const std::source_location& where)
      : Error(std::string("CUDA: ") + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ") in " +
                  where.function_name(),
              code == cudaErrorMemoryAllocation ? "free memory on the GPU, or use --backend cpu"
                                                : "look at nvidia-smi, or use --backend cpu"),
        code_(code) {}
  cudaError_t code() const noexcept { return code_; }

 private:
  cudaError_t code_;
};

/// Throws CudaError unless `code` is cudaSuccess, and clears the error, so that the next call reports its
/// own.
inline void check(cudaError_t code, std::source_location where = std::source_location::current()) {
  if (code == cudaSuccess) return;
  (void)cudaGetLastError();
  throw CudaError(code, where);
}

}  // namespace sweepsort
