// leading_digits_test.cpp - passes by leading digits: when they are chosen, what they leave to mend, and when
// all digits are passed after all. On the emulator and on a GPU.
#include "kernels/leading_digits.cuh"

#include "catch.hpp"
#include "on_device.hpp"
#include "onesweep_run.hpp"
#include "seed.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace sweepsort {
namespace {

/// Records in the longest run.
constexpr uint64_t longest_run = leading_detail::max_run<SmallTiles>;

constexpr uint64_t record_count = on_gpu ? 1'500'001 : 24'001;

/// The number of leading digits, so that the number of passes is even or odd.
constexpr uint32_t leading_of(uint32_t variant) { return 4 + variant % 2; }

/// Ordered keys, and those of their places that no sample looks at.
class Keys {
 public:
  explicit Keys(uint32_t variant)
      : random_(test_seed() + variant),
        shift_((digit_places<uint64_t> - leading_of(variant)) * digit_bits),
        bits_(record_count) {
    for (uint64_t& key : bits_) key = random_();
    std::vector<bool> is_seen(record_count);
    for (uint32_t place = 0; place < leading_detail::places; ++place)
      for (uint32_t k = 0; k < 4; ++k)
        is_seen.at(4 * leading_detail::sampled_four(place, record_count) + k) = true;
    for (uint64_t i = 0; i < record_count; ++i)
      if (!is_seen[i]) unseen_.push_back(i);
    std::ranges::shuffle(unseen_, random_);
  }

  /// Plants a run of `size` keys that no sample looks at. They agree in their leading digits and have
  /// `values` values; the highest comes first. Before that, `rising` keys rise, above all others.
  void plant_run(uint64_t size, uint64_t values, uint64_t rising = 0) {
    const uint64_t head = random_() >> shift_ << shift_;
    const auto own = std::span(unseen_).last(size);
    std::ranges::sort(own);
    for (uint64_t i = 0; i < size; ++i)
      bits_[own[i]] = head | (i < rising ? values + i : values - 1 - i % values);
    unseen_.resize(unseen_.size() - size);
  }
  /// Gives `share` hundredths of all keys one value.
  void plant_frequent(uint32_t share) {
    const uint64_t value = random_();
    for (uint64_t& key : bits_)
      if (random_() % 100 < share) key = value;
  }
  std::mt19937_64& random() { return random_; }
  std::vector<uint64_t>& bits() { return bits_; }

  /// The number of runs that a stable sort by leading digits leaves out of order, if no run is long.
  uint32_t runs_to_mend() const {
    const auto head = [this](uint64_t key) { return key >> shift_; };
    std::vector<uint64_t> sorted = bits_;
    std::ranges::stable_sort(sorted, {}, head);
    uint32_t runs = 0;
    uint64_t counted = ~uint64_t{0};  // the head of the last counted run; no key has this initial one
    for (uint64_t i = 1; i < sorted.size(); ++i)
      if (sorted[i - 1] > sorted[i] && head(sorted[i]) != counted) {
        counted = head(sorted[i]);
        ++runs;
      }
    return runs;
  }

 private:
  std::mt19937_64 random_;
  uint32_t shift_;
  std::vector<uint64_t> bits_;
  std::vector<uint64_t> unseen_;
};

#ifdef __SANITIZE_ADDRESS__
constexpr uint32_t step = 3;  // there is time for a third of the variants
#else
constexpr uint32_t step = 1;
#endif

struct Outcome {
  uint32_t leading_digits;
  uint32_t runs;
  bool is_hopeless;
};

template <class Key, class Value>
Outcome sort(const std::vector<uint64_t>& ordered, const OnesweepCase& test) {
  const auto outcome = sort_by_passes<Key, Value>(ordered, test);
  return {outcome.plan.leading_digits, outcome.runs.runs, outcome.runs.is_hopeless != 0};
}

}  // namespace

TEST_CASE("as many leading digits are passed as tell random keys apart, and more", "") {
  CHECK(leading_digits_of(2) == 2);
  CHECK(leading_digits_of(uint64_t{1} << 17) == 4);
  CHECK(leading_digits_of((uint64_t{1} << 17) + 1) == 5);
  CHECK(leading_digits_of(uint64_t{1} << 25) == 5);
  CHECK(leading_digits_of((uint64_t{1} << 25) + 1) == 6);
  CHECK(leading_digits_of(uint64_t{1} << 32) == 6);
  CHECK(leading_digits_of((uint64_t{1} << 32) + 1) == 0);
}

