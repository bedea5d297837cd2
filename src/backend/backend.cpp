// backend.cpp - sorts, scans and searches of host memory through a session, for backends that cannot work in
// place.
#include "backend/backend.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <cstring>

namespace sweepsort {
namespace {

/// Calls step for each chunk. Chunks hold whole elements.
template <class Byte, class Step>
void for_each_chunk(std::span<Byte> bytes, size_t chunk_bytes, size_t element_bytes, Step&& step) {
  const size_t chunk = std::max(element_bytes, chunk_bytes / element_bytes * element_bytes);
  for (size_t at = 0; at < bytes.size(); at += chunk)
    step(at, bytes.subspan(at, std::min(chunk, bytes.size() - at)));
}

}  // namespace

std::unique_ptr<DeviceStorage> Backend::make_storage(uint64_t) {
  throw Error("internal: a backend without a device was asked for its memory");
}

SortSummary sort_by_session(Backend& backend, std::span<std::byte> keys, std::span<std::byte> values,
                            const SortJob& job, const std::function<void()>& before_writing) {
  SortJob one_worker = job;
  one_worker.workers = 1;
  const auto session = backend.begin_sort(one_worker);
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
  if (before_writing) before_writing();
  get(Column::keys, keys, key_bytes(job.type));
  if (job.value_bytes != 0) get(Column::values, values, job.value_bytes);
  return summary;
}

SortSummary Backend::sort(std::span<std::byte> keys, std::span<std::byte> values, const SortJob& job) {
  return sort_by_session(*this, keys, values, job);
}

ScanSummary Backend::scan(std::span<const std::byte> in, std::span<std::byte> out, const ScanJob& job) {
  ScanJob one_worker = job;
  one_worker.workers = 1;
  const auto session = begin_scan(one_worker);
  const size_t width = key_bytes(job.type);
  uint64_t index = 0;
  for_each_chunk(in, job.chunk_bytes, width, [&](size_t at, std::span<const std::byte> chunk) {
    std::memcpy(session->begin_chunk(0, 0).data(), chunk.data(), chunk.size());
    const std::span<std::byte> scanned = session->scan(0, index++, at / width, chunk.size() / width);
    std::memcpy(out.data() + at / width * key_bytes(job.output_type), scanned.data(), scanned.size());
  });
  return session->finish();
}

ReduceResult Backend::reduce(std::span<const std::byte> in, const ReduceJob& job) {
  ReduceJob one_worker = job;
  one_worker.workers = 1;
  const auto session = begin_reduce(one_worker);
  const size_t width = key_bytes(job.type);
  for_each_chunk(in, job.chunk_bytes, width, [&](size_t at, std::span<const std::byte> chunk) {
    std::memcpy(session->begin_chunk(0, 0).data(), chunk.data(), chunk.size());
    session->end_chunk(0, at / width, chunk.size() / width);
  });
  return session->finish();
}

}  // namespace sweepsort
