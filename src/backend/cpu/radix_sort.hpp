// radix_sort.hpp - MSD radix sort by all threads: split until a bucket fits a cache, then finish it there.
//
// Sorts keys alone and, stably, pairs. After one split by all threads, every thread takes buckets, the
// largest first, and sorts them in its cache (bucket_sort.hpp, or vqsort.hpp). A bucket that is still too
// large is split again: by all threads if waiting for one thread would take long, else by the thread that
// took it. Each split shortens the range of bits, or leaves outliers whose range the next split shortens, and
// a range of one value needs no sorting. So for all data the depth is at most twice the key's width.
//
// Keys alone stay in their array (block_split.hpp). Pairs go back and forth between two arrays (split.hpp),
// because a stable split in place would take longer:
//
//     input --split--> other --split again--> input ...   every bucket ends in `output`, one of the two:
//      raw           distances              distances      raw
//
// Keys alone are read and written three times; pairs are read three times and written twice.
#pragma once

#include "backend/cpu/block_split.hpp"
#include "backend/cpu/bucket_sort.hpp"
#include "backend/cpu/split.hpp"
#include "backend/cpu/split_rule.hpp"
#include "backend/cpu/tuning.hpp"
#include "backend/cpu/vqsort.hpp"
#include "core/page_array.hpp"
#include "core/team.hpp"

#include <atomic>
#include <memory>
#include <vector>

namespace sweepsort {

/// What each thread needs besides the arrays: split tables and scratch for a bucket. Allocated before the
/// sort.
template <class Bits, class Value>
class RadixWorkspace {
 public:
  RadixWorkspace(uint32_t threads, uint64_t count, const CpuTuning& tuning) : capacity_(capacity(tuning)) {
    for (uint32_t thread = 0; thread < threads; ++thread) memory_.emplace_back(thread_bytes(count, tuning));
    if constexpr (!has_values<Value>) {
      if (count > capacity_) blocks_ = PageArray(split_bytes(threads, count, tuning), PageSize::small);
    }
  }

  /// The memory of all threads. Pure.
  static size_t bytes(uint32_t threads, uint64_t count, const CpuTuning& tuning) {
    size_t sum = threads * thread_bytes(count, tuning);
    if constexpr (!has_values<Value>) {
      if (count > capacity(tuning))
        sum += split_bytes(threads, count, tuning) + BlockSplit<Bits>::plan_bytes(count, threads, tuning);
    }
    return sum;
  }

  /// The memory of one thread for a sort of `count` keys. Pure.
  static size_t thread_bytes(uint64_t count, const CpuTuning& tuning) {
    const uint64_t most = capacity(tuning);
    if (count <= most) return scratch_offset(false) + count * element;
    const size_t bytes = scratch_offset(true) + most * element;
    // The tables are accessed at random, so a sort for which clearing a huge page pays off gets one.
    return count * element >= (8u << 20) ? std::max<size_t>(bytes, 2u << 20) : bytes;
  }

  /// The most keys in a bucket.
  static uint64_t capacity(const CpuTuning& tuning) {
    return std::clamp<uint64_t>(tuning.bucket_capacity_bytes / element, 32, uint64_t{1} << 30);
  }

  uint64_t bucket_capacity() const { return capacity_; }
  uint32_t threads() const { return static_cast<uint32_t>(memory_.size()); }

  using Tables = std::conditional_t<has_values<Value>, SplitTables<Bits, Value>, BlockTables<Bits>>;
  Tables& tables(uint32_t thread) { return *reinterpret_cast<Tables*>(memory_[thread].data()); }
  /// The most keys that one thread should split; a larger bucket would keep it busy when the others are done.
  static uint64_t one_thread_limit(uint32_t threads, uint64_t count, const CpuTuning& tuning) {
    return threads == 1 ? count : std::max(capacity(tuning), count / (8 * threads));
  }
  /// Memory for a split in place by all threads, or by this thread while other threads split, too.
  std::byte* split_memory(uint32_t thread, uint32_t splitters) const {
    return blocks_.data() + (splitters == threads() ? 0 : thread * (blocks_.size() / threads() / 64 * 64));
  }
  /// The part after the tables, or all of it if no split can happen.
  Columns<Bits, Value> scratch(uint32_t thread, bool splits) {
    std::byte* const begin = memory_[thread].data() + scratch_offset(splits);
    const uint64_t keys = (memory_[thread].size() - scratch_offset(splits)) / element;
    if constexpr (!has_values<Value>) return {reinterpret_cast<Bits*>(begin), nullptr};
    // The wider elements come first, so that the others are aligned after any number of them.
    if constexpr (sizeof(Bits) >= sizeof(Value))
      return {reinterpret_cast<Bits*>(begin), reinterpret_cast<Value*>(begin + keys * sizeof(Bits))};
    return {reinterpret_cast<Bits*>(begin + keys * sizeof(Value)), reinterpret_cast<Value*>(begin)};
  }

