// runtime_api.hpp - the calls of the CUDA runtime that sweepsort makes, on host memory and without a driver.
#pragma once

#include "simt/builtin_types.hpp"

#include <cstdlib>
#include <tuple>
#include <type_traits>
#include <utility>

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInitializationError = 3,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorStubLibrary = 34,
  cudaErrorInsufficientDriver = 35,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorECCUncorrectable = 214,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchTimeout = 702,
  cudaErrorAssert = 710,
  cudaErrorLaunchFailure = 719,
  cudaErrorCooperativeLaunchTooLarge = 720,
  cudaErrorNotSupported = 801,
  cudaErrorInvalidClusterSize = 912,
  cudaErrorUnknown = 999,
};

enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault,
};

enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 14,
};

#define CUDART_VERSION 12000

struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem;
  int major;
  int minor;
  int multiProcessorCount;
};

struct cudaFuncAttributes {
  int ptxVersion;
  int binaryVersion;
};

enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
};

enum cudaLaunchAttributeID {
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
};

struct cudaLaunchAttributeValue {
  int cooperative;
  int programmaticStreamSerializationAllowed;
  dim3 clusterDim;
};

struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};

using cudaStream_t = struct EmulatedStream*;
using cudaEvent_t = struct EmulatedEvent*;

enum : unsigned { cudaStreamNonBlocking = 1 };
inline constexpr cudaStream_t cudaStreamPerThread = nullptr;

struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

// Declared as in CUDA, so that a test can have the linker replace them. Several threads may call them;
// launches wait for each other.
extern "C" {

const char* cudaGetErrorName(cudaError_t code);
const char* cudaGetErrorString(cudaError_t code);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();

cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
/// There is no driver, so there are none of its functions.
inline constexpr unsigned long long cudaEnableDefault = 0;
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

cudaError_t cudaMemsetAsync(void* address, int byte, size_t count, cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void* address, int byte, size_t count);
cudaError_t cudaMemcpy(void* to, const void* from, size_t count, cudaMemcpyKind kind);
/// Allocates from the session's memory.
cudaError_t cudaMalloc(void** address, size_t count);
cudaError_t cudaFree(void* address);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);

constexpr unsigned cudaHostRegisterDefault = 0;
cudaError_t cudaHostRegister(void* address, size_t count, unsigned flags);
cudaError_t cudaHostUnregister(void* address);

// Everything is done when the call returns: a stream is only a name, an event only a time.
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads,
                                                          size_t dynamic_shared_bytes);
/// The number of multiprocessors, up to 8, or up to 16 if the kernel may have so many.
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, const void* kernel,
                                                 const cudaLaunchConfig_t* config);
/// Runs the whole grid before it returns; therefore streams are in order by themselves.
/// `body_and_parameters`: a function of one pointer, which each thread calls, and that pointer (where CUDA
/// expects the kernel's arguments).
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                void** body_and_parameters);
}

template <class T>
cudaError_t cudaMalloc(T** address, size_t count) {
  return cudaMalloc(reinterpret_cast<void**>(address), count);
}

template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
template <class... Parameters>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*kernel)(Parameters...),
                                                          int threads, size_t dynamic_shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void*>(kernel), threads,
                                                       dynamic_shared_bytes);
}

namespace simt {

template <class... Parameters>
struct BoundKernel {
  void (*kernel)(Parameters...);
  std::tuple<Parameters...> parameters;

  // Each thread gets copies, because a kernel may change its parameters.
  static void run(const void* bound) {
    const auto& self = *static_cast<const BoundKernel*>(bound);
    std::apply(self.kernel, self.parameters);
  }
};

}  // namespace simt

/// Throws what a thread has thrown.
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments));
  static_assert((!std::is_reference_v<Parameters> && ...), "a kernel takes its parameters by value");
  static_assert((std::is_trivially_copyable_v<Parameters> && ...), "kernel parameters are copied bytewise");
  using Bound = simt::BoundKernel<Parameters...>;
  const Bound bound{kernel, std::tuple<Parameters...>(std::forward<Arguments>(arguments)...)};
  void* body_and_parameters[] = {reinterpret_cast<void*>(&Bound::run), const_cast<Bound*>(&bound)};
  return cudaLaunchKernelExC(config, reinterpret_cast<const void*>(kernel), body_and_parameters);
}
