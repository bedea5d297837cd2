// stream_merge_test.cpp - blocks cut from windows of any size, compared with all keys sorted at once.
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

/// Pipes that have some of their keys now and then, and deliver at most `most` keys per read.
class Pipes {
 public:
  Pipes(const Inputs& inputs, uint64_t seed, size_t most) : inputs_(inputs), random_(seed), most_(most) {
    given_.resize(inputs.size());
  }

  std::vector<size_t> ready(std::span<const size_t> asked, bool waits) {
    std::vector<size_t> found;
    for (const size_t input : asked)
      if (random_() % 3 == 0) found.push_back(input);
    if (found.empty() && waits) found.push_back(asked[random_() % asked.size()]);
    return found;
  }
  size_t read(size_t input, std::span<std::byte> to) {
    REQUIRE_FALSE(to.empty());
    const auto rest = std::as_bytes(std::span(inputs_[input])).subspan(given_[input]);
    const size_t got = std::min({rest.size(), to.size(), (1 + random_() % most_) * sizeof(int32_t)});
    std::ranges::copy(rest.first(got), to.begin());
    given_[input] += got;
    return got;
  }

 private:
  const Inputs& inputs_;
  std::mt19937_64 random_;
  size_t most_;
  std::vector<size_t> given_;
};

std::vector<std::vector<int32_t>> blocks_of(const Inputs& inputs, Order order, uint64_t block,
                                            size_t max_per_read) {
  Pipes pipes(inputs, test_seed() + block, max_per_read);
  StreamMerge merge(
      {inputs.size(), KeyType::i32, order, block},
      [&](std::span<const size_t> asked, bool waits) { return pipes.ready(asked, waits); },
      [&](size_t input, std::span<std::byte> to) { return pipes.read(input, to); });
  std::vector<std::vector<int32_t>> blocks;
  while (true) {
    const std::span<const std::byte> bytes = merge.next();
    if (bytes.empty()) break;
    std::vector<int32_t> keys(bytes.size() / sizeof(int32_t));
    std::memcpy(keys.data(), bytes.data(), bytes.size());
    blocks.push_back(std::move(keys));
  }
  CHECK(merge.next().empty());  // and it stays at the end
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
          // A remainder that is no whole window for each input is of no use.
          const uint64_t block = 2 * count * window + 2 * count - 1;
          for (const size_t max_per_read : {1, 7, 1000}) {
            std::vector<int32_t> merged;
            for (std::vector<int32_t> keys : blocks_of(inputs, order, block, max_per_read)) {
              CHECK(keys.size() <= block);
              sort_keys(keys, order);
              merged.insert(merged.end(), keys.begin(), keys.end());
            }
            CHECK(merged == all);
          }
        }
}

TEST_CASE("inputs that do not overlap fill half a block all the same, if nothing is waited for") {
  const Inputs inputs{std::vector<int32_t>(1000, 1), std::vector<int32_t>(1000, 2),
                      std::vector<int32_t>(1000, 3)};
  std::vector<size_t> given(inputs.size());
  const auto all = [](std::span<const size_t> asked, bool) {
    return std::vector<size_t>(asked.begin(), asked.end());
  };
  StreamMerge merge({inputs.size(), KeyType::i32, Order::ascending, 240}, all,
                    [&](size_t input, std::span<std::byte> to) {
                      const size_t got = std::min(to.size(), 4000 - given[input]);
                      std::memcpy(to.data(), inputs[input].data(), got);
                      given[input] += got;
                      return got;
                    });
  size_t blocks = 0;
  while (!merge.next().empty()) ++blocks;
  CHECK(blocks <= 3000 / 120 + 1);
}

TEST_CASE("inputs out of order lose no key") {
  const Inputs inputs{{5, 1, 9, 2, 8, 3}, {7, 7, 0, 7, 7}};
  std::multiset<int32_t> expected;
  for (const auto& keys : inputs) expected.insert(keys.begin(), keys.end());
  for (const uint64_t block : {4, 7, 20, 100}) {
    std::multiset<int32_t> got;
    for (const auto& keys : blocks_of(inputs, Order::ascending, block, 2))
      got.insert(keys.begin(), keys.end());
    CHECK(got == expected);
  }
}

TEST_CASE("an input that cannot be read ends the merge with its error") {
  const auto all = [](std::span<const size_t> asked, bool) {
    return std::vector<size_t>(asked.begin(), asked.end());
  };
  StreamMerge merge({2, KeyType::u64, Order::ascending, 64}, all,
                    [](size_t input, std::span<std::byte> to) -> size_t {
                      if (input == 1) throw std::runtime_error("unreadable");
                      std::ranges::fill(to, std::byte{0});
                      return to.size();
                    });
  CHECK_THROWS_WITH(merge.next(), "unreadable");
}
