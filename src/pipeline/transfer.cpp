// transfer.cpp - moves records into a session by chunks.
#include "pipeline/transfer.hpp"

#include <algorithm>

namespace sweepsort {
namespace {

ChunkGrid key_grid(const Transfer& transfer, uint64_t data_offset, uint64_t count) {
  const uint64_t width = key_bytes(transfer.shape.type);
  const uint64_t records = std::max<uint64_t>(1, transfer.chunk_bytes / transfer.shape.widest());
  return make_grid(data_offset, count * width, width, static_cast<size_t>(records * width));
}

}  // namespace

void for_record_chunks(const Transfer& transfer, uint64_t data_offset, uint64_t count, uint32_t workers,
                       const std::function<void(uint32_t worker, const RecordChunk& chunk)>& f,
                       const FailureFunction& on_failure) {
  const uint64_t width = key_bytes(transfer.shape.type);
  const auto pass = [&](uint32_t worker, const Chunk& chunk) {
    f(worker, {chunk.index, chunk.first_byte / width, chunk.bytes / width});
  };
  parallel_chunks(workers, key_grid(transfer, data_offset, count), pass, {}, on_failure);
}

uint64_t record_chunks(const Transfer& transfer, uint64_t data_offset, uint64_t count) {
  return key_grid(transfer, data_offset, count).count();
}

Fingerprint load_records(const RecordSource& source, uint64_t first, uint64_t count, SortSession& session,
                         const Transfer& transfer, const MovedFunction& moved) {
  const size_t width = key_bytes(transfer.shape.type);
  const size_t value_bytes = transfer.shape.value_bytes;
  SharedFingerprint total;
  KeyCopies copies(transfer.workers);
  const auto load = [&](uint32_t worker, const RecordChunk& chunk) {
    const std::span<std::byte> keys =
        session.begin_put(worker, Column::keys, chunk.first * width, chunk.count * width);
    source.keys.read((first + chunk.first) * width, keys);
    if (transfer.verify && !source.values) total.add(fingerprint(keys, width, transfer.secret));
    if (transfer.verify && source.values) copies.keep(worker, keys);
    session.end_put(worker);
    if (source.values) {
      const std::span<std::byte> values =
          session.begin_put(worker, Column::values, chunk.first * value_bytes, chunk.count * value_bytes);
      source.values->read((first + chunk.first) * value_bytes, values);
      if (transfer.verify) total.add(record_fingerprint(copies.of(worker), values, transfer));
      session.end_put(worker);
    }
    if (moved) moved(chunk.count * transfer.shape.bytes());
  };
  for_record_chunks(transfer, source.data_offset + first * width, count, transfer.workers, load);
  return total.sum();
}

Fingerprint record_fingerprint(std::span<const std::byte> keys, std::span<const std::byte> values,
                               const Transfer& transfer) {
  const auto [type, value_bytes] = transfer.shape;
  if (transfer.values == ValueKind::counts)
    return counted_fingerprint(keys, key_bytes(type), values, transfer.secret);
  return pair_fingerprint(keys, key_bytes(type), values, value_bytes, transfer.secret);
}

}  // namespace sweepsort
