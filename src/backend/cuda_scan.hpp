// cuda_scan.hpp - the kernels' scans and reductions behind type-erased calls, compiled once for all users
// (backend, tests, bench).
#pragma once

#include "core/key_type.hpp"
#include "core/scan.hpp"
#include "kernels/device_span.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// One scan of an array in device memory: out[i] = initial op in[0] op ... op in[i] (exclusive: up to in[i -
/// 1]). Pointers are aligned to one element. `out` may be `in` but must not overlap it otherwise.
struct DeviceScan {
  KeyType type = KeyType::u32;
  ScanOp op = ScanOp::sum;
  ScanKind kind = ScanKind::inclusive;
  ScanAlgorithm algorithm = ScanAlgorithm::automatic;
  uint64_t count = 0;
  const void* in = nullptr;
  void* out = nullptr;
  const void* initial = nullptr;  // one element outside of in and out; null: the identity (float sums: -0.0)
  void* total = nullptr;          // if not null, gets initial op all elements; outside of in, out and initial
  // for tests: size from which arrays use the ring (scan_ring.cuh); 0: the tuned size
  uint64_t ring_from_bytes = 0;
};

/// Device memory that device_scan needs besides the arrays. Pure.
size_t device_scan_workspace_bytes(const DeviceScan& scan);

/// Prepares a workspace. One call is enough for any number of consecutive scans of the same type, operator
/// and algorithm whose counts are at most scan.count.
void device_scan_prepare(const DeviceScan& scan, Workspace workspace, cudaStream_t stream);

/// Scans on the current device in stream order, without allocating or synchronising. May be captured into a
/// graph. Throws std::invalid_argument for an algorithm of the CPU and for bit_xor of floats, and CudaError
/// if a launch fails.
void device_scan(const DeviceScan& scan, Workspace workspace, cudaStream_t stream);

/// Converts `count` elements of type `from` at `in` to elements of type `to` at `out`. `to` is at least as
/// wide as `from` and can hold every value (for example u32 to u64, i64 or f64). The arrays do not overlap.
void device_widen(KeyType from, KeyType to, const void* in, void* out, uint64_t count, cudaStream_t stream);

/// If a sum of integers in the scan overflows its type, lowers *first_position (device memory) to first_index
/// + the first place in scan.in where adding in[i] to the sum before it wraps. `scan` must have run, and
/// `scan.in` must still hold the input.
void device_find_overflow(const DeviceScan& scan, uint64_t first_index, uint64_t* first_position,
                          cudaStream_t stream);

/// A search for the smallest or largest element of an array that may arrive in pieces. NaN loses against
/// every number.
struct DeviceReduce {
  KeyType type = KeyType::u32;
  Extreme extreme = Extreme::min;
  bool wants_index = false;  // also find the first position; costs up to 2 %
  ReduceAlgorithm algorithm = ReduceAlgorithm::automatic;
  uint64_t count = 0;
  const void* in = nullptr;  // device memory, aligned to one element
  uint64_t first_index = 0;  // the position of in[0] in the whole array
};

/// Device memory needed for pieces of at most reduce.count elements. Pure.
size_t device_reduce_workspace_bytes(const DeviceReduce& reduce);

/// Prepares a workspace and forgets all earlier pieces.
void device_reduce_begin(const DeviceReduce& reduce, Workspace workspace, cudaStream_t stream);

/// Adds one more piece, in stream order. Pieces may come in any order.
void device_reduce(const DeviceReduce& reduce, Workspace workspace, cudaStream_t stream);

/// The result over all pieces since device_reduce_begin; waits for it. `bits` holds the element as it was in
/// the array, in the low bytes. `found` is false if all pieces were empty.
struct DeviceReduced {
  bool found = false;
  uint64_t bits = 0;
  uint64_t index = 0;  // if requested
};
DeviceReduced device_reduce_result(const DeviceReduce& reduce, Workspace workspace, cudaStream_t stream);

}  // namespace sweepsort
