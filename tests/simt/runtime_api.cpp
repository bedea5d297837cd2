// runtime_api.cpp - the CUDA runtime on a machine with no device: memory is the host's, and everything
// happens at once.
#include "simt/runtime_api.hpp"

#include "engine.hpp"
#include "session.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace {

// The limits of an H200 (compute capability 9.0), except those that a session sets.
constexpr size_t granted_shared_bytes = 48 * 1024;
constexpr size_t shared_bytes_kept_per_block = 1024;
constexpr unsigned max_threads = 1024;
constexpr unsigned threads_of_multiprocessor = 2048;
constexpr unsigned device_memory_alignment = 256;

thread_local cudaError_t last_error = cudaSuccess;
/// Guards everything below that threads share, and the engine.
std::recursive_mutex mutex;

cudaError_t result(cudaError_t code) {
  if (code != cudaSuccess) last_error = code;
  return code;
}

std::unordered_map<const void*, size_t>& shared_limits() {
  static std::unordered_map<const void*, size_t> limits;
  return limits;
}

size_t max_shared_bytes() { return simt::active_session().shared_bytes_of_block; }
size_t shared_bytes_of_multiprocessor() { return max_shared_bytes() + shared_bytes_kept_per_block; }

/// The kernels that may have clusters of more than 8 blocks.
std::unordered_set<const void*>& with_large_clusters() {
  static std::unordered_set<const void*> kernels;
  return kernels;
}

unsigned max_in_cluster(const void* kernel) {
  return std::min(simt::active_session().multiprocessors, with_large_clusters().contains(kernel) ? 16u : 8u);
}

size_t shared_limit(const void* kernel) {
  const auto found = shared_limits().find(kernel);
  return found == shared_limits().end() ? granted_shared_bytes : std::min(found->second, max_shared_bytes());
}

/// The device memory that is in use.
class Memory {
 public:
  bool take(void** address, size_t bytes) {
    if (bytes > left() || posix_memalign(address, device_memory_alignment, bytes) != 0) return false;
    sizes_[*address] = bytes;
    taken_ += bytes;
    return true;
  }
  bool give_back(void* address) {
    const auto found = sizes_.find(address);
    if (found == sizes_.end()) return false;
    taken_ -= found->second;
    sizes_.erase(found);
    std::free(address);
    return true;
  }
  size_t left() const {
    const size_t all = simt::active_session().memory_bytes;
    return all - std::min(all, taken_);
  }

 private:
  std::unordered_map<void*, size_t> sizes_;
  size_t taken_ = 0;
};

Memory& memory() {
  static Memory all;
  return all;
}

bool empty(const dim3& shape) { return shape.x == 0 || shape.y == 0 || shape.z == 0; }

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* text;
};

constexpr ErrorText error_texts[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorStubLibrary, "cudaErrorStubLibrary", "CUDA driver is a stub library"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice", "no kernel image is available"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorInvalidClusterSize, "cudaErrorInvalidClusterSize", "cluster misconfiguration"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const ErrorText& text_of(cudaError_t code) {
  static constexpr ErrorText unrecognised{cudaErrorUnknown, "unrecognized error code",
                                          "unrecognized error code"};
  for (const ErrorText& entry : error_texts)
    if (entry.code == code) return entry;
  return unrecognised;
}

}  // namespace

const char* cudaGetErrorName(cudaError_t code) { return text_of(code).name; }
const char* cudaGetErrorString(cudaError_t code) { return text_of(code).text; }
cudaError_t cudaPeekAtLastError() { return last_error; }
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char*, void** function, unsigned long long) {
  *function = nullptr;
  return result(cudaErrorInvalidValue);
}

cudaError_t cudaSetDevice(int device) { return result(device == 0 ? cudaSuccess : cudaErrorInvalidDevice); }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return result(cudaErrorInvalidDevice);
  const simt::Session& session = simt::active_session();
  *properties = {.name = "SIMT emulator",
                 .totalGlobalMem = session.memory_bytes,
                 .major = static_cast<int>(session.compute_capability / 10),
                 .minor = static_cast<int>(session.compute_capability % 10),
                 .multiProcessorCount = static_cast<int>(session.multiprocessors)};
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device != 0) return result(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = max_threads; return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = granted_shared_bytes; return cudaSuccess;
    case cudaDevAttrWarpSize: *value = warpSize; return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *value = static_cast<int>(simt::active_session().multiprocessors);
      return cudaSuccess;
    case cudaDevAttrL2CacheSize: *value = 50 * 1024 * 1024; return cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = threads_of_multiprocessor; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = static_cast<int>(simt::active_session().compute_capability / 10);
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = static_cast<int>(simt::active_session().compute_capability % 10);
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(shared_bytes_of_multiprocessor());
      return cudaSuccess;
    case cudaDevAttrCooperativeLaunch: *value = 1; return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(max_shared_bytes());
      return cudaSuccess;
  }
  return result(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaMemsetAsync(void* address, int byte, size_t count, cudaStream_t) {
  if (count != 0) std::memset(address, byte, count);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t count, cudaMemcpyKind, cudaStream_t) {
  if (count != 0) std::memmove(to, from, count);
  return cudaSuccess;
}

cudaError_t cudaMemset(void* address, int byte, size_t count) {
  return cudaMemsetAsync(address, byte, count);
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t count, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, count, kind);
}

