// cpu_backend.cpp - the Backend that sorts and scans in this machine's memory with all its threads.
//
// begin_put returns a part of the session's input array, so reading the file is the only copy. Each chunk is
// digested by the thread that filled it, while it is in that thread's cache.
#include "backend/backend.hpp"
#include "backend/cpu/copy_bandwidth.hpp"
#include "backend/cpu/cpu_scan.hpp"
#include "backend/cpu/sort_arrays.hpp"
#include "backend/cpu/split_session.hpp"
#include "backend/cpu/tuning.hpp"
#include "backend/cpu/vqsort.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/page_array.hpp"
#include "core/rounding.hpp"
#include "core/team.hpp"

#include <fmt/format.h>

#include <fstream>
#include <limits>

namespace sweepsort {
namespace {

/// Calls f(std::type_identity<Bits>, std::type_identity<Value>) for the widths of a job.
template <class F>
decltype(auto) dispatch_widths(const SortJob& job, F&& f) {
  return dispatch_bits(job.type, [&](auto bits) -> decltype(auto) {
    switch (job.value_bytes) {
      case 0: return f(bits, std::type_identity<NoValue>{});
      case 4: return f(bits, std::type_identity<uint32_t>{});
      case 8: return f(bits, std::type_identity<uint64_t>{});
      default:
        throw Error(fmt::format("values of {} bytes cannot be sorted", job.value_bytes), "use 4 or 8 bytes");
    }
  });
}

template <class Bits, class Value>
class CpuSession : public SortSession {
 public:
  CpuSession(const SortJob& job, uint32_t threads, const CpuTuning& tuning)
      : job_(job),
        tuning_(tuning),
        map_(key_map<Bits>(job.type, job.order)),
        keys_(job.count * sizeof(Bits)),
        values_(job.count * value_size<Value>),
        memory_(job, threads, tuning),
        workers_(std::max(1u, job.workers)) {
    if (needs_second_array(job, tuning)) memory_.take_second_array();
    if (takes_workspace(job)) memory_.take_workspace();
    sorted_ = {reinterpret_cast<Bits*>(keys_.data()), reinterpret_cast<Value*>(values_.data())};
  }

  std::span<std::byte> begin_put(uint32_t worker, Column column, uint64_t first_byte, size_t bytes) override {
    workers_.at(worker).open = {column, first_byte, bytes};
    PageArray& array = column == Column::keys ? keys_ : values_;
    array.touch(first_byte, bytes);
    return {array.data() + first_byte, bytes};
  }

  void end_put(uint32_t worker) override {
    Worker& mine = workers_.at(worker);
    const auto [column, first_byte, bytes] = mine.open;
    if (column == Column::values) return;
    const uint64_t first = first_byte / sizeof(Bits);
    mine.digests.push_back(
        digest_keys(sorted_.keys + first, bytes / sizeof(Bits), map_, equal_keys_of<Value>));
    mine.digests.back().first_index = first;
  }

  SortSummary sort() override {
    const auto start = Clock::now();
    std::vector<KeyDigest<Bits>> digests;
    for (const Worker& worker : workers_)
      digests.insert(digests.end(), worker.digests.begin(), worker.digests.end());
    const KeyDigest<Bits> digest = combine(std::move(digests), equal_keys_of<Value>);
    if (digest.count != job_.count)
      throw Error(fmt::format("internal: {} of {} keys were put", digest.count, job_.count));
    auto result = sort_arrays(sorted_, job_, digest, SortedInto::either_array, memory_, tuning_);
    sorted_ = result.sorted;
    result.summary.sort_s = seconds_since(start);
    return result.summary;
  }

  std::span<std::byte> get(uint32_t, Column column, uint64_t first_byte, size_t bytes) override {
    return {sorted_column(column) + first_byte, bytes};
  }

  bool restart(uint64_t count) override {
    job_.count = count;
    for (Worker& worker : workers_) worker.digests.clear();
    sorted_ = {reinterpret_cast<Bits*>(keys_.data()), reinterpret_cast<Value*>(values_.data())};
    return true;
  }

 private:
  struct Put {
    Column column = Column::keys;
    uint64_t first_byte = 0;
    size_t bytes = 0;
  };
  /// In separate cache lines, because all workers write at once.
  struct alignas(64) Worker {
    Put open;
    std::vector<KeyDigest<Bits>> digests;
  };

  std::byte* sorted_column(Column column) const {
    return column == Column::keys ? reinterpret_cast<std::byte*>(sorted_.keys)
                                  : reinterpret_cast<std::byte*>(sorted_.values);
  }

