// parallel_chunks.cpp - threads that pull chunk numbers from one counter.
#include "io/parallel_chunks.hpp"

#include "core/first_failure.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace sweepsort {

uint64_t ChunkGrid::count() const {
  if (total_bytes == 0) return 0;
  if (total_bytes <= first_chunk_bytes) return 1;
  return 1 + (total_bytes - first_chunk_bytes - 1) / chunk_bytes + 1;
}

Chunk ChunkGrid::chunk(uint64_t index) const {
  const uint64_t first = index == 0 ? 0 : first_chunk_bytes + (index - 1) * chunk_bytes;
  const uint64_t most = index == 0 ? first_chunk_bytes : chunk_bytes;
  return {index, first, static_cast<size_t>(std::min<uint64_t>(most, total_bytes - first))};
}

ChunkGrid make_grid(uint64_t data_offset, uint64_t total_bytes, size_t key_bytes, size_t chunk_bytes) {
  ChunkGrid grid{total_bytes, chunk_bytes, chunk_bytes};
  const size_t into_block = static_cast<size_t>(data_offset % io_alignment);
  const bool can_align = chunk_bytes % io_alignment == 0 && into_block % key_bytes == 0;
  if (can_align) grid.first_chunk_bytes = chunk_bytes - into_block;
  return grid;
}

namespace {

class Pool {
 public:
  Pool(const TurnFunction& f, const FailureFunction& on_failure) : f_(f), on_failure_(on_failure) {}

  void work(uint32_t worker) noexcept {
    while (!stop_) {
      try {
        if (!f_(worker, next_++)) stop_ = true;
      } catch (...) {
        failure_.note();
        stop_ = true;
        if (on_failure_) on_failure_();
      }
    }
  }

  void rethrow() const { failure_.rethrow(); }

 private:
  const TurnFunction& f_;
  const FailureFunction& on_failure_;
  std::atomic<uint64_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  FirstFailure failure_;
};

}  // namespace

void parallel_turns(uint32_t workers, const TurnFunction& f, const FailureFunction& on_failure) {
  Pool pool(f, on_failure);
  {
    std::vector<std::jthread> threads;
    try {
      for (uint32_t worker = 1; worker < workers; ++worker)
        threads.emplace_back([&pool, worker] { pool.work(worker); });
    } catch (const std::system_error&) {
      // No more threads to be had here: those that run, or the caller alone, do it all.
    }
    pool.work(0);
  }
  pool.rethrow();
}

void parallel_chunks(uint32_t workers, const ChunkGrid& grid, const ChunkFunction& f,
                     const DoneFunction& done, const FailureFunction& on_failure) {
  const uint64_t chunks = grid.count();
  std::mutex mutex;
  uint64_t bytes_done = 0;
  const auto report = [&](size_t bytes) {
    if (!done) return;
    const std::lock_guard lock(mutex);
    bytes_done += bytes;
    done(bytes_done);
  };
  const uint64_t useful = std::min<uint64_t>(std::max(workers, 1u), chunks);
  const auto turn = [&](uint32_t worker, uint64_t index) {
    if (index >= chunks) return false;
    const Chunk chunk = grid.chunk(index);
    f(worker, chunk);
    report(chunk.bytes);
    return true;
  };
  parallel_turns(static_cast<uint32_t>(useful), turn, on_failure);
}

}  // namespace sweepsort
