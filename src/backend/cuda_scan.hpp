// cuda_scan.hpp - the kernels' scans and reductions behind type-erased calls, compiled once for everybody
// (backend, tests, bench).
#pragma once

#include "core/key_type.hpp"
#include "core/scan.hpp"
#include "kernels/device_span.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

/// One scan of an array in device memory: out[i] = initial op in[0] op ... op in[i] (exclusive: in[i - 1]).
/// Pointers are aligned to one element; `out` may be `in` but may not otherwise overlap it.
struct DeviceScan {
  KeyType type = KeyType::u32;
  ScanOp op = ScanOp::sum;
  ScanKind kind = ScanKind::inclusive;
  ScanAlgorithm algorithm = ScanAlgorithm::automatic;
  uint64_t count = 0;
  const void* in = nullptr;
  void* out = nullptr;
  const void* initial = nullptr;  // one element outside of in and out; null: the identity (float sums: -0.0)
  void* total = nullptr;          // if not null, gets initial op all elements; as `initial`, and another
  uint64_t ring_from_bytes = 0;   // for tests: arrays that take the ring (scan_ring.cuh); 0: the tuned number
};

/// Device memory that device_scan needs besides the arrays. Pure.
size_t device_scan_workspace_bytes(const DeviceScan& scan);

/// Makes a workspace ready. Once is enough for any number of scans of the same type, operator and algorithm
/// whose counts are at most scan.count, one after the other.
void device_scan_prepare(const DeviceScan& scan, Workspace workspace, cudaStream_t stream);

/// Scans on the current device in stream order; neither allocates nor synchronises. May be captured into a
/// graph. Throws std::invalid_argument for the algorithms of the CPU and for an exclusive or of floats,
/// CudaError if a launch fails.
void device_scan(const DeviceScan& scan, Workspace workspace, cudaStream_t stream);

/// Copies `count` elements of type `from` at `in` to elements of type `to` at `out`, which are as wide or
/// wider and can hold every value (u32 to u64, i64 or f64, say); the arrays do not overlap.
void device_widen(KeyType from, KeyType to, const void* in, void* out, uint64_t count, cudaStream_t stream);

/// Lowers *first_position (device memory) to first_index + the first place of scan.in where a sum of integers
/// leaves its type, if there is one: where adding in[i] to what came before wraps. `scan` has run and
/// `scan.in` still holds the input.
void device_find_overflow(const DeviceScan& scan, uint64_t first_index, uint64_t* first_position,
                          cudaStream_t stream);

/// The smallest or largest element of an array that may arrive in pieces. NaN loses against every number.
struct DeviceReduce {
  KeyType type = KeyType::u32;
  Extreme extreme = Extreme::min;
  bool wants_index = false;  // the first position, too; costs up to 2 %
  ReduceAlgorithm algorithm = ReduceAlgorithm::automatic;
  uint64_t count = 0;
  const void* in = nullptr;  // device memory, aligned to one element
  uint64_t first_index = 0;  // the position of in[0] in the whole
};

/// Device memory for pieces of at most reduce.count elements. Pure.
size_t device_reduce_workspace_bytes(const DeviceReduce& reduce);

/// Makes a workspace ready and forgets all pieces seen.
void device_reduce_begin(const DeviceReduce& reduce, Workspace workspace, cudaStream_t stream);

/// Takes one more piece into account, in stream order; pieces may come in any order.
void device_reduce(const DeviceReduce& reduce, Workspace workspace, cudaStream_t stream);

/// What was found in all pieces since the beginning; waits for it. `bits`: the element as it stood in the
/// array, in the low bytes. There is nothing if all pieces were empty.
struct DeviceReduced {
  bool found = false;
  uint64_t bits = 0;
  uint64_t index = 0;  // if it was wanted
};
DeviceReduced device_reduce_result(const DeviceReduce& reduce, Workspace workspace, cudaStream_t stream);

}  // namespace sweepsort
