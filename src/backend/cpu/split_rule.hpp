// split_rule.hpp - how a split maps keys to buckets, and how this mapping is chosen.
//
// Buckets are digits: as many bits, from the highest varying one on, as make a bucket fit in a cache. If a
// sample shows that few digits contain most keys, those digits are refined by further bits in the same pass.
// A frequent value gets its own bucket: keys equal to it need no sorting, and without values need not even be
// written.
//
//     digits          | 0 | 1 |           2           | 3 |
//     leaves          | 0 | 1 | 2.0 | 2.1 | 2.2 | 2.3 | 3 |
//     buckets         | 0 | 1 | 2.0 | 2.1 |<|v|>| 2.3 | 3 |       v: a frequent value in leaf 2.2
//
// If the sample shows that nearly all keys are in a window that is very small compared to the whole range,
// the digits are those of the window. The outliers on both sides go to its first and last bucket.
#pragma once

#include "backend/cpu/columns.hpp"
#include "core/fingerprint.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace sweepsort {

inline constexpr uint32_t max_split_bits = 11;
inline constexpr uint32_t max_refined_leaves = 512;
inline constexpr uint32_t max_frequent = 64;
inline constexpr uint32_t max_buckets =
    (1u << max_split_bits) + 1 + max_refined_leaves + 2 * max_frequent + 1;

/// How a split distributes distances: by the bits above `shift`, and for skewed data from there on by the
/// tables.
template <class Bits>
struct SplitRule {
  /// A digit's leaves: first + ((distance >> shift) & mask).
  struct Digit {
    uint32_t first;
    uint16_t mask;
    uint16_t shift;
  };
  /// A leaf's buckets: `bucket` for distances below its frequent value, the next two for equal and larger
  /// ones. In a leaf without a frequent value, `frequent` is the largest pattern, and all distances are below
  /// it. Only the last leaf, with or without a frequent value, has a bucket for that pattern.
  struct Leaf {
    Bits frequent;
    uint32_t bucket;
  };
  /// What a bucket holds: distances that agree with `low` except in the lowest `bits` bits; or any distances,
  /// in a window's first and last bucket.
  struct Holds {
    Bits low;
    uint32_t bits;
    bool has_outliers = false;
  };
  /// Distances outside of the window go to the same buckets as its ends.
  struct Window {
    Bits low = 0;
    Bits high = std::numeric_limits<Bits>::max();

    Bits nearest(Bits distance) const { return std::min(std::max(distance, low), high); }
    bool holds(Bits distance) const { return distance == nearest(distance); }
  };

  std::optional<Window> window;  // if set, the rule is skewed
  uint32_t buckets = 0;
  uint32_t shift = 0;  // less than the width of Bits
  Bits base = 0;       // the smallest (distance >> shift)
  std::vector<Digit> digits;
  std::vector<Leaf> leaves;
  std::vector<Holds> holds;  // for each bucket, if skewed

  bool is_skewed() const { return !digits.empty(); }
  Holds holds_of(uint32_t bucket) const {
    return is_skewed() ? holds[bucket]
                       : Holds{static_cast<Bits>(static_cast<Bits>(bucket + base) << shift), shift};
  }
};

/// Digits for n distances that span [low, high]: buckets of about `target` keys, and at most 2^max_bits
/// digits.
template <class Bits>
SplitRule<Bits> digit_rule(uint64_t n, Bits low, Bits high, uint64_t target, uint32_t max_bits) {
  const uint32_t bits = bit_count(static_cast<Bits>(high - low));
  uint32_t ways = std::min(std::clamp(bit_count(n / target), 1u, max_bits), bits);
  // Two digits of 11 bits finish a bucket. So leave no more bits than that, unless the buckets would become
  // too small.
  if (bits > 22 && bits - 22 <= max_bits && bits - 22 > ways && (n >> (bits - 22)) >= target / 8)
    ways = bits - 22;
  SplitRule<Bits> rule;
  rule.shift = bits - ways;
  rule.base = static_cast<Bits>(low >> rule.shift);
  rule.buckets = static_cast<uint32_t>((high >> rule.shift) - rule.base) + 1;
  return rule;
}