TEMPLATE_PRODUCT_TEST_CASE("runs of keys that agree in their leading digits are mended", "[device]",
                           std::pair,
                           ((uint64_t, uint32_t), (int64_t, uint64_t), (double, uint32_t),
                            (uint64_t, NoValue))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  for (uint32_t variant = value_bytes<Value> / 4 % step; variant < 8; variant += step) {
    Keys keys(variant);
    if (variant % 2 == 1) keys.plant_frequent(30);
    // Runs of two keys, of a few, of more than a warp, of more than a block, and the longest.
    for (const uint64_t size : {2, 2, 2, 3, 7, 31, 32, 33, 64, 65, 100, 257, 400})
      keys.plant_run(size, 1 + size / 2);
    keys.plant_run(longest_run, 2 + variant * 100);
    keys.plant_run(50, 1);  // nothing to mend
    const auto [low, high] = std::ranges::minmax_element(keys.bits());
    std::swap(*high, keys.bits().front());
    *low = variant == 2 ? 0 : 1;
    const uint32_t to_mend = keys.runs_to_mend();
    REQUIRE(to_mend >= 10);
    const Outcome outcome =
        sort<Key, Value>(keys.bits(), {.order = variant % 3 == 0 ? Order::descending : Order::ascending,
                                       .in_place = variant % 4 < 2,
                                       .portion = variant == 5 ? record_count / 3 : uint64_t{1} << 28,
                                       .leading = leading_of(variant)});
    INFO("variant " << variant);
    CHECK(outcome.leading_digits == leading_of(variant));
    CHECK_FALSE(outcome.is_hopeless);
    CHECK(outcome.runs == to_mend);
  }
}

TEMPLATE_PRODUCT_TEST_CASE("where leading digits tell too little, all are passed after all", "[device]",
                           std::pair, ((uint64_t, uint32_t), (int64_t, uint64_t), (double, NoValue))) {
  using Key = typename TestType::first_type;
  using Value = typename TestType::second_type;
  // One run that is too long, runs that together are too large, one run too many, and the most that are
  // allowed.
  enum Kind : uint32_t { longer, larger, one_more, most, kinds };
  for (uint32_t variant = value_bytes<Value> / 4 % step; variant < 2 * kinds; variant += step) {
    Keys keys(variant / kinds + variant);
    const uint32_t leading = leading_of(variant / kinds + variant);
    const uint32_t kind = variant % kinds;
    if (kind == longer) {
      // It is too long for the last look that finds its end, or already before.
      keys.plant_run(longest_run + 1, 2 + variant * 70, variant < kinds ? 5 : 0);
    } else if (kind == larger) {
      const uint64_t max_comparisons = leading_detail::comparisons_per_key * record_count;
      for (uint64_t comparisons = 0; comparisons <= max_comparisons; comparisons += longest_run * longest_run)
        keys.plant_run(longest_run, 9);
    } else {
      const uint32_t wanted = leading_detail::max_runs + (kind == one_more);
      // Some runs meet others.
      for (uint32_t made = keys.runs_to_mend(); made < wanted; made = keys.runs_to_mend())
        for (uint32_t run = made; run < wanted; ++run) keys.plant_run(2, 2);
    }
    const Outcome outcome =
        sort<Key, Value>(keys.bits(), {.order = variant < 3 ? Order::descending : Order::ascending,
                                       .in_place = variant < kinds,
                                       .portion = variant < 2 ? record_count / 2 : uint64_t{1} << 28,
                                       .leading = leading});
    INFO("variant " << variant);
    CHECK(outcome.leading_digits == leading);
    CHECK(outcome.is_hopeless == (kind != most));
    if (kind == most) CHECK(outcome.runs == leading_detail::max_runs);
  }
}

TEST_CASE("all digits are passed where a sample shows, or the digits' counts, that leading ones do not do",
          "[device]") {
  Keys keys(0);
  constexpr uint32_t leading = leading_of(0);
  constexpr uint32_t shift = (digit_places<uint64_t> - leading) * digit_bits;
  const uint64_t kept_head = keys.random()() >> shift << shift;
  const uint64_t kept_tail = (uint64_t{1} << shift) - 1;
  const std::vector<uint64_t> random = keys.bits();
  const auto leading_if = [&](auto change) {
    std::vector<uint64_t> changed = random;
    for (uint64_t i = 0; i < record_count; ++i) changed[i] = change(i, changed[i]);
    return sort<uint64_t, uint32_t>(changed, {.leading = leading}).leading_digits;
  };
  CHECK(leading_if([](uint64_t, uint64_t key) { return key; }) == leading);
  // Half of the keys are in one long run: with many values, and with one value.
  CHECK(leading_if([&](uint64_t i, uint64_t key) {
          return i / 4 % 2 == 0 ? kept_head | (key & kept_tail) : key;
        }) == 0);
  CHECK(leading_if([&](uint64_t i, uint64_t key) { return i / 4 % 2 == 0 ? kept_head : key; }) == leading);
  // There would be no fewer passes.
  CHECK(leading_if([&](uint64_t, uint64_t key) { return key & ~(kept_tail >> 8); }) == 0);
  CHECK(leading_if([&](uint64_t, uint64_t key) { return key & ~(kept_tail >> 16); }) == leading);
  // There are a few keys in each run.
  CHECK(leading_if([&](uint64_t i, uint64_t key) {
          return (random[i % (record_count / 100)] >> shift << shift) | (key & kept_tail);
        }) == 0);
  // One leading digit is always the same, or has two values, or is random for one key in ten.
  const uint64_t digit = uint64_t{0xff} << shift;
  CHECK(leading_if([&](uint64_t, uint64_t key) { return key & ~digit; }) == 0);
  CHECK(leading_if([&](uint64_t, uint64_t key) { return key & ~(digit / 2); }) == 0);
  CHECK(leading_if([&](uint64_t i, uint64_t key) { return i % 10 == 0 ? key : key & ~digit; }) == 0);
}

}  // namespace sweepsort
