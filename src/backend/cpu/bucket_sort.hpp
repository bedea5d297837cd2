// bucket_sort.hpp - one thread sorts a bucket that fits its cache: LSD radix sort by the bits that matter.
//
// Each pass is a stable counting sort by one digit, from the lowest to the highest (Knuth, TAOCP 5.2.5;
// digits of up to 11 bits as in Herf, "Radix tricks", 2001). Little more than the top log2(n) bits
// distinguish the n keys of a bucket, so only these bits are sorted in passes. The few neighbours that still
// agree in them are sorted by insertion. A long run of such neighbours is sorted by its remaining bits in the
// same way:
//
//     bits   [ top 22: two passes ][ the rest: insertion among equals ]
//
// Work: O(n) per pass; moves 2 (passes) n keys inside the cache. Stable.
#pragma once

#include "backend/cpu/columns.hpp"
#include "core/rounding.hpp"

#include <array>
#include <cassert>

namespace sweepsort {

template <class Bits, class Value>
class BucketSort {
 public:
  using Array = Columns<Bits, Value>;

  /// `scratch` has room for as many keys as the largest bucket.
  explicit BucketSort(Array scratch) : scratch_(scratch) {}

  /// Sorts the n distances at `from` by their lowest `bits` bits (all higher bits are equal), decodes them
  /// and leaves them at `to`, which is `from` or does not overlap it. May destroy `from`.
  template <class Codec>
  void sort(Array from, Array to, uint32_t n, uint32_t bits, Codec codec) {
    if (n <= insertion_keys) {
      move(from, to, n);
      insertion_sort(to, 0, n);
      decode(to, n, codec);
      return;
    }
    sort_bits(from, to, n, bits);
    decode(to, n, codec);  // vectorised and in the cache: no slower than in the last pass
  }

 private:
  static constexpr uint32_t insertion_keys = 24;
  static constexpr uint32_t max_passes = 3;
  static constexpr uint32_t max_digit_bits = 11;
  // a run is sorted, instead of inserting a key into this many keys of it
  static constexpr uint32_t long_run = 16;
  // That sort also uses insertion, up to this many keys: digits have a fixed cost, which a few outliers would
  // incur several times (u64 in groups of 25 took 7.6 times as long as uniform keys without this limit, and
  // 3.6 times with it).
  static constexpr uint32_t short_run = 32;

  /// Which digits to sort by, from the lowest, and where the keys of each digit go.
  struct Plan {
    uint32_t passes = 0;
    uint32_t undecided = 0;  // bits below the lowest digit
    std::array<uint32_t, max_passes> shift{};
    uint32_t digit_bits = 0;
    std::array<uint32_t*, max_passes> offsets{};
  };

  Plan make_plan(const Bits* keys, uint32_t n, uint32_t bits) {
    // With 16 patterns per key, few keys agree by chance.
    const uint32_t n_bits = bit_count(n);
    const uint32_t useful = std::min(bits, n_bits + 4);
    const uint32_t widest = std::clamp(n_bits - 3, 4u, max_digit_bits);
    const uint32_t passes = std::clamp(ceil_divide(useful, widest), 1u, max_passes);
    Plan plan;
    plan.digit_bits = std::min(widest, ceil_divide(bits, passes));
    plan.undecided = bits - std::min(bits, passes * plan.digit_bits);
    count_digits(keys, n, plan, passes);
    return plan;
  }

  /// One read fills the histograms of all digits. Digits that are equal in all keys are dropped.
  void count_digits(const Bits* keys, uint32_t n, Plan& plan, uint32_t passes) {
    const uint32_t buckets = 1u << plan.digit_bits;
    const Bits mask = low_mask<Bits>(plan.digit_bits);
    for (uint32_t p = 0; p < passes; ++p) std::fill_n(counts_[p].data(), buckets, 0u);
    const uint32_t shift = plan.undecided, step = plan.digit_bits;
    const auto digit = [&](Bits key, uint32_t p) { return shifted(key, shift + p * step) & mask; };
    if (passes == 1) {
      for (uint32_t i = 0; i < n; ++i) ++counts_[0][digit(keys[i], 0)];
    } else if (passes == 2) {
      for (uint32_t i = 0; i < n; ++i) {
        ++counts_[0][digit(keys[i], 0)];
        ++counts_[1][digit(keys[i], 1)];
      }
    } else {
      for (uint32_t i = 0; i < n; ++i) {
        ++counts_[0][digit(keys[i], 0)];
        ++counts_[1][digit(keys[i], 1)];
        ++counts_[2][digit(keys[i], 2)];
      }
    }
    for (uint32_t p = 0; p < passes; ++p) {
      if (counts_[p][digit(keys[0], p)] == n) continue;
      uint32_t sum = 0;
      for (uint32_t b = 0; b < buckets; ++b) sum += std::exchange(counts_[p][b], sum);
      plan.shift[plan.passes] = shift + p * step;
      plan.offsets[plan.passes++] = counts_[p].data();
    }
  }

