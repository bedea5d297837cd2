// transfer.cpp - moving chunks, checking them on the way.
#include "pipeline/transfer.hpp"

#include "io/byte_swap.hpp"
#include "pipeline/key_scan.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

namespace sweepsort {
namespace {

/// Every check of a piece finds it in the second-level cache.
constexpr size_t piece_bytes = 128u << 10;

class SharedFingerprint {
 public:
  void add(Fingerprint part) {
    const std::lock_guard lock(mutex_);
    sum_ += part;
  }
  Fingerprint sum() const { return sum_; }

 private:
  std::mutex mutex_;
  Fingerprint sum_;
};

/// The first and the last key of a chunk, to compare across the borders when all chunks are done.
struct ChunkEnds {
  uint64_t first = 0;
  uint64_t last = 0;
};

/// What is looked at in a chunk on its way out.
class ChunkChecker {
 public:
  ChunkChecker(const Transfer& transfer, std::span<const std::byte> expected)
      : transfer_(transfer), expected_(expected), ends_(transfer.verify ? transfer.grid.count() : 0) {}

  /// Checks the chunk and turns it into the file's byte order.
  void pass(const Chunk& chunk, std::span<std::byte> keys) {
    const size_t width = key_bytes(transfer_.type);
    Fingerprint print;
    uint64_t last = 0;
    if (transfer_.verify)
      ends_[chunk.index].first = last = ordered_key(keys.data(), transfer_.type, transfer_.order);
    for (size_t at = 0; at < keys.size(); at += piece_bytes) {
      const std::span<std::byte> piece = keys.subspan(at, std::min(piece_bytes, keys.size() - at));
      if (transfer_.verify) {
        print += fingerprint(piece, width, transfer_.secret);
        const bool follows = last <= ordered_key(piece.data(), transfer_.type, transfer_.order);
        if (!follows || !is_ordered(piece, transfer_.type, transfer_.order)) is_ordered_ = false;
        last = ordered_key(piece.data() + piece.size() - width, transfer_.type, transfer_.order);
      }
      if (!expected_.empty() &&
          std::memcmp(piece.data(), expected_.data() + chunk.first_byte + at, piece.size()) != 0)
        agrees_ = false;
      if (transfer_.swap_bytes) swap_key_bytes(piece, width);
    }
    if (transfer_.verify) ends_[chunk.index].last = last;
    fingerprint_.add(print);
  }

  StoreResult result() const {
    const auto breaks = [](const ChunkEnds& before, const ChunkEnds& after) {
      return after.first < before.last;
    };
    const bool borders = std::adjacent_find(ends_.begin(), ends_.end(), breaks) == ends_.end();
    return {fingerprint_.sum(), is_ordered_ && borders, agrees_};
  }

 private:
  const Transfer& transfer_;
  std::span<const std::byte> expected_;
  std::vector<ChunkEnds> ends_;
  SharedFingerprint fingerprint_;
  std::atomic<bool> is_ordered_ = true;
  std::atomic<bool> agrees_ = true;
};

}  // namespace

Fingerprint load_keys(KeySource& source, SortSession& session, const Transfer& transfer) {
  const size_t width = key_bytes(transfer.type);
  SharedFingerprint total;
  const auto load = [&](uint32_t worker, const Chunk& chunk) {
    const std::span<std::byte> place = session.begin_put(worker, Column::keys, chunk.first_byte, chunk.bytes);
    source.read(chunk.first_byte, place);
    if (transfer.swap_bytes) swap_key_bytes(place, width);
    if (transfer.verify) total.add(fingerprint(place, width, transfer.secret));
    session.end_put(worker);
  };
  parallel_chunks(transfer.workers, transfer.grid, load, transfer.done);
  return total.sum();
}

StoreResult store_keys(SortSession& session, Output& output, uint64_t data_offset,
                       std::span<const std::byte> expected, const Transfer& transfer) {
  ChunkChecker checker(transfer, expected);
  const auto store = [&](uint32_t worker, const Chunk& chunk) {
    const std::span<std::byte> keys = session.get(worker, Column::keys, chunk.first_byte, chunk.bytes);
    checker.pass(chunk, keys);
    output.write_at(data_offset + chunk.first_byte, keys);
  };
  parallel_chunks(output.is_ordered() ? 1 : transfer.workers, transfer.grid, store, transfer.done);
  return checker.result();
}

}  // namespace sweepsort
