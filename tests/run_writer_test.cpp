// run_writer_test.cpp - runs that keep each key once, alone or with its count, from sessions of many chunks.
#include "pipeline/run_writer.hpp"

#include "catch.hpp"
#include "core/error.hpp"
#include "core/rounding.hpp"
#include "pipeline/run_store.hpp"
#include "seed.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

using namespace sweepsort;

namespace {

constexpr uint64_t stride = 7;

/// Sorted keys that are there from the beginning.
class SortedKeys : public SortSession {
 public:
  explicit SortedKeys(std::vector<uint32_t> sorted) : keys(std::move(sorted)) {}
  std::span<std::byte> begin_put(uint32_t, Column, uint64_t, size_t) override { return {}; }
  void end_put(uint32_t) override {}
  SortSummary sort() override { return {}; }
  std::span<std::byte> get(uint32_t, Column, uint64_t first_byte, size_t bytes) override {
    return std::as_writable_bytes(std::span(keys)).subspan(first_byte, bytes);
  }
  std::vector<uint32_t> keys;
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

TEST_CASE("a run keeps each key once, wherever chunks end, with its count and its samples") {
  const uint32_t workers = GENERATE(1u, 3u);
  const Transfer transfer = transfer_of(workers);
  RunStore store({.shape = transfer.shape, .memory = Bytes{1u << 30}});
  for (const uint64_t distinct : {1, 2, 1'000, 4'321})
    for (const uint32_t most : {1, 3, 5'000 / static_cast<int>(distinct) + 1}) {
      const std::vector<uint32_t> keys = repeated(distinct, most);
      std::map<uint32_t, uint32_t> expected;
      for (const uint32_t key : keys) ++expected[key];
      for (const bool counts : {false, true}) {
        SortedKeys session(keys);
        CHECK(distinct_keys(session, keys.size(), transfer) == distinct);
        CHECK(session.keys == keys);
        IndexedRun run = make_run(store, {KeyType::u32, counts ? 4u : 0u}, distinct);
        const PackedKeys packed = pack_keys(session, keys.size(), transfer, counts, run);
        CHECK(packed.sorted.is_ordered);
        CHECK(packed.sorted.fingerprint == fingerprint(std::as_bytes(std::span(keys)), 4, transfer.secret));
        std::vector<uint32_t> kept(distinct);
        run.run->read(Column::keys, 0, std::as_writable_bytes(std::span(kept)));
        CHECK(packed.kept == fingerprint(std::as_bytes(std::span(kept)), 4, transfer.secret));
        CHECK(std::ranges::equal(kept, expected, {}, {}, [](const auto& key) { return key.first; }));
        for (size_t i = 0; i < run.samples.size(); ++i) CHECK(run.samples[i] == kept[i * stride]);
        if (!counts) continue;
        run.run->read(Column::values, 0, std::as_writable_bytes(std::span(kept)));
        CHECK(std::ranges::equal(kept, expected, {}, {}, [](const auto& key) { return key.second; }));
      }
    }
}

TEST_CASE("keys that change between two reads are an error, and nothing beyond the run is written") {
  const Transfer transfer = transfer_of(2);
  RunStore store({.shape = transfer.shape, .memory = Bytes{1u << 30}});
  SortedKeys session(repeated(5'000, 3));
  const uint64_t count = session.keys.size();
  const uint64_t distinct = distinct_keys(session, count, transfer);
  const bool counts = GENERATE(false, true);
  IndexedRun run = make_run(store, {KeyType::u32, counts ? 4u : 0u}, distinct);
  session.keys.back() += 1;
  session.keys[count - 2] -= 1;
  CHECK_THROWS_AS(pack_keys(session, count, transfer, counts, run), Error);
}
