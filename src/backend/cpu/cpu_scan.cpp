// cpu_scan.cpp - the CPU's scan and search sessions, and scans and searches of whole arrays.
#include "backend/cpu/cpu_scan.hpp"

#include "backend/cpu/extreme_search.hpp"
#include "backend/cpu/scan_chain.hpp"
#include "core/page_array.hpp"
#include "core/pages.hpp"
#include "core/team.hpp"

#include <algorithm>
#include <atomic>

namespace sweepsort {
namespace {

/// Larger results would not stay in the caches until they are read again.
constexpr size_t min_streamed_bytes = 16u << 20;

/// A worker's memory, allocated when it is first needed.
class WorkerMemory {
 public:
  std::span<std::byte> take(size_t bytes, size_t offset) {
    if (memory_.size() == 0) memory_ = PageArray(bytes + io_alignment);
    return {memory_.data() + offset % io_alignment, bytes};
  }

 private:
  PageArray memory_;
};

class CpuScanSession final : public ScanSession {
 public:
  explicit CpuScanSession(const ScanJob& job) : job_(job), chain_(job), workers_(std::max(1u, job.workers)) {}

  std::span<std::byte> begin_chunk(uint32_t worker, size_t offset) override {
    return workers_.at(worker).chunk = workers_[worker].input.take(job_.chunk_bytes, offset);
  }

  std::span<std::byte> scan(uint32_t worker, uint64_t index, uint64_t first_element,
                            uint64_t count) override {
    Worker& mine = workers_.at(worker);
    std::span<std::byte> out = mine.chunk.first(count * key_bytes(job_.type));
    if (job_.output_type != job_.type) {
      const size_t width = key_bytes(job_.output_type);
      out = mine.output.take(job_.chunk_bytes / key_bytes(job_.type) * width, 0).first(count * width);
      widen(job_.type, job_.output_type, mine.chunk.data(), count, out.data());
    }
    chain_.scan({index, first_element, out.data(), count, out.data()});
    mine.end = first_element + count;
    return out;
  }

  std::optional<uint64_t> overflow() const override { return chain_.overflow(); }
  void cancel() override { chain_.cancel(); }

  ScanSummary finish() override {
    uint64_t count = 0;
    for (const Worker& worker : workers_) count = std::max(count, worker.end);
    return chain_.finish(count);
  }

 private:
  struct alignas(64) Worker {
    WorkerMemory input;
    WorkerMemory output;
    std::span<std::byte> chunk;
    uint64_t end = 0;  // after the last element of its last chunk
  };

  ScanJob job_;
  ScanChain chain_;
  std::vector<Worker> workers_;
};

class CpuReduceSession final : public ReduceSession {
 public:
  explicit CpuReduceSession(const ReduceJob& job) : job_(job) {
    for (uint32_t i = 0; i < std::max(1u, job.workers); ++i)
      workers_.push_back({.search = ExtremeSearch(job), .memory = std::make_unique<WorkerMemory>()});
  }

  std::span<std::byte> begin_chunk(uint32_t worker, size_t offset) override {
    return workers_.at(worker).chunk = workers_[worker].memory->take(job_.chunk_bytes, offset);
  }

  void end_chunk(uint32_t worker, uint64_t first_element, uint64_t count) override {
    workers_.at(worker).search.add(workers_[worker].chunk.data(), count, first_element);
  }

  ReduceResult finish() override {
    ExtremeSearch all(job_);
    for (const Worker& worker : workers_) all.add(worker.search);
    return all.result();
  }

 private:
  struct alignas(64) Worker {
    ExtremeSearch search;
    std::unique_ptr<WorkerMemory> memory;
    std::span<std::byte> chunk = {};
  };

  ReduceJob job_;
  std::vector<Worker> workers_;
};

/// Divides an array into blocks, which threads take in rising order.
class Blocks {
 public:
  struct Block {
    uint64_t index;
    uint64_t first;  // element
    uint64_t count;  // 0: there are no more
  };

  Blocks(uint64_t count, size_t width) : count_(count), per_block_(cpu_block_bytes / width) {}

  uint32_t useful_threads(uint32_t threads) const {
    return static_cast<uint32_t>(std::min<uint64_t>(threads, count_ / per_block_ + 1));
  }
  Block take() {
    const uint64_t index = next_++;
    const uint64_t first = std::min(index * per_block_, count_);
    return {index, first, std::min(per_block_, count_ - first)};
  }

 private:
  uint64_t count_;
  uint64_t per_block_;
  std::atomic<uint64_t> next_ = 0;
};

}  // namespace

std::unique_ptr<ScanSession> make_cpu_scan_session(const ScanJob& job) {
  return std::make_unique<CpuScanSession>(job);
}

std::unique_ptr<ReduceSession> make_cpu_reduce_session(const ReduceJob& job) {
  return std::make_unique<CpuReduceSession>(job);
}

ScanSummary scan_memory(std::span<const std::byte> in, std::span<std::byte> out, const ScanJob& job,
                        uint32_t threads) {
  const size_t width = key_bytes(job.type);
  const size_t out_width = key_bytes(job.output_type);
  const uint64_t count = in.size() / width;
  ScanChain chain(job);
  if (job.algorithm == ScanAlgorithm::sequential) threads = 1;
  Blocks blocks(count, out_width);
  const auto take = [&] {
    const auto [index, first, elements] = blocks.take();
    return ScanBlock{index, first, in.data() + first * width, elements, out.data() + first * out_width};
  };
  const bool widens = job.type != job.output_type;
  const bool streams = chain.can_stream(out.data()) && !widens && out.size() >= min_streamed_bytes;
  run_team(blocks.useful_threads(threads), [&](uint32_t) {
    if (streams && !job.checks_overflow()) return chain.stream_all(take);
    for (ScanBlock block = take(); block.count > 0; block = take()) {
      if (widens) {
        widen(job.type, job.output_type, block.in, block.count, block.out);
        block.in = block.out;
      }
      chain.scan(block, streams);
    }
  });
  return chain.finish(count);
}

ReduceResult reduce_memory(std::span<const std::byte> in, const ReduceJob& job, uint32_t threads) {
  const size_t width = key_bytes(job.type);
  Blocks blocks(in.size() / width, width);
  threads = blocks.useful_threads(threads);
  std::vector<ExtremeSearch> searches(threads, ExtremeSearch(job));
  run_team(threads, [&](uint32_t thread) {
    for (auto block = blocks.take(); block.count > 0; block = blocks.take())
      searches[thread].add(in.data() + block.first * width, block.count, block.first);
  });
  for (size_t i = 1; i < searches.size(); ++i) searches[0].add(searches[i]);
  return searches[0].result();
}

}  // namespace sweepsort
