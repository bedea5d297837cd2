// launch.cuh - the only way a kernel starts, and the only way it gets shared memory.
#pragma once

#include "kernels/cuda_error.cuh"
#include "kernels/device_abilities.cuh"
#include "kernels/device_span.cuh"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace sweepsort {

#if defined(__CUDACC__)
/// The block's dynamic shared memory, seen as one struct `Shared`.
template <class Shared>
__device__ __forceinline__ Shared& shared_memory() {
  extern __shared__ __align__(128) unsigned char dynamic_shared_memory[];
  return *reinterpret_cast<Shared*>(dynamic_shared_memory);
}
#else
// An emulator of CUDA (its <cuda_runtime.h> comes before the toolkit's) says where a block's memory is.
template <class Shared>
Shared& shared_memory() {
  return *static_cast<Shared*>(emulated_dynamic_shared_memory());
}
#endif

/// The same, cleared to zeros. All `threads` threads of the block call it.
template <class Shared, uint32_t threads>
__device__ __forceinline__ Shared& cleared_shared_memory() {
  Shared& shared = shared_memory<Shared>();
  static_assert(sizeof(Shared) % sizeof(uint32_t) == 0);
  for (uint32_t i = threadIdx.x; i < sizeof(Shared) / sizeof(uint32_t); i += threads)
    reinterpret_cast<uint32_t*>(&shared)[i] = 0;
  __syncthreads();
  return shared;
}

/// What launch() needs besides the kernel's arguments. `shared_bytes` is dynamic shared memory per block.
struct LaunchShape {
  uint32_t blocks;
  uint32_t threads;
  size_t shared_bytes = 0;
};

namespace launch_detail {

/// Lets a kernel be set up while the one before it still runs (programmatic dependent launch).
inline cudaLaunchAttribute overlap() {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  return attribute;
}

/// A kernel's blocks get more than 48 KiB of shared memory only on request.
inline void ask_for_shared_memory(const void* kernel, size_t bytes) {
  constexpr size_t granted = 48 * 1024;
  if (bytes > granted)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), LaunchShape shape, cudaStream_t stream,
            std::span<cudaLaunchAttribute> attributes, Arguments&&... arguments) {
  ask_for_shared_memory(reinterpret_cast<const void*>(kernel), shape.shared_bytes);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.blocks);
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...));
}

}  // namespace launch_detail

/// Starts `kernel` and checks the launch. Neither allocates nor synchronises. If blocks need more than the 48
/// KiB of shared memory that every device grants without asking, they get it.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), LaunchShape shape, cudaStream_t stream, Arguments&&... arguments) {
  launch_detail::launch(kernel, shape, stream, {}, std::forward<Arguments>(arguments)...);
}

/// The same for a kernel that calls ptx::wait_for_previous_launch() before it accesses device memory. It is
/// set up while the kernel before it in the stream still runs (programmatic dependent launch), on devices
/// that can do so. This saves at most 0.3 us per launch (H200, seven launches in a row, 2026-11-21).
template <class... Parameters, class... Arguments>
void launch_chained(void (*kernel)(Parameters...), LaunchShape shape, cudaStream_t stream,
                    Arguments&&... arguments) {
  cudaLaunchAttribute attributes[] = {launch_detail::overlap()};
  launch_detail::launch(kernel, shape, stream,
                        std::span(attributes, device_abilities().overlaps_launches() ? 1 : 0),
                        std::forward<Arguments>(arguments)...);
}

/// The same for a kernel whose blocks wait for each other (ptx::grid_sync). All blocks are on the device at
/// once, or the launch fails.
template <class... Parameters, class... Arguments>
void launch_cooperative(void (*kernel)(Parameters...), LaunchShape shape, cudaStream_t stream,
                        Arguments&&... arguments) {
  cudaLaunchAttribute together[1]{};
  together[0].id = cudaLaunchAttributeCooperative;
  together[0].val.cooperative = 1;
  launch_detail::launch(kernel, shape, stream, together, std::forward<Arguments>(arguments)...);
}

/// The same for a kernel whose blocks are one cluster (ptx::cluster_arrive): at most as many blocks as
/// device_abilities() says. The kernel must call ptx::wait_for_previous_launch(), too.
template <class... Parameters, class... Arguments>
void launch_in_cluster(void (*kernel)(Parameters...), LaunchShape shape, cudaStream_t stream,
                       Arguments&&... arguments) {
  constexpr uint32_t portable = 8;
  if (shape.blocks > portable)
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                               cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  cudaLaunchAttribute attributes[] = {launch_detail::overlap(), {}};
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {shape.blocks, 1, 1};
  launch_detail::launch(kernel, shape, stream, attributes, std::forward<Arguments>(arguments)...);
}

/// Whether blocks with this much shared memory may wait for each other on the current device.
inline bool can_cooperate(size_t shared_bytes) {
  return device_attribute(cudaDevAttrCooperativeLaunch) != 0 &&
         device_abilities().shared_bytes >= shared_bytes;
}

/// Number of multiprocessors of the current device.
inline uint32_t multiprocessors() { return device_attribute(cudaDevAttrMultiProcessorCount); }

/// How many blocks of `kernel` the current device holds at once: the grid of a persistent kernel.
template <class... Parameters>
uint32_t resident_blocks(void (*kernel)(Parameters...), uint32_t threads, size_t shared_bytes) {
  int blocks_each = 0;
  const void* const entry = reinterpret_cast<const void*>(kernel);
  launch_detail::ask_for_shared_memory(entry, shared_bytes);
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, entry, static_cast<int>(threads),
                                                      shared_bytes));
  if (blocks_each == 0) throw CudaError(cudaErrorInvalidConfiguration, std::source_location::current());
  return multiprocessors() * static_cast<uint32_t>(blocks_each);
}

}  // namespace sweepsort
