// device_place.cu - which GPU is measured, and how fast it copies and reads, as yardsticks for this run.
#include "backend/backend.hpp"
#include "bench/cub_sort.hpp"
#include "bench/device_place.hpp"
#include "bench/libcusort_sort.hpp"
#include "bench/statistics.hpp"
#include "core/error.hpp"
#include "core/rounding.hpp"
#include "kernels/launch.cuh"

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace sweepsort::bench {
namespace {

constexpr uint32_t read_threads = 512;
constexpr uint32_t loads_in_flight = 8;

/// 13000 -> "13.0".
std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// The kernel module's version if Linux shows it, else the newest CUDA version that the driver supports.
std::string driver_version() {
  std::string version;
  if (std::ifstream file("/sys/module/nvidia/version"); std::getline(file, version)) return version;
  int newest = 0;
  check(cudaDriverGetVersion(&newest));
  return "CUDA " + cuda_version_text(newest);
}

std::vector<std::pair<std::string, std::string>> other_peers() {
  std::vector<std::pair<std::string, std::string>> peers;
#ifdef SWEEPSORT_BENCH_LIBCUSORT
  peers.emplace_back("libcusort", libcusort_version());
#endif
#ifdef SWEEPSORT_BENCH_GPUSORTING
  peers.emplace_back("gpusorting", SWEEPSORT_BENCH_GPUSORTING);  // its only version is its revision
#endif
  return peers;
}

/// One tile per block, with all its loads in flight at once, as in the fastest readers.
__global__ __launch_bounds__(read_threads) void read_kernel(const ulonglong2* from, uint64_t size,
                                                            unsigned long long* exclusive_or) {
  const uint64_t first = uint64_t{blockIdx.x} * read_threads * loads_in_flight + threadIdx.x;
  ulonglong2 loaded[loads_in_flight] = {};
#pragma unroll
  for (uint32_t k = 0; k < loads_in_flight; ++k)
    if (first + k * read_threads < size) loaded[k] = from[first + k * read_threads];
  unsigned long long mine = 0;
#pragma unroll
  for (uint32_t k = 0; k < loads_in_flight; ++k) mine ^= loaded[k].x ^ loaded[k].y;
  for (uint32_t distance = 16; distance > 0; distance /= 2)
    mine ^= __shfl_xor_sync(0xffffffffu, mine, distance);
  // One atomic per block, because one per warp took as long as the read.
  auto* const warps = &shared_memory<unsigned long long>();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  mine = 0;
  for (uint32_t warp = 0; warp < read_threads / 32; ++warp) mine ^= warps[warp];
  atomicXor(exclusive_or, mine);
}

template <class F>
double median_of_runs(const Stream& stream, F&& enqueue) {
  const StreamTimer timer;
  std::vector<double> runs;
  for (int run = 0; run < 11; ++run) runs.push_back(timer.timed(stream, enqueue));
  return median(runs);
}

size_t yardstick_bytes() {
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total));
  return std::min(size_t{2} << 30, total / 8 / 16 * 16);
}

}  // namespace

void select_device(int device) {
  const CudaStatus status = cuda_status();
  if (status.usable.empty()) throw Error("--backend cuda: " + status.reason, status.hint);
  if (device >= status.device_count)
    throw UsageError("--device: there is no device " + std::to_string(device),
                     "the last one is " + std::to_string(status.device_count - 1));
  check(cudaSetDevice(device));
}

Place device_place(int device) {
  cudaDeviceProp properties{};
  int runtime = 0;
  check(cudaGetDeviceProperties(&properties, device));
  check(cudaRuntimeGetVersion(&runtime));
  return {.backend = "cuda",
          .gpu = properties.name,
          .driver = driver_version(),
          .cuda = cuda_version_text(runtime),
          .cub = cub_version(),
          .other_peers = other_peers()};
}

void enqueue_read(const void* from, uint64_t bytes, uint64_t* exclusive_or, cudaStream_t stream) {
  const uint64_t size = bytes / sizeof(ulonglong2);
  constexpr uint64_t tile = uint64_t{read_threads} * loads_in_flight;
  check(cudaMemsetAsync(exclusive_or, 0, sizeof *exclusive_or, stream));
  launch(read_kernel,
         {.blocks = static_cast<uint32_t>(ceil_divide(size, tile)),
          .threads = read_threads,
          .shared_bytes = read_threads / 32 * sizeof(unsigned long long)},
         stream, static_cast<const ulonglong2*>(from), size,
         reinterpret_cast<unsigned long long*>(exclusive_or));
}

double measure_copy_bandwidth(const Stream& stream) {
  const size_t bytes = yardstick_bytes();
  const DeviceBuffer<std::byte> buffer(2 * bytes);
  std::byte* const from = buffer.data();
  check(cudaMemsetAsync(from, 0xA5, 2 * bytes, stream.get()));
  return 2 * static_cast<double>(bytes) / median_of_runs(stream, [&] {
           check(cudaMemcpyAsync(from + bytes, from, bytes, cudaMemcpyDeviceToDevice, stream.get()));
         });
}

double measure_read_bandwidth(const Stream& stream) {
  const size_t bytes = yardstick_bytes();
  const DeviceBuffer<std::byte> buffer(bytes);
  const DeviceBuffer<uint64_t> result(1);
  check(cudaMemsetAsync(buffer.data(), 0xA5, bytes, stream.get()));
  return static_cast<double>(bytes) /
         median_of_runs(stream, [&] { enqueue_read(buffer.data(), bytes, result.data(), stream.get()); });
}

}  // namespace sweepsort::bench
