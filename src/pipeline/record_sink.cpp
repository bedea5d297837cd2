// record_sink.cpp - the checks, and the sink that writes columns unchanged.
#include "pipeline/record_sink.hpp"

#include "core/error.hpp"
#include "io/byte_swap.hpp"
#include "pipeline/key_scan.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

namespace sweepsort {
namespace {

/// Small enough that every check finds the piece in the second-level cache.
constexpr size_t piece_bytes = 128u << 10;

uint64_t position_at(std::span<const std::byte> positions, size_t index, size_t width) {
  uint64_t position = 0;  // little-endian
  std::memcpy(&position, positions.data() + index * width, width);
  return position;
}

template <class Bits, class Position>
bool ascend_where_equal(const Bits* keys, const Position* positions, size_t count) {
  bool ascend = true;
  for (size_t i = 1; i < count; ++i) ascend &= (keys[i - 1] != keys[i]) | (positions[i - 1] < positions[i]);
  return ascend;
}

/// Whether the positions of equal neighbouring keys ascend.
bool ascend_where_equal(std::span<const std::byte> keys, KeyType type, std::span<const std::byte> positions,
                        size_t position_bytes) {
  return dispatch_bits(type, [&]<class Bits>(std::type_identity<Bits>) {
    const auto* const bits = reinterpret_cast<const Bits*>(keys.data());
    const size_t count = keys.size() / sizeof(Bits);
    return position_bytes == 4
               ? ascend_where_equal(bits, reinterpret_cast<const uint32_t*>(positions.data()), count)
               : ascend_where_equal(bits, reinterpret_cast<const uint64_t*>(positions.data()), count);
  });
}

bool has_zero(std::span<const std::byte> counts) {
  const std::span all(reinterpret_cast<const uint32_t*>(counts.data()), counts.size() / sizeof(uint32_t));
  return std::ranges::find(all, 0u) != all.end();
}

class ColumnSink : public RecordSink {
 public:
  ColumnSink(const Transfer& transfer, const SinkTargets& targets, std::span<const std::byte> expected)
      : transfer_(transfer),
        targets_(targets),
        expected_(expected),
        check_(transfer_),
        copies_(transfer.workers) {}

  void store(SortSession& session, uint64_t first, uint64_t count, const MovedFunction& moved) override {
    const uint64_t width = key_bytes(transfer_.shape.type);
    const uint64_t offset = targets_.keys.output ? targets_.keys.data_offset + first * width : first * width;
    check_.begin(record_chunks(transfer_, offset, count));
    const auto pass = [&](uint32_t worker, const RecordChunk& chunk) {
      pass_keys(session, worker, chunk, first);
      if (transfer_.shape.value_bytes != 0) pass_values(session, worker, chunk, first);
      if (moved) moved(chunk.count * transfer_.shape.bytes());
    };
    for_record_chunks(transfer_, offset, count, is_sequential() ? 1 : transfer_.workers, pass);
    check_.end();
  }

  StoreResult finish() override {
    StoreResult result = check_.result();
    result.agrees = agrees_;
    return result;
  }

 private:
  bool is_sequential() const {
    return (targets_.keys.output && targets_.keys.output->is_sequential()) ||
           (targets_.values.output && targets_.values.output->is_sequential());
  }

  void pass_keys(SortSession& session, uint32_t worker, const RecordChunk& chunk, uint64_t first) {
    const uint64_t width = key_bytes(transfer_.shape.type);
    const std::span<std::byte> keys =
        session.get(worker, Column::keys, chunk.first * width, chunk.count * width);
    check_.see_keys(chunk.index, keys);
    if (!expected_.empty() &&
        std::memcmp(keys.data(), expected_.data() + (first + chunk.first) * width, keys.size()) != 0)
      agrees_ = false;
    if (transfer_.verify && transfer_.shape.value_bytes != 0) copies_.keep(worker, keys);
    if (targets_.keys.output) write(targets_.keys, (first + chunk.first) * width, keys);
  }

  void pass_values(SortSession& session, uint32_t worker, const RecordChunk& chunk, uint64_t first) {
    const uint64_t width = transfer_.shape.value_bytes;
    std::span<std::byte> values =
        session.get(worker, Column::values, chunk.first * width, chunk.count * width);
    if (transfer_.verify) check_.see_pairs(chunk.index, copies_.of(worker), values);
    if (targets_.written_value_bytes != width) values = narrowed(values);
    write(targets_.values, (first + chunk.first) * targets_.written_value_bytes, values);
  }

  static void write(const ColumnTarget& target, uint64_t first_byte, std::span<std::byte> bytes) {
    if (target.swapped_bytes != 0) swap_key_bytes(bytes, target.swapped_bytes);
    target.output->write_at(target.data_offset + first_byte, bytes);
  }

