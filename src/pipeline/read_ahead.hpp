// read_ahead.hpp - reads the first keys of a sort into memory while the context of a GPU is being created.
#pragma once

#include "core/page_array.hpp"
#include "io/parallel_chunks.hpp"
#include "pipeline/key_source.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace sweepsort {

/// Small, because the first reader of keys waits for the reads in progress.
inline constexpr size_t chunk_ahead = 2u << 20;

/// Its own threads read chunk after chunk, from the first key on, until the sort wants keys. Then the keys it
/// has are copied from memory, and all others are read from the source; so are chunks that could not be read
/// or held.
class ReadAhead {
 public:
  /// Begins to read. `grid` divides the source's bytes; as many chunks are read as fit in `max_bytes`.
  ReadAhead(std::unique_ptr<KeySource> source, const ChunkGrid& grid, uint64_t max_bytes, uint32_t threads);
  /// Waits for the reads in progress.
  ~ReadAhead() { stop(); }
  ReadAhead(const ReadAhead&) = delete;

  /// Begins no more reads and waits for those in progress. Not thread-safe.
  void stop();

  /// The keys; call stop() first. The result must not outlive this object. A chunk's memory is freed when as
  /// many bytes were read as it holds.
  std::unique_ptr<KeySource> keys();

 private:
  class Source;
  struct Held {
    PageArray memory;
    uint64_t left;  // bytes not read yet
  };

  void read_chunks();
  void read_chunk(const Chunk& chunk);
  void copy(uint64_t first_byte, std::span<std::byte> to);
  /// Null if the chunk is not in memory.
  std::shared_ptr<Held> held(uint64_t index);
  void give_back(uint64_t index, uint64_t bytes);

  std::unique_ptr<KeySource> source_;
  ChunkGrid grid_;
  std::vector<std::shared_ptr<Held>> chunks_;  // after stop(), only those that were begun
  std::atomic<bool> stopped_ = false;
  std::atomic<uint64_t> next_ = 0;
  std::mutex mutex_;  // for the content of chunks_
  std::vector<std::jthread> threads_;
};

}  // namespace sweepsort
