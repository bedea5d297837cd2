// check_file.cpp - one read of a file in constant memory: order, extremes, distinct keys, fingerprint.
//
// A file is read by a few threads, a chunk at a time; what a chunk says of itself is kept in a few words and
// put together in the order of the chunks at the end. A stream is the same with one thread.
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/key_bits.hpp"
#include "core/key_text.hpp"
#include "core/page_array.hpp"
#include "core/team.hpp"
#include "io/byte_swap.hpp"
#include "io/input_file.hpp"
#include "io/layout.hpp"
#include "io/parallel_chunks.hpp"
#include "pipeline/key_scan.hpp"
#include "pipeline/key_stream.hpp"
#include "sweepsort.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bitset>
#include <memory>
#include <mutex>
#include <vector>

namespace sweepsort {
namespace {

constexpr size_t chunk_bytes = 4u << 20;
constexpr uint32_t most_workers = 16;

/// Which keys of 1 or 2 bytes occur.
using SmallKeys = std::bitset<1u << 16>;

/// A worker's own memory.
struct Desk {
  PageArray memory = PageArray(chunk_bytes, PageSize::small);  // aligned as O_DIRECT wants it
  SmallKeys seen;
  std::span<std::byte> buffer() const { return {memory.data(), memory.size()}; }
};

/// All that is remembered of the keys from `first_key` on.
struct Stretch {
  uint64_t first_key = 0;
  uint64_t first = 0;  // ordered_key() of the first and the last one
  uint64_t last = 0;
  uint64_t changes = 0;
  uint64_t descent =
      unknown_count;  // index of the first key out of order, or of some key before it in a later stretch
};

class Checker {
 public:
  Checker(KeyType type, Order order, bool swap_bytes) : type_(type), order_(order), swap_bytes_(swap_bytes) {}

  void add(uint64_t first_key, std::span<std::byte> keys, SmallKeys& seen) {
    if (keys.empty()) return;
    const size_t width = key_bytes(type_);
    if (swap_bytes_) swap_key_bytes(keys, width);
    const Fingerprint print = fingerprint(keys, width, 0);
    const KeyStatistics found = key_statistics(keys, type_, order_);
    Stretch stretch{first_key, ordered_key(keys.data(), type_, order_),
                    ordered_key(keys.data() + keys.size() - width, type_, order_), found.changes};
    // Where exactly matters for the first such stretch alone.
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
    // The largest of a stretch of NaNs alone is a NaN: it counts only if the file has nothing else.
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
    return dispatch(type_, [&](auto identity) {
      using Bits = BitsOf<typename decltype(identity)::type>;
      return key_text(type_, key_map<Bits>(type_, Order::ascending).from_ordered(static_cast<Bits>(ordered)));
    });
  }

  KeyType type_;
  Order order_;
  bool swap_bytes_;
  std::mutex mutex_;
  Fingerprint fingerprint_;
  std::vector<Stretch> stretches_;
  std::atomic<uint64_t> lowest_descent_ = unknown_count;
  uint64_t min_ = std::numeric_limits<uint64_t>::max();
  uint64_t max_ = 0;
  bool has_values_ = false;
  SmallKeys seen_;
};

void read_file(const InputFile& file, const Layout& layout, const CheckOptions& options, Checker& checker) {
  const size_t width = key_bytes(layout.type);
  const ChunkGrid grid = make_grid(layout.data_offset, layout.data_bytes(), width, chunk_bytes);
  std::vector<std::unique_ptr<Desk>> desks(std::min(threads_or_all(options.threads), most_workers));
  const auto check = [&](uint32_t worker, const Chunk& chunk) {
    if (!desks[worker]) desks[worker] = std::make_unique<Desk>();
    const std::span<std::byte> keys = desks[worker]->buffer().first(chunk.bytes);
    file.read_at(layout.data_offset + chunk.first_byte, keys);
    checker.add(chunk.first_byte / width, keys, desks[worker]->seen);
  };
  parallel_chunks(static_cast<uint32_t>(desks.size()), grid, check, [&](uint64_t done) {
    if (options.progress) options.progress(Phase::read, done, layout.data_bytes());
  });
  for (const auto& desk : desks)
    if (desk) checker.merge(desk->seen);
  file.check_unchanged();
}

/// The keys of a stream one buffer after the other.
void read_stream(KeyStream& stream, const CheckOptions& options, Checker& checker) {
  const size_t width = key_bytes(stream.layout().type);
  Desk desk;
  uint64_t keys = 0;
  size_t got = 0;
  do {
    got = stream.read(desk.buffer());
    checker.add(keys, desk.buffer().first(got / width * width), desk.seen);
    keys += got / width;
    if (options.progress) options.progress(Phase::read, stream.position(), 0);
  } while (got == desk.buffer().size());
  checker.merge(desk.seen);
  stream.check_length();
}

}  // namespace

CheckReport check_file(const std::string& input, const CheckOptions& options) {
  const auto start = Clock::now();
  InputFile file(input);
  const auto run = [&](const Layout& layout, auto&& read) {
    if (options.log)
      for (const std::string& line : layout.notes) options.log(line);
    // Two bitsets and the list of stretches: too much for a stack.
    const auto checker = std::make_unique<Checker>(layout.type, options.order, layout.is_swapped());
    read(*checker);
    CheckReport report = checker->report();
    report.format = layout.format;
    return report;
  };
  CheckReport report;
  if (file.is_stream()) {
    KeyStream stream(file, options.file);
    report = run(stream.layout(), [&](Checker& checker) { read_stream(stream, options, checker); });
  } else {
    const Layout layout = find_layout(file.read_prefix(), file.size(), file.name(), options.file);
    report = run(layout, [&](Checker& checker) { read_file(file, layout, options, checker); });
  }
  report.total_s = seconds_since(start);
  return report;
}

}  // namespace sweepsort
