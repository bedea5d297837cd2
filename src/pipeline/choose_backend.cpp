// choose_backend.cpp - estimates the time on the GPU and on the CPU.
#include "pipeline/choose_backend.hpp"

#include "core/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace sweepsort {
namespace {

// The sort itself is negligible beside the transfers (below 0.03 ns per key). Where the file's read or write
// is slower, it hides one of the transfers, so only one is counted.
constexpr double cuda_sort_s_per_key = 0.03e-9;

/// Seconds per key and thread, measured on a two-core machine with both cores busy.
double cpu_s_per_key(KeyType type) {
  switch (key_bytes(type)) {
    case 1: return 0.8e-9;
    case 2: return 1.0e-9;
    case 4: return 5.4e-9;
    default: return 7.0e-9;
  }
}

/// Sorted or reversed keys take at most a third of that, except for reversed bytes (2^27 keys, two threads,
/// ms, uniform, sorted, reversed: u8 120, 21, 84; u16 214, 34, 62; u32 920, 82, 130; u64 1730, 123, 231).
constexpr double cpu_in_order = 1.0 / 3;

/// Whether the GPU works but cannot do what is asked for.
bool is_limit(const std::exception& error) {
  return dynamic_cast<const BackendLimitError*>(&error) != nullptr;
}

/// The devices as on the command line.
std::string names_of(const WhereOptions& where) {
  return where.devices.empty() ? "all" : fmt::format("{}", fmt::join(where.devices, ","));
}

}  // namespace

void require_devices(const CudaStatus& status, const WhereOptions& where) {
  for (const int device : where.devices)
    if (device < 0 || device >= status.device_count)
      throw Error(fmt::format("there is no CUDA device {}: this machine has {}", device, status.device_count),
                  "devices are numbered from 0; sweepsort info lists them");
}

void require_different_devices(const WhereOptions& where) {
  std::vector<int> devices = where.devices;
  std::ranges::sort(devices);
  if (const auto twice = std::ranges::adjacent_find(devices); twice != devices.end())
    throw UsageError(fmt::format("--device {}: {} is named twice", names_of(where), *twice),
                     "name each device once");
}

std::vector<int> devices_of(const WhereOptions& where, const AskStatus& ask) {
  if (!where.devices.empty()) return where.devices;
  CudaStatus status = ask();
  if (status.usable.empty()) throw Error("the cuda backend cannot be used: " + status.reason, status.hint);
  return std::move(status.usable);
}

int only_device(const WhereOptions& where) {
  if (where.devices.size() != 1)
    throw UsageError(
        fmt::format("--device {}: only sorts of files and streams use several devices", names_of(where)),
        "name one device, for example --device 0");
  return where.devices.front();
}

std::string describe_estimates(double cpu_s, uint32_t threads, double cuda_s) {
  const auto about = [](double time_s) {
    if (time_s >= 0.9995) return fmt::format("about {:.1f} s", time_s);
    if (time_s >= 1e-3) return fmt::format("about {:.0f} ms", time_s * 1e3);
    if (time_s >= 1e-6) return fmt::format("about {:.1f} us", time_s * 1e6);
    return std::string("less than 1 us");
  };
  return fmt::format("{} on {} CPU thread{}, {} on a GPU including its start", about(cpu_s), threads,
                     threads == 1 ? "" : "s", about(cuda_s));
}

BackendDecision choose_backend(const KeysToSort& keys, const AskStatus& ask, uint32_t threads,
                               const WhereOptions& where) {
  if (where.backend == BackendChoice::cpu) return {BackendChoice::cpu, "asked for"};
  const auto count = static_cast<double>(keys.count);
  const double bytes = count * static_cast<double>(key_bytes(keys.type));
  const double cuda_s = cuda_start_s + bytes / pcie_bytes_s + count * cuda_sort_s_per_key;
  const bool is_automatic = where.backend == BackendChoice::automatic;
  double cpu_s = count * cpu_s_per_key(keys.type) / threads;
  const bool in_order = is_automatic && cpu_s > cuda_s && keys.looks_in_order && keys.looks_in_order();
  if (in_order) cpu_s *= cpu_in_order;
  BackendDecision by_time{BackendChoice::cpu, fmt::format("for {} {} keys{} {}", keys.count, name(keys.type),
                                                          in_order ? " that look sorted, or reversed," : "",
                                                          describe_estimates(cpu_s, threads, cuda_s))};
  if (is_automatic && cpu_s <= cuda_s) return by_time;
  const CudaStatus status = ask();
  if (!is_automatic && status.usable.empty())
    throw Error("the cuda backend cannot be used: " + status.reason, status.hint);
  if (status.usable.empty()) return {BackendChoice::cpu, "no GPU: " + status.reason, status.reason};
  require_devices(status, where);
  if (!is_automatic) return {BackendChoice::cuda, "asked for"};
  by_time.which = BackendChoice::cuda;
  return by_time;
}

std::vector<std::string> gpu_options(const WhereOptions& where, bool has_gpu_memory) {
  std::vector<std::string> names;
  if (where.devices != WhereOptions{}.devices) names.push_back("--device");
  if (has_gpu_memory) names.push_back("--gpu-memory");
  return names;
}

void note_ignored(const std::vector<std::string>& options, const std::string& no_gpu, const Lines& lines) {
  if (options.empty() || no_gpu.empty()) return;
  lines.say_unasked(fmt::format("{} {} ignored: {}", fmt::join(options, " and "),
                                options.size() == 1 ? "is" : "are", no_gpu));
}

std::string failed_gpu_line(const std::exception& error) {
  return is_limit(error) ? fmt::format("not possible on the GPU ({}): using the CPU", error.what())
                         : fmt::format("the GPU failed ({}): starting again on the CPU", error.what());
}

void run_as_decided(const BackendDecision& decision, const WhereOptions& where, const Lines& lines,
                    std::string& why, const std::function<void(BackendChoice)>& run,
                    const std::function<bool()>& may_try_again) {
  const bool on_gpu = decision.which == BackendChoice::cuda;
  why = decision.why;
  lines.say(fmt::format("backend {}: {}", on_gpu ? "cuda" : "cpu", why));
  if (!on_gpu || where.backend == BackendChoice::cuda) return run(decision.which);
  try {
    return run(BackendChoice::cuda);
  } catch (const UsageError&) {
    throw;
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    const auto* const of_file = dynamic_cast<const FileError*>(&error);
    if ((of_file && !of_file->is_shortage()) || !may_try_again()) throw;
    why = fmt::format("{}: {}", is_limit(error) ? "not on the GPU" : "the GPU failed", error.what());
    lines.say_unasked(failed_gpu_line(error));
  }
  run(BackendChoice::cpu);
}

}  // namespace sweepsort
