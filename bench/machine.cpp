// machine.cpp - which machine, which source, when.
#include "bench/machine.hpp"

#include "bench_revision.hpp"

#include <fmt/chrono.h>

#include <ctime>
#include <fstream>
#include <string_view>

namespace sweepsort::bench {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  constexpr std::string_view key = "model name";
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with(key) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string utc_date() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::string built_revision() { return SWEEPSORT_BENCH_REVISION; }

}  // namespace sweepsort::bench
