// stream_run.hpp - shared code of operations that send a file through a backend chunk by chunk.
#pragma once

#include "backend/backend.hpp"
#include "pipeline/choose_backend.hpp"
#include "pipeline/chunk_reader.hpp"
#include "pipeline/memory_limit.hpp"
#include "sweepsort.hpp"

#include <functional>
#include <memory>
#include <string>

namespace sweepsort {

/// Chooses GPU or CPU for elements that are read once from a file; `output_bytes` are written to a file.
/// Throws Error if CUDA is requested but not available.
BackendDecision choose_stream_backend(std::optional<uint64_t> input_bytes, uint64_t output_bytes,
                                      const AskStatus& ask, uint32_t threads, const WhereOptions& where);

/// Where backends come from, and the size of chunks. The defaults are the real ones; tests replace them.
struct StreamEnvironment {
  std::function<std::unique_ptr<Backend>(uint32_t threads)> make_cpu = make_cpu_backend;
  std::function<std::unique_ptr<Backend>(int device)> make_cuda = make_cuda_backend;
  AskStatus status = cuda_status;
  decltype(&choose_stream_backend) choose = choose_stream_backend;
  std::function<MemoryLimit()> memory = [] { return available_memory(); };
  size_t chunk_bytes = 0;       // 0: the backend's preferred size; else a multiple of 8
  bool allow_anonymous = true;  // temporary files without a name

  std::unique_ptr<Backend> make(BackendChoice which, int device, uint32_t threads) const {
    return which == BackendChoice::cuda ? make_cuda(device) : make_cpu(threads);
  }
};

/// The number of workers for `chunks` chunks, at most as many as the backend can use.
uint32_t stream_workers(uint32_t threads, uint32_t max_workers, uint64_t chunks);

/// Adds what an algorithm's name implies about the backend to the options. Throws UsageError for
/// contradictions.
WhereOptions where_for(ScanAlgorithm algorithm, const WhereOptions& where);

/// Throws UsageError if the input must be passed through more than once and cannot be.
void require_file_to_repeat(const ChunkReader& input, uint32_t repeat);
/// Throws Error if the `bytes` that --repeat holds do not fit in memory, unless they are on a device.
void require_memory_to_repeat(const StreamEnvironment& environment, const Backend& backend,
                              const ChunkReader& input, Bytes bytes);

}  // namespace sweepsort
