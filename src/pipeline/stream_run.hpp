// stream_run.hpp - what operations share that send a file through a backend chunk by chunk.
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

/// GPU or CPU for elements that come from a file once; `output_bytes` go back to one. Throws Error if CUDA is
/// asked for and cannot be had.
BackendDecision choose_stream_backend(uint64_t input_bytes, uint64_t output_bytes, const AskStatus& ask,
                                      uint32_t threads, const WhereOptions& where);

/// Where backends come from, and the size of chunks. The defaults are the real ones; tests replace them.
struct StreamEnvironment {
  std::function<std::unique_ptr<Backend>(uint32_t threads)> make_cpu = make_cpu_backend;
  std::function<std::unique_ptr<Backend>(int device)> make_cuda = make_cuda_backend;
  AskStatus status = cuda_status;
  decltype(&choose_stream_backend) choose = choose_stream_backend;
  std::function<MemoryLimit()> memory = [] { return available_memory(); };
  size_t chunk_bytes = 0;       // 0: as the backend likes it; else a multiple of 8
  bool allow_anonymous = true;  // temporary files without a name

  std::unique_ptr<Backend> make(BackendChoice which, int device, uint32_t threads) const {
    return which == BackendChoice::cuda ? make_cuda(device) : make_cpu(threads);
  }
};

/// Workers for so many chunks, as many as the backend has use for at most.
uint32_t stream_workers(uint32_t threads, uint32_t max_workers, uint64_t chunks);

/// What an algorithm's name says about the backend, added to what was asked for. Throws UsageError for
/// contradictions.
WhereOptions where_for(ScanAlgorithm algorithm, const WhereOptions& where);

/// Throws UsageError if the input is to be passed through more than once and cannot be.
void require_file_to_repeat(const ChunkReader& input, uint32_t repeat);
/// Throws Error if the `bytes` that --repeat holds are more than there is room for, unless they lie on a
/// device.
void require_memory_to_repeat(const StreamEnvironment& environment, const Backend& backend,
                              const ChunkReader& input, Bytes bytes);

}  // namespace sweepsort
