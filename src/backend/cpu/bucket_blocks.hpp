// bucket_blocks.hpp - buckets of keys that grow while keys arrive: chains of small blocks from one array.
//
//     thread 0   chunk --> lines --> open blocks   A: [0 0 0 .]   B: [0 . . .]
//     thread 1   chunk --> lines --> open blocks   A: [1 1 1 1]   B: [1 1 . .]
//
// A block holds keys of one bucket from one thread. Splitting into one array (split.hpp) requires the sizes
// of the buckets, and so reading all keys first. Blocks avoid that, at the cost of the unused part of the
// last block of each bucket and thread.
#pragma once

#include "backend/cpu/split.hpp"
#include "core/page_array.hpp"
#include "core/vector_dispatch.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

namespace sweepsort {

/// Blocks of one size. Any thread can take a block, for one bucket. Blocks are not touched before they are
/// written.
template <class Bits>
class BucketBlocks {
 public:
  /// The number of blocks that is enough for `count` keys from this many threads.
  static uint64_t max_blocks(uint64_t count, uint32_t block_keys, uint32_t buckets, uint32_t threads) {
    return count / block_keys + uint64_t{buckets} * threads + 1;
  }

  /// `block_keys` must be a multiple of a line (BlockTables) and less than 2^16.
  BucketBlocks(uint64_t count, uint32_t block_keys, uint32_t buckets, uint32_t threads)
      : block_keys_(block_keys),
        memory_(max_blocks(count, block_keys, buckets, threads) * block_keys * sizeof(Bits)),
        blocks_(max_blocks(count, block_keys, buckets, threads)),
        begins_(buckets + 1) {}

  uint32_t block_keys() const { return block_keys_; }

  /// Returns an empty block for this bucket. Thread-safe.
  uint32_t take(uint32_t bucket) {
    const uint32_t block = taken_++;
    blocks_.at(block) = {static_cast<uint16_t>(bucket), static_cast<uint16_t>(block_keys_)};
    memory_.touch(uint64_t{block} * block_keys_ * sizeof(Bits), block_keys_ * sizeof(Bits));
    return block;
  }
  Bits* keys(uint32_t block) const {
    return reinterpret_cast<Bits*>(memory_.data()) + uint64_t{block} * block_keys_;
  }

  /// Sets the number of keys in a block that did not become full. Thread-safe for different blocks.
  void set_count(uint32_t block, uint32_t count) { blocks_[block].count = static_cast<uint16_t>(count); }

  /// Call this after the last key: finds the blocks of each bucket.
  void close() {
    for (uint32_t block = 0; block < taken_; ++block) ++begins_[blocks_[block].bucket + 1];
    for (size_t bucket = 1; bucket < begins_.size(); ++bucket) begins_[bucket] += begins_[bucket - 1];
    order_.resize(taken_);
    std::vector<uint32_t> next(begins_.begin(), begins_.end() - 1);
    for (uint32_t block = 0; block < taken_; ++block) order_[next[blocks_[block].bucket]++] = block;
  }

  bool is_empty(uint32_t bucket) const { return begins_[bucket] == begins_[bucket + 1]; }
  uint64_t count(uint32_t bucket) const {
    uint64_t sum = 0;
    for (uint32_t i = begins_[bucket]; i < begins_[bucket + 1]; ++i) sum += blocks_[order_[i]].count;
    return sum;
  }

  /// Copies the keys of a bucket to `to`, in any order.
  void gather(uint32_t bucket, Bits* to) const {
    for (uint32_t i = begins_[bucket]; i < begins_[bucket + 1]; ++i) {
      const uint32_t count = blocks_[order_[i]].count;
      std::memcpy(to, keys(order_[i]), count * sizeof(Bits));
      to += count;
    }
  }

 private:
  struct Block {
    uint16_t bucket = 0;
    uint16_t count = 0;
  };
  static_assert(max_buckets <= 1u << 16);

  uint32_t block_keys_;
  PageArray memory_;
  std::vector<Block> blocks_;
  std::atomic<uint32_t> taken_ = 0;
  std::vector<uint32_t> begins_;  // where each bucket begins in order_
  std::vector<uint32_t> order_;   // blocks by bucket
};

/// One thread's buffers in front of the blocks: a few cache lines per bucket, which are stored past the cache
/// when full. Reused from chunk to chunk. The memory must be zeroed first, or cleared with clear().
template <class Bits>
struct BlockTables {
  static constexpr uint32_t line_keys = SplitTables<Bits, NoValue>::line_keys;

  uint64_t frequent[max_buckets];  // number of keys that are counted instead of kept
  Bits* open[max_buckets];         // the block being filled; null: none
  uint32_t block[max_buckets];     // its number
  uint32_t filled[max_buckets];    // keys in it, including those in the line
  alignas(64) Bits lines[max_buckets * line_keys];