 private:
  static constexpr size_t element = sizeof(Bits) + value_size<Value>;
  /// For one split by all threads, followed by splits by each of them.
  static size_t split_bytes(uint32_t threads, uint64_t count, const CpuTuning& tuning) {
    using Split = BlockSplit<Bits>;
    const size_t own = Split::memory_bytes(one_thread_limit(threads, count, tuning), 1, tuning);
    return std::max(Split::memory_bytes(count, threads, tuning), threads * (own + 64));
  }
  static constexpr size_t scratch_offset(bool splits) { return splits ? sizeof(Tables) : 0; }

  uint64_t capacity_;
  std::vector<PageArray> memory_;
  PageArray blocks_;
};

/// One sort. `range` is the largest distance. `output` is `input` or, for pairs, `other`.
template <class Bits, class Value, class Codec>
struct RadixJob {
  using Array = Columns<Bits, Value>;
  Array input;
  Array other;  // for pairs that must be split
  Array output;
  uint64_t count = 0;
  Bits range = 0;
  Codec codec;
  bool use_vqsort = false;
};

template <class Bits, class Value, class Codec>
class RadixSort {
 public:
  using Array = Columns<Bits, Value>;
  using Job = RadixJob<Bits, Value, Codec>;
  using Workspace = RadixWorkspace<Bits, Value>;

  RadixSort(const Job& job, Workspace& workspace, const CpuTuning& tuning)
      : job_(job), workspace_(workspace), tuning_(tuning), splits_(job.count > workspace.bucket_capacity()) {
    for (uint32_t thread = 0; thread < workspace.threads(); ++thread)
      sorters_.push_back(std::make_unique<BucketSort<Bits, Value>>(workspace.scratch(thread, splits_)));
  }

  void run() {
    if (!splits_ || job_.range == 0) {
      for (uint64_t i = 0; i < job_.count; ++i) job_.input.keys[i] = job_.codec.encode(job_.input.keys[i]);
      finish({.begin = 0, .count = job_.count, .low = 0, .bits = bit_count(job_.range), .in_input = true}, 0);
      return;
    }
    std::vector<Range> open, ready;
    const Range all{.begin = 0, .count = job_.count, .in_input = true};
    split(all, make_rule(all, 0, job_.range, job_.codec), job_.codec, 0, workspace_.threads(), open);
    const uint64_t max_for_one = Workspace::one_thread_limit(workspace_.threads(), job_.count, tuning_);
    while (!open.empty()) {
      const Range range = open.back();
      open.pop_back();
      if (range.bits == 0) {
        cut(range, ready);
      } else if (range.count <= max_for_one) {
        ready.push_back(range);
      } else {
        split_again(range, 0, workspace_.threads(), open);
      }
    }
    finish_all(ready);
  }

 private:
  /// Distances that agree with `low` except in their lowest `bits` bits, in one of the two arrays. If bits ==
  /// 0, all are `low`, and keys without values need not be in the array.
  struct Range {
    uint64_t begin = 0;
    uint64_t count = 0;
    Bits low = 0;
    uint32_t bits = 0;
    bool in_input = false;
    bool has_outliers = false;  // of a window; split by digits next, so that the depth stays bounded
  };

  /// Keys that have been split are already distances.
  using Split = Distance<Bits, false>;

  Array array(bool input) const { return input ? job_.input : job_.other; }

  void finish_all(std::vector<Range>& ready) {
    std::sort(ready.begin(), ready.end(), [](const Range& a, const Range& b) { return a.count > b.count; });
    std::atomic<size_t> next{0};
    run_team(workspace_.threads(), [&](uint32_t thread) {
      for (size_t i = next++; i < ready.size(); i = next++) finish(ready[i], thread);
    });
  }

