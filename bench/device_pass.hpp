// device_pass.hpp - the common interface for measuring scans and searches on a GPU, including ours.
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

/// Device memory of one pass. The input is never written. `out` receives a scan's result, or at least 16
/// bytes for the result of a search. `workspace` belongs to one contender, `check` to the checks.
struct PassArrays {
  const void* in = nullptr;
  void* out = nullptr;
  DeviceSpan<std::byte> workspace{};
  DeviceSpan<uint64_t> check{};
};

/// The number of words in PassArrays::check.
inline constexpr uint64_t check_words = 4;

/// A pass on a GPU. It runs in stream order and takes all memory from the arrays.
struct DevicePassPeer {
  std::string name;
  bool capturable = true;  // never synchronises, so it can be recorded in a CUDA graph
  std::function<bool(const PassCase&)> supports;
  std::function<size_t(const PassCase&)> workspace_bytes;
  /// Called once, before the first run. Optional.
  std::function<void(const PassCase&, const PassArrays&, cudaStream_t)> prepare{};
  std::function<void(const PassCase&, const PassArrays&, cudaStream_t)> run;
  /// Checks the last run; waits for it.
  std::function<bool(const PassCase&, const PassArrays&, cudaStream_t)> is_right;
};

/// The algorithms and peers that the options select, ours first.
std::vector<DevicePassPeer> device_pass_peers(const PassOptions& options);

/// Whether every element of a scan's result is right. Waits for the result.
bool scan_is_right(const PassCase& what, const PassArrays& arrays, cudaStream_t stream);
/// Whether `found` is the smallest (largest) element, and the index, if requested, its first position.
bool search_is_right(const PassCase& what, const PassFound& found, const PassArrays& arrays,
                     cudaStream_t stream);
/// Whether `found` is the XOR of all 64-bit words of the input.
bool read_is_right(const PassCase& what, uint64_t found, const PassArrays& arrays, cudaStream_t stream);

/// CUB: sums of all types (signed as unsigned, with the same bits); other operators and searches only for
/// types that do not take too long to compile. A search writes the element to `out` and the index 8 bytes
/// after it.
bool cub_pass_supports(const PassCase& what);
size_t cub_pass_workspace_bytes(const PassCase& what);
void cub_pass(const PassCase& what, const PassArrays& arrays, cudaStream_t stream);

/// Thrust: sums of u32, and searches of u32 with the index; each type takes seconds to compile. Results are
/// stored as by CUB. A search synchronises.
bool thrust_pass_supports(const PassCase& what);
size_t thrust_pass_workspace_bytes(const PassCase& what);
void thrust_pass(const PassCase& what, const PassArrays& arrays, cudaStream_t stream);

}  // namespace sweepsort::bench
