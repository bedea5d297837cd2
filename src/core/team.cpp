// team.cpp - counts the processors that this process may use.
#include "core/team.hpp"

#include "core/control_group.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace sweepsort {
namespace {

uint32_t affinity_threads() {
  // The kernel determines the mask's size: enlarge ours until the call accepts it.
  for (size_t processors = 1024; processors <= 1u << 20; processors *= 2) {
    std::vector<cpu_set_t> mask(processors / (8 * sizeof(cpu_set_t)));
    const size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mask.data()) == 0)
      return static_cast<uint32_t>(std::max(1, CPU_COUNT_S(bytes, mask.data())));
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

/// The lowest of `limit` and the quotas of this process's cgroup (version 2) and every group above it, in
/// whole processors, rounded up.
uint32_t quota_threads(uint32_t limit) {
  for (const std::filesystem::path& group : control_groups("/", "/sys/fs/cgroup", "")) {
    std::ifstream file(group / "cpu.max");
    std::string quota;
    double period = 0;
    if (!(file >> quota >> period) || quota == "max" || period <= 0) continue;
    const double processors = std::ceil(std::strtod(quota.c_str(), nullptr) / period);
    limit = std::min(limit, static_cast<uint32_t>(std::clamp(processors, 1.0, 1e6)));
  }
  return limit;
}

}  // namespace

uint32_t threads_or_all(uint32_t asked) { return asked != 0 ? asked : quota_threads(affinity_threads()); }

uint32_t threads_at_once(uint32_t asked) { return std::min(threads_or_all(asked), threads_or_all(0)); }

}  // namespace sweepsort
