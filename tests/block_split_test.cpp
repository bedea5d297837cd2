// block_split_test.cpp - plans of moves, and splits in place compared with a plain split.
#include "backend/cpu/block_split.hpp"

#include "catch.hpp"
#include "core/page_array.hpp"
#include "red_zone.hpp"
#include "seed.hpp"

#include <map>
#include <numeric>
#include <random>

namespace sweepsort {
namespace {

using Move = MovePlan::Move;

/// The contents of the slots after the plan's moves. Its pieces are done in a random order and interleaved.
std::vector<int> moved(const MovePlan& plan, std::vector<int> slots, std::mt19937_64& random) {
  const auto size = static_cast<uint32_t>(slots.size());
  std::vector<int> saved;
  for (const uint32_t slot : plan.saved()) saved.push_back(slots[slot]);
  std::vector<std::vector<Move>> pieces(plan.pieces());
  for (size_t i = 0; i < pieces.size(); ++i)
    plan.run_piece(i, [&](const Move& move) { pieces[i].push_back(move); });
  std::vector<size_t> next(pieces.size());
  std::vector<int> own(pieces.size());
  std::vector<size_t> open(pieces.size());
  std::iota(open.begin(), open.end(), size_t{0});
  while (!open.empty()) {
    const size_t pick = random() % open.size();
    const size_t i = open[pick];
    const auto [to, from] = pieces[i][next[i]];
    const int block = from == MovePlan::own ? own[i] : from < size ? slots[from] : saved[from - size];
    (to == MovePlan::own ? own[i] : slots[to]) = block;
    if (++next[i] == pieces[i].size()) open.erase(open.begin() + static_cast<ptrdiff_t>(pick));
  }
  return slots;
}

TEST_CASE("a plan of moves brings every block to its slot, in whatever order its pieces run") {
  std::mt19937_64 random(test_seed());
  for (int repeat = 0; repeat < 2000; ++repeat) {
    const auto size = static_cast<uint32_t>(random() % 60 + 1);
    std::vector<uint32_t> targets(size);
    std::iota(targets.begin(), targets.end(), 0u);
    std::shuffle(targets.begin(), targets.end(), random);
    // None, few or all slots are left out: paths, paths and cycles, or cycles alone.
    const uint64_t left_out = repeat % 3 == 0 ? 0 : random() % (size + 1);
    std::vector<uint32_t> source(size, MovePlan::none);
    std::vector<int> slots(size, -1);
    for (uint32_t slot = 0; slot < size; ++slot) {
      if (random() % size < left_out) continue;
      source[targets[slot]] = slot;
      slots[slot] = static_cast<int>(slot);
    }
    const auto piece = static_cast<uint32_t>(random() % 8 + 1);
    MovePlan plan(size, piece);
    plan.make(source);
    CAPTURE(size, piece, left_out);
    REQUIRE(plan.saved().size() <= size / piece + 1 + size / piece);
    const std::vector<int> result = moved(plan, slots, random);
    for (uint32_t slot = 0; slot < size; ++slot) {
      if (source[slot] != MovePlan::none) REQUIRE(result[slot] == static_cast<int>(source[slot]));
    }
  }
}

/// Buckets by the lowest bits. Keys of one bucket are counted and not kept.
template <class Bits>
struct LowBits {
  Bits mask;
  Bits counted;
  Bits place(Bits key) const { return key; }
  size_t bucket_of(Bits key) const { return key & mask; }
  bool is_frequent(Bits key) const { return (key & mask) == counted; }
  Bits kept(Bits key, Bits) const { return key; }
};

template <class Bits>
struct Case {
  uint64_t count;
  uint32_t threads;
  uint32_t bits;
  uint64_t offset;  // keys from the beginning of a cache line
  uint32_t skew;    // keys are the AND of this many numbers
  bool counts;
  bool in_order = false;  // the buckets are in order
};

template <class Bits>
void check_split(const Case<Bits>& test, std::mt19937_64& random) {
  const CpuTuning tuning{.split_block_bytes = random() % 2 == 0 ? 256u : 1024u};
  const auto buckets = 1u << test.bits;
  const LowBits<Bits> rule{static_cast<Bits>(buckets - 1), static_cast<Bits>(random() % buckets)};
  RedZoneBuffer<Bits> array(test.count, test.offset * sizeof(Bits));
  std::map<size_t, std::vector<Bits>> expected;
  for (uint64_t i = 0; i < test.count; ++i) {
    auto key = static_cast<Bits>(random());
    for (uint32_t k = 1; k < test.skew; ++k) key &= static_cast<Bits>(random());
    array.data()[i] = key;
    expected[rule.bucket_of(key)].push_back(key);
  }
  if (test.in_order) {
    Bits* to = array.data();
    for (const auto& [bucket, keys] : expected) to = std::copy(keys.begin(), keys.end(), to);
  }
  std::vector<PageArray> memory;
  std::vector<BlockTables<Bits>*> tables;
  for (uint32_t thread = 0; thread < test.threads; ++thread) {
    memory.emplace_back(sizeof(BlockTables<Bits>));
    std::fill_n(memory.back().data(), memory.back().size(), std::byte{0xA5});  // as another sort left it
    tables.push_back(reinterpret_cast<BlockTables<Bits>*>(memory.back().data()));
  }
  RedZoneBuffer<std::byte> pool(
      BlockSplit<Bits>::memory_bytes(test.count + random() % 2 * 100'000, test.threads, tuning));
  BlockSplit<Bits> split(array.data(), test.count, buckets, tables, pool.data(), tuning);
  const std::vector<Bucket> result =
      test.counts ? split.template run<true>(rule) : split.template run<false>(rule);
  uint64_t begin = 0;
  for (uint32_t bucket = 0; bucket < buckets; ++bucket) {
    CAPTURE(bucket);
    REQUIRE(result[bucket].begin == begin);
    REQUIRE(result[bucket].count == expected[bucket].size());
    begin += result[bucket].count;
    if (test.counts && bucket == rule.counted) continue;
    std::vector<Bits> got(array.data() + result[bucket].begin, array.data() + begin);
    std::sort(got.begin(), got.end());
    std::sort(expected[bucket].begin(), expected[bucket].end());
    REQUIRE(got == expected[bucket]);
  }
  REQUIRE(begin == test.count);
  REQUIRE(array.intact());
  REQUIRE(pool.intact());
}

TEMPLATE_TEST_CASE("a split in place has every bucket's keys, and nothing else is written", "", uint8_t,
                   uint16_t, uint32_t, uint64_t) {
  std::mt19937_64 random(test_seed());
  for (int repeat = 0; repeat < 60; ++repeat) {
    const uint64_t most = uint64_t{1} << (random() % 17);
    const Case<TestType> test{.count = random() % most,
                              .threads = static_cast<uint32_t>(random() % 4 + 1),
                              .bits = static_cast<uint32_t>(random() % (sizeof(TestType) == 1 ? 9 : 12)),
                              .offset = random() % 100,
                              .skew = static_cast<uint32_t>(random() % 3 + 1),
                              .counts = random() % 2 == 0};
    CAPTURE(test.count, test.threads, test.bits, test.offset, test.skew, test.counts);
    check_split(test, random);
  }
}

TEMPLATE_TEST_CASE(
    "a window's outliers go to its first and last bucket, in order, and all others to small ones", "",
    uint32_t, uint64_t) {
  std::mt19937_64 random(test_seed());
  constexpr uint64_t count = 40'000;
  constexpr uint32_t width = sizeof(TestType) * 8;
  constexpr auto most = static_cast<TestType>(~TestType{0});
  for (uint32_t round = 0; round < 64; ++round) {
    // One key in 20 lies anywhere, and three have one value: in the window, or beside it where digits may be
    // refined as well. The window begins anywhere, or begins at 0, or ends at the largest pattern.
    const uint64_t span = uint64_t{2} << random() % (width - 14);
    const auto first =
        static_cast<TestType>(round % 8 == 0   ? 0
                              : round % 8 == 1 ? most - span + 1
                                               : (uint64_t{1} << (width - 2)) + random() % span);
    const double at =
        (round % 8 < 2 ? 0.0 : -0.25) + static_cast<double>(random() % 1000) / (round % 8 < 2 ? 1000 : 667);
    const auto heap = static_cast<TestType>(first + static_cast<int64_t>(at * static_cast<double>(span)));
    std::vector<TestType> keys;
    for (uint64_t i = 0; i < count; ++i)
      keys.push_back(static_cast<TestType>(i % 20 == 0  ? random()
                                           : i % 20 < 4 ? heap
                                                        : first + random() % span));
    keys[0] = 0;
    keys[1] = most;
    CAPTURE(span, first, heap, round);
    const auto sample = sample_keys(keys.data(), count, Distance<TestType, false>{});
    const uint64_t capacity = uint64_t{256} << round % 6;
    const auto rule = window_rule(sample, count, TestType{0}, most, capacity / 4, 1 + round % 11, capacity);
    REQUIRE(rule.has_value());
    REQUIRE((rule->is_skewed() && rule->buckets <= max_buckets && rule->holds.size() == rule->buckets));
    std::sort(keys.begin(), keys.end());
    const LeafBucket<TestType, true> bucket_of(*rule);
    size_t last = 0;
    uint64_t wrong = 0, outside = 0;
    for (const TestType key : keys) {
      const size_t bucket = std::min<size_t>(bucket_of(key), rule->buckets - 1);
      const auto& [low, bits, has_outliers] = rule->holds[bucket];
      const bool is_held = has_outliers || (bits == 0 ? key == low : (key >> bits) == (low >> bits));
      wrong +=
          bucket < last || bucket != bucket_of(key) || !is_held || (bucket_of.is_frequent(key) && bits != 0);
      outside += !rule->window->holds(key);
      last = bucket;
    }
    REQUIRE(wrong == 0);
    CHECK((rule->holds.front().has_outliers || rule->window->low == 0));
    CHECK((rule->holds[rule->buckets - 2].has_outliers || rule->window->high == most));
    CHECK(outside < count / 4);
  }
}

TEST_CASE("a window is made neither for even keys nor for one value") {
  std::mt19937_64 random(test_seed());
  std::vector<uint64_t> sample(sample_size);
  for (uint64_t& key : sample) key = random();
  const auto is_made = [&] {
    std::sort(sample.begin(), sample.end());
    return window_of(sample, uint64_t{0}, ~uint64_t{0}).has_value();
  };
  CHECK_FALSE(is_made());
  for (uint64_t& key : sample) key = random() >> (random() % 64);
  CHECK_FALSE(is_made());
  for (size_t i = 0; i < sample.size(); ++i) sample[i] = i % 9 == 0 ? random() : 77;
  CHECK_FALSE(is_made());
  for (size_t i = 0; i < sample.size(); ++i) sample[i] = i % 9 == 0 ? random() : 77 + i % 2;
  CHECK(is_made());
}

TEST_CASE("a split in place of keys that all go to one bucket, or come in the buckets' order") {
  std::mt19937_64 random(test_seed());
  for (uint32_t threads : {1u, 2u, 3u})
    for (uint64_t count : {0u, 1u, 63u, 64u, 65u, 1024u, 4096u, 65537u}) {
      CAPTURE(threads, count);
      check_split<uint32_t>({count, threads, 0, 0, 1, false}, random);
      check_split<uint32_t>({count, threads, 6, 1, 1, false, true}, random);
      check_split<uint32_t>({count, threads, 6, 1, 40, true}, random);  // all keys are 0
      check_split<uint32_t>({count, threads, 6, 1, 40, false}, random);
    }
}

}  // namespace
}  // namespace sweepsort
