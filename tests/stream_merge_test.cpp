// stream_merge_test.cpp - blocks cut from windows of any size, beside all keys sorted at once.
#include "pipeline/stream_merge.hpp"

#include "catch.hpp"
#include "pipeline/key_scan.hpp"
#include "seed.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <stdexcept>

using namespace sweepsort;

namespace {

using Inputs = std::vector<std::vector<int32_t>>;

/// Hands out an input's keys as a pipe would.
StreamMerge::ReadFunction reader(const Inputs& inputs, std::vector<size_t>& given) {
  return [&](size_t input, std::span<std::byte> to) {
    const std::span<const std::byte> rest = std::as_bytes(std::span(inputs[input])).subspan(given[input]);
    const size_t got = std::min(rest.size(), to.size());
    std::memcpy(to.data(), rest.data(), got);
    given[input] += got;
    return got;
  };
}

std::vector<std::vector<int32_t>> blocks_of(const Inputs& inputs, Order order, uint64_t block,
                                            uint32_t workers) {
  std::vector<size_t> given(inputs.size());
  StreamMerge merge({inputs.size(), KeyType::i32, order, block, workers}, reader(inputs, given));
  std::vector<std::vector<int32_t>> blocks;
  while (const uint64_t count = merge.next()) {
    std::vector<int32_t> keys;
    for (size_t input = 0; input < inputs.size(); ++input) {
      const std::span<const std::byte> part = merge.part(input);
      const size_t before = keys.size();
      keys.resize(before + part.size() / sizeof(int32_t));
      std::memcpy(keys.data() + before, part.data(), part.size());
    }
    REQUIRE(keys.size() == count);
    blocks.push_back(std::move(keys));
  }
  CHECK(merge.next() == 0);  // and stays at the end
  return blocks;
}

void sort_keys(std::vector<int32_t>& keys, Order order) {
  std::ranges::sort(keys);
  if (order == Order::descending) std::ranges::reverse(keys);
}

}  // namespace

TEST_CASE("blocks in a row hold all keys in order, whatever the windows, the inputs and the values") {
  std::mt19937_64 random(test_seed());
  for (const size_t count : {1, 2, 3, 8})
    for (const uint64_t window : {1, 2, 3, 16, 1000})
      for (const int32_t values : {1, 3, 1'000'000})
        for (const Order order : {Order::ascending, Order::descending}) {
          Inputs inputs(count);
          std::vector<int32_t> all;
          for (auto& keys : inputs) {
            keys.resize(random() % 4 == 0 ? 0 : random() % 300);
            for (int32_t& key : keys)
              key = static_cast<int32_t>(random() % static_cast<uint64_t>(values)) - 5;
            sort_keys(keys, order);
            all.insert(all.end(), keys.begin(), keys.end());
          }
          sort_keys(all, order);
          CAPTURE(count, window, values, order == Order::descending);
          // More than a whole number of keys for each input is of no use.
          const auto blocks = blocks_of(inputs, order, count * window + count - 1, count > 2 ? 3 : 1);
          std::vector<int32_t> merged;
          for (std::vector<int32_t> block : blocks) {
            CHECK(block.size() <= count * window);
            sort_keys(block, order);
            merged.insert(merged.end(), block.begin(), block.end());
          }
          CHECK(merged == all);
          CHECK(blocks.size() <= all.size() / ((window + 1) / 2) + count);
        }
}

TEST_CASE("inputs out of order lose no key") {
  const Inputs inputs{{5, 1, 9, 2, 8, 3}, {7, 7, 0, 7, 7}};
  std::multiset<int32_t> expected;
  for (const auto& keys : inputs) expected.insert(keys.begin(), keys.end());
  for (const uint64_t block : {2, 4, 7, 20}) {
    std::multiset<int32_t> got;
    for (const auto& keys : blocks_of(inputs, Order::ascending, block, 2))
      got.insert(keys.begin(), keys.end());
    CHECK(got == expected);
  }
}

TEST_CASE("an input that cannot be read ends the merge with its error") {
  StreamMerge merge({2, KeyType::u64, Order::ascending, 64, 2},
                    [](size_t input, std::span<std::byte> to) -> size_t {
                      if (input == 1) throw std::runtime_error("unreadable");
                      std::ranges::fill(to, std::byte{0});
                      return to.size();
                    });
  CHECK_THROWS_WITH(merge.next(), "unreadable");
}
