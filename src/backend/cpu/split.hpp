// split.hpp - one pass that distributes keys to up to 2^11 buckets in key order: the MSD step of the CPU
// radix sort.
//
// Histogram, exclusive scan, scatter. The scatter collects a cache line per bucket before it writes (software
// write-combining: Satish et al., "Fast Sort on CPUs and GPUs", 2010; Wassenberg & Sanders, "Engineering a
// Multi-core Radix Sort", 2011). So memory sees whole lines, stored past the cache, and the TLB only one miss
// per line.
//
//     thread 0  AACB..                     bucket  A: [0 0 | 1]
//     thread 1  BAC...    ->  offsets  ->          B: [0 | 1]      in thread order, hence stable
//
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "backend/cpu/columns.hpp"
#include "backend/cpu/split_rule.hpp"

#include <cstddef>

namespace sweepsort {

/// A bucket's place after a split.
struct Bucket {
  uint64_t begin = 0;
  uint64_t count = 0;
};

template <class Bits>
struct DigitBucket {
  uint32_t shift;
  Bits base;

  explicit DigitBucket(const SplitRule<Bits>& rule) : shift(rule.shift), base(rule.base) {}
  size_t operator()(Bits distance) const { return static_cast<Bits>((distance >> shift) - base); }
};

/// `has_window`: tells the compiler whether the rule has a window (testing for it takes a tenth of a skewed
/// sort).
template <class Bits, bool has_window = false>
struct LeafBucket {
  typename SplitRule<Bits>::Window window;
  DigitBucket<Bits> digit;
  const typename SplitRule<Bits>::Digit* digits;
  const typename SplitRule<Bits>::Leaf* leaves;

  explicit LeafBucket(const SplitRule<Bits>& rule)
      : window(rule.window.value_or(typename SplitRule<Bits>::Window{})),
        digit(rule),
        digits(rule.digits.data()),
        leaves(rule.leaves.data()) {}
  size_t operator()(Bits distance) const {
    const auto& leaf = leaf_of(distance);
    return leaf.bucket + size_t{distance >= leaf.frequent} + size_t{distance > leaf.frequent};
  }
  bool is_frequent(Bits distance) const { return distance == leaf_of(distance).frequent; }

 private:
  const typename SplitRule<Bits>::Leaf& leaf_of(Bits distance) const {
    const Bits nearest = has_window ? window.nearest(distance) : distance;
    const auto& entry = digits[digit(nearest)];
    return leaves[entry.first + static_cast<uint32_t>((nearest >> entry.shift) & entry.mask)];
  }
};

/// A thread's tables for a split: counters and a few lines per bucket. Reused from split to split. They need
/// no construction, only fresh zeroed memory.
template <class Bits, class Value>
struct SplitTables {
  // Four cache lines per bucket. A full line ends a streak of well-predicted branches, so longer ones are
  // faster (u32, 11 bits, Zen 3: 2.1 ns per key with one line, 1.9 with two, 1.8 with four). Each array has
  // at least one line.
  static constexpr uint32_t line_keys =
      std::max<uint32_t>(64 / sizeof(Bits), std::bit_floor(256 / (sizeof(Bits) + value_size<Value>)));

  /// First the number of this thread's keys in a bucket, then the position of the next of them.
  uint64_t cursor[max_buckets];
  uint64_t line_begin[max_buckets];  // output position of the line that was open when the round began
  uint32_t filled[max_buckets];      // elements since line_begin
  alignas(64) Bits keys[max_buckets * line_keys];
  alignas(64) Value values[has_values<Value> ? max_buckets * line_keys : 1];
};

template <class Bits, class BucketOf, class Codec>
void count_buckets(const Bits* keys, uint64_t n, BucketOf bucket_of, Codec codec, uint64_t* counts) {
  for (uint64_t i = 0; i < n; ++i) ++counts[bucket_of(codec.encode(keys[i]))];
}

/// Copies one whole line, past the cache if `to` is aligned for that.
template <uint32_t count, class Element>
inline void store_line(Element* to, const Element* line, [[maybe_unused]] bool aligned) {
#ifdef __SSE2__
  if (aligned) {
    auto* const target = reinterpret_cast<__m128i*>(to);
    const auto* const source = reinterpret_cast<const __m128i*>(line);
    for (size_t i = 0; i < count * sizeof(Element) / sizeof(__m128i); ++i)
      _mm_stream_si128(target + i, _mm_load_si128(source + i));
    return;
  }
#endif
  std::memcpy(to, line, count * sizeof(Element));
}

/// One thread's scatter. Its keys go to the positions in tables.cursor.
template <class Bits, class Value, class BucketOf, class Codec>
class Scatter {
 public:
  using Array = Columns<Bits, Value>;
  using Tables = SplitTables<Bits, Value>;

