// choose_backend.hpp - GPU or CPU: by sizes and what this machine has.
#pragma once

#include "backend/backend.hpp"
#include "sweepsort.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace sweepsort {

struct BackendDecision {
  BackendChoice which = BackendChoice::cpu;  // cuda or cpu
  std::string why;  // for people: "asked for", "0.31 s on 2 threads, 0.27 s on the GPU ..."
};

/// Looking for a GPU starts the driver, which takes longer than many a small file: whoever chooses asks only
/// where the answer matters.
using AskStatus = std::function<CudaStatus()>;

/// `threads` is how many the CPU backend would use. Throws Error with the status's reason and hint if CUDA is
/// asked for and cannot be had.
BackendDecision choose_backend(uint64_t count, KeyType type, const AskStatus& ask, uint32_t threads,
                               const WhereOptions& where);

}  // namespace sweepsort
