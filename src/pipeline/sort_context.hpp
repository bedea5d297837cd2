// sort_context.hpp - what a sort has before its backend is chosen: options, opened files, limits.
#pragma once

#include "core/bytes.hpp"
#include "pipeline/memory_limit.hpp"
#include "pipeline/sort_file.hpp"
#include "pipeline/sort_input.hpp"
#include "pipeline/sort_outputs.hpp"
#include "pipeline/sort_values.hpp"
#include "sweepsort.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sweepsort {

struct SortContext {
  const SortEnvironment& environment;
  const SortFileOptions& options;
  SortInput& input;
  SortValues& values;
  SortOutputs& outputs;
  MemoryLimit limit;  // before anything was read
  std::vector<std::string> temporary_directories;
  uint32_t threads = 1;
  uint64_t secret = 0;
  std::optional<Bytes> max_gpu_memory = {};  // per GPU, if one had less memory than it reported
};

}  // namespace sweepsort
