// sort_bytes.cpp - sorts keys (and values) in the caller's memory.
#include "backend/backend.hpp"
#include "core/team.hpp"
#include "pipeline/choose_backend.hpp"
#include "sweepsort.hpp"

namespace sweepsort::detail {
namespace {

/// Sorts on the GPU. Returns false if the GPU is too small or failed, in which case the spans are unchanged;
/// a failure is noted.
bool try_on_gpu(int device, const SortJob& job, std::span<std::byte> keys, std::span<std::byte> values,
                const LogFunction& note) {
  bool is_writing = false;
  try {
    const auto backend = make_cuda_backend(device);
    if (backend->footprint(job).device > backend->device_memory()) return false;
    sort_by_session(*backend, keys, values, job, [&] { is_writing = true; });
    return true;
  } catch (const std::exception& error) {
    if (is_writing) throw;  // the spans have changed, so the caller must know
    if (note) note(failed_gpu_line(error));
    return false;
  }
}

}  // namespace

void sort_bytes(KeyType type, uint64_t count, std::span<std::byte> keys, std::span<std::byte> values,
                uint32_t value_bytes, const SortOptions& options) {
  const int device = only_device(options.where);
  if (keys.data() < values.data() + values.size() && values.data() < keys.data() + keys.size())
    throw Error("sort_pairs: keys and values overlap");
  const uint32_t threads = threads_or_all(options.where.threads);
  const SortJob job{.count = count,
                    .type = type,
                    .order = options.order,
                    .algorithm = options.algorithm,
                    .value_bytes = value_bytes};
  const BackendDecision decision =
      choose_backend({count, type}, cuda_status, threads_at_once(options.where.threads), options.where);
  if (decision.which == BackendChoice::cuda && options.where.backend == BackendChoice::cuda) {
    make_cuda_backend(device)->sort(keys, values, job);
    return;
  }
  if (decision.which == BackendChoice::cuda && try_on_gpu(device, job, keys, values, options.note)) return;
  make_cpu_backend(threads)->sort(keys, values, job);
}

}  // namespace sweepsort::detail
