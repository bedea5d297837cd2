// thrust_arena.hpp - gives Thrust its temporary memory from the workspace.
#pragma once

#include "core/rounding.hpp"
#include "kernels/device_span.cuh"

#include <cstddef>
#include <cstdint>
#include <new>

namespace sweepsort::bench {

/// Allocates the workspace from front to back, so that no cudaMalloc is in the timed region.
class Arena {
 public:
  using value_type = std::byte;
  explicit Arena(DeviceSpan<std::byte> memory) : rest_(memory) {}

  std::byte* allocate(std::ptrdiff_t bytes) {
    const uint64_t taken = round_up(static_cast<uint64_t>(bytes), workspace_alignment);
    if (taken > rest_.size()) throw std::bad_alloc();
    std::byte* const at = rest_.data();
    rest_ = rest_.subspan(taken, rest_.size() - taken);
    return at;
  }
  void deallocate(std::byte*, size_t) {}

 private:
  DeviceSpan<std::byte> rest_;
};

}  // namespace sweepsort::bench