  /// A shift by the whole width is undefined in C++; here it gives 0.
  static Bits shifted(Bits key, uint32_t by) {
    return by >= static_cast<uint32_t>(std::numeric_limits<Bits>::digits) ? Bits{0}
                                                                          : static_cast<Bits>(key >> by);
  }

  static void pass(Array from, Array to, uint32_t n, const Plan& plan, uint32_t p) {
    uint32_t* const offsets = plan.offsets[p];
    const uint32_t shift = plan.shift[p];
    const Bits mask = low_mask<Bits>(plan.digit_bits);
    const auto place = [&](Bits key, uint32_t i) {
      const uint32_t at = offsets[(key >> shift) & mask]++;
      to.keys[at] = key;
      if constexpr (has_values<Value>) to.values[at] = from.values[i];
    };
    // For all the compiler knows, keys may alias the counters. So it loads four keys ahead only if told to (7
    // % faster).
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) {
      const std::array<Bits, 4> keys{from.keys[i], from.keys[i + 1], from.keys[i + 2], from.keys[i + 3]};
      for (uint32_t j = 0; j < 4; ++j) place(keys[j], i + j);
    }
    for (; i < n; ++i) place(from.keys[i], i);
  }

  /// Sorts by the lowest `bits` bits, without decoding.
  void sort_bits(Array from, Array to, uint32_t n, uint32_t bits) {
    const Plan plan = make_plan(from.keys, n, bits);
    Array at = from;
    for (uint32_t p = 0; p < plan.passes; ++p) {
      const Array next = at.keys == scratch_.keys ? to : scratch_;
      pass(at, next, n, plan, p);
      at = next;
    }
    move(at, to, n);
    if (plan.undecided > 0) settle(to, n, plan.undecided);
  }

  /// Call this when the keys are in order except for their lowest `undecided` bits.
  void settle(Array keys, uint32_t n, uint32_t undecided) {
    for (uint32_t i = 1; i < n; ++i) {
      if (!(keys.keys[i] < keys.keys[i - 1])) continue;
      const uint32_t run = run_begin(keys.keys, i, undecided);
      if (i - run < long_run) {
        insert(keys, run, i);
        continue;
      }
      const Bits prefix = shifted(keys.keys[i], undecided);
      uint32_t end = i + 1;
      while (end < n && shifted(keys.keys[end], undecided) == prefix) ++end;
      sort_run(keys + run, end - run);
      i = end - 1;
    }
  }

  /// The first of the keys up to i that agree with key i above the undecided bits.
  static uint32_t run_begin(const Bits* keys, uint32_t i, uint32_t undecided) {
    const Bits prefix = shifted(keys[i], undecided);
    while (i > 0 && shifted(keys[i - 1], undecided) == prefix) --i;
    return i;
  }

  /// Sorts a long run of keys that agree above some bit by the bits in which they differ.
  void sort_run(Array run, uint32_t n) {
    if (n <= short_run) return insertion_sort(run, 0, n);
    Bits differ = 0;
    for (uint32_t i = 1; i < n; ++i) differ |= static_cast<Bits>(run.keys[i] ^ run.keys[0]);
    sort_bits(run, run, n, bit_count(differ));
  }

  static void insertion_sort(Array keys, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin + 1; i < end; ++i)
      if (keys.keys[i] < keys.keys[i - 1]) insert(keys, begin, i);
  }

  /// Inserts key i into the sorted keys [begin, i).
  static void insert(Array keys, uint32_t begin, uint32_t i) {
    const Bits key = keys.keys[i];
    Value value{};
    if constexpr (has_values<Value>) value = keys.values[i];
    uint32_t hole = i;
    for (; hole > begin && key < keys.keys[hole - 1]; --hole) keys.copy_from(keys, hole, hole - 1);
    keys.keys[hole] = key;
    if constexpr (has_values<Value>) keys.values[hole] = value;
  }

  static void move(Array from, Array to, uint32_t n) {
    if (from.keys == to.keys) return;
    std::memcpy(to.keys, from.keys, n * sizeof(Bits));
    if constexpr (has_values<Value>) std::memcpy(to.values, from.values, n * sizeof(Value));
  }

  template <class Codec>
  static void decode(Array keys, uint32_t n, Codec codec) {
    for (uint32_t i = 0; i < n; ++i) keys.keys[i] = codec.decode(keys.keys[i]);
  }

  Array scratch_;
  std::array<std::array<uint32_t, 1u << max_digit_bits>, max_passes> counts_;
};

}  // namespace sweepsort
