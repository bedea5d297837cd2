// read_ahead.hpp - reads the beginning of a sort's keys into memory while a GPU's context comes up.
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

/// Small, as whoever wants keys waits for the reads that are under way.
inline constexpr size_t chunk_ahead = 2u << 20;

/// Threads of its own read chunk after chunk, from the first key on, until somebody wants keys. Those it has
/// are copied from memory then, and the others read from the source; so is what could not be read or held.
class ReadAhead {
 public:
  /// Begins. `grid`: of the source's bytes; as many of its chunks are read as `max_bytes` hold.
  ReadAhead(std::unique_ptr<KeySource> source, const ChunkGrid& grid, uint64_t max_bytes, uint32_t threads);
  /// Waits for the reads that are under way.
  ~ReadAhead() { stop(); }
  ReadAhead(const ReadAhead&) = delete;

  /// Begins no further read and waits for those under way. Not thread-safe.
  void stop();

  /// The keys, behind stop(), while this lives. Memory is given back when as many bytes were read as it
  /// holds.
  std::unique_ptr<KeySource> keys();

 private:
  class Source;
  struct Held {
    PageArray memory;
    uint64_t left;  // bytes that nobody has read
  };

  void read_chunks();
  void read_chunk(const Chunk& chunk);
  void copy(uint64_t first_byte, std::span<std::byte> to);
  /// Null: it is not in memory.
  std::shared_ptr<Held> held(uint64_t index);
  void give_back(uint64_t index, uint64_t bytes);

  std::unique_ptr<KeySource> source_;
  ChunkGrid grid_;
  std::vector<std::shared_ptr<Held>> chunks_;  // no more than were begun, from stop() on
  std::atomic<bool> stopped_ = false;
  std::atomic<uint64_t> next_ = 0;
  std::mutex mutex_;  // of what is in chunks_
  std::vector<std::jthread> threads_;
};

}  // namespace sweepsort
