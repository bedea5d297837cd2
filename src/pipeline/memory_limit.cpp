// memory_limit.cpp - /proc/meminfo or sysinfo, cgroups of both versions, getrlimit.
#include "pipeline/memory_limit.hpp"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace sweepsort {
namespace {

constexpr uint64_t kib = 1024;

/// The number behind "name" in a file of "name[:] number" lines; the file's only number for an empty name.
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

/// What is used counts without the page cache that can be dropped at once.
std::optional<uint64_t> left(std::optional<uint64_t> most, std::optional<uint64_t> used, uint64_t droppable) {
  if (!most || !used) return {};
  const uint64_t held = *used - std::min(*used, droppable);
  return *most - std::min(*most, held);
}

/// The group's folder below a controller's mount point, from a line "0::/a/b" or "5:memory:/a/b" of
/// /proc/self/cgroup.
std::string group_path(const std::filesystem::path& root, const std::string& controllers) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos || line.substr(first + 1, second - first - 1) != controllers) continue;
    return line.substr(second + 2);
  }
  return {};
}

/// A limit may stand at any level above our group, and in a container our group is the mount point itself.
void lower_by_groups(MemoryLimit& limit, const std::filesystem::path& mount, const std::string& group,
                     const char* most_file, const char* used_file, const char* cache_name) {
  std::filesystem::path folder = group;
  while (true) {
    const std::filesystem::path at = folder.empty() ? mount : mount / folder;
    const uint64_t droppable = read_number(at / "memory.stat", cache_name).value_or(0);
    if (const auto bytes = left(read_number(at / most_file), read_number(at / used_file), droppable))
      lower(limit, *bytes, "the control group");
    if (folder.empty()) return;
    folder = folder.parent_path();
  }
}

/// A limit of this process, of which it has taken what a line of /proc/self/status says.
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
  else if (::sysinfo(&machine) == 0)  // no /proc, or no descriptor left to read it
    lower(limit, (uint64_t{machine.freeram} + machine.bufferram) * machine.mem_unit, "the machine");
  lower_by_groups(limit, root / "sys/fs/cgroup", group_path(root, ""), "memory.max", "memory.current",
                  "inactive_file");
  lower_by_groups(limit, root / "sys/fs/cgroup/memory", group_path(root, "memory"), "memory.limit_in_bytes",
                  "memory.usage_in_bytes", "total_inactive_file");
  lower_by_process(limit, root, RLIMIT_AS, "VmSize", "ulimit -v");
  lower_by_process(limit, root, RLIMIT_DATA, "VmData", "ulimit -d");
  return limit;
}

}  // namespace sweepsort
