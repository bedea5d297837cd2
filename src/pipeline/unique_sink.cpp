// unique_sink.cpp - each key once, and how often it stood.
//
// A chunk's last key may go on in the next chunk: it is withheld and carried there. So chunks are packed by
// many threads at once, and only the border is settled in their order:
//
//     chunk 0   1 1 2 2 | chunk 1   2 3 3 | chunk 2   4
//     packed    1x2 2x2 |           2x1 3x2 |         4x1
//     written   1x2     |           2x3     |         3x2          and 4x1 at the end
#include "core/turnstile.hpp"
#include "io/byte_swap.hpp"
#include "pipeline/record_sink.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace sweepsort {
namespace {

/// Packed keys and their counts lie in memory of their own, for each worker.
constexpr size_t most_chunk_bytes = 1u << 20;

template <class Bits>
class UniqueSink : public RecordSink {
 public:
  UniqueSink(const Transfer& transfer, const SinkTargets& targets)
      : transfer_(transfer),
        targets_(targets),
        check_(transfer_, RecordCheck::Counts::changes),
        desks_(transfer.workers) {
    transfer_.chunk_bytes = std::min(transfer_.chunk_bytes, most_chunk_bytes);
  }

  void store(SortSession& session, uint64_t first, uint64_t count, const MovedFunction& moved) override {
    const uint64_t offset = first * sizeof(Bits);
    const uint64_t chunks = record_chunks(transfer_, offset, count);
    check_.begin(chunks);
    const auto pass = [&](uint32_t worker, const RecordChunk& chunk) {
      const std::span<std::byte> keys =
          session.get(worker, Column::keys, chunk.first * sizeof(Bits), chunk.count * sizeof(Bits));
      check_.see_keys(chunk.index, keys);
      Desk& desk = desks_[worker];
      desk.pack({reinterpret_cast<const Bits*>(keys.data()), keys.size() / sizeof(Bits)},
                targets_.values.output != nullptr);
      turns_.wait(chunks_before_ + chunk.index);
      const uint64_t at = settle(desk);
      // Nothing may overtake in an output that is written from front to back.
      if (is_ordered()) write(desk, at);
      turns_.pass(chunks_before_ + chunk.index);
      if (!is_ordered()) write(desk, at);
      if (moved) moved(chunk.count * sizeof(Bits));
    };
    for_record_chunks(transfer_, offset, count, transfer_.workers, pass, [&] { turns_.cancel(); });
    chunks_before_ += chunks;
    check_.end();
  }

  StoreResult finish() override {
    StoreResult result = check_.result();
    if (carry_) {
      Desk& desk = desks_[0];
      desk.keys = {carry_->key};
      desk.counts = {carry_->count};
      desk.begin = 0;
      desk.end = 1;
      write(desk, written_++);
      counted_ += carry_->count;
    }
    result.distinct = written_;
    if (!transfer_.verify) return result;
    // As many were written as there are, and every key was counted once.
    result.is_ordered &= written_ == (result.fingerprint.count == 0 ? 0 : result.changes + 1);
    if (targets_.values.output) result.is_ordered &= counted_ == result.fingerprint.count;
    return result;
  }

 private:
  struct Entry {
    Bits key;
    uint64_t count;
  };

  /// A worker's packed chunk, behind room for the key carried to it: [begin, end) is what is written.
  struct Desk {
    std::vector<Bits> keys;
    std::vector<uint64_t> counts;
    size_t begin = 1;
    size_t end = 1;

    void pack(std::span<const Bits> from, bool with_counts) {
      keys.resize(from.size() + 1);
      // A chunk in order has no more different keys than their type has values. Of one that is not, which the
      // check, if there is one, has seen by now, the rest is left out.
      constexpr uint64_t values = sizeof(Bits) <= 2 ? uint64_t{1} << (8 * sizeof(Bits)) : ~uint64_t{0};
      if (with_counts) counts.resize(std::min<uint64_t>(from.size(), values) + 1);
      const size_t room = with_counts ? counts.size() : keys.size();
      begin = end = 1;
      size_t run_begin = 0;
      for (size_t i = 0; i < from.size() && end < room; ++i) {
        const bool last = i + 1 == from.size() || from[i] != from[i + 1];
        keys[end] = from[i];
        if (with_counts && last) {
          counts[end] = i + 1 - run_begin;
          run_begin = i + 1;
        }
        end += last ? 1 : 0;
      }
    }
  };

  /// Joins the chunk with what came before; returns where its keys go.
  uint64_t settle(Desk& desk) {
    const bool counts = targets_.values.output != nullptr;
    if (carry_ && carry_->key == desk.keys[1]) {
      if (counts) desk.counts[1] += carry_->count;
    } else if (carry_) {
      desk.begin = 0;
      desk.keys[0] = carry_->key;
      if (counts) desk.counts[0] = carry_->count;
    }
    --desk.end;
    carry_ = Entry{desk.keys[desk.end], counts ? desk.counts[desk.end] : 0};
    const uint64_t at = written_;
    written_ += desk.end - desk.begin;
    if (counts)
      for (size_t i = desk.begin; i < desk.end; ++i) counted_ += desk.counts[i];
    return at;
  }

  void write(Desk& desk, uint64_t at) {
    const size_t count = desk.end - desk.begin;
    const auto keys = std::as_writable_bytes(std::span(desk.keys).subspan(desk.begin, count));
    if (targets_.keys.swapped_bytes != 0) swap_key_bytes(keys, targets_.keys.swapped_bytes);
    targets_.keys.output->write_at(targets_.keys.data_offset + at * sizeof(Bits), keys);
    if (!targets_.values.output) return;
    targets_.values.output->write_at(targets_.values.data_offset + at * sizeof(uint64_t),
                                     std::as_bytes(std::span(desk.counts).subspan(desk.begin, count)));
  }

  bool is_ordered() const {
    return targets_.keys.output->is_ordered() ||
           (targets_.values.output && targets_.values.output->is_ordered());
  }

  Transfer transfer_;
  SinkTargets targets_;
  RecordCheck check_;
  std::vector<Desk> desks_;  // of each worker
  Turnstile turns_;
  uint64_t chunks_before_ = 0;  // of earlier sessions
  std::optional<Entry> carry_;  // these three: by whose turn it is
  uint64_t written_ = 0;
  uint64_t counted_ = 0;
};

}  // namespace

std::unique_ptr<RecordSink> make_unique_sink(const Transfer& transfer, const SinkTargets& targets) {
  return dispatch_bits(transfer.shape.type,
                       [&]<class Bits>(std::type_identity<Bits>) -> std::unique_ptr<RecordSink> {
                         return std::make_unique<UniqueSink<Bits>>(transfer, targets);
                       });
}

}  // namespace sweepsort
