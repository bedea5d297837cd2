// cuda_scan_session.hpp - scans and searches on a GPU of data that is streamed through it.
#pragma once

#include "backend/scan_session.hpp"
#include "gpu/handles.hpp"

#include <memory>

namespace sweepsort {

/// The chunk size and number of workers with which PCIe reaches its full rate and buffers take little time to
/// allocate. Time for the minimum of 4 GiB in the page cache, including creating the context: 461 ms with 8
/// MiB and 16 workers; 411 ms with 4 MiB and 8 workers that have two buffers each (H200, 2026-11-22; a tiny
/// file takes 305 ms).
inline constexpr size_t cuda_chunk_bytes = 4u << 20;
inline constexpr uint32_t max_cuda_workers = 8;

std::unique_ptr<ScanSession> make_cuda_scan_session(DeviceId device, const ScanJob& job);
std::unique_ptr<ReduceSession> make_cuda_reduce_session(DeviceId device, const ReduceJob& job);

/// Times scans (or searches) of `count` elements in device memory. Leaves measuring the bandwidth to the
/// caller.
Measurement measure_cuda_scan(DeviceId device, const ScanJob& job, uint64_t count, const FillFunction& fill,
                              uint32_t runs);
Measurement measure_cuda_reduce(DeviceId device, const ReduceJob& job, uint64_t count,
                                const FillFunction& fill, uint32_t runs);

/// The bytes/s of a kernel that does nothing but read; the best of several runs.
double measure_cuda_read_bandwidth(DeviceId device, size_t bytes);

}  // namespace sweepsort