  Scatter(Array to, uint32_t buckets, const BucketOf& bucket_of, const Codec& codec, Tables& tables)
      : to_(to), bucket_of_(bucket_of), codec_(codec), buckets_(buckets), tables_(tables) {
    keys_aligned_ = reinterpret_cast<uintptr_t>(to.keys) % 64 == 0;
    values_aligned_ = reinterpret_cast<uintptr_t>(to.values) % 64 == 0;
  }

  void run(Array from, uint64_t n) {
    // In rounds, so that 32 bits can count what a round puts into a bucket.
    for (constexpr uint64_t most = uint64_t{1} << 31; n > 0;) {
      const uint64_t part = std::min(n, most);
      round(from, part);
      from = from + part;
      n -= part;
    }
#ifdef __SSE2__
    _mm_sfence();  // makes streamed lines visible to the threads that take the buckets
#endif
  }

 private:
  static constexpr uint32_t line_keys = Tables::line_keys;

  void round(Array from, uint64_t n) {
    for (uint32_t bucket = 0; bucket < buckets_; ++bucket) {
      tables_.filled[bucket] = static_cast<uint32_t>(tables_.cursor[bucket] % line_keys);
      tables_.line_begin[bucket] = tables_.cursor[bucket] - tables_.filled[bucket];
    }
    uint32_t* const filled = tables_.filled;
    Bits* const keys = tables_.keys;
    Value* const values = tables_.values;
    const BucketOf bucket_of = bucket_of_;
    const Codec codec = codec_;
    for (uint64_t i = 0; i < n; ++i) {
      const Bits distance = codec.encode(from.keys[i]);
      const size_t bucket = bucket_of(distance);
      const uint32_t at = filled[bucket]++;
      const uint32_t slot = at % line_keys;
      keys[bucket * line_keys + slot] = distance;
      if constexpr (has_values<Value>) values[bucket * line_keys + slot] = from.values[i];
      if (slot == line_keys - 1) flush(bucket, at + 1 - line_keys);
    }
    for (uint32_t bucket = 0; bucket < buckets_; ++bucket) flush_rest(bucket);
  }

  /// The line that began at this bucket's element `at` is full.
  void flush(size_t bucket, uint32_t at) {
    const uint64_t begin = tables_.line_begin[bucket] + at;
    if (begin < tables_.cursor[bucket]) {  // the first line: its lower part belongs to the bucket before
      copy(bucket, tables_.cursor[bucket], begin + line_keys);
      return;
    }
    store_line<line_keys>(to_.keys + begin, tables_.keys + bucket * line_keys, keys_aligned_);
    if constexpr (has_values<Value>)
      store_line<line_keys>(to_.values + begin, tables_.values + bucket * line_keys, values_aligned_);
  }

  void flush_rest(size_t bucket) {
    const uint64_t end = tables_.line_begin[bucket] + tables_.filled[bucket];
    copy(bucket, std::max(end / line_keys * line_keys, tables_.cursor[bucket]), end);
    tables_.cursor[bucket] = end;
  }

  /// Copies a part of a line to the output's [begin, end).
  void copy(size_t bucket, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      const size_t slot = bucket * line_keys + i % line_keys;
      to_.keys[i] = tables_.keys[slot];
      if constexpr (has_values<Value>) to_.values[i] = tables_.values[slot];
    }
  }

  Array to_;
  BucketOf bucket_of_;
  Codec codec_;
  uint32_t buckets_;
  Tables& tables_;
  bool keys_aligned_;
  bool values_aligned_;
};

}  // namespace sweepsort
