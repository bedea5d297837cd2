// check_file.cpp - one read of a file in little memory: order, extremes, distinct keys, fingerprint.
//
// A few threads read the file, one chunk at a time. The results of each chunk are kept in a few words and
// combined in the order of the chunks at the end.
#include "core/clock.hpp"
#include "core/key_bits.hpp"
#include "core/key_text.hpp"
#include "core/page_array.hpp"
#include "core/team.hpp"
#include "pipeline/chunk_reader.hpp"
#include "pipeline/key_scan.hpp"
#include "pipeline/phase_clock.hpp"
#include "pipeline/stream_run.hpp"
#include "sweepsort.hpp"

#include <algorithm>
#include <atomic>
#include <bitset>
#include <memory>
#include <mutex>
#include <vector>

namespace sweepsort {
namespace {

constexpr size_t chunk_bytes = 4u << 20;

/// Which keys of 1 or 2 bytes occur.
using SmallKeys = std::bitset<1u << 16>;

/// A worker's own memory.
struct Desk {
  PageArray memory = PageArray(chunk_bytes, PageSize::small);  // aligned for O_DIRECT
  SmallKeys seen;
  std::span<std::byte> buffer() const { return {memory.data(), memory.size()}; }
};

/// What is remembered about the keys from `first_key` on.
struct Stretch {
  uint64_t first_key = 0;
  uint64_t first = 0;  // ordered_key() of the first and the last key
  uint64_t last = 0;
  uint64_t changes = 0;
  // Index of the first key out of order: exact in the first stretch that has one; in the others, the
  // beginning of the stretch.
  uint64_t descent = unknown_count;
};

class Checker {
 public:
  Checker(KeyType type, Order order) : type_(type), order_(order) {}

  void add(uint64_t first_key, std::span<const std::byte> keys, SmallKeys& seen) {
    if (keys.empty()) return;
    const size_t width = key_bytes(type_);
    const Fingerprint print = fingerprint(keys, width, 0);
    const KeyStatistics found = key_statistics(keys, type_, order_);
    Stretch stretch{first_key, ordered_key(keys.data(), type_, order_),
                    ordered_key(keys.data() + keys.size() - width, type_, order_), found.changes};
    // The exact position matters only for the first such stretch.
    if (found.descents != 0) {
      stretch.descent = first_key;
      if (first_key < lowest_descent_) stretch.descent += first_descent(keys, type_, order_);
    }
    if (width <= 2) note_small_keys(keys, width, seen);

    const std::lock_guard lock(mutex_);
    fingerprint_ += print;
    stretches_.push_back(stretch);
    lowest_descent_ = std::min<uint64_t>(lowest_descent_, stretch.descent);
    min_ = std::min(min_, found.min);
    // In a stretch of NaNs only, the largest is a NaN; it counts only if the file has nothing else.
    if (found.has_values == has_values_) max_ = std::max(max_, found.max);
    if (found.has_values && !has_values_) max_ = found.max;
    has_values_ |= found.has_values;
  }

  void merge(const SmallKeys& seen) { seen_ |= seen; }

  CheckReport report() {
    CheckReport report;
    report.count = fingerprint_.count;
    report.type = type_;
    report.fingerprint = fingerprint_;
    std::ranges::sort(stretches_, {}, &Stretch::first_key);
    uint64_t distinct = stretches_.empty() ? 0 : 1;
    uint64_t descent = unknown_count;
    for (size_t i = 0; i < stretches_.size(); ++i) {
      const Stretch& stretch = stretches_[i];
      distinct += stretch.changes;
      if (i > 0) distinct += stretch.first != stretches_[i - 1].last;
      if (i > 0 && stretch.first < stretches_[i - 1].last) descent = std::min(descent, stretch.first_key);
      descent = std::min(descent, stretch.descent);
    }
    report.sorted = descent == unknown_count;
    if (!report.sorted) report.first_unsorted = descent;
    if (report.sorted) report.distinct = distinct;
    if (!report.sorted && key_bytes(type_) <= 2) report.distinct = seen_.count();
    if (report.count != 0) {
      report.min = print(min_);
      report.max = print(max_);
    }
    return report;
  }

 private:
  static void note_small_keys(std::span<const std::byte> keys, size_t width, SmallKeys& seen) {
    for (size_t at = 0; at < keys.size(); at += width) {
      size_t key = std::to_integer<size_t>(keys[at]);
      if (width == 2) key |= std::to_integer<size_t>(keys[at + 1]) << 8;
      seen.set(key);
    }
  }

  std::string print(uint64_t ordered) const {
    return dispatch(type_, [&]<class Key>(std::type_identity<Key>) {
      using Bits = BitsOf<Key>;
      return key_text(type_, key_map<Bits>(type_, Order::ascending).from_ordered(static_cast<Bits>(ordered)));
    });
  }

  KeyType type_;
  Order order_;
  std::mutex mutex_;
  Fingerprint fingerprint_;
  std::vector<Stretch> stretches_;
  std::atomic<uint64_t> lowest_descent_ = unknown_count;
  uint64_t min_ = std::numeric_limits<uint64_t>::max();
  uint64_t max_ = 0;
  bool has_values_ = false;
  SmallKeys seen_;
};

void read_all(ChunkReader& reader, const CheckOptions& options, Checker& checker,
              const MovedFunction& moved) {
  reader.start(chunk_bytes);
  std::vector<std::unique_ptr<Desk>> desks(
      stream_workers(threads_or_all(options.threads), max_io_workers, reader.chunks()));
  const auto turn = [&](uint32_t worker, uint64_t index) {
    if (!desks[worker]) desks[worker] = std::make_unique<Desk>();
    const auto place = [&](size_t) { return desks[worker]->buffer(); };
    ReadChunk chunk;
    if (!reader.read(index, place, chunk)) return false;
    checker.add(chunk.first_element, chunk.bytes, desks[worker]->seen);
    moved(chunk.bytes.size());
    return true;
  };
  parallel_turns(static_cast<uint32_t>(desks.size()), turn, [&] { reader.cancel(); });
  for (const auto& desk : desks)
    if (desk) checker.merge(desk->seen);
  reader.finish();
}

}  // namespace

CheckReport check_file(const std::string& input, const CheckOptions& options) {
  const auto start = Clock::now();
  ChunkReader reader(input, options.file);
  if (options.log)
    for (const std::string& line : reader.layout().notes) options.log(line);
  // Two bitsets and the list of stretches are too large for the stack.
  const auto checker = std::make_unique<Checker>(reader.layout().type, options.order);
  std::vector<PhaseTime> phases;
  PhaseClock(phases, options.progress)
      .run(Phase::read, reader.is_stream() ? 0 : reader.layout().data_bytes(),
           [&](const MovedFunction& moved) { read_all(reader, options, *checker, moved); });
  CheckReport report = checker->report();
  report.format = reader.layout().format;
  report.total_s = seconds_since(start);
  return report;
}

}  // namespace sweepsort
