// memory_limit.hpp - how much more memory this process may use.
#pragma once

#include "core/bytes.hpp"

#include <filesystem>
#include <string>

namespace sweepsort {

struct MemoryLimit {
  Bytes available;
  std::string what;  // the limit that applies: "the machine", "the control group", "ulimit -v", "ulimit -d"
  bool is_address_space = false;  // memory counts as soon as it is mapped, even if it is not used
};

/// The minimum of what the machine, the control group and the limits on address space and data leave. `root`
/// is "/" except in tests.
MemoryLimit available_memory(const std::filesystem::path& root = "/");

}  // namespace sweepsort
