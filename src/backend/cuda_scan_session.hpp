// cuda_scan_session.hpp - scans and searches on a GPU of data that passes through it.
#pragma once

#include "backend/scan_session.hpp"
#include "gpu/handles.hpp"

#include <memory>

namespace sweepsort {

/// Bytes of a chunk, and workers: PCIe reaches its full rate, and their buffers take little time to make. The
/// minimum of 4 GiB in the page cache, start of the context included: 8 MiB, 16 workers 461 ms; 4 MiB, 8
/// workers with two buffers each 411 (H200, 2026-11-22; a tiny file 305).
inline constexpr size_t cuda_chunk_bytes = 4u << 20;
inline constexpr uint32_t max_cuda_workers = 8;

std::unique_ptr<ScanSession> make_cuda_scan_session(DeviceId device, const ScanJob& job);
std::unique_ptr<ReduceSession> make_cuda_reduce_session(DeviceId device, const ReduceJob& job);

/// Times of scans (searches) of `count` elements in device memory; leaves the bandwidth to the caller.
Measurement measure_cuda_scan(DeviceId device, const ScanJob& job, uint64_t count, const FillFunction& fill,
                              uint32_t runs);
Measurement measure_cuda_reduce(DeviceId device, const ReduceJob& job, uint64_t count,
                                const FillFunction& fill, uint32_t runs);

/// Bytes/s that a kernel reads which does nothing else; the best of several runs.
double measure_cuda_read_bandwidth(DeviceId device, size_t bytes);

}  // namespace sweepsort
