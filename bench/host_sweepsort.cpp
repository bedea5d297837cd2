// host_sweepsort.cpp - the CPU backend as a peer: chunks go in by all threads, as they do from a file.
#include "bench/host_peer.hpp"
#include "core/checked.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

namespace sweepsort::bench {
namespace {

constexpr size_t chunk_bytes = 8u << 20;

/// A column's bytes in chunks, dealt out to workers in turn. Calls `f(first_byte, bytes)` in this worker's
/// share.
template <class F>
void for_chunks(uint64_t column_bytes, uint32_t worker, uint32_t workers, F&& f) {
  for (uint64_t first = worker * uint64_t{chunk_bytes}; first < column_bytes;
       first += workers * uint64_t{chunk_bytes})
    f(first, static_cast<size_t>(std::min<uint64_t>(chunk_bytes, column_bytes - first)));
}

/// Runs `work(worker)` on every worker and waits; the first exception that any of them threw is thrown again.
template <class F>
void for_workers(uint32_t workers, F&& work) {
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto guarded = [&](uint32_t worker) {
    try {
      work(worker);
    } catch (...) {
      const std::scoped_lock lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (uint32_t worker = 1; worker < workers; ++worker) threads.emplace_back(guarded, worker);
    guarded(0);
  }
  if (failure) std::rethrow_exception(failure);
}

/// Puts a column; returns the time for which the slowest worker was inside end_put. Copying the input into
/// the session's buffers, where a file would be read into, is not sorting; what the session does with a
/// filled buffer is.
double put_column(SortSession& session, Column column, std::span<const std::byte> bytes, uint32_t workers) {
  std::vector<double> digest_s(workers, 0.0);
  for_workers(workers, [&](uint32_t worker) {
    for_chunks(bytes.size(), worker, workers, [&](uint64_t first, size_t size) {
      std::memcpy(session.begin_put(worker, column, first, size).data(), bytes.data() + first, size);
      const auto begin = std::chrono::steady_clock::now();
      session.end_put(worker);
      digest_s[worker] += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    });
  });
  return *std::ranges::max_element(digest_s);
}

void get_column(SortSession& session, Column column, std::span<std::byte> bytes, uint32_t workers) {
  for_workers(workers, [&](uint32_t worker) {
    for_chunks(bytes.size(), worker, workers, [&](uint64_t first, size_t size) {
      std::memcpy(bytes.data() + first, session.get(worker, column, first, size).data(), size);
    });
  });
}

}  // namespace

HostPeer sweepsort_host_peer(std::shared_ptr<Backend> backend, SortAlgorithm algorithm, uint32_t threads) {
  HostPeer peer;
  peer.name =
      algorithm == SortAlgorithm::automatic ? "sweepsort" : "sweepsort-" + std::string(name(algorithm));
  peer.threads = threads;
  peer.supports = [](const SortCase&) { return true; };
  peer.sort = [=](const SortCase& what, const HostArrays& arrays) {
    // A worker for a chunk: small sorts should not pay for idle threads.
    const uint64_t chunks = what.keys_bytes() / chunk_bytes + 1;
    const uint32_t workers = narrow<uint32_t>(std::min<uint64_t>(threads, chunks));
    const auto session = backend->begin_sort({.count = what.count,
                                              .type = what.type,
                                              .order = what.order,
                                              .algorithm = algorithm,
                                              .value_bytes = what.value_bytes,
                                              .workers = workers,
                                              .chunk_bytes = chunk_bytes});
    const double put_s = put_column(*session, Column::keys, arrays.keys_in, workers) +
                         put_column(*session, Column::values, arrays.values_in, workers);
    const auto begin = std::chrono::steady_clock::now();
    const SortSummary summary = session->sort();
    const std::chrono::duration<double> sort_s = std::chrono::steady_clock::now() - begin;
    get_column(*session, Column::keys, arrays.keys_out, workers);
    get_column(*session, Column::values, arrays.values_out, workers);
    return HostRun{.sort_s = put_s + sort_s.count(), .detail = summary.algorithm};
  };
  return peer;
}

}  // namespace sweepsort::bench