  void clear(uint32_t buckets) {
    std::fill_n(frequent, buckets, uint64_t{0});
    std::fill_n(open, buckets, nullptr);
    std::fill_n(filled, buckets, uint32_t{0});
  }
};

/// `Blocks` is BucketBlocks, or another type with block_keys, keys, take and set_count.
template <class Bits, class Blocks = BucketBlocks<Bits>>
class BlockScatter {
 public:
  static constexpr uint32_t line_keys = BlockTables<Bits>::line_keys;

  BlockScatter(BlockTables<Bits>& tables, Blocks& blocks) : tables_(tables), blocks_(blocks) {}

  /// For a key the rule gives its `place`. For a place it gives `bucket_of`, `kept` (what is written) and, if
  /// `counts_frequent`, `is_frequent`. Frequent keys are only counted.
  template <bool counts_frequent, class Rule>
  void put(const Bits* keys, uint64_t n, Rule rule) {
    if constexpr (counts_frequent)
      put_one_by_one(keys, n, rule);
    else
      with_best_vectors(PutByBatches<Rule>{*this, keys, n, rule});
  }

  /// Call this after a thread's last put: makes its writes visible to other threads.
  static void fence() {
#ifdef __SSE2__
    _mm_sfence();
#endif
  }

  /// Call this after the last key.
  void flush_rest(uint32_t buckets) {
    for (uint32_t bucket = 0; bucket < buckets; ++bucket) {
      const uint32_t filled = tables_.filled[bucket];
      if (filled == 0) continue;
      const uint32_t rest = filled % line_keys;
      Bits* const block = open_block(bucket);
      std::memcpy(block + (filled - rest), tables_.lines + size_t{bucket} * line_keys, rest * sizeof(Bits));
      blocks_.set_count(tables_.block[bucket], filled);
      close_block(bucket);
    }
  }

 private:
  template <class Rule>
  void put_one_by_one(const Bits* keys, uint64_t n, const Rule& rule) {
    for (uint64_t i = 0; i < n; ++i) {
      const auto place = rule.place(keys[i]);
      const size_t bucket = rule.bucket_of(place);
      // A branch, although it may be hard to predict. Where counting pays off, most keys take it, and without
      // it they would wait for each other at their bucket's counter (u32, one value in 90 % of the keys: 6.4
      // ns per key against 9).
      if (rule.is_frequent(place))
        ++tables_.frequent[bucket];
      else
        put_key(bucket, rule.kept(keys[i], place));
    }
  }

  /// First finds the buckets of a batch of keys, with vectors. With 2,048 buckets, one thread and memory that
  /// is already allocated, ns per key, medians of six: u32 2.5 -> 2.1, u64 3.5 -> 3.0 (two-core machine,
  /// 2026-11-23).
  template <class Rule>
  struct PutByBatches {
    BlockScatter& scatter;
    const Bits* keys;
    uint64_t n;
    Rule rule;

    [[gnu::always_inline]] inline void operator()() const {
      constexpr uint64_t batch = 256;
      uint16_t buckets[batch];
      Bits kept[batch];
      for (uint64_t first = 0; first < n; first += batch) {
        const uint64_t size = std::min(batch, n - first);
        for (uint64_t i = 0; i < size; ++i) {
          const Bits key = keys[first + i];
          const auto place = rule.place(key);
          buckets[i] = static_cast<uint16_t>(rule.bucket_of(place));
          kept[i] = rule.kept(key, place);
        }
        for (uint64_t i = 0; i < size; ++i) scatter.put_key(buckets[i], kept[i]);
      }
    }
  };

  [[gnu::always_inline]] inline void put_key(size_t bucket, Bits key) {
    const uint32_t at = tables_.filled[bucket]++;
    const uint32_t slot = at % line_keys;
    tables_.lines[bucket * line_keys + slot] = key;
    if (slot == line_keys - 1) flush(bucket, at + 1);
  }

  /// The line is full; with it, the block has `filled` keys.
  void flush(size_t bucket, uint32_t filled) {
    store_line<line_keys>(open_block(bucket) + (filled - line_keys), tables_.lines + bucket * line_keys,
                          true);
    if (filled == blocks_.block_keys()) close_block(bucket);
  }

  Bits* open_block(size_t bucket) {
    if (tables_.open[bucket] == nullptr) {
      tables_.block[bucket] = blocks_.take(static_cast<uint32_t>(bucket));
      tables_.open[bucket] = blocks_.keys(tables_.block[bucket]);
    }
    return tables_.open[bucket];
  }
  void close_block(size_t bucket) {
    tables_.open[bucket] = nullptr;
    tables_.filled[bucket] = 0;
  }

  BlockTables<Bits>& tables_;
  Blocks& blocks_;
};

}  // namespace sweepsort
