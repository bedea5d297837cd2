// run_writer_test.cpp - runs that keep each key once, alone, with its count or its first value.
#include "pipeline/run_writer.hpp"

#include "catch.hpp"
#include "core/error.hpp"
#include "core/rounding.hpp"
#include "pipeline/run_store.hpp"
#include "seed.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <vector>

using namespace sweepsort;

namespace {

constexpr uint64_t stride = 7;

/// Sorted keys that are there from the beginning. Their values are their positions.
class SortedKeys : public SortSession {
 public:
  explicit SortedKeys(std::vector<uint32_t> sorted) : keys(std::move(sorted)), positions_(keys.size()) {
    std::iota(positions_.begin(), positions_.end(), uint64_t{0});
  }
  std::span<std::byte> begin_put(uint32_t, Column, uint64_t, size_t) override { return {}; }
  void end_put(uint32_t) override {}
  SortSummary sort() override { return {}; }
  std::span<std::byte> get(uint32_t, Column column, uint64_t first_byte, size_t bytes) override {
    if (column == Column::values)
      return std::as_writable_bytes(std::span(positions_)).subspan(first_byte, bytes);
    return std::as_writable_bytes(std::span(keys)).subspan(first_byte, bytes);
  }
  std::vector<uint32_t> keys;

 private:
  std::vector<uint64_t> positions_;
};

Transfer transfer_of(uint32_t workers) {
  return {.shape = {KeyType::u32}, .workers = workers, .chunk_bytes = 4096, .secret = 42};
}

/// Keys that come one to `most` times each.
std::vector<uint32_t> repeated(uint64_t distinct, uint32_t most) {
  std::mt19937_64 random(test_seed() + distinct);
  std::vector<uint32_t> keys;
  for (uint32_t key = 0; key < distinct; ++key) keys.insert(keys.end(), 1 + random() % most, 3 * key);
  return keys;
}

IndexedRun make_run(RunStore& store, RecordShape shape, uint64_t count) {
  IndexedRun run{.run = store.make_run(shape, count), .stride = stride};
  run.samples.resize(ceil_divide(count, stride));
  return run;
}

}  // namespace

TEST_CASE("a run keeps each key once, wherever chunks end, with its samples and what goes with it") {
  Transfer transfer = transfer_of(GENERATE(1u, 3u));
  RunStore store({.shape = transfer.shape, .memory = Bytes{1u << 30}});
  enum class With { nothing, counts, positions };
  for (const uint32_t distinct : {1u, 2u, 1'000u, 4'321u})
    for (const uint32_t most : {1u, 3u, 5'000u / distinct + 1})
      for (const With with : {With::nothing, With::counts, With::positions}) {
        const std::vector<uint32_t> keys = repeated(distinct, most);
        std::map<uint32_t, uint32_t> counts;
        std::map<uint32_t, uint64_t> firsts;
        for (size_t i = 0; i < keys.size(); ++i) {
          ++counts[keys[i]];
          firsts.try_emplace(keys[i], i);
        }
        SortedKeys session(keys);
        transfer.shape.value_bytes = with == With::positions ? 8 : 0;
        CHECK(distinct_keys(session, keys.size(), transfer) == distinct);
        CHECK(session.keys == keys);
        const uint32_t value_bytes = with == With::counts ? 4 : transfer.shape.value_bytes;
        IndexedRun run = make_run(store, {KeyType::u32, value_bytes}, distinct);
        const RunPacking packing = with == With::counts ? RunPacking::counted : RunPacking::first;
        const StoreResult packed = pack_records(session, keys.size(), transfer, packing, run);
        CHECK(packed.is_ordered);
        CHECK(packed.distinct == distinct);
        CHECK((packed.fingerprint == Fingerprint{}) == (with == With::counts));
        std::vector<uint32_t> kept(distinct);
        run.run->read(Column::keys, 0, std::as_writable_bytes(std::span(kept)));
        CHECK(std::ranges::equal(kept, counts, {}, {}, [](const auto& key) { return key.first; }));
        for (size_t i = 0; i < run.samples.size(); ++i) CHECK(run.samples[i] == kept[i * stride]);
        const auto key_bytes_kept = std::as_bytes(std::span(kept));
        if (with == With::positions) {
          std::vector<uint64_t> positions(distinct);
          run.run->read(Column::values, 0, std::as_writable_bytes(std::span(positions)));
          CHECK(std::ranges::equal(positions, firsts, {}, {}, [](const auto& key) { return key.second; }));
          CHECK(packed.kept ==
                pair_fingerprint(key_bytes_kept, 4, std::as_bytes(std::span(positions)), 8, transfer.secret));
          continue;
        }
        if (with == With::nothing) {
          CHECK(packed.fingerprint == fingerprint(std::as_bytes(std::span(keys)), 4, transfer.secret));
          CHECK(packed.kept == fingerprint(key_bytes_kept, 4, transfer.secret));
          continue;
        }
        run.run->read(Column::values, 0, std::as_writable_bytes(std::span(kept)));
        CHECK(std::ranges::equal(kept, counts, {}, {}, [](const auto& key) { return key.second; }));
      }
}

TEST_CASE("more keys, or fewer, than were counted are an error, and nothing beyond the run is written") {
  const Transfer transfer = transfer_of(2);
  RunStore store({.shape = transfer.shape, .memory = Bytes{1u << 30}});
  SortedKeys session(repeated(5'000, 3));
  const uint64_t count = session.keys.size();
  const bool are_more = GENERATE(false, true);
  const uint64_t distinct = distinct_keys(session, count, transfer) + (are_more ? 0 : 1);
  const RunPacking packing = GENERATE(RunPacking::first, RunPacking::counted);
  IndexedRun run = make_run(store, {KeyType::u32, packing == RunPacking::counted ? 4u : 0u}, distinct);
  if (are_more) session.keys.back() += 1;
  if (are_more) session.keys[count - 2] -= 1;
  CHECK_THROWS_AS(pack_records(session, count, transfer, packing, run), Error);
}
