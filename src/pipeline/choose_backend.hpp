// choose_backend.hpp - GPU or CPU: a pure function of sizes and what this machine has.
#pragma once

#include "backend/backend.hpp"
#include "sweepsort.hpp"

#include <cstdint>
#include <string>

namespace sweepsort {

struct BackendDecision {
  BackendChoice which = BackendChoice::cpu;  // cuda or cpu
  std::string why;  // for people: "asked for", "0.31 s on 2 threads, 0.27 s on the GPU ..."
};

/// `threads` is how many the CPU backend would use. Throws Error with the status's reason and hint if CUDA is
/// asked for and cannot be had.
BackendDecision choose_backend(uint64_t count, KeyType type, const CudaStatus& status, uint32_t threads,
                               const WhereOptions& where);

}  // namespace sweepsort
