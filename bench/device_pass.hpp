// device_pass.hpp - the one interface behind which every scan and search on a GPU is measured, ours included.
#pragma once

#include "bench/pass_case.hpp"
#include "bench/pass_options.hpp"
#include "bench/pass_rule.hpp"
#include "kernels/device_span.cuh"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace sweepsort::bench {

/// Device memory of one pass. The input is never written. `out` takes a scan's result, or at least 16 bytes
/// for what a search found; `workspace` is one contender's alone, `check` the checks'.
struct PassArrays {
  const void* in = nullptr;
  void* out = nullptr;
  DeviceSpan<std::byte> workspace{};
  DeviceSpan<uint64_t> check{};
};

/// Words of PassArrays::check.
inline constexpr uint64_t check_words = 4;

/// A pass on a GPU: runs in stream order and takes all memory from the arrays.
struct DevicePassPeer {
  std::string name;
  bool capturable = true;  // never synchronises, so that a CUDA graph can hold it
  std::function<bool(const PassCase&)> supports;
  std::function<size_t(const PassCase&)> workspace_bytes;
  /// Once, before the first run. Optional.
  std::function<void(const PassCase&, const PassArrays&, cudaStream_t)> prepare{};
  std::function<void(const PassCase&, const PassArrays&, cudaStream_t)> run;
  /// Of the last run; waits for it.
  std::function<bool(const PassCase&, const PassArrays&, cudaStream_t)> is_right;
};

/// The algorithms and peers that the options ask for, ours first.
std::vector<DevicePassPeer> device_pass_peers(const PassOptions& options);

/// Whether every element of a scan's result is right. Waits for the answer.
bool scan_is_right(const PassCase& what, const PassArrays& arrays, cudaStream_t stream);
/// Whether `found` is the smallest (largest) element, and the index, if wanted, its first place.
bool search_is_right(const PassCase& what, const PassFound& found, const PassArrays& arrays,
                     cudaStream_t stream);
/// Whether `found` is the exclusive or of all 64-bit words of the input.
bool read_is_right(const PassCase& what, uint64_t found, const PassArrays& arrays, cudaStream_t stream);

/// CUB: sums of every type (signed as unsigned: the same bits), the other operators and searches where each
/// does not cost the compiler too much. A search leaves the element at `out` and the index 8 bytes behind it.
bool cub_pass_supports(const PassCase& what);
size_t cub_pass_workspace_bytes(const PassCase& what);
void cub_pass(const PassCase& what, const PassArrays& arrays, cudaStream_t stream);

/// Thrust: sums of u32, and searches of u32 with the index, since each type costs the compiler seconds.
/// Results as CUB's; a search synchronises.
bool thrust_pass_supports(const PassCase& what);
size_t thrust_pass_workspace_bytes(const PassCase& what);
void thrust_pass(const PassCase& what, const PassArrays& arrays, cudaStream_t stream);

}  // namespace sweepsort::bench
