// sort_file.hpp - sort_file() with its environment as a parameter.
#pragma once

#include "backend/backend.hpp"
#include "pipeline/choose_backend.hpp"
#include "pipeline/memory_limit.hpp"
#include "sweepsort.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sweepsort {

/// Where backends come from, and sizes that let a test treat a small file like a large one. The defaults are
/// the real ones; tests replace them.
struct SortEnvironment {
  std::function<std::unique_ptr<Backend>(uint32_t threads)> make_cpu = make_cpu_backend;
  std::function<std::unique_ptr<Backend>(int device)> make_cuda = make_cuda_backend;
  AskStatus status = cuda_status;
  std::function<bool()> has_driver = has_cuda_driver;
  decltype(&choose_backend) choose = choose_backend;
  std::function<MemoryLimit()> memory = [] { return available_memory(); };
  size_t chunk_bytes = default_chunk_bytes;  // a multiple of 8
  bool allow_anonymous = true;               // temporary files without a name
  uint64_t min_runs = 1;  // if above 1: make at least this many runs and spill all, even if they would fit
};

SortReport sort_files_with(const SortEnvironment& environment, const std::vector<std::string>& inputs,
                           const std::string& output, const SortFileOptions& options);

inline SortReport sort_file_with(const SortEnvironment& environment, const std::string& input,
                                 const std::string& output, const SortFileOptions& options) {
  return sort_files_with(environment, {input}, output, options);
}

}  // namespace sweepsort
