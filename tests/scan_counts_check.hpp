// scan_counts_check.hpp - one run of the emulated look-back scan against the standard library.
#pragma once

#include "device_array.hpp"
#include "kernels/scan_counts.cuh"
#include "simt/simt.hpp"

#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sweepsort {

/// Scans `size` counts under the schedule of `seed`; returns what went wrong, or nothing.
inline std::optional<std::string> scan_counts_fault(uint64_t seed, uint64_t size) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> counts(size);
  for (uint64_t& count : counts) count = random() >> 20;
  std::vector<uint64_t> expected(size);
  std::exclusive_scan(counts.begin(), counts.end(), expected.begin(), uint64_t{0});

  simt::Session session{.seed = seed};
  const DeviceArray<uint64_t> scanned{std::span<const uint64_t>(counts)};
  Workspace counter;
  (void)ScanCountsWorkspace(counter, size);
  const DeviceArray<std::byte> memory(counter.used());
  check(cudaMemset(memory.data(), 0, memory.size()));
  Workspace workspace(memory.span());
  try {
    scan_counts(scanned.span(), nullptr, ScanCountsWorkspace(workspace, size), nullptr);
  } catch (const simt::Deadlock& deadlock) {
    return std::string("deadlock: ") + deadlock.what();
  } catch (const simt::Fault& fault) {
    return std::string("fault: ") + fault.what();
  }
  if (!scanned.zones_intact() || !memory.zones_intact()) return "wrote outside of its arrays";
  if (scanned.download() != expected) return "wrong offsets";
  return {};
}

}  // namespace sweepsort
