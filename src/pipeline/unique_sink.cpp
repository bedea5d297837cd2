// unique_sink.cpp - writes each distinct key once, with its count, or the sum or the first of its values.
//
// Chunks are packed by many threads at once, in place, or on their GPU. Only the borders between chunks are
// handled in order. A chunk's last key may continue in the next chunk, so its count is held back and added
// there:
//
//     chunk           1 1 2 2   |   2 3 3   |   3 4
//     packed          1 2       |   2 3     |   3 4
//     keys written    1 2       |     3     |     4
//     counts          2 (2)     |   3 (2)   |   3 (1)   and 1 at the end
#include "core/error.hpp"
#include "core/key_text.hpp"
#include "core/turnstile.hpp"
#include "io/byte_swap.hpp"
#include "pipeline/record_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>

namespace sweepsort {
namespace {

/// Counts per chunk. They take 2 MiB of memory per worker, in addition to the budget.
constexpr size_t max_counts = (2u << 20) / sizeof(uint64_t);

/// Keeps the first key of each run of equal keys and returns the number of runs.
template <class Bits>
size_t pack(std::span<Bits> keys) {
  size_t runs = 0;
  Bits before = static_cast<Bits>(~keys.front());
  for (const Bits key : keys) {
    keys[runs] = key;
    runs += key != before ? 1 : 0;
    before = key;
  }
  return runs;
}

/// Keeps the first record of each run of equal keys.
template <class Bits, class Value>
size_t pack(std::span<Bits> keys, Value* values) {
  size_t runs = 0;
  Bits before = static_cast<Bits>(~keys.front());
  for (size_t i = 0; i < keys.size(); ++i) {
    const Bits key = keys[i];
    keys[runs] = key;
    values[runs] = values[i];
    runs += key != before ? 1 : 0;
    before = key;
  }
  return runs;
}

/// Also stores the lengths of the runs, at most as many as `lengths` has room for.
template <class Bits>
size_t pack(std::span<Bits> keys, std::span<uint64_t> lengths) {
  size_t runs = 0;
  size_t begin = 0;
  for (size_t i = 0; i < keys.size() && runs < lengths.size(); ++i) {
    const size_t end = i + 1;
    const bool ends = end == keys.size() || keys[i] != keys[end];
    keys[runs] = keys[i];
    lengths[runs] = end - begin;
    runs += ends ? 1 : 0;
    begin = ends ? end : begin;
  }
  return runs;
}

template <class Bits>
InputError too_large_sum(Bits key, KeyType type) {
  return InputError(
      fmt::format("the values of key {} add up to more than 64 bits can hold", key_text(type, key)),
      "--counts writes the sums as u64; values of the other byte order, or below zero, are large numbers");
}

/// Like pack, with the sums of the runs' values instead of their lengths.
template <class Bits, class Value>
size_t add_up(std::span<Bits> keys, const Value* values, std::span<uint64_t> sums, KeyType type) {
  size_t runs = 0;
  uint64_t sum = 0;
  for (size_t i = 0; i < keys.size() && runs < sums.size(); ++i) {
    if (__builtin_add_overflow(sum, values[i], &sum)) throw too_large_sum(keys[i], type);
    const bool ends = i + 1 == keys.size() || keys[i] != keys[i + 1];
    keys[runs] = keys[i];
    sums[runs] = sum;
    runs += ends ? 1 : 0;
    sum = ends ? 0 : sum;
  }
  return runs;
}

template <class Bits>
class UniqueSink : public RecordSink {
 public:
  UniqueSink(const Transfer& transfer, const SinkTargets& targets, FailureFunction on_failure)
      : transfer_(transfer),
        targets_(targets),
        on_failure_(std::move(on_failure)),
        check_(transfer_, RecordCheck::Counts::changes),
        copies_(transfer.workers),
        counts_(transfer.workers) {
    if (wants_counts() && max_distinct(transfer.shape.type, max_counts) == max_counts)
      transfer_.chunk_bytes = std::min(transfer_.chunk_bytes, max_counts * sizeof(Bits));
  }

