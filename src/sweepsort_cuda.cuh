// sweepsort_cuda.cuh - the library for programs compiled with nvcc: searches and scans on the GPU with
// functions of their own.
//
// Requires C++20 in nvcc (the target's CUDA_STANDARD 20).
//
// Scans of device memory with an operator of your own are in kernels/scan.cuh; they allocate nothing.
#pragma once

#include "gpu/handles.hpp"
#include "kernels/reduce.cuh"
#include "sweepsort.hpp"

#include <cstdint>
#include <type_traits>

namespace sweepsort {

/// transform_argmin of sweepsort.hpp on CUDA device `device`: the smallest f(i) for first <= i < last, and
/// the lowest i that gives it. `f` is a function object that can be called on the device and is copied there
/// as it is; its result has operator< and a multiple of 4 bytes. Throws Error if there is no i, CudaError if
/// the device fails.
template <class F>
auto cuda_transform_argmin(uint64_t first, uint64_t last, const F& f, int device = 0)
    -> Argmin<std::remove_cvref_t<std::invoke_result_t<const F&, uint64_t>>> {
  using Value = std::remove_cvref_t<std::invoke_result_t<const F&, uint64_t>>;
  if (first >= last) throw Error("cuda_transform_argmin: the range is empty");
  const DeviceGuard guard{DeviceId{device}};
  const Stream stream;
  DeviceBuffer<Candidate<Value>> result(1);
  DeviceBuffer<std::byte> memory(transform_argmin_workspace_bytes<Value>());
  check(cudaMemsetAsync(result.data(), 0xff, sizeof(Candidate<Value>), stream.get()));  // nothing found yet
  transform_argmin<Value>(first, last, f, result.data(), Workspace(memory.span()), stream.get());
  Candidate<Value> found;
  check(cudaMemcpyAsync(&found, result.data(), sizeof(found), cudaMemcpyDeviceToHost, stream.get()));
  check(cudaStreamSynchronize(stream.get()));
  return {found.value, found.index};
}

}  // namespace sweepsort
