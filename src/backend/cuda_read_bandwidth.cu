// cuda_read_bandwidth.cu - how fast this GPU reads its memory, measured by a kernel that does nothing else.
#include "backend/cuda_measure.hpp"
#include "backend/cuda_scan_session.hpp"
#include "kernels/launch.cuh"

#include <algorithm>

namespace sweepsort {
namespace {

constexpr uint32_t block_threads = 512;
constexpr uint32_t loads_in_flight = 8;

/// Writes only if a bit is set, which no data here has. Without this use, the compiler would remove the
/// loads.
__global__ void read_kernel(const uint4* words, uint64_t count, uint32_t* never) {
  const uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
  uint32_t bits = 0;
  for (uint64_t at = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count;
       at += stride * loads_in_flight) {
#pragma unroll
    for (uint32_t i = 0; i < loads_in_flight; ++i) {
      const uint64_t place = at + i * stride;
      if (place >= count) continue;
      const uint4 word = words[place];
      bits |= word.x | word.y | word.z | word.w;
    }
  }
  if (bits != 0) *never = bits;
}

}  // namespace

double measure_cuda_read_bandwidth(DeviceId device, size_t bytes) {
  const DeviceGuard guard(device);
  const DeviceBuffer<uint4> memory(bytes / sizeof(uint4));
  const DeviceBuffer<uint32_t> never(1);
  const Stream stream;
  check(cudaMemsetAsync(memory.data(), 0, memory.size() * sizeof(uint4), stream.get()));
  const uint32_t blocks = resident_blocks(read_kernel, block_threads, 0);
  const std::vector<double> times = timed_runs(8, stream, [&] {
    launch(read_kernel, {.blocks = blocks, .threads = block_threads}, stream.get(),
           static_cast<const uint4*>(memory.data()), memory.size(), never.data());
  });
  return static_cast<double>(memory.size() * sizeof(uint4)) / std::ranges::min(times);
}

}  // namespace sweepsort
