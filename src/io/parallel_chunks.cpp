// parallel_chunks.cpp - threads that take chunk numbers from a shared counter.
#include "io/parallel_chunks.hpp"

#include "core/first_failure.hpp"
#include "core/pages.hpp"
#include "core/rounding.hpp"
#include "core/team.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace sweepsort {

uint64_t ChunkGrid::count() const {
  if (total_bytes == 0) return 0;
  if (total_bytes <= first_chunk_bytes) return 1;
  return 1 + ceil_divide(total_bytes - first_chunk_bytes, chunk_bytes);
}

Chunk ChunkGrid::chunk(uint64_t index) const {
  const uint64_t first = index == 0 ? 0 : first_chunk_bytes + (index - 1) * chunk_bytes;
  const uint64_t most = index == 0 ? first_chunk_bytes : chunk_bytes;
  return {index, first, static_cast<size_t>(std::min<uint64_t>(most, total_bytes - first))};
}

uint64_t ChunkGrid::index_of(uint64_t byte) const {
  return byte < first_chunk_bytes ? 0 : 1 + (byte - first_chunk_bytes) / chunk_bytes;
}

ChunkGrid make_grid(uint64_t data_offset, uint64_t total_bytes, size_t key_bytes, size_t chunk_bytes) {
  ChunkGrid grid{total_bytes, chunk_bytes, chunk_bytes};
  const size_t into_block = static_cast<size_t>(data_offset % io_alignment);
  const bool can_align = chunk_bytes % io_alignment == 0 && into_block % key_bytes == 0;
  if (can_align) grid.first_chunk_bytes = chunk_bytes - into_block;
  return grid;
}

void parallel_turns(uint32_t workers, const TurnFunction& f, const FailureFunction& on_failure) {
  std::atomic<uint64_t> next = 0;
  std::atomic<bool> stop = false;
  FirstFailure failure;
  run_team(workers, [&](uint32_t worker) {
    while (!stop) {
      try {
        if (!f(worker, next++)) stop = true;
      } catch (...) {
        failure.note();
        stop = true;
        if (on_failure) on_failure();
      }
    }
  });
  failure.rethrow();
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
