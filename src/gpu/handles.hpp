// handles.hpp - CUDA resources as move-only values. The device is always explicit, and no resource outlives
// its owner.
#pragma once

#include "core/page_array.hpp"
#include "kernels/cuda_error.cuh"
#include "kernels/device_span.cuh"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace sweepsort {

/// A CUDA ordinal: a separate type, so that it is never mistaken for a count.
struct DeviceId {
  int ordinal = 0;
};

/// Whether a device has a context in this process. Making a device current creates its context, which takes
/// some tenths of a second and half a GiB of its memory.
inline bool is_awake(DeviceId device) {
  void* address = nullptr;
#if CUDART_VERSION >= 12050
  cudaDriverEntryPointQueryResult found{};
  (void)cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &address, 12000, cudaEnableDefault,
                                         &found);
#else
  (void)cudaGetDriverEntryPoint("cuDevicePrimaryCtxGetState", &address, cudaEnableDefault);
#endif
  if (address == nullptr) return true;
  unsigned flags = 0;
  int is_active = 0;
  const auto get_state = reinterpret_cast<int (*)(int, unsigned*, int*)>(address);
  return get_state(device.ordinal, &flags, &is_active) != 0 || is_active != 0;
}

/// Makes a device current for a scope. At the end of the scope the previous device becomes current again if
/// it is awake; otherwise this device stays current. (Every thread begins with the first device as its
/// current one, even if it never uses it.)
class DeviceGuard {
 public:
  explicit DeviceGuard(DeviceId device) : device_(device) {
    check(cudaGetDevice(&before_.ordinal));
    if (before_.ordinal != device_.ordinal) check(cudaSetDevice(device_.ordinal));
  }
  ~DeviceGuard() {
    if (before_.ordinal != device_.ordinal && is_awake(before_)) (void)cudaSetDevice(before_.ordinal);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  DeviceId device_;
  DeviceId before_;
};

namespace handle_detail {

/// What Stream and Event share: a handle that is destroyed once.
template <class Handle, cudaError_t (*destroy)(Handle)>
class Unique {
 public:
  Unique() = default;
  Unique(Unique&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Unique& operator=(Unique&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Unique() {
    if (handle_ != nullptr) (void)destroy(handle_);
  }
  Handle get() const { return handle_; }

 protected:
  Handle handle_ = nullptr;
};

}  // namespace handle_detail

/// A stream of the current device that does not wait for the default stream.
class Stream : public handle_detail::Unique<cudaStream_t, cudaStreamDestroy> {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking)); }
  void synchronize() const { check(cudaStreamSynchronize(handle_)); }
};

/// A point in a stream.
class Event : public handle_detail::Unique<cudaEvent_t, cudaEventDestroy> {
 public:
  Event() { check(cudaEventCreate(&handle_)); }
  void record(const Stream& stream) const { check(cudaEventRecord(handle_, stream.get())); }
  void synchronize() const { check(cudaEventSynchronize(handle_)); }
  void hold_back(const Stream& stream) const { check(cudaStreamWaitEvent(stream.get(), handle_)); }
  /// Seconds from `earlier` to this event; both must have happened.
  double seconds_since(const Event& earlier) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.handle_, handle_));
    return milliseconds * 1e-3;
  }
};

/// `size` elements of the current device's memory, 256-byte aligned.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(uint64_t size) : size_(size) {
    if (size > 0) check(cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T)));
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceBuffer() {
    if (data_ != nullptr) (void)cudaFree(data_);  // cudaFree(nullptr) would wake the current device
  }

  T* data() const { return data_; }
  uint64_t size() const { return size_; }
  DeviceSpan<T> span() const { return {data_, size_}; }

 private:
  T* data_ = nullptr;
  uint64_t size_ = 0;
};

/// `size` bytes of page-locked host memory, for copies at full speed. Slow to allocate: do it once. Threads
/// clear their huge pages in parallel, 4 MiB in 0.7 ms, and each then blocks the driver for 0.3 ms;
/// cudaMallocHost blocks it for 1.6 ms (H200, 2026-11-22).
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(size_t size) : memory_(size) {
    if (size == 0) return;
    // otherwise the driver would do it, and block everything else meanwhile
    std::memset(memory_.data(), 0, size);
    check(cudaHostRegister(memory_.data(), size, cudaHostRegisterDefault));
  }
  PinnedBuffer(PinnedBuffer&& other) noexcept = default;
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~PinnedBuffer() {
    if (memory_.data() != nullptr) (void)cudaHostUnregister(memory_.data());
  }

  std::byte* data() const { return memory_.data(); }
  size_t size() const { return memory_.size(); }

 private:
  PageArray memory_;
};

}  // namespace sweepsort