  Transfer transfer_;
  SinkTargets targets_;
  std::span<const std::byte> expected_;
  RecordCheck check_;
  KeyCopies copies_;
  std::atomic<bool> agrees_ = true;
};

}  // namespace

std::span<std::byte> narrowed(std::span<std::byte> values) {
  const size_t count = values.size() / sizeof(uint64_t);
  uint32_t high_bits = 0;
  for (size_t i = 0; i < count; ++i) {
    uint32_t halves[2];  // little-endian: the low half comes first
    std::memcpy(halves, values.data() + i * sizeof(uint64_t), sizeof halves);
    std::memcpy(values.data() + i * sizeof(uint32_t), &halves[0], sizeof halves[0]);
    high_bits |= halves[1];
  }
  if (high_bits != 0) throw Error("internal: a position or a count does not fit 4 bytes");
  return values.first(count * sizeof(uint32_t));
}

void RecordCheck::begin(uint64_t chunks) { ends_.assign(transfer_.verify ? chunks : 0, {}); }

void RecordCheck::end() {
  if (ends_.empty()) return;
  for (const Ends& chunk : ends_) {
    if (last_ && chunk.first < *last_) is_ordered_ = false;
    if (last_ && chunk.first != *last_) ++changes_;
    if (transfer_.values == ValueKind::positions && last_ == chunk.first &&
        chunk.first_position <= last_position_)
      is_ordered_ = false;
    last_ = chunk.last;
    last_position_ = chunk.last_position;
  }
}

void RecordCheck::see_keys(uint64_t chunk, std::span<const std::byte> keys) {
  if (!transfer_.verify || keys.empty()) return;
  const auto [type, value_bytes] = transfer_.shape;
  const size_t width = key_bytes(type);
  Fingerprint print;
  uint64_t last = ordered_key(keys.data(), type, transfer_.order);
  ends_[chunk].first = last;
  for (size_t at = 0; at < keys.size(); at += piece_bytes) {
    const std::span<const std::byte> piece = keys.subspan(at, std::min(piece_bytes, keys.size() - at));
    if (value_bytes == 0) print += fingerprint(piece, width, transfer_.secret);
    const bool follows = last <= ordered_key(piece.data(), type, transfer_.order);
    if (!follows || !sweepsort::is_ordered(piece, type, transfer_.order)) is_ordered_ = false;
    last = ordered_key(piece.data() + piece.size() - width, type, transfer_.order);
  }
  if (counts_ == Counts::changes) changes_ += key_statistics(keys, type, transfer_.order).changes;
  ends_[chunk].last = last;
  if (value_bytes == 0) fingerprint_.add(print);
}

void RecordCheck::see_unique(uint64_t chunk, const UniqueKeys& unique) {
  if (!transfer_.verify) return;
  const auto [type, value_bytes] = transfer_.shape;
  const size_t width = key_bytes(type);
  const KeyStatistics statistics = key_statistics(unique.keys, type, transfer_.order);
  // A key with a count of 0 would be written, but the fingerprint would not notice it.
  const bool all_stand = unique.ends.front() != 0 &&
                         std::ranges::adjacent_find(unique.ends, std::greater_equal<>()) == unique.ends.end();
  if (statistics.descents != 0 || !all_stand) is_ordered_ = false;
  ends_[chunk] = {ordered_key(unique.keys.data(), type, transfer_.order),
                  ordered_key(unique.keys.data() + unique.keys.size() - width, type, transfer_.order)};
  changes_ += statistics.changes;
  fingerprint_.add(unique_fingerprint(unique.keys, width, unique.ends, transfer_.secret));
}

void RecordCheck::see_pairs(uint64_t chunk, std::span<const std::byte> keys,
                            std::span<const std::byte> values) {
  const auto [type, value_bytes] = transfer_.shape;
  fingerprint_.add(record_fingerprint(keys, values, transfer_));
  // A key with a count of 0 would be written, but the fingerprint would not notice it.
  if (transfer_.values == ValueKind::counts && has_zero(values)) is_ordered_ = false;
  if (transfer_.values != ValueKind::positions || keys.empty()) return;
  if (!ascend_where_equal(keys, type, values, value_bytes)) is_ordered_ = false;
  ends_[chunk].first_position = position_at(values, 0, value_bytes);
  ends_[chunk].last_position = position_at(values, values.size() / value_bytes - 1, value_bytes);
}

std::unique_ptr<RecordSink> make_column_sink(const Transfer& transfer, const SinkTargets& targets,
                                             std::span<const std::byte> expected) {
  return std::make_unique<ColumnSink>(transfer, targets, expected);
}

}  // namespace sweepsort
