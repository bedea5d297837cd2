// system_report.cpp - what this build can do and what it finds on this machine; for `info` and `--version`.
#include "backend/backend.hpp"
#include "sweepsort.hpp"

#include <fmt/format.h>

#include <string>

// The versions come from CMake; an empty version means that the build lacks it.
namespace sweepsort {
namespace {

std::string compiler_name() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "unknown compiler";
#endif
}

BackendReport usable(const BackendInfo& info, std::string name) {
  return {.name = std::move(name), .usable = true, .description = info.description, .details = info.details};
}

/// Adds one report per device, or one that says why there is none.
void add_cuda_devices(std::vector<BackendReport>& reports) {
  const CudaStatus status = cuda_status();
  if (status.usable.empty()) {
    reports.push_back({.name = "cuda", .reason = status.reason, .hint = status.hint});
    return;
  }
  for (int device = 0; device < status.device_count; ++device) {
    const std::string name = fmt::format("cuda {}", device);
    try {
      reports.push_back(usable(make_cuda_backend(device)->info(), name));
    } catch (const Error& error) {  // one broken device must not hide the others
      reports.push_back({.name = name, .reason = error.what(), .hint = error.hint()});
    }
  }
}

}  // namespace

std::string_view version() { return SWEEPSORT_VERSION; }

SystemReport system_report() {
  SystemReport report{.compiler = compiler_name(),
                      .cuda = SWEEPSORT_CUDA_VERSION,
                      .highway = SWEEPSORT_HIGHWAY_VERSION,
                      .thrust = SWEEPSORT_THRUST_VERSION};
  report.backends.push_back(usable(make_cpu_backend()->info(), "cpu"));
  add_cuda_devices(report.backends);
  return report;
}

}  // namespace sweepsort
