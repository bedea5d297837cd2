// gpu.cu - the search on the GPU: one call of the library.
#include "gpu.hpp"
#include "sweepsort_cuda.cuh"

namespace tsp {

std::optional<sweepsort::Argmin<uint32_t>> shortest_on_gpu(const TourLength& length) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    (void)cudaGetLastError();
    return std::nullopt;
  }
  return sweepsort::cuda_transform_argmin(0, tours(length.cities), length);
}

}  // namespace tsp
