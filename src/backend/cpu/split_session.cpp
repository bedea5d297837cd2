// split_session.cpp - see split_session.hpp.
#include "backend/cpu/split_session.hpp"

#include "backend/cpu/bucket_blocks.hpp"
#include "backend/cpu/sort_arrays.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/permits.hpp"
#include "core/sample.hpp"
#include "core/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace sweepsort {
namespace {

/// What a sample shows about all keys: their range, and how to split them.
template <class Bits>
struct SplitPlan {
  Bits low = 0;  // ordered bits; keys outside of [low, high] count as the nearer end
  Bits high = 0;
  SplitRule<Bits> rule;
};

/// The largest share of the sample that falls into one bucket that needs sorting.
template <class Bits>
double largest_share(const SplitRule<Bits>& rule, const std::vector<Bits>& distances) {
  std::vector<uint64_t> counts(rule.buckets);
  const DigitBucket<Bits> digit(rule);
  const LeafBucket<Bits> leaf(rule);
  for (const Bits distance : distances) {
    if (!rule.is_skewed())
      ++counts[digit(distance)];
    else if (!leaf.is_frequent(distance))
      ++counts[leaf(distance)];
  }
  return static_cast<double>(*std::max_element(counts.begin(), counts.end())) /
         static_cast<double>(distances.size());
}

/// Per worker. The tables are accessed at random, so they get a huge page.
template <class Bits>
inline constexpr size_t tables_bytes = std::max<size_t>(sizeof(BlockTables<Bits>), 2u << 20);

/// Empty if another session is better.
template <class Bits>
std::optional<SplitPlan<Bits>> make_split_plan(const SortJob& job, uint32_t threads,
                                               const CpuTuning& tuning) {
  if (job.sample.empty() || is_monotone(job.sample)) return {};
  SplitPlan<Bits> plan;
  const auto [smallest, largest] = std::minmax_element(job.sample.begin(), job.sample.end());
  plan.low = static_cast<Bits>(*smallest);
  plan.high = static_cast<Bits>(*largest);
  if (plan.high - plan.low < tuning.counting_range) return {};
  // Widen the range, so that no value of the sample is an end as which other keys count.
  if (plan.low > 0) --plan.low;
  if (plan.high < std::numeric_limits<Bits>::max()) ++plan.high;
  std::vector<Bits> distances;
  for (const uint64_t key : job.sample)
    distances.push_back(static_cast<Bits>(static_cast<Bits>(key) - plan.low));
  std::sort(distances.begin(), distances.end());
  const uint64_t target = std::max<uint64_t>(1, tuning.bucket_target_bytes / sizeof(Bits));
  plan.rule = digit_rule<Bits>(job.count, 0, static_cast<Bits>(plan.high - plan.low), target,
                               std::min(tuning.split_bits, max_split_bits));
  const uint64_t capacity = RadixWorkspace<Bits, NoValue>::capacity(tuning);
  if (plan.rule.shift > 0) refine_rule(plan.rule, distances, job.count, capacity);
  // One worker sorts a bucket, so a large one would keep the others waiting.
  const double share = largest_share(plan.rule, distances);
  if (share > 1.0 / (4 * std::min(threads, std::max(1u, job.workers)))) return {};
  // The workers write consecutive chunks. If buckets are not much smaller than that, workers wait for one
  // another.
  const double chance =
      // how much larger a bucket's share may be in a sample by chance
      16.0 / static_cast<double>(distances.size());
  const double largest_bucket =
      std::max(1.0 / plan.rule.buckets, share - chance) * static_cast<double>(job.count);
  if (largest_bucket * sizeof(Bits) > static_cast<double>(job.workers * job.chunk_bytes) / 4) return {};
  // Memory besides the keys: for each worker its chunk and its tables, a bucket that it shares, and what
  // sorting a bucket takes; and blocks that are not full.
  const uint64_t bucket =
      std::max(capacity, static_cast<uint64_t>(1.5 * share * static_cast<double>(job.count)));
  const uint64_t a_worker = job.chunk_bytes + tables_bytes<Bits> + 2 * bucket * sizeof(Bits) +
                            uint64_t{plan.rule.buckets} * tuning.split_block_bytes;
  const double room = tuning.split_extra * static_cast<double>(job.count * sizeof(Bits));
  if (static_cast<double>(job.workers * a_worker) > room) return {};
  return plan;
}

/// Finds the bucket of a key. The key is stored as its distance from `low`; for a smaller key, modulo
/// 2^width.
template <class Bits, bool floats, class BucketOf>
struct PlacedBy {
  Distance<Bits, floats> codec;
  Bits low;
  Bits high;
  BucketOf buckets;

