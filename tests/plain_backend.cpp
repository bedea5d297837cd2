// plain_backend.cpp - see plain_backend.hpp.
#include "plain_backend.hpp"

#include "core/error.hpp"
#include "core/key_bits.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace sweepsort::test {
namespace {

class PlainSession : public SortSession {
 public:
  PlainSession(const SortJob& job, Fault fault, std::function<bool()> is_faulty = {})
      : job_(job),
        fault_(fault),
        is_faulty_(std::move(is_faulty)),
        keys_(job.count * key_bytes(job.type)),
        values_(job.count * job.value_bytes),
        open_(job.workers) {}

  std::span<std::byte> begin_put(uint32_t worker, Column column, uint64_t first_byte, size_t bytes) override {
    const size_t width = column == Column::keys ? key_bytes(job_.type) : job_.value_bytes;
    if (bytes > job_.chunk_bytes || bytes % width != 0) throw Error("a bad chunk");
    if (open_.at(worker)) throw Error("two puts of one worker are open");
    open_[worker] = 1;
    return bytes_of(column).subspan(first_byte, bytes);
  }
  void end_put(uint32_t worker) override { open_.at(worker) = 0; }

  SortSummary sort() override {
    if (is_faulty_ && !is_faulty_()) fault_ = Fault::none;
    if (fault_ == Fault::fails_to_sort) throw Error("the device fell off the bus");
    if (keys_.empty()) return {.algorithm = "std::sort"};
    dispatch_bits(job_.type, [this]<class Bits>(std::type_identity<Bits>) {
      std::vector<Bits> bits(keys_.size() / sizeof(Bits));
      std::memcpy(bits.data(), keys_.data(), keys_.size());
      const auto map = key_map<Bits>(job_.type, job_.order);
      if (job_.value_bytes != 0 && fault_ != Fault::leaves_values) move_values(bits, map);
      std::ranges::sort(bits, {}, [map](Bits raw) { return map.to_ordered(raw); });
      spoil(bits);
      std::memcpy(keys_.data(), bits.data(), keys_.size());
    });
    return {.algorithm = "std::sort"};
  }

  std::span<std::byte> get(uint32_t, Column column, uint64_t first_byte, size_t bytes) override {
    const bool is_first = first_byte == 0;
    if (is_first && fault_ == Fault::fails_to_get_first) has_given_.wait(false);
    if (fault_ == (is_first ? Fault::fails_to_get_first : Fault::fails_to_get))
      throw Error("the device fell off the bus");
    if (!is_first) {
      has_given_ = true;
      has_given_.notify_one();
    }
    return bytes_of(column).subspan(first_byte, bytes);
  }

  std::optional<UniqueKeys> get_unique(uint32_t worker, uint64_t first, uint64_t count) override {
    if (!job_.unique || fault_ < Fault::packs || fault_ == Fault::packs_too_many) return {};
    return dispatch_bits(job_.type, [&]<class Bits>(std::type_identity<Bits>) {
      Packed& packed = packed_[worker];
      const std::span all =
          std::span(reinterpret_cast<const Bits*>(keys_.data()), keys_.size() / sizeof(Bits));
      std::vector<Bits> keys;
      packed.ends.clear();
      for (uint64_t i = 0; i < count; ++i) {
        if (i + 1 < count && all[first + i] == all[first + i + 1]) continue;
        keys.push_back(all[first + i]);
        packed.ends.push_back(static_cast<uint32_t>(i + 1));
      }
      spoil(keys, packed.ends);
      packed.keys.resize(keys.size() * sizeof(Bits));
      std::memcpy(packed.keys.data(), keys.data(), packed.keys.size());
      return UniqueKeys{packed.keys, packed.ends};
    });
  }

 private:
  struct Packed {
    std::vector<std::byte> keys;
    std::vector<uint32_t> ends;
  };

  std::span<std::byte> bytes_of(Column column) { return column == Column::keys ? keys_ : values_; }

  /// Brings the values into the order of these keys, stably.
  template <class Bits>
  void move_values(const std::vector<Bits>& keys, KeyMap<Bits> map) {
    std::vector<size_t> order(keys.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t i) { return map.to_ordered(keys[i]); });
    const std::vector<std::byte> before = values_;
    const size_t width = job_.value_bytes;
    for (size_t i = 0; i < order.size(); ++i)
      std::memcpy(values_.data() + i * width, before.data() + order[i] * width, width);
  }

  /// Changes nothing if there are fewer than three keys.
  template <class Bits>
  void spoil(std::vector<Bits>& keys, std::vector<uint32_t>& ends) const {
    if (keys.size() < 3) return;
    const auto middle = static_cast<ptrdiff_t>(keys.size() / 2);
    const auto at = static_cast<size_t>(middle);
    switch (fault_) {
      case Fault::packs_without_one:
        keys.erase(keys.begin() + middle);
        ends.erase(ends.begin() + middle);
        break;
      case Fault::packs_one_twice:
        if (ends[at] - ends[at - 1] < 2) break;
        keys.insert(keys.begin() + middle, keys[at]);
        ends.insert(ends.begin() + middle, ends[at] - 1);
        break;
      case Fault::packs_one_of_none:
        if (keys[at] - keys[at - 1] < 2) break;
        keys.insert(keys.begin() + middle, static_cast<Bits>(keys[at] - 1));
        ends.insert(ends.begin() + middle, ends[at - 1]);
        break;
      case Fault::packs_nothing:
        keys.clear();
        ends.clear();
        break;
      case Fault::packs_too_few:
        keys.pop_back();
        ends.pop_back();
        break;
      case Fault::packs_flipped_bit: keys[at] ^= 1; break;
      case Fault::packs_wrong_count: --ends[at]; break;
      default: break;
    }
  }