  void store(SortSession& session, uint64_t first, uint64_t count, const MovedFunction& moved) override {
    const uint64_t offset = first * sizeof(Bits);
    const uint64_t chunks = record_chunks(transfer_, offset, count);
    check_.begin(chunks);
    const auto pass = [&](uint32_t worker, const RecordChunk& chunk) {
      Runs runs = get(session, worker, chunk);
      turns_.wait(chunks_before_ + chunk.index);
      const Place place = settle(runs);
      // If the output is written from front to back, chunks must be written in order.
      if (is_sequential()) write(runs, place);
      turns_.pass(chunks_before_ + chunk.index);
      if (!is_sequential()) write(runs, place);
      if (moved) moved(chunk.count * transfer_.shape.bytes());
    };
    for_record_chunks(transfer_, offset, count, transfer_.workers, pass, [&] {
      turns_.cancel();
      if (on_failure_) on_failure_();
    });
    chunks_before_ += chunks;
    check_.end();
  }

  StoreResult finish() override {
    if (wants_counts() && last_) write_counts(std::span(&open_, 1), written_ - 1);
    StoreResult result = check_.result();
    result.distinct = written_;
    if (!transfer_.verify) return result;
    result.kept = kept_.sum();
    // The number of keys written must be right, and every key must be counted once.
    result.is_ordered &= written_ == (result.fingerprint.count == 0 ? 0 : result.changes + 1);
    if (wants_counts())
      result.is_ordered &= counted_ == (has_values() ? total_.load() : result.fingerprint.count);
    return result;
  }

 private:
  /// What is written for a chunk, and where.
  struct Runs {
    std::span<Bits> keys;
    std::span<uint64_t> counts = {};
    std::span<std::byte> values = {};
  };
  struct Place {
    uint64_t keys;
    uint64_t counts;
  };

  bool wants_counts() const { return targets_.counts.output != nullptr; }
  bool has_values() const { return transfer_.shape.value_bytes != 0; }
  bool is_sequential() const {
    const auto is_pipe = [](const ColumnTarget& target) {
      return target.output && target.output->is_sequential();
    };
    return is_pipe(targets_.keys) || is_pipe(targets_.values) || is_pipe(targets_.counts);
  }

  Runs get(SortSession& session, uint32_t worker, const RecordChunk& chunk) {
    if (has_values()) return get_pairs(session, worker, chunk);
    if (const auto unique = session.get_unique(worker, chunk.first, chunk.count)) {
      if (unique->ends.empty() || unique->ends.back() != chunk.count ||
          unique->keys.size() != unique->ends.size() * sizeof(Bits))
        throw Error("the distinct keys of a chunk do not match its keys",
                    "the device may be faulty: try another one");
      check_.see_unique(chunk.index, *unique);
      return {as_keys(unique->keys),
              wants_counts() ? counted(unique->ends, counts_[worker]) : std::span<uint64_t>{}};
    }
    const std::span<Bits> keys = as_keys(get_keys(session, worker, chunk));
    if (!wants_counts()) return {keys.first(pack(keys))};
    return counted(keys, counts_[worker], [&](std::span<uint64_t> lengths) { return pack(keys, lengths); });
  }
  std::span<std::byte> get_keys(SortSession& session, uint32_t worker, const RecordChunk& chunk) {
    const std::span<std::byte> keys =
        session.get(worker, Column::keys, chunk.first * sizeof(Bits), chunk.count * sizeof(Bits));
    check_.see_keys(chunk.index, keys);
    return keys;
  }
  Runs get_pairs(SortSession& session, uint32_t worker, const RecordChunk& chunk) {
    copies_.keep(worker, get_keys(session, worker, chunk));
    const uint64_t width = transfer_.shape.value_bytes;
    const std::span<std::byte> values =
        session.get(worker, Column::values, chunk.first * width, chunk.count * width);
    if (transfer_.verify) check_.see_pairs(chunk.index, copies_.of(worker), values);
    const auto pack_them = [&]<class Value>(std::type_identity<Value>) {
      return pack_pairs(worker, as_keys(copies_.of(worker)), reinterpret_cast<Value*>(values.data()));
    };
    return width == 4 ? pack_them(std::type_identity<uint32_t>{}) : pack_them(std::type_identity<uint64_t>{});
  }
  template <class Value>
  Runs pack_pairs(uint32_t worker, std::span<Bits> keys, Value* values) {
    if (wants_counts()) {
      total_ += std::accumulate(values, values + keys.size(), uint64_t{0});
      return counted(keys, counts_[worker], [&](std::span<uint64_t> sums) {
        return add_up(keys, values, sums, transfer_.shape.type);
      });
    }
    const size_t runs = pack(keys, values);
    return {keys.first(runs), {}, std::as_writable_bytes(std::span(values, runs))};
  }
  static std::span<Bits> as_keys(std::span<std::byte> bytes) {
    return {reinterpret_cast<Bits*>(bytes.data()), bytes.size() / sizeof(Bits)};
  }