  SortJob job_;
  CpuTuning tuning_;
  KeyMap<Bits> map_;
  PageArray keys_;
  PageArray values_;
  SortMemory<Bits, Value> memory_;
  std::vector<Worker> workers_;
  Columns<Bits, Value> sorted_;  // the input until sort(), then the result
};

class CpuBackend : public Backend {
 public:
  CpuBackend(uint32_t threads, const CpuTuning& tuning)
      : threads_(threads_or_all(threads)), tuning_(tuning) {}

  BackendInfo info() const override;
  Footprint footprint(const SortJob& job) const override;
  Bytes device_memory() const override { return {}; }
  bool wants_sample(const SortJob& job, Bytes memory) const override {
    return may_split(job, tuning_) && max_split_memory(job, tuning_) <= memory;
  }
  std::unique_ptr<SortSession> begin_sort(const SortJob& job) override {
    check(job);
    if (auto session = make_split_session(job, threads_, tuning_)) return session;
    return dispatch_widths(job, [&](auto bits, auto value) -> std::unique_ptr<SortSession> {
      return std::make_unique<CpuSession<typename decltype(bits)::type, typename decltype(value)::type>>(
          job, threads_, tuning_);
    });
  }
  SortSummary sort(std::span<std::byte> keys, std::span<std::byte> values, const SortJob& job) override;
  double copy_bandwidth() override { return measure_copy_bandwidth(threads_); }

  StreamShape stream_shape() const override {
    return {.chunk_bytes = cpu_chunk_bytes, .max_workers = max_io_workers};
  }
  std::unique_ptr<ScanSession> begin_scan(const ScanJob& job) override {
    return make_cpu_scan_session(checked(job));
  }
  std::unique_ptr<ReduceSession> begin_reduce(const ReduceJob& job) override {
    return make_cpu_reduce_session(job);
  }
  ScanSummary scan(std::span<const std::byte> in, std::span<std::byte> out, const ScanJob& job) override {
    return scan_memory(in, out, checked(job), threads_);
  }
  ReduceResult reduce(std::span<const std::byte> in, const ReduceJob& job) override {
    return reduce_memory(in, job, threads_);
  }
  Measurement measure_scan(const ScanJob& job, uint64_t count, const FillFunction& fill,
                           uint32_t runs) override;
  Measurement measure_reduce(const ReduceJob& job, uint64_t count, const FillFunction& fill,
                             uint32_t runs) override;

 private:
  static const ScanJob& checked(const ScanJob& job) {
    if (is_gpu_algorithm(job.algorithm))
      throw Error(fmt::format("--algorithm {} runs only on a GPU", name(job.algorithm)),
                  "the CPU has threads and sequential");
    return job;
  }

  /// Loads the data into memory, with all threads.
  PageArray load(size_t bytes, const FillFunction& fill) const;

  /// Rejects counts whose size in bytes would not fit in 64 bits, before anything multiplies them.
  static void check(const SortJob& job) {
    if (job.count > std::numeric_limits<uint64_t>::max() / 64)
      throw Error(fmt::format("{} keys are more than any memory holds", job.count), "sort the file in parts");
  }

  template <class Bits, class Value>
  SortSummary sort_in_place(Columns<Bits, Value> array, const SortJob& job);

