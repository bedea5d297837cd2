// cuda_measure.hpp - what the CUDA backend's sessions and measurements share.
#pragma once

#include "backend/cuda_scan_session.hpp"
#include "gpu/handles.hpp"

#include <algorithm>
#include <vector>

namespace sweepsort {

/// Returns elements from `fill`, in device memory.
inline DeviceBuffer<std::byte> load_on_device(size_t bytes, const FillFunction& fill) {
  DeviceBuffer<std::byte> data(bytes);
  const PinnedBuffer staging(std::min(bytes, cuda_chunk_bytes));
  for (size_t at = 0; at < bytes; at += cuda_chunk_bytes) {
    const size_t part = std::min(cuda_chunk_bytes, bytes - at);
    fill(at, {staging.data(), part});
    check(cudaMemcpy(data.data() + at, staging.data(), part, cudaMemcpyHostToDevice));
  }
  return data;
}

/// The seconds of each of `runs` runs in the stream. One run before them is not timed, because kernels are
/// loaded when they first run.
template <class Run>
std::vector<double> timed_runs(uint32_t runs, const Stream& stream, Run run) {
  const Event begun;
  const Event done;
  run();
  std::vector<double> times;
  for (uint32_t i = 0; i < runs; ++i) {
    begun.record(stream);
    run();
    done.record(stream);
    done.synchronize();
    times.push_back(done.seconds_since(begun));
  }
  return times;
}

}  // namespace sweepsort
