// sort_bytes.cpp - keys (and values) that lie in the caller's memory.
#include "backend/backend.hpp"
#include "core/error.hpp"
#include "core/team.hpp"
#include "pipeline/choose_backend.hpp"
#include "sweepsort.hpp"

#include <algorithm>

namespace sweepsort::detail {
namespace {

/// One column through a session's chunks, one after the other: memory to memory needs no threads of ours.
template <class F>
void for_each_chunk(std::span<std::byte> bytes, size_t chunk_bytes, F f) {
  for (size_t at = 0; at < bytes.size(); at += chunk_bytes)
    f(at, bytes.subspan(at, std::min(chunk_bytes, bytes.size() - at)));
}

/// Sorts on the GPU. False: it failed, and the spans are as they were.
bool try_on_gpu(int device, const SortJob& job, std::span<std::byte> keys, std::span<std::byte> values) {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<SortSession> session;
  try {
    backend = make_cuda_backend(device);
    if (backend->footprint(job).device > backend->device_memory()) return false;
    session = backend->begin_sort(job);
    const auto put = [&](Column column, std::span<std::byte> bytes) {
      for_each_chunk(bytes, job.chunk_bytes, [&](size_t at, std::span<std::byte> piece) {
        std::ranges::copy(piece, session->begin_put(0, column, at, piece.size()).begin());
        session->end_put(0);
      });
    };
    put(Column::keys, keys);
    put(Column::values, values);
    session->sort();
  } catch (const std::exception&) {
    return false;
  }
  // From here on the spans change: an error is the caller's to know.
  const auto get = [&](Column column, std::span<std::byte> bytes) {
    for_each_chunk(bytes, job.chunk_bytes, [&](size_t at, std::span<std::byte> piece) {
      std::ranges::copy(session->get(0, column, at, piece.size()), piece.begin());
    });
  };
  get(Column::keys, keys);
  get(Column::values, values);
  return true;
}

}  // namespace

void sort_bytes(KeyType type, uint64_t count, std::span<std::byte> keys, std::span<std::byte> values,
                uint32_t value_bytes, const SortOptions& options) {
  const int device = only_device(options.where);
  const uint32_t threads = threads_or_all(options.where.threads);
  const SortJob job{.count = count,
                    .type = type,
                    .order = options.order,
                    .algorithm = options.algorithm,
                    .value_bytes = value_bytes};
  const BackendDecision decision = choose_backend({count, type}, cuda_status, threads, options.where);
  if (decision.which == BackendChoice::cuda && options.where.backend == BackendChoice::cuda) {
    make_cuda_backend(device)->sort(keys, values, job);
    return;
  }
  if (decision.which == BackendChoice::cuda && try_on_gpu(device, job, keys, values)) return;
  make_cpu_backend(threads)->sort(keys, values, job);
}

}  // namespace sweepsort::detail