  template <class Bits>
  void spoil(std::vector<Bits>& bits) const {
    const size_t middle = bits.size() / 2;
    const bool wants_two = fault_ == Fault::doubles_key || fault_ == Fault::swaps_neighbours;
    switch (wants_two && bits.size() < 2 ? Fault::flips_bit : fault_) {
      case Fault::drops_key:  // a zero slips in at the front: still in order
        std::shift_right(bits.begin(), bits.begin() + static_cast<ptrdiff_t>(middle), 1);
        bits[0] = 0;
        break;
      case Fault::doubles_key: bits[middle] = bits[middle + 1]; break;
      case Fault::flips_bit: bits[middle] ^= 1; break;
      case Fault::swaps_neighbours: std::swap(bits[middle], bits[middle + 1]); break;
      case Fault::swaps_chunks: {
        const auto chunk = static_cast<ptrdiff_t>(job_.chunk_bytes / sizeof(Bits));
        if (keys_.size() < 2 * job_.chunk_bytes) throw std::logic_error("fewer than two chunks");
        std::swap_ranges(bits.begin(), bits.begin() + chunk, bits.begin() + chunk);
        break;
      }
      default: break;
    }
  }

  SortJob job_;
  Fault fault_;
  std::function<bool()> is_faulty_;
  std::vector<std::byte> keys_;
  std::vector<std::byte> values_;
  std::vector<char> open_;
  std::atomic<bool> has_given_ = false;
  std::vector<Packed> packed_ = std::vector<Packed>(job_.workers);
};

class PlainStorage : public DeviceStorage {
 public:
  explicit PlainStorage(uint64_t bytes) : bytes_(bytes) {}
  void read(uint64_t first_byte, std::span<std::byte> to) const override {
    std::ranges::copy(std::span(bytes_).subspan(first_byte, to.size()), to.begin());
  }
  void write(uint64_t first_byte, std::span<const std::byte> from) override {
    std::ranges::copy(from, bytes_.begin() + static_cast<ptrdiff_t>(first_byte));
  }

 private:
  std::vector<std::byte> bytes_;
};

/// A scan that spoils the chunk that begins in the middle of the data, or fails there.
class SpoilingScanSession : public ScanSession {
 public:
  SpoilingScanSession(std::unique_ptr<ScanSession> honest, Fault fault)
      : honest_(std::move(honest)), fault_(fault) {}

  std::span<std::byte> begin_chunk(uint32_t worker, size_t offset) override {
    return honest_->begin_chunk(worker, offset);
  }
  std::span<std::byte> scan(uint32_t worker, uint64_t index, uint64_t first, uint64_t count) override {
    if (fault_ == Fault::fails_to_sort && index == 2) throw Error("the device fell off the bus");
    const std::span<std::byte> scanned = honest_->scan(worker, index, first, count);
    if (fault_ == Fault::flips_bit && index == 2) scanned.back() ^= std::byte{1};
    return scanned;
  }
  std::optional<uint64_t> overflow() const override { return honest_->overflow(); }
  void cancel() override { honest_->cancel(); }
  ScanSummary finish() override { return honest_->finish(); }

 private:
  std::unique_ptr<ScanSession> honest_;
  Fault fault_;
};

}  // namespace

PlainBackend::PlainBackend(Fault fault, std::string name, std::function<bool()> is_faulty)
    : fault_(fault), name_(std::move(name)), is_faulty_(std::move(is_faulty)) {}

BackendInfo PlainBackend::info() const { return {.name = name_, .description = "std::sort", .details = {}}; }

Backend::Footprint PlainBackend::footprint(const SortJob& job) const {
  const Bytes arrays{2 * job.count * key_bytes(job.type)};
  if (device_.value == 0) return {arrays, {}};
  return {Bytes{job.workers * job.chunk_bytes}, arrays};
}

std::unique_ptr<DeviceStorage> PlainBackend::make_storage(uint64_t bytes) {
  if (storage_left_ == 0) throw Error("the device has no memory left");
  --storage_left_;
  stored_.value += bytes;
  return std::make_unique<PlainStorage>(bytes);
}

std::unique_ptr<SortSession> PlainBackend::begin_sort(const SortJob& job) {
  if (fault_ == Fault::fails_to_begin) throw Error("the device has no memory left");
  if (footprint(job).device > max_of_session_)
    throw DeviceMemoryError("the device has less memory than it said", "free some");
  return std::make_unique<PlainSession>(job, fault_, is_faulty_);
}

std::unique_ptr<ScanSession> PlainBackend::begin_scan(const ScanJob& job) {
  if (fault_ == Fault::fails_to_begin) throw Error("the device has no memory left");
  return std::make_unique<SpoilingScanSession>(cpu_->begin_scan(job), fault_);
}

std::unique_ptr<ReduceSession> PlainBackend::begin_reduce(const ReduceJob& job) {
  if (fault_ == Fault::fails_to_begin) throw Error("the device has no memory left");
  return cpu_->begin_reduce(job);
}

Measurement PlainBackend::measure_scan(const ScanJob& job, uint64_t count, const FillFunction& fill,
                                       uint32_t runs) {
  return {cpu_->measure_scan(job, count, fill, runs).times_s, copy_bandwidth()};
}

Measurement PlainBackend::measure_reduce(const ReduceJob& job, uint64_t count, const FillFunction& fill,
                                         uint32_t runs) {
  return {cpu_->measure_reduce(job, count, fill, runs).times_s, copy_bandwidth()};
}

}  // namespace sweepsort::test
