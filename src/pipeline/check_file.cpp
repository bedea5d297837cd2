// check_file.cpp - one read of a file in constant memory: order, extremes, distinct keys, fingerprint.
//
// A file is read by a few threads, a chunk at a time; what a chunk says of itself is kept in a few words and
// put together in the order of the chunks at the end. A stream is the same with one thread.
#include "core/error.hpp"
#include "core/key_bits.hpp"
#include "io/byte_swap.hpp"
#include "io/input_file.hpp"
#include "io/layout.hpp"
#include "io/parallel_chunks.hpp"
#include "pipeline/key_scan.hpp"
#include "sweepsort.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bitset>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace sweepsort {
namespace {

constexpr size_t chunk_bytes = 4u << 20;
constexpr uint32_t most_workers = 16;

/// Which keys of 1 or 2 bytes occur.
using SmallKeys = std::bitset<1u << 16>;

struct alignas(io_alignment) Page {
  std::byte bytes[io_alignment];
};

/// A worker's own memory.
struct Desk {
  std::vector<Page> pages = std::vector<Page>(chunk_bytes / io_alignment);
  SmallKeys seen;
  std::span<std::byte> buffer() { return std::as_writable_bytes(std::span(pages)); }
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

  /// The key whose ordered bits these are, as a number; floats with the fewest digits that give them back.
  std::string print(uint64_t ordered) const {
    return dispatch(type_, [&](auto identity) -> std::string {
      using Key = typename decltype(identity)::type;
      using Bits = BitsOf<Key>;
      const Bits bits = key_map<Bits>(type_, Order::ascending).from_ordered(static_cast<Bits>(ordered));
      Key key;
      std::memcpy(&key, &bits, sizeof key);
      if constexpr (std::is_floating_point_v<Key>) {
        if (key != key) return "nan";
        char text[64];
        return {text, std::to_chars(text, text + sizeof text, key).ptr};
      } else {
        return std::to_string(key);
      }
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
  const uint32_t threads =
      options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::unique_ptr<Desk>> desks(std::min(threads, most_workers));
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

/// The keys of a stream one buffer after the other; its layout must hold at the end, when its length is
/// known.
class StreamReader {
 public:
  StreamReader(InputFile& file, const CheckOptions& options) : file_(file), options_(options) {
    prefix_.resize(layout_prefix_bytes);
    prefix_.resize(file_.read_stream(prefix_));
    position_ = prefix_.size();
    is_whole_ = prefix_.size() < layout_prefix_bytes;
    layout_ = find_layout(prefix_, is_whole_ ? std::optional<uint64_t>(position_) : std::nullopt,
                          file_.name(), options_.file);
  }

  const Layout& layout() const { return layout_; }

  void read(Checker& checker) {
    const size_t width = key_bytes(layout_.type);
    const uint64_t end =
        layout_.count == unknown_count ? unknown_count : layout_.data_offset + layout_.data_bytes();
    skip_to_data();
    uint64_t keys = 0;
    while (true) {
      const uint64_t wanted =
          std::min<uint64_t>(desk_.buffer().size(), end - (layout_.data_offset + keys * width));
      const size_t got = fill(desk_.buffer().first(static_cast<size_t>(wanted)));
      const size_t whole = got / width * width;
      checker.add(keys, desk_.buffer().first(whole), desk_.seen);
      keys += whole / width;
      if (options_.progress) options_.progress(Phase::read, position_, 0);
      if (got < desk_.buffer().size()) break;
    }
    checker.merge(desk_.seen);
    check_length();
  }

 private:
  /// What is left of the prefix first.
  size_t fill(std::span<std::byte> to) {
    const size_t from_prefix = std::min(to.size(), prefix_.size() - taken_);
    std::copy_n(prefix_.begin() + static_cast<ptrdiff_t>(taken_), from_prefix, to.begin());
    taken_ += from_prefix;
    const size_t read = file_.read_stream(to.subspan(from_prefix));
    position_ += read;
    return from_prefix + read;
  }

  void skip_to_data() {
    for (uint64_t left = layout_.data_offset; left != 0;) {
      const size_t got =
          fill(desk_.buffer().first(static_cast<size_t>(std::min<uint64_t>(left, chunk_bytes))));
      if (got == 0) break;
      left -= got;
    }
  }

  /// The stream's end is known now; a format with a header may not have anything behind its keys.
  void check_length() {
    if (!options_.file.read_bytes) position_ += file_.read_stream(desk_.buffer().first(1));
    find_layout(prefix_, position_, file_.name(), options_.file);
  }

  InputFile& file_;
  const CheckOptions& options_;
  std::vector<std::byte> prefix_;
  size_t taken_ = 0;
  uint64_t position_ = 0;
  bool is_whole_ = false;
  Layout layout_;
  Desk desk_;
};

}  // namespace

CheckReport check_file(const std::string& input, const CheckOptions& options) {
  const auto start = std::chrono::steady_clock::now();
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
    const auto reader = std::make_unique<StreamReader>(file, options);
    report = run(reader->layout(), [&](Checker& checker) { reader->read(checker); });
  } else {
    const Layout layout = find_layout(file.read_prefix(), file.size(), file.name(), options.file);
    report = run(layout, [&](Checker& checker) { read_file(file, layout, options, checker); });
  }
  report.total_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace sweepsort
