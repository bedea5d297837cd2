// counting_session.cpp - histograms of the workers, their sum, and runs of equal keys.
#include "pipeline/counting_session.hpp"

#include "core/key_bits.hpp"
#include "core/page_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace sweepsort {
namespace {

template <class Bits>
inline constexpr size_t values = size_t{1} << (8 * sizeof(Bits));
/// Histograms per worker: as many as fit in the first-level cache.
template <class Bits>
inline constexpr size_t tables = sizeof(Bits) == 1 ? 4 : 1;

template <class Bits>
class CountingSession : public SortSession {
 public:
  explicit CountingSession(const SortJob& job)
      : map_(key_map<Bits>(job.type, job.order)), workers_(job.workers) {
    for (Worker& worker : workers_) {
      worker.buffer = PageArray(job.chunk_bytes, PageSize::small);
      worker.counts.resize(tables * values);
    }
  }

  std::span<std::byte> begin_put(uint32_t worker, Column, uint64_t, size_t bytes) override {
    workers_[worker].open = bytes;
    return {workers_[worker].buffer.data(), bytes};
  }

  void end_put(uint32_t worker) override {
    Worker& mine = workers_[worker];
    const auto* const keys = reinterpret_cast<const Bits*>(mine.buffer.data());
    const size_t count = mine.open / sizeof(Bits);
    uint64_t* const counts = mine.counts.data();
    // With one table, equal neighbours would wait for each other's increment, so the tables take turns.
    size_t i = 0;
    for (; i + tables <= count; i += tables)
      for (size_t table = 0; table < tables; ++table) ++counts[table * values + keys[i + table]];
    for (; i < count; ++i) ++counts[keys[i]];
  }

  SortSummary sort() override {
    uint64_t sum = 0;
    for (size_t value = 0; value < values; ++value) {
      const Bits key = map_.from_ordered(static_cast<Bits>(value));
      for (const Worker& worker : workers_)
        for (size_t table = 0; table < tables; ++table) sum += worker.counts[table * values + key];
      ends_[value] = sum;
    }
    return {.algorithm = "counting",
            .why = fmt::format("keys of {} bits have at most {} values", sizeof(Bits) * 8, values)};
  }

  std::span<std::byte> get(uint32_t worker, Column, uint64_t first_byte, size_t bytes) override {
    const std::span<std::byte> place(workers_[worker].buffer.data(), bytes);
    auto* const keys = reinterpret_cast<Bits*>(place.data());
    const uint64_t first = first_byte / sizeof(Bits);
    const uint64_t end = first + bytes / sizeof(Bits);
    // The value of the first keys in the range.
    auto value = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), first) - ends_.begin());
    for (uint64_t at = first; at < end; ++value) {
      const uint64_t run_end = std::min(ends_[value], end);
      std::fill(keys + (at - first), keys + (run_end - first), map_.from_ordered(static_cast<Bits>(value)));
      at = run_end;
    }
    return place;
  }

 private:
  static constexpr size_t values = sweepsort::values<Bits>;
  static constexpr size_t tables = sweepsort::tables<Bits>;

  struct Worker {
    PageArray buffer;  // aligned for O_DIRECT
    std::vector<uint64_t> counts;
    size_t open = 0;
  };

  KeyMap<Bits> map_;
  std::vector<Worker> workers_;
  std::vector<uint64_t> ends_ = std::vector<uint64_t>(values);
};

}  // namespace

uint64_t counting_worker_bytes(const SortJob& job) {
  const bool is_byte = key_bytes(job.type) == 1;
  const size_t counters = is_byte ? tables<uint8_t> * values<uint8_t> : tables<uint16_t> * values<uint16_t>;
  return job.chunk_bytes + counters * sizeof(uint64_t);
}

uint64_t counting_shared_bytes(const SortJob& job) {
  // The end of each value, and a chunk of a stream.
  const size_t ends = key_bytes(job.type) == 1 ? values<uint8_t> : values<uint16_t>;
  return ends * sizeof(uint64_t) + job.chunk_bytes;
}

std::unique_ptr<SortSession> make_counting_session(const SortJob& job) {
  if (key_bytes(job.type) == 1) return std::make_unique<CountingSession<uint8_t>>(job);
  return std::make_unique<CountingSession<uint16_t>>(job);
}

}  // namespace sweepsort
