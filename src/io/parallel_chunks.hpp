// parallel_chunks.hpp - a byte range divided into chunks, and a few threads that process them.
#pragma once

#include "core/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace sweepsort {

struct Chunk {
  uint64_t index = 0;
  uint64_t first_byte = 0;
  size_t bytes = 0;
};

/// Divides [0, total_bytes) into chunks of chunk_bytes. The first chunk may be shorter, so that the others
/// start at aligned offsets of a file with a header.
///
///     file:  |header|  chunk 0   |    chunk 1    |    chunk 2    | chunk 3 |
///            0                   ^ aligned       ^ aligned       ^ aligned
struct ChunkGrid {
  uint64_t total_bytes = 0;
  size_t chunk_bytes = default_chunk_bytes;
  size_t first_chunk_bytes = default_chunk_bytes;  // at most chunk_bytes

  uint64_t count() const;
  Chunk chunk(uint64_t index) const;
  /// The index of the chunk that contains `byte`.
  uint64_t index_of(uint64_t byte) const;
};

/// Makes a grid whose chunks hold whole keys and, if the header allows it, start at multiples of io_alignment
/// in the file. `chunk_bytes` must be a multiple of key_bytes.
ChunkGrid make_grid(uint64_t data_offset, uint64_t total_bytes, size_t key_bytes, size_t chunk_bytes);

using ChunkFunction = std::function<void(uint32_t worker, const Chunk& chunk)>;
using DoneFunction = std::function<void(uint64_t bytes_done)>;
/// Called at once for each call that throws. It wakes the calls that wait for the failed one; their
/// exceptions are then not the first. Must not throw.
using FailureFunction = std::function<void()>;

/// Calls f for every chunk, on up to `workers` threads; the caller is number 0. Each thread takes the lowest
/// chunk not taken yet, so one worker goes through the chunks in order. The first exception stops the other
/// threads after their current chunk and is rethrown here. `done` is called after every chunk, by one thread
/// at a time, with rising values.
void parallel_chunks(uint32_t workers, const ChunkGrid& grid, const ChunkFunction& f,
                     const DoneFunction& done = {}, const FailureFunction& on_failure = {});

/// Returns false if there is no turn with this number.
using TurnFunction = std::function<bool(uint32_t worker, uint64_t index)>;

/// Like parallel_chunks, if the number of turns is unknown: calls f with 0, 1, ... until a call returns
/// false. By then all lower numbers have begun, and every call that has begun is finished.
void parallel_turns(uint32_t workers, const TurnFunction& f, const FailureFunction& on_failure = {});

}  // namespace sweepsort
