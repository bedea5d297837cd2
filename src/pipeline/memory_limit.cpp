// memory_limit.cpp - /proc/meminfo or sysinfo, cgroups of both versions, getrlimit.
#include "pipeline/memory_limit.hpp"

#include "core/control_group.hpp"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

namespace sweepsort {
namespace {

constexpr uint64_t kib = 1024;

/// The number after "name" in a file of "name[:] number" lines; for an empty name, the file's only number.
std::optional<uint64_t> read_number(const std::filesystem::path& path, const std::string& name = {}) {
  std::ifstream file(path);
  std::string word;
  uint64_t number;
  if (name.empty()) {
    if (file >> number) return number;
    return {};
  }
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    if (words >> word >> number && (word == name || word == name + ":")) return number;
  }
  return {};
}

void lower(MemoryLimit& limit, uint64_t bytes, const char* what, bool is_address_space = false) {
  if (bytes < limit.available.value) limit = {Bytes{bytes}, what, is_address_space};
}

/// Memory in use does not include page cache that can be dropped at once.
std::optional<uint64_t> left(std::optional<uint64_t> most, std::optional<uint64_t> used, uint64_t droppable) {
  if (!most || !used) return {};
  const uint64_t held = *used - std::min(*used, droppable);
  return *most - std::min(*most, held);
}

void lower_by_groups(MemoryLimit& limit, const std::vector<std::filesystem::path>& groups,
                     const char* max_file, const char* used_file, const char* cache_name) {
  for (const std::filesystem::path& at : groups) {
    const uint64_t droppable = read_number(at / "memory.stat", cache_name).value_or(0);
    if (const auto bytes = left(read_number(at / max_file), read_number(at / used_file), droppable))
      lower(limit, *bytes, "the control group");
  }
}

/// Applies a limit of this process. A line of /proc/self/status says how much of it is used.
void lower_by_process(MemoryLimit& limit, const std::filesystem::path& root, decltype(RLIMIT_AS) resource,
                      const char* used_name, const char* what) {
  rlimit most{};
  if (::getrlimit(resource, &most) != 0 || most.rlim_cur == RLIM_INFINITY) return;
  const uint64_t used = read_number(root / "proc/self/status", used_name).value_or(0) * kib;
  lower(limit, most.rlim_cur - std::min<uint64_t>(most.rlim_cur, used), what, true);
}

}  // namespace

MemoryLimit available_memory(const std::filesystem::path& root) {
  MemoryLimit limit{Bytes{std::numeric_limits<uint64_t>::max()}, "nothing"};
  struct sysinfo machine {};
  if (const auto available = read_number(root / "proc/meminfo", "MemAvailable"))
    lower(limit, *available * kib, "the machine");
  else if (::sysinfo(&machine) == 0)  // there is no /proc, or no descriptor to read it
    lower(limit, (uint64_t{machine.freeram} + machine.bufferram) * machine.mem_unit, "the machine");
  const std::filesystem::path mount = root / "sys/fs/cgroup";
  lower_by_groups(limit, control_groups(root, mount, ""), "memory.max", "memory.current", "inactive_file");
  lower_by_groups(limit, control_groups(root, mount / "memory", "memory"), "memory.limit_in_bytes",
                  "memory.usage_in_bytes", "total_inactive_file");
  lower_by_process(limit, root, RLIMIT_AS, "VmSize", "ulimit -v");
  lower_by_process(limit, root, RLIMIT_DATA, "VmData", "ulimit -d");
  return limit;
}

}  // namespace sweepsort