cudaError_t cudaMalloc(void** address, size_t count) {
  *address = nullptr;
  if (count == 0) return cudaSuccess;
  const std::lock_guard lock(mutex);
  return result(memory().take(address, count) ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void* address) {
  if (address == nullptr) return cudaSuccess;
  const std::lock_guard lock(mutex);
  return result(memory().give_back(address) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const std::lock_guard lock(mutex);
  *free = memory().left();
  *total = simt::active_session().memory_bytes;
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void*, size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }

struct EmulatedStream {};
struct EmulatedEvent {
  std::chrono::steady_clock::time_point recorded;
};

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new EmulatedStream;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t event, unsigned) {
  return event == nullptr ? result(cudaErrorInvalidResourceHandle) : cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new EmulatedEvent{};
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  if (event == nullptr) return result(cudaErrorInvalidResourceHandle);
  event->recorded = std::chrono::steady_clock::now();
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->recorded - begin->recorded).count();
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (kernel == nullptr) return result(cudaErrorInvalidDeviceFunction);
  const std::lock_guard lock(mutex);
  if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed && value != 0)
    with_large_clusters().insert(kernel);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || static_cast<size_t>(value) > max_shared_bytes()) return result(cudaErrorInvalidValue);
  shared_limits()[kernel] = static_cast<size_t>(value);
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  if (kernel == nullptr) return result(cudaErrorInvalidDeviceFunction);
  const int code = static_cast<int>(simt::active_session().compute_capability);
  *attributes = {.ptxVersion = code, .binaryVersion = code};
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads,
                                                          size_t dynamic_shared_bytes) {
  if (kernel == nullptr) return result(cudaErrorInvalidDeviceFunction);
  if (threads <= 0) return result(cudaErrorInvalidValue);
  const std::lock_guard lock(mutex);
  *blocks = 0;
  if (static_cast<unsigned>(threads) > max_threads || dynamic_shared_bytes > shared_limit(kernel))
    return cudaSuccess;
  const size_t by_memory =
      shared_bytes_of_multiprocessor() / (dynamic_shared_bytes + shared_bytes_kept_per_block);
  const size_t by_threads = threads_of_multiprocessor / static_cast<unsigned>(threads);
  const size_t by_session = simt::active_session().blocks_per_multiprocessor;
  *blocks = static_cast<int>(std::min({by_memory, by_threads, by_session}));
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, const void* kernel, const cudaLaunchConfig_t*) {
  if (kernel == nullptr) return result(cudaErrorInvalidDeviceFunction);
  const std::lock_guard lock(mutex);
  *blocks = static_cast<int>(max_in_cluster(kernel));
  return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* launch, const void* kernel,
                                void** body_and_parameters) {
  using simt::Together;
  const cudaLaunchConfig_t& config = *launch;
  const std::lock_guard lock(mutex);
  if (kernel == nullptr) return result(cudaErrorInvalidDeviceFunction);
  if (empty(config.gridDim) || empty(config.blockDim)) return result(cudaErrorInvalidConfiguration);
  if (config.gridDim.x > 0x7fffffffu || config.gridDim.y > 65535 || config.gridDim.z > 65535 ||
      config.blockDim.z > 64)
    return result(cudaErrorInvalidConfiguration);
  const uint64_t threads = uint64_t{config.blockDim.x} * config.blockDim.y * config.blockDim.z;
  if (threads > max_threads) return result(cudaErrorInvalidConfiguration);
  if (config.dynamicSmemBytes > shared_limit(kernel)) return result(cudaErrorInvalidValue);
  const uint64_t blocks = uint64_t{config.gridDim.x} * config.gridDim.y * config.gridDim.z;
  Together together = Together::none;
  bool overlaps = false;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative) {
      if (attribute.val.cooperative != 0) together = Together::grid;
      continue;
    }
    if (simt::active_session().compute_capability < 90) return result(cudaErrorNotSupported);
    if (attribute.id == cudaLaunchAttributeProgrammaticStreamSerialization)
      overlaps = attribute.val.programmaticStreamSerializationAllowed != 0;
    if (attribute.id != cudaLaunchAttributeClusterDimension) continue;
    // The only cluster that the emulator supports is the whole grid.
    const dim3& cluster = attribute.val.clusterDim;
    if (uint64_t{cluster.x} * cluster.y * cluster.z != blocks || blocks > max_in_cluster(kernel))
      return result(cudaErrorInvalidClusterSize);
    together = Together::cluster;
  }
  if (together != Together::none) {
    int blocks_each = 0;
    (void)cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, kernel, static_cast<int>(threads),
                                                        config.dynamicSmemBytes);
    const uint64_t room =
        uint64_t{simt::active_session().multiprocessors} * static_cast<unsigned>(blocks_each);
    if (blocks > std::min<uint64_t>(room, simt::Schedule::slots))
      return result(cudaErrorCooperativeLaunchTooLarge);
  }
  simt::engine().run({.grid = config.gridDim,
                      .block = config.blockDim,
                      .shared_bytes = config.dynamicSmemBytes,
                      .together = together,
                      .overlaps = overlaps,
                      .body = reinterpret_cast<void (*)(const void*)>(body_and_parameters[0]),
                      .parameters = body_and_parameters[1]},
                     simt::active_session());
  return cudaSuccess;
}