  PlacedBy(const SplitPlan<Bits>& plan, const KeyMap<Bits>& map)
      : codec(map, 0), low(plan.low), high(plan.high), buckets(plan.rule) {}

  Bits place(Bits key) const {
    return static_cast<Bits>(std::min(std::max(codec.encode(key), low), high) - low);
  }
  size_t bucket_of(Bits place) const { return buckets(place); }
  Bits kept(Bits key, Bits) const { return static_cast<Bits>(codec.encode(key) - low); }
  bool is_frequent(Bits place) const { return buckets.is_frequent(place); }
};

template <class Bits>
class SplitSession : public SortSession {
 public:
  SplitSession(const SortJob& job, SplitPlan<Bits> plan, uint32_t threads, const CpuTuning& tuning)
      : job_(job),
        plan_(std::move(plan)),
        tuning_(tuning),
        map_(key_map<Bits>(job.type, job.order)),
        blocks_(job.count, static_cast<uint32_t>(tuning.split_block_bytes / sizeof(Bits)), plan_.rule.buckets,
                std::max(1u, job.workers)),
        ends_(plan_.rule.buckets),
        by_vqsort_(uses_vqsort<Bits, NoValue>(job, tuning)),
        may_compute_(threads < threads_or_all(0) ? threads : std::max(1u, job.workers)) {
    for (uint32_t worker = 0; worker < std::max(1u, job.workers); ++worker)
      workers_.push_back({PageArray(job.chunk_bytes), PageArray(tables_bytes<Bits>), 0, {}});
  }

  std::span<std::byte> begin_put(uint32_t worker, Column, uint64_t, size_t bytes) override {
    Worker& mine = workers_.at(worker);
    mine.make_pages();
    mine.open = bytes;
    return {mine.buffer.data(), bytes};
  }

  void end_put(uint32_t worker) override {
    if (is_floating(job_.type)) return put<true>(workers_.at(worker));
    put<false>(workers_.at(worker));
  }

  SortSummary sort() override {
    const auto start = Clock::now();
    for (Worker& worker : workers_)
      BlockScatter<Bits>(worker.tables_of(), blocks_).flush_rest(plan_.rule.buckets);
    blocks_.close();
    uint64_t sum = 0;
    for (uint32_t bucket = 0; bucket < plan_.rule.buckets; ++bucket) {
      const uint64_t kept = blocks_.count(bucket);
      largest_ = std::max(largest_, kept);
      sum += kept;
      for (Worker& worker : workers_) sum += worker.tables_of().frequent[bucket];
      ends_[bucket] = sum;
    }
    if (sum != job_.count) throw Error(fmt::format("internal: {} of {} keys were put", sum, job_.count));
    for (Worker& worker : workers_) {
      worker.tables = PageArray();
      worker.memory.emplace(bucket_job(largest_), 1, tuning_);
      worker.memory->take_workspace();
      RadixWorkspace<Bits, NoValue>& workspace = worker.memory->workspace();
      worker.sorter = std::make_unique<BucketSort<Bits, NoValue>>(
          workspace.scratch(0, largest_ > workspace.bucket_capacity()));
    }
    const auto range = static_cast<Bits>(plan_.high - plan_.low);
    return {
        .algorithm = by_vqsort_ ? "radix-msd+vqsort, split while read" : "radix-msd-lsd, split while read",
        .why = fmt::format("{}; a sample is even enough to deal them out to buckets", describe_range(range)),
        .sort_s = seconds_since(start),
        .get_sorts = true};
  }