inline constexpr uint64_t sample_size = 2048;

/// Sampled distances from all parts of the keys, in ascending order.
template <class Bits, class Codec>
std::vector<Bits> sample_keys(const Bits* keys, uint64_t n, const Codec& codec) {
  std::vector<Bits> sample(sample_size);
  for (uint64_t i = 0; i < sample_size; ++i) {
    // A hash scaled to [0, n), so that data with a stride cannot fool the sample.
    const auto at = static_cast<uint64_t>(static_cast<unsigned __int128>(fingerprint_mix(n + i)) * n >> 64);
    sample[i] = codec.encode(keys[at]);
  }
  std::sort(sample.begin(), sample.end());
  return sample;
}

/// Narrower keys with a small range are sorted by counting instead.
template <class Bits>
inline constexpr bool may_have_window = sizeof(Bits) >= 4;

/// The window that holds seven eighths of the sample, with some room on both sides. Empty if refined digits
/// of [low, high] would distinguish its keys as well.
template <class Bits>
std::optional<typename SplitRule<Bits>::Window> window_of(const std::vector<Bits>& sample, Bits low,
                                                          Bits high) {
  const size_t held = sample.size() / 8 * 7;
  Bits first = sample[0], span = std::numeric_limits<Bits>::max();
  for (size_t i = 0; i + held < sample.size(); ++i) {
    const auto spanned = static_cast<Bits>(sample[i + held] - sample[i]);
    if (spanned >= span) continue;
    span = spanned;
    first = sample[i];
  }
  if (span == 0 || bit_count(span) + bit_count(max_refined_leaves) > bit_count(static_cast<Bits>(high - low)))
    return {};
  // Keys close to those in the sample are not outliers.
  const auto room = static_cast<Bits>(span / 4 + 1);
  const auto last = static_cast<Bits>(first + span);
  return {{static_cast<Bits>(first - std::min<Bits>(room, first - low)),
           static_cast<Bits>(last + std::min<Bits>(room, high - last))}};
}

/// Builds the tables for skewed data from a sample.
template <class Bits>
class RuleRefinement {
 public:
  RuleRefinement(SplitRule<Bits>& rule, const std::vector<Bits>& sample, uint64_t n, uint64_t capacity)
      : rule_(rule), sample_(sample), too_many_(std::max<uint64_t>(8, capacity * sample.size() / n)) {}

  /// Does not change a rule without a window unless more than an eighth of the keys would be in buckets that
  /// are too large.
  void run() {
    struct Part {
      size_t begin, end;
    };
    std::vector<Part> parts(rule_.buckets, Part{0, 0});
    uint64_t in_large = 0;
    for (size_t begin = 0, end; begin < sample_.size(); begin = end) {
      const Bits digit = digit_of(sample_[begin]);
      for (end = begin; end < sample_.size() && digit_of(sample_[end]) == digit;) ++end;
      parts[digit] = {begin, end};
      if (end - begin > too_many_) in_large += end - begin;
    }
    if (!rule_.window && in_large <= sample_.size() / 8) return;
    const uint32_t digits = rule_.buckets;
    rule_.buckets = 0;
    for (uint32_t digit = 0; digit < digits; ++digit) add_digit(digit, parts[digit].begin, parts[digit].end);
    // The largest pattern compares equal to the last leaf's frequent value even if that leaf has none, so it
    // needs a bucket.
    rule_.holds.push_back({std::numeric_limits<Bits>::max(), 0});
    ++rule_.buckets;
  }

 private:
  Bits digit_of(Bits distance) const { return static_cast<Bits>((distance >> rule_.shift) - rule_.base); }

