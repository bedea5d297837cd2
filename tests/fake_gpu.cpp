// fake_gpu.cpp - calls of the CUDA runtime that find one GPU, of compute capability $COMPUTE (61 is 6.1), for
// which no code was compiled. The linker replaces the runtime's calls by these (--wrap).
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>

namespace {

int compute() {
  const char* const text = std::getenv("COMPUTE");
  return text ? std::atoi(text) : 0;
}

cudaError_t describe(cudaDeviceProp* properties) {
  *properties = {};
  std::strcpy(properties->name, "Fake GPU");
  properties->major = compute() / 10;
  properties->minor = compute() % 10;
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t __wrap_cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t __wrap_cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = 0;
  if (attribute == cudaDevAttrComputeCapabilityMajor) *value = compute() / 10;
  if (attribute == cudaDevAttrComputeCapabilityMinor) *value = compute() % 10;
  if (attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin) *value = (compute() < 75 ? 48 : 99) * 1024;
  return cudaSuccess;
}

/// CUDA 12 uses the second name.
cudaError_t __wrap_cudaGetDeviceProperties(cudaDeviceProp* properties, int) { return describe(properties); }
cudaError_t __wrap_cudaGetDeviceProperties_v2(cudaDeviceProp* properties, int) {
  return describe(properties);
}

cudaError_t __wrap_cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t __wrap_cudaSetDevice(int) { return cudaSuccess; }

cudaError_t __wrap_cudaFree(void*) { return cudaSuccess; }

cudaError_t __wrap_cudaFuncGetAttributes(cudaFuncAttributes*, const void*) {
  return cudaErrorNoKernelImageForDevice;
}
}
