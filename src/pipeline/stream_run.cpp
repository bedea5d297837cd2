// stream_run.cpp - choices and checks of operations that read a file once.
#include "pipeline/stream_run.hpp"

#include "core/bytes.hpp"
#include "core/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sweepsort {
namespace {

// Measured on an H200 machine: one thread reads 6.7 GB/s from the page cache, sixteen threads 67 GB/s. Writes
// to the page cache reach 4.2 GB/s with any number of threads. The CPU processes a chunk in the cache in
// which the read left it, which takes about a third more time.
constexpr double read_bytes_s = 6.7e9;
constexpr double max_read_bytes_s = 67e9;
constexpr double write_bytes_s = 4.2e9;
constexpr double cpu_share = 0.75;

}  // namespace

uint32_t stream_workers(uint32_t threads, uint32_t max_workers, uint64_t chunks) {
  return static_cast<uint32_t>(std::clamp<uint64_t>(chunks, 1, std::min(threads, max_workers)));
}

BackendDecision choose_stream_backend(std::optional<uint64_t> input_bytes, uint64_t output_bytes,
                                      const AskStatus& ask, uint32_t threads, const WhereOptions& where) {
  if (where.backend != BackendChoice::automatic) return choose_backend({}, ask, threads, where);
  if (!input_bytes) return {BackendChoice::cpu, "how much a stream brings is unknown"};
  const auto bytes = static_cast<double>(*input_bytes);
  const double read_s = bytes / std::min(read_bytes_s * threads, max_read_bytes_s);
  const double write_s = static_cast<double>(output_bytes) / write_bytes_s;
  const double cpu_s = std::max(read_s / cpu_share, write_s);
  const double cuda_s = cuda_start_s + std::max({read_s, bytes / pcie_bytes_s, write_s});
  BackendDecision by_time{BackendChoice::cpu, describe_estimates(cpu_s, threads, cuda_s)};
  if (cpu_s <= cuda_s) return by_time;
  const CudaStatus status = ask();
  if (status.usable.empty()) return {BackendChoice::cpu, "no GPU: " + status.reason, status.reason};
  require_devices(status, where);
  by_time.which = BackendChoice::cuda;
  return by_time;
}

WhereOptions where_for(ScanAlgorithm algorithm, const WhereOptions& where) {
  WhereOptions result = where;
  const auto require = [&](BackendChoice needed, const char* place, const char* hint) {
    if (where.backend != BackendChoice::automatic && where.backend != needed)
      throw UsageError(fmt::format("--algorithm {} runs only on the {}", name(algorithm), place), hint);
    result.backend = needed;
  };
  if (is_gpu_algorithm(algorithm)) require(BackendChoice::cuda, "GPU", "the CPU has threads and sequential");
  if (is_cpu_algorithm(algorithm))
    require(BackendChoice::cpu, "CPU",
            "the GPU has lookback, shuffle, blelloch, blelloch-padded and hillis-steele");
  return result;
}

void require_file_to_repeat(const ChunkReader& input, uint32_t repeat) {
  if (repeat != 0 && input.is_stream())
    throw UsageError("--repeat needs a file: data from a pipe are not kept", "name a file");
}

void require_memory_to_repeat(const StreamEnvironment& environment, const Backend& backend,
                              const ChunkReader& input, Bytes bytes) {
  const MemoryLimit limit = environment.memory();
  if (backend.device_memory() != Bytes{} || bytes <= limit.available) return;
  throw Error(fmt::format("{}: --repeat needs {} of memory, but {} leaves {}", input.file().name(),
                          format_bytes(bytes), limit.what, format_bytes(limit.available)),
              "leave --repeat out, or read a part of the file with --read-bytes");
}

}  // namespace sweepsort
