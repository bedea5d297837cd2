// run_writer.cpp - see run_writer.hpp.
#include "pipeline/run_writer.hpp"

#include "core/error.hpp"
#include "core/rounding.hpp"
#include "pipeline/key_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace sweepsort {
namespace {

StoredRun& stored(IndexedRun& run) { return static_cast<StoredRun&>(*run.run); }

/// Stores the samples of a run that are among `keys`, which begin at position `first` in the run.
void take_samples(IndexedRun& run, uint64_t first, std::span<const std::byte> keys,
                  const Transfer& transfer) {
  const KeyType type = transfer.shape.type;
  const size_t width = key_bytes(type);
  const uint64_t end = first + keys.size() / width;
  for (uint64_t i = ceil_divide(first, run.stride); i * run.stride < end; ++i)
    run.samples[i] = ordered_key(keys.data() + (i * run.stride - first) * width, type, transfer.order);
}

/// For a run that has as many places as distinct keys were counted, where a later read finds another number.
Error changed_keys(const IndexedRun& run) {
  return Error(fmt::format("sorted keys changed between two reads: {} had been different", run.run->count()),
               try_elsewhere);
}

/// Turns what a sink writes into a column of a run; keys also into its samples.
class ColumnOfRun : public ByteTarget {
 public:
  ColumnOfRun(IndexedRun& run, Column column, const Transfer& transfer)
      : run_(run), column_(column), transfer_(transfer) {}

  bool is_sequential() const override { return false; }
  void write_at(uint64_t offset, std::span<const std::byte> bytes) override {
    if (bytes.empty()) return;
    const uint64_t width = transfer_.shape.column_bytes(column_);
    if ((offset + bytes.size()) / width > run_.run->count()) throw changed_keys(run_);
    if (column_ == Column::keys) take_samples(run_, offset / width, bytes, transfer_);
    stored(run_).write(column_, offset, bytes);
  }

 private:
  IndexedRun& run_;
  Column column_;
  const Transfer& transfer_;
};

/// Turns the counts that a sink writes, of 8 bytes, into the values of a run, of 4 bytes.
class CountsOfRun : public ByteTarget {
  static constexpr size_t piece_bytes = 256u << 10;

 public:
  explicit CountsOfRun(IndexedRun& run) : run_(run) {}

  bool is_sequential() const override { return false; }
  void write_at(uint64_t offset, std::span<const std::byte> counts) override {
    if (counts.empty()) return;
    if ((offset + counts.size()) / sizeof(uint64_t) > run_.run->count()) throw changed_keys(run_);
    std::vector<std::byte> piece;
    for (size_t at = 0; at < counts.size(); at += piece_bytes) {
      const std::span<const std::byte> from = counts.subspan(at, std::min(piece_bytes, counts.size() - at));
      piece.assign(from.begin(), from.end());
      stored(run_).write(Column::values, (offset + at) / 2, narrowed(piece));
    }
  }

 private:
  IndexedRun& run_;
};

}  // namespace

void store_records(SortSession& session, uint64_t first, uint64_t count, const Transfer& transfer,
                   IndexedRun& to, const MovedFunction& moved) {
  const uint32_t value_bytes = transfer.shape.value_bytes;
  const uint64_t width = key_bytes(transfer.shape.type);
  for_record_chunks(
      transfer, first * width, count, transfer.workers, [&](uint32_t worker, const RecordChunk& chunk) {
        const uint64_t at = first + chunk.first;
        const std::span<std::byte> keys =
            session.get(worker, Column::keys, chunk.first * width, chunk.count * width);
        take_samples(to, at, keys, transfer);
        stored(to).write(Column::keys, at * width, keys);
        if (value_bytes != 0)
          stored(to).write(
              Column::values, at * value_bytes,
              session.get(worker, Column::values, chunk.first * value_bytes, chunk.count * value_bytes));
        if (moved) moved(chunk.count * transfer.shape.bytes());
      });
}

uint64_t distinct_keys(SortSession& session, uint64_t count, const Transfer& transfer) {
  struct Part {
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t distinct = 0;
  };
  const auto [type, value_bytes] = transfer.shape;
  const size_t width = key_bytes(type);
  std::vector<Part> parts(record_chunks(transfer, 0, count));
  for_record_chunks(transfer, 0, count, transfer.workers, [&](uint32_t worker, const RecordChunk& chunk) {
    const auto unique = session.get_unique(worker, chunk.first, chunk.count);
    const std::span<const std::byte> keys =
        unique && !unique->keys.empty()
            ? unique->keys
            : session.get(worker, Column::keys, chunk.first * width, chunk.count * width);
    parts[chunk.index] = {.first = ordered_key(keys.data(), type, transfer.order),
                          .last = ordered_key(keys.data() + keys.size() - width, type, transfer.order),
                          .distinct = key_statistics(keys, type, transfer.order).changes + 1};
  });
  uint64_t distinct = 0;
  std::optional<uint64_t> last;
  for (const Part& part : parts) {
    distinct += part.distinct - (last == part.first ? 1 : 0);
    last = part.last;
  }
  return distinct;
}

StoreResult pack_records(SortSession& session, uint64_t count, const Transfer& transfer, RunPacking packing,
                         IndexedRun& to) {
  ColumnOfRun keys(to, Column::keys, transfer);
  ColumnOfRun values(to, Column::values, transfer);
  CountsOfRun counts(to);
  SinkTargets targets{.keys = {.output = &keys}, .written_value_bytes = transfer.shape.value_bytes};
  Transfer how = transfer;
  if (packing == RunPacking::counted) {
    targets.counts.output = &counts;
    how.verify = false;
  } else {
    targets.wants_kept = true;
  }
  if (transfer.shape.value_bytes != 0) targets.values.output = &values;
  const auto sink = make_unique_sink(how, targets);
  sink->store(session, 0, count, {});
  const StoreResult result = sink->finish();
  if (result.distinct != to.run->count()) throw changed_keys(to);
  return result;
}

}  // namespace sweepsort
