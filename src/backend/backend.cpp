// backend.cpp - Backend::sort by way of a session, for backends that cannot sort host memory where it is.
#include "backend/backend.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <cstring>

namespace sweepsort {
namespace {

/// Chunk by chunk; each holds whole elements.
template <class Step>
void for_each_chunk(std::span<std::byte> bytes, size_t chunk_bytes, size_t element_bytes, Step&& step) {
  const size_t chunk = std::max(element_bytes, chunk_bytes / element_bytes * element_bytes);
  for (size_t at = 0; at < bytes.size(); at += chunk)
    step(at, bytes.subspan(at, std::min(chunk, bytes.size() - at)));
}

}  // namespace

SortSummary Backend::sort(std::span<std::byte> keys, std::span<std::byte> values, const SortJob& job) {
  SortJob one_worker = job;
  one_worker.workers = 1;
  const auto session = begin_sort(one_worker);
  const auto put = [&](Column column, std::span<std::byte> bytes, size_t element_bytes) {
    for_each_chunk(bytes, job.chunk_bytes, element_bytes, [&](size_t at, std::span<std::byte> chunk) {
      std::memcpy(session->begin_put(0, column, at, chunk.size()).data(), chunk.data(), chunk.size());
      session->end_put(0);
    });
  };
  const auto get = [&](Column column, std::span<std::byte> bytes, size_t element_bytes) {
    for_each_chunk(bytes, job.chunk_bytes, element_bytes, [&](size_t at, std::span<std::byte> chunk) {
      std::memcpy(chunk.data(), session->get(0, column, at, chunk.size()).data(), chunk.size());
    });
  };
  put(Column::keys, keys, key_bytes(job.type));
  if (job.value_bytes != 0) put(Column::values, values, job.value_bytes);
  const SortSummary summary = session->sort();
  get(Column::keys, keys, key_bytes(job.type));
  if (job.value_bytes != 0) get(Column::values, values, job.value_bytes);
  return summary;
}

}  // namespace sweepsort