  std::span<std::byte> get(uint32_t worker, Column, uint64_t first_byte, size_t bytes) override {
    Worker& mine = workers_.at(worker);
    mine.make_pages();
    const Permits::Holder permit(may_compute_);
    auto* const to = reinterpret_cast<Bits*>(mine.buffer.data());
    const uint64_t first = first_byte / sizeof(Bits);
    const uint64_t end = first + bytes / sizeof(Bits);
    auto bucket = static_cast<uint32_t>(std::upper_bound(ends_.begin(), ends_.end(), first) - ends_.begin());
    for (uint64_t at = first; at < end; ++bucket) {
      const uint64_t part_end = std::min(ends_[bucket], end);
      if (blocks_.is_empty(bucket))
        std::fill_n(to + (at - first), part_end - at, value_of(bucket));
      else if (at == begin_of(bucket) && part_end == ends_[bucket])
        fetch(bucket, part_end - at, to + (at - first), mine);
      else
        fetch_part(bucket, at - begin_of(bucket), part_end - at, to + (at - first), mine);
      at = part_end;
    }
    return {mine.buffer.data(), bytes};
  }

 private:
  struct Worker {
    PageArray buffer;
    PageArray tables;
    size_t open = 0;
    std::optional<SortMemory<Bits, NoValue>> memory;    // for sorting its buckets
    std::unique_ptr<BucketSort<Bits, NoValue>> sorter;  // uses that memory
    bool has_pages = false;

    /// Called on the worker's own thread before it first writes to the buffer.
    void make_pages() {
      if (!std::exchange(has_pages, true)) buffer.touch(0, buffer.size());
    }
    BlockTables<Bits>& tables_of() const { return *reinterpret_cast<BlockTables<Bits>*>(tables.data()); }
  };

  /// A bucket that belongs to more than one chunk.
  struct SharedBucket {
    std::once_flag sorted;
    PageArray keys;
    uint64_t left = 0;  // keys not fetched yet
  };

  template <bool floats>
  void put(Worker& worker) {
    BlockScatter<Bits> scatter(worker.tables_of(), blocks_);
    const auto* const keys = reinterpret_cast<const Bits*>(worker.buffer.data());
    const uint64_t count = worker.open / sizeof(Bits);
    if (plan_.rule.is_skewed())
      scatter.template put<true>(keys, count, PlacedBy<Bits, floats, LeafBucket<Bits>>(plan_, map_));
    else
      scatter.template put<false>(keys, count, PlacedBy<Bits, floats, DigitBucket<Bits>>(plan_, map_));
    scatter.fence();
  }

  SortJob bucket_job(uint64_t count) const {
    return {.count = count, .type = job_.type, .order = job_.order, .algorithm = job_.algorithm};
  }

  /// Where a bucket begins in the result.
  uint64_t begin_of(uint32_t bucket) const { return bucket == 0 ? 0 : ends_[bucket - 1]; }

  /// The value of a bucket whose keys were only counted.
  Bits value_of(uint32_t bucket) const {
    return map_.from_ordered(static_cast<Bits>(plan_.rule.holds_of(bucket).low + plan_.low));
  }

  /// Fetches all `count` keys of a bucket, sorted.
  void fetch(uint32_t bucket, uint64_t count, Bits* to, Worker& worker) {
    blocks_.gather(bucket, to);
    if (is_floating(job_.type))
      return sort_distances(bucket, count, to, worker, Distance<Bits, true>(map_, plan_.low));
    sort_distances(bucket, count, to, worker, Distance<Bits, false>(map_, plan_.low));
  }

  template <class Codec>
  void sort_distances(uint32_t bucket, uint64_t count, Bits* keys, Worker& worker, const Codec& codec) {
    const auto decode = [&] {
      for (uint64_t i = 0; i < count; ++i) keys[i] = codec.decode(keys[i]);
    };
    // Keys below `low` are in the first bucket, and their distances are not in order.
    if (bucket == 0 || count > worker.memory->workspace().bucket_capacity()) {
      decode();
      const KeyDigest<Bits> digest = digest_keys(keys, count, map_, EqualKeys::may_swap);
      sort_arrays<Bits, NoValue>({keys, nullptr}, bucket_job(count), digest, SortedInto::the_input,
                                 *worker.memory, tuning_);
      return;
    }
    const KeyDigest<Bits> digest = digest_keys(keys, count, KeyMap<Bits>{}, EqualKeys::may_swap);
    if (digest.ascending) return decode();
    if (by_vqsort_) {
      vqsort(keys, count);
      return decode();
    }
    const uint32_t bits = bit_count(static_cast<Bits>(digest.smallest ^ digest.largest));
    worker.sorter->sort({keys, nullptr}, {keys, nullptr}, static_cast<uint32_t>(count), bits, codec);
  }

