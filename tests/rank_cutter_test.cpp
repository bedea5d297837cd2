// rank_cutter_test.cpp - cuts of sorted runs at every rank, compared with a stable sort of all records.
#include "pipeline/rank_cutter.hpp"

#include "catch.hpp"
#include "pipeline/key_scan.hpp"
#include "seed.hpp"

#include <algorithm>
#include <cstring>
#include <random>

using namespace sweepsort;

namespace {

/// A run in memory that counts how often it is read.
class VectorRun : public Run {
 public:
  explicit VectorRun(std::vector<uint32_t> keys) : keys_(std::move(keys)) {}
  uint64_t count() const override { return keys_.size(); }
  void read(Column, uint64_t first_byte, std::span<std::byte> to) const override {
    ++reads;
    if (first_byte >= asked_from && first_byte < asked_to) ++reads_asked_for;
    std::memcpy(to.data(), std::as_bytes(std::span(keys_)).data() + first_byte, to.size());
  }
  const std::vector<uint32_t>& keys() const { return keys_; }
  bool may_wait() const override { return true; }
  void will_read(Column, uint64_t first_byte, size_t bytes) const override {
    CHECK(first_byte + bytes <= std::as_bytes(std::span(keys_)).size());
    asked_from = first_byte;
    asked_to = first_byte + bytes;
  }
  mutable uint64_t reads = 0;
  mutable uint64_t reads_asked_for = 0;
  mutable uint64_t asked_from = 0;
  mutable uint64_t asked_to = 0;

 private:
  std::vector<uint32_t> keys_;
};

std::vector<IndexedRun> make_runs(const std::vector<std::vector<uint32_t>>& all, uint64_t stride) {
  std::vector<IndexedRun> runs;
  for (const auto& keys : all) {
    IndexedRun run{.run = std::make_unique<VectorRun>(keys), .stride = stride};
    if (stride != 0)
      for (size_t i = 0; i < keys.size(); i += stride) run.samples.push_back(keys[i]);
    else
      run.stride = 1;
    runs.push_back(std::move(run));
  }
  return runs;
}

/// For every rank, how many of the first `rank` records each run has. Merges one record after the other.
std::vector<std::vector<uint64_t>> all_cuts(const std::vector<std::vector<uint32_t>>& all) {
  std::vector<uint64_t> cut(all.size());
  std::vector<std::vector<uint64_t>> cuts{cut};
  while (true) {
    size_t next = all.size();
    for (size_t run = 0; run < all.size(); ++run) {
      if (cut[run] == all[run].size()) continue;
      if (next == all.size() || all[run][cut[run]] < all[next][cut[next]]) next = run;
    }
    if (next == all.size()) return cuts;
    ++cut[next];
    cuts.push_back(cut);
  }
}

}  // namespace

TEST_CASE("a cut at any rank is that of a stable merge, with few values and many, with samples and without") {
  std::mt19937_64 random(test_seed());
  for (const uint32_t values : {1u, 2u, 5u, 100u, 1u << 31})
    for (const size_t runs : {1, 2, 3, 8}) {
      std::vector<std::vector<uint32_t>> all(runs);
      for (auto& keys : all) {
        keys.resize(random() % 60);
        for (uint32_t& key : keys) key = static_cast<uint32_t>(random() % values);
        std::ranges::sort(keys);
      }
      const auto expected = all_cuts(all);
      for (const uint64_t stride : {0, 1, 3, 16, 100}) {
        const auto indexed = make_runs(all, stride);
        RankCutter rising(indexed, KeyType::u32, Order::ascending);
        REQUIRE(rising.total() == expected.size() - 1);
        for (uint64_t rank = 0; rank < expected.size(); ++rank) {
          REQUIRE(rising.cut(rank) == expected[rank]);
          RankCutter alone(indexed, KeyType::u32, Order::ascending);
          REQUIRE(alone.cut(rank) == expected[rank]);
        }
      }
    }
}

TEST_CASE("a cut reads no more of each run than a search by halves between two samples does") {
  std::mt19937_64 random(test_seed());
  std::vector<std::vector<uint32_t>> all(16);
  for (auto& keys : all) {
    keys.resize(100'000);
    for (uint32_t& key : keys) key = static_cast<uint32_t>(random());
    std::ranges::sort(keys);
  }
  const auto indexed = make_runs(all, 1024);
  RankCutter cutter(indexed, KeyType::u32, Order::ascending);
  cutter.cut(777'777);
  for (const IndexedRun& run : indexed) CHECK(static_cast<const VectorRun&>(*run.run).reads <= 16);
}

TEST_CASE("what a cut reads was asked for before, most of it") {
  std::mt19937_64 random(test_seed());
  for (const uint32_t values : {1000u, 1u << 31}) {
    std::vector<std::vector<uint32_t>> all(16);
    for (auto& keys : all) {
      keys.resize(50'000 + random() % 50'000);
      for (uint32_t& key : keys) key = static_cast<uint32_t>(random() % values);
      std::ranges::sort(keys);
    }
    const auto indexed = make_runs(all, 512);
    RankCutter cutter(indexed, KeyType::u32, Order::ascending);
    uint64_t reads = 0, asked_for = 0;
    for (uint64_t rank = 10'000; rank < cutter.total(); rank += 10'000) cutter.cut(rank);
    for (const IndexedRun& run : indexed) {
      reads += static_cast<const VectorRun&>(*run.run).reads;
      asked_for += static_cast<const VectorRun&>(*run.run).reads_asked_for;
    }
    CAPTURE(values, reads, asked_for);
    CHECK(asked_for >= reads / 4 * 3);  // it is nine tenths
  }
}

TEST_CASE("runs that are not sorted give cuts that add up and never fall") {
  std::mt19937_64 random(test_seed());
  std::vector<std::vector<uint32_t>> all(5);
  for (auto& keys : all) {
    keys.resize(1000);
    for (uint32_t& key : keys) key = static_cast<uint32_t>(random());
  }
  const auto indexed = make_runs(all, 0);
  RankCutter cutter(indexed, KeyType::u32, Order::ascending);
  std::vector<uint64_t> before(all.size());
  for (uint64_t rank = 0; rank <= 5000; rank += 100) {
    const auto& cut = cutter.cut(rank);
    uint64_t sum = 0;
    for (size_t run = 0; run < all.size(); ++run) {
      CHECK(cut[run] >= before[run]);
      CHECK(cut[run] <= 1000);
      sum += cut[run];
    }
    CHECK(sum == rank);
    before = cut;
  }
  CHECK_THROWS(cutter.cut(4999));
  CHECK_THROWS(cutter.cut(5001));
}
