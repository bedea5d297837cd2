// read_ahead.cpp - holds chunks in memory until they have been read.
#include "pipeline/read_ahead.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

namespace sweepsort {
namespace {

/// The number of whole chunks that fit in `bytes`.
uint64_t chunks_within(const ChunkGrid& grid, uint64_t bytes) {
  uint64_t chunks = bytes / grid.chunk_bytes;
  if (bytes >= grid.total_bytes) chunks = grid.count();
  return std::min(chunks, grid.count());
}

}  // namespace

class ReadAhead::Source : public KeySource {
 public:
  explicit Source(ReadAhead& ahead) : ahead_(ahead) {}
  void read(uint64_t first_byte, std::span<std::byte> to) override { ahead_.copy(first_byte, to); }

 private:
  ReadAhead& ahead_;
};

ReadAhead::ReadAhead(std::unique_ptr<KeySource> source, const ChunkGrid& grid, uint64_t max_bytes,
                     uint32_t threads)
    : source_(std::move(source)), grid_(grid), chunks_(chunks_within(grid, max_bytes)) {
  const uint64_t useful = std::min<uint64_t>(threads, chunks_.size());
  try {
    threads_.reserve(useful);
    for (uint64_t i = 0; i < useful; ++i) threads_.emplace_back([this] { read_chunks(); });
  } catch (const std::exception&) {
    // No more threads are available: read ahead with fewer threads, or not at all.
  }
}

void ReadAhead::stop() {
  stopped_ = true;
  threads_.clear();
  // What follows is read from the source in one piece.
  chunks_.resize(std::min<uint64_t>(next_, chunks_.size()));
}

std::unique_ptr<KeySource> ReadAhead::keys() { return std::make_unique<Source>(*this); }

void ReadAhead::read_chunks() {
  try {
    while (!stopped_) {
      const uint64_t index = next_++;
      if (index >= chunks_.size()) return;
      read_chunk(grid_.chunk(index));
    }
  } catch (const std::exception&) {
    // If the error persists, whoever reads the chunk from the source gets it.
    stopped_ = true;
  }
}

void ReadAhead::read_chunk(const Chunk& chunk) {
  auto held = std::make_shared<Held>(PageArray(chunk.bytes), chunk.bytes);
  held->memory.touch(0, chunk.bytes);
  source_->read(chunk.first_byte, {held->memory.data(), chunk.bytes});
  const std::lock_guard lock(mutex_);
  chunks_[chunk.index] = std::move(held);
}

std::shared_ptr<ReadAhead::Held> ReadAhead::held(uint64_t index) {
  const std::lock_guard lock(mutex_);
  return index < chunks_.size() ? chunks_[index] : nullptr;
}

void ReadAhead::give_back(uint64_t index, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Held>& chunk = chunks_[index];
  if (!chunk) return;
  chunk->left -= std::min(bytes, chunk->left);
  if (chunk->left == 0) chunk.reset();
}

void ReadAhead::copy(uint64_t first_byte, std::span<std::byte> to) {
  while (!to.empty()) {
    const uint64_t index = grid_.index_of(first_byte);
    if (index >= chunks_.size()) return source_->read(first_byte, to);
    const Chunk chunk = grid_.chunk(index);
    const uint64_t skipped = first_byte - chunk.first_byte;
    const std::span<std::byte> part = to.first(std::min<size_t>(to.size(), chunk.bytes - skipped));
    if (const auto there = held(index)) {
      std::memcpy(part.data(), there->memory.data() + skipped, part.size());
      give_back(index, part.size());
    } else {
      source_->read(first_byte, part);
    }
    first_byte += part.size();
    to = to.subspan(part.size());
  }
}

}  // namespace sweepsort