  /// Fetches `count` of a bucket's sorted keys, from `first` on.
  void fetch_part(uint32_t bucket, uint64_t first, uint64_t count, Bits* to, Worker& worker) {
    const uint64_t all = ends_[bucket] - begin_of(bucket);
    const std::shared_ptr<SharedBucket> shared = share(bucket, all);
    auto* const keys = reinterpret_cast<Bits*>(shared->keys.data());
    std::call_once(shared->sorted, [&] { fetch(bucket, all, keys, worker); });
    std::copy_n(keys + first, count, to);
    const std::lock_guard lock(mutex_);
    shared->left -= count;
    if (shared->left > 0) return;
    spare_.push_back(std::move(shared->keys));
    shared_.erase(bucket);
  }

  std::shared_ptr<SharedBucket> share(uint32_t bucket, uint64_t count) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<SharedBucket>& shared = shared_[bucket];
    if (!shared) {
      if (spare_.empty()) spare_.emplace_back(largest_ * sizeof(Bits));
      shared = std::make_shared<SharedBucket>();
      shared->left = count;
      shared->keys = std::move(spare_.back());
      spare_.pop_back();
    }
    return shared;
  }

  SortJob job_;
  SplitPlan<Bits> plan_;
  CpuTuning tuning_;
  KeyMap<Bits> map_;
  BucketBlocks<Bits> blocks_;
  std::vector<Worker> workers_;
  std::vector<uint64_t> ends_;  // ends of the buckets in the result
  uint64_t largest_ = 0;        // most kept keys in a bucket
  bool by_vqsort_;
  // At most as many workers compute at a time as threads were asked for; others wait for the disk. If that is
  // a thread per processor, all workers may compute: a preempted worker would otherwise keep others waiting
  // while its processor idles.
  Permits may_compute_;
  std::mutex mutex_;  // protects what follows
  std::map<uint32_t, std::shared_ptr<SharedBucket>> shared_;
  std::vector<PageArray> spare_;  // memory for shared buckets
};

template <class Bits>
std::unique_ptr<SortSession> make_session(const SortJob& job, uint32_t threads, const CpuTuning& tuning) {
  auto plan = make_split_plan<Bits>(job, threads, tuning);
  if (!plan) return nullptr;
  return std::make_unique<SplitSession<Bits>>(job, std::move(*plan), threads, tuning);
}

}  // namespace

bool may_split(const SortJob& job, const CpuTuning& tuning) {
  const size_t width = key_bytes(job.type);
  return job.value_bytes == 0 && width >= 4 && job.algorithm != SortAlgorithm::counting &&
         job.count >= tuning.split_session_bytes / width;
}

Bytes max_split_memory(const SortJob& job, const CpuTuning& tuning) {
  // If the sample is misleading, one bucket has all keys. They are in blocks, are gathered, and are sorted in
  // a workspace.
  const uint64_t keys = job.count * key_bytes(job.type);
  const size_t workspace = key_bytes(job.type) == 4
                               ? RadixWorkspace<uint32_t, NoValue>::bytes(1, job.count, tuning)
                               : RadixWorkspace<uint64_t, NoValue>::bytes(1, job.count, tuning);
  return {static_cast<uint64_t>((1 + tuning.split_extra) * static_cast<double>(keys)) + workspace};
}

std::unique_ptr<SortSession> make_split_session(const SortJob& job, uint32_t threads,
                                                const CpuTuning& tuning) {
  if (!may_split(job, tuning)) return nullptr;
  return key_bytes(job.type) == 4 ? make_session<uint32_t>(job, threads, tuning)
                                  : make_session<uint64_t>(job, threads, tuning);
}

}  // namespace sweepsort
