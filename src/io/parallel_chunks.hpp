// parallel_chunks.hpp - a byte range cut into chunks, and a few threads that work them off.
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

/// [0, total_bytes) in chunks of chunk_bytes; the first one may be shorter, so that the others start at
/// aligned offsets of a file with a header.
///
///     file:  |header|  chunk 0   |    chunk 1    |    chunk 2    | chunk 3 |
///            0                   ^ aligned       ^ aligned       ^ aligned
struct ChunkGrid {
  uint64_t total_bytes = 0;
  size_t chunk_bytes = default_chunk_bytes;
  size_t first_chunk_bytes = default_chunk_bytes;  // at most chunk_bytes

  uint64_t count() const;
  Chunk chunk(uint64_t index) const;
  /// Of the chunk that has this byte.
  uint64_t index_of(uint64_t byte) const;
};

/// A grid whose chunks hold whole keys and, where the header allows it, start at multiples of io_alignment in
/// the file. `chunk_bytes` is a multiple of key_bytes.
ChunkGrid make_grid(uint64_t data_offset, uint64_t total_bytes, size_t key_bytes, size_t chunk_bytes);

using ChunkFunction = std::function<void(uint32_t worker, const Chunk& chunk)>;
using DoneFunction = std::function<void(uint64_t bytes_done)>;
/// Called for each call that throws, at once: wakes those that wait for it, whose exceptions are not the
/// first. Does not throw.
using FailureFunction = std::function<void()>;

/// Calls f for every chunk, by up to `workers` threads of which the caller is number 0; each takes the lowest
/// chunk not taken yet. The first exception stops the others after the chunk they are at and is thrown again
/// here. `done` is called after every chunk, by one thread at a time, with growing values. One worker goes
/// through the chunks in order.
void parallel_chunks(uint32_t workers, const ChunkGrid& grid, const ChunkFunction& f,
                     const DoneFunction& done = {}, const FailureFunction& on_failure = {});

/// Returns whether there was a turn of this number.
using TurnFunction = std::function<bool(uint32_t worker, uint64_t index)>;

/// The same where nobody knows how many there are: calls f with 0, 1, ... until a call returns false. Those
/// with lower numbers have begun by then, and those that have begun are finished.
void parallel_turns(uint32_t workers, const TurnFunction& f, const FailureFunction& on_failure = {});

}  // namespace sweepsort