  uint32_t threads_;
  CpuTuning tuning_;
};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "processor";
}

BackendInfo CpuBackend::info() const {
  std::string accelerator = "VQSort: not in this build";
  if (vqsort_available())
    accelerator = vqsort_pays(4) ? "VQSort: used for keys of 4 and 8 bytes"
                                 : "VQSort: not used, the radix sort is faster with this processor's vectors";
  return {.name = "cpu",
          .description = fmt::format("{}, {} thread{}", processor_name(), threads_, threads_ == 1 ? "" : "s"),
          .details = {accelerator}};
}

Backend::Footprint CpuBackend::footprint(const SortJob& job) const {
  const uint64_t arrays = needs_second_array(job, tuning_) ? 2 : 1;
  const uint32_t threads = useful_threads(job.count, threads_, tuning_);
  const size_t beside = dispatch_widths(job, [&](auto bits, auto value) {
    using Bits = typename decltype(bits)::type;
    using Value = typename decltype(value)::type;
    return takes_workspace(job) ? RadixWorkspace<Bits, Value>::bytes(threads, job.count, tuning_) : 0;
  });
  return {.host = Bytes{arrays * job.count * (key_bytes(job.type) + job.value_bytes) + beside}, .device = {}};
}

template <class Bits, class Value>
SortSummary CpuBackend::sort_in_place(Columns<Bits, Value> array, const SortJob& job) {
  const auto start = Clock::now();
  SortMemory<Bits, Value> memory(job, threads_, tuning_);
  const KeyMap<Bits> map = key_map<Bits>(job.type, job.order);
  std::vector<KeyDigest<Bits>> digests(memory.threads());
  run_team(memory.threads(), [&](uint32_t thread) {
    const uint64_t begin = slice_begin(job.count, thread, memory.threads());
    const uint64_t end = slice_begin(job.count, thread + 1, memory.threads());
    digests[thread] = digest_keys(array.keys + begin, end - begin, map, equal_keys_of<Value>);
    digests[thread].first_index = begin;
  });
  const KeyDigest<Bits> digest = combine(std::move(digests), equal_keys_of<Value>);
  SortSummary summary = sort_arrays(array, job, digest, SortedInto::the_input, memory, tuning_).summary;
  summary.sort_s = seconds_since(start);
  return summary;
}

SortSummary CpuBackend::sort(std::span<std::byte> keys, std::span<std::byte> values, const SortJob& job) {
  check(job);
  if (keys.size() != job.count * key_bytes(job.type) || values.size() != job.count * job.value_bytes)
    throw Error("internal: the spans do not have the job's size");
  const auto misaligned = [](const std::byte* data, size_t to) {
    return to > 1 && reinterpret_cast<uintptr_t>(data) % to != 0;
  };
  // Misaligned data is copied into a session's arrays.
  if (misaligned(keys.data(), key_bytes(job.type)) || misaligned(values.data(), job.value_bytes))
    return Backend::sort(keys, values, job);
  return dispatch_widths(job, [&](auto bits, auto value) {
    using Bits = typename decltype(bits)::type;
    using Value = typename decltype(value)::type;
    return sort_in_place<Bits, Value>(
        {reinterpret_cast<Bits*>(keys.data()), reinterpret_cast<Value*>(values.data())}, job);
  });
}

PageArray CpuBackend::load(size_t bytes, const FillFunction& fill) const {
  PageArray data(bytes);
  run_team(threads_, [&](uint32_t thread) {
    const size_t chunks = ceil_divide(bytes, cpu_chunk_bytes);
    for (size_t chunk = thread; chunk < chunks; chunk += threads_) {
      const size_t at = chunk * cpu_chunk_bytes;
      fill(at, {data.data() + at, std::min(cpu_chunk_bytes, bytes - at)});
    }
  });
  return data;
}

template <class Run>
std::vector<double> timed_runs(uint32_t runs, Run run) {
  run();  // touches the result for the first time
  std::vector<double> times;
  for (uint32_t i = 0; i < runs; ++i) {
    const auto start = Clock::now();
    run();
    times.push_back(seconds_since(start));
  }
  return times;
}

Measurement CpuBackend::measure_scan(const ScanJob& job, uint64_t count, const FillFunction& fill,
                                     uint32_t runs) {
  const PageArray in = load(count * key_bytes(job.type), fill);
  const PageArray out(count * key_bytes(job.output_type));
  const std::span<const std::byte> from(in.data(), in.size());
  const std::span<std::byte> to(out.data(), out.size());
  return {.times_s = timed_runs(runs, [&] { scan(from, to, job); }),
          .bandwidth_bytes_s = measure_copy_bandwidth(threads_, from, to)};
}

Measurement CpuBackend::measure_reduce(const ReduceJob& job, uint64_t count, const FillFunction& fill,
                                       uint32_t runs) {
  const PageArray in = load(count * key_bytes(job.type), fill);
  const std::span<const std::byte> from(in.data(), in.size());
  return {.times_s = timed_runs(runs, [&] { reduce(from, job); }),
          .bandwidth_bytes_s = measure_read_bandwidth(threads_, from)};
}

}  // namespace

uint32_t useful_threads(uint64_t count, uint32_t threads, const CpuTuning& tuning) {
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(count / std::max<uint64_t>(1, tuning.keys_per_thread), 1, threads));
}

bool takes_workspace(const SortJob& job) {
  if (job.algorithm == SortAlgorithm::automatic) return job.value_bytes != 0 || key_bytes(job.type) > 2;
  return job.algorithm == SortAlgorithm::radix;
}

bool needs_second_array(const SortJob& job, const CpuTuning& tuning) {
  if (job.value_bytes == 0) return false;
  if (job.algorithm == SortAlgorithm::counting) return true;
  const uint64_t capacity = dispatch_widths(job, [&](auto bits, auto value) {
    return RadixWorkspace<typename decltype(bits)::type, typename decltype(value)::type>::capacity(tuning);
  });
  return job.count > capacity;
}

std::unique_ptr<Backend> make_cpu_backend(uint32_t threads) { return make_tuned_cpu_backend(threads, {}); }

std::unique_ptr<Backend> make_tuned_cpu_backend(uint32_t threads, const CpuTuning& tuning) {
  return std::make_unique<CpuBackend>(threads, tuning);
}

}  // namespace sweepsort
