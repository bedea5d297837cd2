// cpu_scan.hpp - scans and searches on the CPU, of memory and of data that arrives in chunks.
#pragma once

#include "backend/scan_session.hpp"

#include <memory>

namespace sweepsort {

/// Size of a file's chunk, which stays in the second-level cache from the read to the write.
inline constexpr size_t cpu_chunk_bytes = 1u << 20;
/// Size of a block in a scan from memory to memory.
inline constexpr size_t cpu_block_bytes = 256u << 10;

std::unique_ptr<ScanSession> make_cpu_scan_session(const ScanJob& job);
std::unique_ptr<ReduceSession> make_cpu_reduce_session(const ReduceJob& job);

/// `out` may be `in` if the types are the same.
ScanSummary scan_memory(std::span<const std::byte> in, std::span<std::byte> out, const ScanJob& job,
                        uint32_t threads);
ReduceResult reduce_memory(std::span<const std::byte> in, const ReduceJob& job, uint32_t threads);

}  // namespace sweepsort