  /// The first count is room for the one that was held back.
  std::span<uint64_t> counted(std::span<const uint32_t> ends, std::vector<uint64_t>& memory) {
    memory.reserve(max_distinct(transfer_.shape.type, max_counts) + 1);
    memory.resize(ends.size() + 1);
    std::adjacent_difference(ends.begin(), ends.end(), memory.begin() + 1);
    return memory;
  }
  /// `pack_into` packs the keys and stores the counts in the given memory.
  template <class Pack>
  Runs counted(std::span<Bits> keys, std::vector<uint64_t>& memory, Pack pack_into) {
    // If a chunk is not in order, there may be more runs than counts; the rest is dropped. The check, if
    // enabled, has noticed the disorder by now.
    memory.resize(max_distinct(transfer_.shape.type, keys.size()) + 1);
    const size_t runs = pack_into(std::span(memory).subspan(1));
    return {keys.first(runs), std::span(memory).first(runs + 1)};
  }

  /// Joins a chunk with the keys before it.
  Place settle(Runs& runs) {
    const bool goes_on = last_ == runs.keys.front();
    const Place place{written_, last_ ? written_ - 1 : 0};
    last_ = runs.keys.back();
    if (goes_on) runs.keys = runs.keys.subspan(1);
    if (goes_on && !runs.values.empty()) runs.values = runs.values.subspan(transfer_.shape.value_bytes);
    written_ += runs.keys.size();
    if (!wants_counts()) return place;
    if (goes_on && __builtin_add_overflow(runs.counts[1], open_, &runs.counts[1]))
      throw too_large_sum(*last_, transfer_.shape.type);
    if (goes_on || place.keys == 0) runs.counts = runs.counts.subspan(1);
    if (!goes_on && place.keys != 0) runs.counts[0] = open_;
    open_ = runs.counts.back();
    runs.counts = runs.counts.first(runs.counts.size() - 1);
    return place;
  }

  void write(const Runs& runs, Place place) {
    if (transfer_.verify && targets_.wants_kept) note_kept(runs);
    if (targets_.keys.output) write_keys(std::as_writable_bytes(runs.keys), place.keys * sizeof(Bits));
    if (targets_.values.output) write_values(runs.values, place.keys * targets_.written_value_bytes);
    if (wants_counts()) write_counts(runs.counts, place.counts);
  }

  void note_kept(const Runs& runs) {
    const auto keys = std::as_bytes(runs.keys);
    kept_.add(has_values() ? record_fingerprint(keys, runs.values, transfer_)
                           : fingerprint(keys, sizeof(Bits), transfer_.secret));
  }

  void write_keys(std::span<std::byte> keys, uint64_t first_byte) {
    if (targets_.keys.swapped_bytes != 0) swap_key_bytes(keys, targets_.keys.swapped_bytes);
    targets_.keys.output->write_at(targets_.keys.data_offset + first_byte, keys);
  }

  void write_values(std::span<std::byte> values, uint64_t first_byte) {
    if (targets_.written_value_bytes != transfer_.shape.value_bytes) values = narrowed(values);
    targets_.values.output->write_at(targets_.values.data_offset + first_byte, values);
  }

  void write_counts(std::span<const uint64_t> counts, uint64_t at) {
    targets_.counts.output->write_at(targets_.counts.data_offset + at * sizeof(uint64_t),
                                     std::as_bytes(counts));
    counted_ += std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  }

  Transfer transfer_;
  SinkTargets targets_;
  FailureFunction on_failure_;
  RecordCheck check_;
  KeyCopies copies_;
  SharedFingerprint kept_;
  std::vector<std::vector<uint64_t>> counts_;  // per worker
  Turnstile turns_;
  uint64_t chunks_before_ = 0;  // in earlier sessions
  std::optional<Bits> last_;    // this and the next two are changed only by the thread whose turn it is
  uint64_t open_ = 0;           // count of last_ so far
  uint64_t written_ = 0;        // keys
  std::atomic<uint64_t> counted_ = 0;
  std::atomic<uint64_t> total_ = 0;  // of all values
};

}  // namespace

std::unique_ptr<RecordSink> make_unique_sink(const Transfer& transfer, const SinkTargets& targets,
                                             FailureFunction on_failure) {
  return dispatch_bits(transfer.shape.type,
                       [&]<class Bits>(std::type_identity<Bits>) -> std::unique_ptr<RecordSink> {
                         return std::make_unique<UniqueSink<Bits>>(transfer, targets, std::move(on_failure));
                       });
}

}  // namespace sweepsort