  /// Cuts a range of one value into pieces that any thread can write.
  static void cut(Range range, std::vector<Range>& ready) {
    constexpr uint64_t most = uint64_t{1} << 20;
    for (; range.count > most; range.begin += most, range.count -= most) {
      ready.push_back(range);
      ready.back().count = most;
    }
    if (range.count > 0) ready.push_back(range);
  }

  void finish(const Range& range, uint32_t thread) {
    const Array from = array(range.in_input) + range.begin;
    const Array to = job_.output + range.begin;
    if (range.bits == 0) {
      std::fill_n(to.keys, range.count, job_.codec.decode(range.low));
      if constexpr (has_values<Value>) {
        if (from.values != to.values) std::memcpy(to.values, from.values, range.count * sizeof(Value));
      }
    } else if (range.count <= workspace_.bucket_capacity()) {
      finish_bucket(from, to, range, thread);
    } else {
      std::vector<Range> parts;
      split_again(range, thread, 1, parts);
      for (const Range& part : parts) finish(part, thread);
    }
  }

  void finish_bucket(Array from, Array to, const Range& range, uint32_t thread) {
    if constexpr (!has_values<Value> && (sizeof(Bits) == 4 || sizeof(Bits) == 8)) {
      if (job_.use_vqsort) {
        vqsort(from.keys, range.count);
        for (uint64_t i = 0; i < range.count; ++i) to.keys[i] = job_.codec.decode(from.keys[i]);
        return;
      }
    }
    sorters_[thread]->sort(from, to, static_cast<uint32_t>(range.count), range.bits, job_.codec);
  }

  /// Splits a range of distances, with threads [first_thread, first_thread + threads).
  void split_again(const Range& range, uint32_t first_thread, uint32_t threads, std::vector<Range>& parts) {
    const auto [low, high] = bounds(range, threads);
    if (low == high) {
      parts.push_back({.begin = range.begin, .count = range.count, .low = low, .in_input = range.in_input});
      return;
    }
    split(range, make_rule(range, low, high, Split{}), Split{}, first_thread, threads, parts);
  }

  std::pair<Bits, Bits> bounds(const Range& range, uint32_t threads) const {
    const Bits* const keys = array(range.in_input).keys + range.begin;
    std::vector<std::pair<Bits, Bits>> found(threads, {keys[0], keys[0]});
    run_team(threads, [&](uint32_t thread) {
      auto [low, high] = found[thread];
      const uint64_t end = slice_begin(range.count, thread + 1, threads);
      for (uint64_t i = slice_begin(range.count, thread, threads); i < end; ++i) {
        low = std::min(low, keys[i]);
        high = std::max(high, keys[i]);
      }
      found[thread] = {low, high};
    });
    for (const auto& [low, high] : found)
      found[0] = {std::min(found[0].first, low), std::max(found[0].second, high)};
    return found[0];
  }

  /// Chooses how to split keys whose distances span [low, high].
  template <class Encoder>
  SplitRule<Bits> make_rule(const Range& range, Bits low, Bits high, const Encoder& encoder) const {
    const uint64_t n = range.count;
    const uint64_t target =
        std::max<uint64_t>(1, tuning_.bucket_target_bytes / (sizeof(Bits) + value_size<Value>));
    const uint32_t max_bits = std::min(tuning_.split_bits, max_split_bits);
    SplitRule<Bits> rule = digit_rule(n, low, high, target, max_bits);
    if (n < tuning_.sample_from || rule.shift == 0) return rule;
    const std::vector<Bits> sample = sample_keys(array(range.in_input).keys + range.begin, n, encoder);
    if (may_have_window<Bits> && !range.has_outliers) {
      auto of_window = window_rule(sample, n, low, high, target, max_bits, workspace_.bucket_capacity());
      if (of_window) return *std::move(of_window);
    }
    refine_rule(rule, sample, n, workspace_.bucket_capacity());
    return rule;
  }