  void add_digit(uint32_t digit, size_t begin, size_t end) {
    const uint32_t bits = refining_bits(end - begin);
    const uint32_t shift = rule_.shift - bits;
    rule_.digits.push_back({static_cast<uint32_t>(rule_.leaves.size()),
                            static_cast<uint16_t>((1u << bits) - 1), static_cast<uint16_t>(shift)});
    const auto low = static_cast<Bits>(static_cast<Bits>(digit + rule_.base) << rule_.shift);
    for (uint32_t leaf = 0; leaf < 1u << bits; ++leaf) {
      const auto leaf_low = static_cast<Bits>(low + static_cast<Bits>(static_cast<Bits>(leaf) << shift));
      size_t leaf_end = begin;
      while (leaf_end < end && (sample_[leaf_end] >> shift) == (leaf_low >> shift)) ++leaf_end;
      add_leaf(leaf_low, shift, begin, leaf_end);
      begin = leaf_end;
    }
  }

  /// Enough bits for a digit with this many samples, with a margin for skew within it.
  uint32_t refining_bits(uint64_t samples) {
    if (samples <= too_many_) return 0;
    uint32_t bits = std::min(bit_count(samples / too_many_) + 3, rule_.shift);
    while (refined_leaves_ + (1u << bits) > max_refined_leaves && bits > 0) --bits;
    if (bits > 0) refined_leaves_ += 1u << bits;
    return bits;
  }

  /// Samples [begin, end) are those of the leaf.
  void add_leaf(Bits low, uint32_t bits, size_t begin, size_t end) {
    rule_.leaves.push_back({most_frequent(begin, end), rule_.buckets});
    rule_.holds.push_back({low, bits});
    ++rule_.buckets;
    if (rule_.leaves.back().frequent == std::numeric_limits<Bits>::max()) return;
    rule_.holds.push_back({rule_.leaves.back().frequent, 0});
    rule_.holds.push_back({low, bits});
    rule_.buckets += 2;
    ++frequent_;
  }

  /// Returns the largest pattern if no value is frequent. That pattern is a value like any other, except that
  /// it is not isolated a second time.
  Bits most_frequent(size_t begin, size_t end) const {
    Bits found = std::numeric_limits<Bits>::max();
    uint64_t most = std::max<uint64_t>(7, too_many_ / 4);
    if (frequent_ == max_frequent) return found;
    for (size_t run = begin, next; run < end; run = next) {
      for (next = run; next < end && sample_[next] == sample_[run];) ++next;
      if (next - run > most) {
        most = next - run;
        found = sample_[run];
      }
    }
    return found;
  }

  SplitRule<Bits>& rule_;
  const std::vector<Bits>& sample_;
  uint64_t too_many_;  // number of samples that represents a bucket above its capacity
  uint32_t refined_leaves_ = 0;
  uint32_t frequent_ = 0;
};

template <class Bits>
void refine_rule(SplitRule<Bits>& rule, const std::vector<Bits>& sample, uint64_t n, uint64_t capacity) {
  RuleRefinement<Bits>(rule, sample, n, capacity).run();
}

/// Digits of the window of n distances that span [low, high], if there is a window.
template <class Bits>
std::optional<SplitRule<Bits>> window_rule(std::vector<Bits> sample, uint64_t n, Bits low, Bits high,
                                           uint64_t target, uint32_t max_bits, uint64_t capacity) {
  auto window = window_of(sample, low, high);
  if (!window) return {};
  const size_t sampled = sample.size();
  SplitRule<Bits> rule = digit_rule(n, window->low, window->high, target, max_bits);
  // Extend the window to whole digits, so that its ends are in the first and the last leaf.
  window->low = static_cast<Bits>(window->low & ~low_mask<Bits>(rule.shift));
  window->high = static_cast<Bits>(window->high | low_mask<Bits>(rule.shift));
  rule.window = window;
  std::erase_if(sample, [&](Bits distance) { return !window->holds(distance); });
  const uint64_t inside = std::max<uint64_t>(1, n * sample.size() / sampled);
  RuleRefinement<Bits>(rule, sample, inside, capacity).run();
  const typename SplitRule<Bits>::Holds any{0, static_cast<uint32_t>(std::numeric_limits<Bits>::digits),
                                            true};
  if (window->low > low) rule.holds.front() = any;
  // the last bucket is that of the largest pattern
  if (window->high < high) rule.holds[rule.buckets - 2] = any;
  return rule;
}

}  // namespace sweepsort
