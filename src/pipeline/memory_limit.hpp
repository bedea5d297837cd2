// memory_limit.hpp - how much memory this process may still take.
#pragma once

#include "core/bytes.hpp"

#include <filesystem>
#include <string>

namespace sweepsort {

struct MemoryLimit {
  Bytes available;
  std::string what;               // who says so: "the machine", "the control group", "ulimit -v", "ulimit -d"
  bool is_address_space = false;  // memory counts from when it is mapped, not from when it is used
};

/// The least of what the machine, the control group and the limits of address space and data leave. `root` is
/// "/" but for tests.
MemoryLimit available_memory(const std::filesystem::path& root = "/");

}  // namespace sweepsort