  template <class Encoder>
  void split(const Range& range, const SplitRule<Bits>& rule, const Encoder& encoder, uint32_t first_thread,
             uint32_t threads, std::vector<Range>& parts) {
    const auto deal_by = [&](const auto& bucket_of) {
      if constexpr (has_values<Value>)
        return deal(range, rule.buckets, bucket_of, encoder, first_thread, threads);
      else
        return deal_in_place(range, rule.buckets, bucket_of, encoder, first_thread, threads);
    };
    const auto buckets = [&] {
      if constexpr (may_have_window<Bits>)
        if (rule.window) return deal_by(LeafBucket<Bits, true>(rule));
      return rule.is_skewed() ? deal_by(LeafBucket<Bits>(rule)) : deal_by(DigitBucket<Bits>(rule));
    }();
    for (uint32_t bucket = 0; bucket < rule.buckets; ++bucket) {
      if (buckets[bucket].count == 0) continue;
      const auto [low, bits, has_outliers] = rule.holds_of(bucket);
      parts.push_back({buckets[bucket].begin, buckets[bucket].count, low, bits,
                       has_values<Value> ? !range.in_input : range.in_input, has_outliers});
    }
  }

  /// A key's place is its distance, which is also what is written.
  template <class BucketOf, class Encoder>
  struct ByDistance {
    BucketOf buckets;
    Encoder encoder;
    Bits place(Bits key) const { return encoder.encode(key); }
    size_t bucket_of(Bits distance) const { return buckets(distance); }
    bool is_frequent(Bits distance) const { return buckets.is_frequent(distance); }
    Bits kept(Bits, Bits distance) const { return distance; }
  };

  template <class BucketOf, class Encoder>
  std::vector<Bucket> deal_in_place(const Range& range, uint32_t buckets, const BucketOf& bucket_of,
                                    const Encoder& encoder, uint32_t first_thread, uint32_t threads) {
    std::vector<BlockTables<Bits>*> tables;
    for (uint32_t thread = 0; thread < threads; ++thread)
      tables.push_back(&workspace_.tables(first_thread + thread));
    constexpr bool counts_frequent = !std::is_same_v<BucketOf, DigitBucket<Bits>>;
    BlockSplit<Bits> split(job_.input.keys + range.begin, range.count, buckets, std::move(tables),
                           workspace_.split_memory(first_thread, threads), tuning_);
    auto result = split.template run<counts_frequent>(ByDistance<BucketOf, Encoder>{bucket_of, encoder});
    for (Bucket& bucket : result) bucket.begin += range.begin;
    return result;
  }

  /// Histogram, scan, scatter.
  template <class BucketOf, class Encoder>
  std::vector<Bucket> deal(const Range& range, uint32_t buckets, const BucketOf& bucket_of,
                           const Encoder& encoder, uint32_t first_thread, uint32_t threads) {
    const Array from = array(range.in_input) + range.begin;
    const Array to = array(!range.in_input);
    run_team(threads, [&](uint32_t thread) {
      uint64_t* const counts = workspace_.tables(first_thread + thread).cursor;
      std::fill_n(counts, buckets, uint64_t{0});
      const uint64_t begin = slice_begin(range.count, thread, threads);
      count_buckets(from.keys + begin, slice_begin(range.count, thread + 1, threads) - begin, bucket_of,
                    encoder, counts);
    });
    std::vector<Bucket> result(buckets);
    uint64_t sum = range.begin;
    for (uint32_t bucket = 0; bucket < buckets; ++bucket) {
      result[bucket].begin = sum;
      for (uint32_t thread = 0; thread < threads; ++thread)
        sum += std::exchange(workspace_.tables(first_thread + thread).cursor[bucket], sum);
      result[bucket].count = sum - result[bucket].begin;
    }
    run_team(threads, [&](uint32_t thread) {
      const uint64_t begin = slice_begin(range.count, thread, threads);
      Scatter<Bits, Value, BucketOf, Encoder>(to, buckets, bucket_of, encoder,
                                              workspace_.tables(first_thread + thread))
          .run(from + begin, slice_begin(range.count, thread + 1, threads) - begin);
    });
    return result;
  }

  Job job_;
  Workspace& workspace_;
  const CpuTuning& tuning_;
  bool splits_;
  std::vector<std::unique_ptr<BucketSort<Bits, Value>>> sorters_;
};

}  // namespace sweepsort
