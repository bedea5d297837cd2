// cuda_scan_session.cu - a ring of chunks through a GPU.
//
//     worker's stream   upload ──┐                  ┌── download
//     one stream                 └─> widen, scan ───┘         in the order of the chunks
//
// The carry stays on the device: two elements that are alternately a chunk's `initial` and its `total`. A
// worker waits on the host only for its turn to enqueue and for its own download, so other workers' uploads
// and downloads continue in parallel with the kernels.
#include "backend/cuda_measure.hpp"
#include "backend/cuda_scan.hpp"
#include "backend/cuda_scan_session.hpp"
#include "core/error.hpp"
#include "core/pages.hpp"
#include "core/turnstile.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

namespace sweepsort {
namespace {

constexpr uint64_t nowhere = std::numeric_limits<uint64_t>::max();
constexpr size_t slot_bytes = 16;  // an element, aligned for every type

/// What one worker uses. Created by the worker when it first needs it.
struct ScanLane {
  ScanLane(const ScanJob& job, size_t output_bytes)
      : staging(std::max(job.chunk_bytes + io_alignment, output_bytes)),
        overflow(sizeof(uint64_t)),
        input(job.chunk_bytes),
        wide(job.type == job.output_type ? 0 : output_bytes),
        output(output_bytes) {}

  Stream stream;
  Event uploaded;
  Event scanned;
  PinnedBuffer staging;   // for the upload, then for the download
  PinnedBuffer overflow;  // the lowest index known when this lane's chunk was scanned
  DeviceBuffer<std::byte> input;
  DeviceBuffer<std::byte> wide;
  DeviceBuffer<std::byte> output;
  size_t offset = 0;  // of the chunk in the staging buffer
};

DeviceScan describe(const ScanJob& job, uint64_t count) {
  return {
      .type = job.output_type, .op = job.op, .kind = job.kind, .algorithm = job.algorithm, .count = count};
}

std::string algorithm_name(ScanAlgorithm algorithm) {
  return std::string(name(algorithm == ScanAlgorithm::automatic ? ScanAlgorithm::lookback : algorithm));
}

void refuse_cpu_algorithms(const ScanJob& job) {
  if (is_cpu_algorithm(job.algorithm))
    throw Error("--algorithm " + std::string(name(job.algorithm)) + " runs only on the CPU",
                "the GPU has lookback, shuffle, blelloch, blelloch-padded and hillis-steele");
}

class CudaScanSession final : public ScanSession {
 public:
  /// `device` must be the current device.
  CudaScanSession(DeviceId device, const ScanJob& job)
      : device_(device),
        job_(job),
        largest_(describe(job, job.chunk_bytes / key_bytes(job.type))),
        workspace_(device_scan_workspace_bytes(largest_)),
        slots_(2 * slot_bytes),
        overflow_(1),
        lanes_(std::max(1u, job.workers)) {
    const uint64_t start = exclusive_start(job.output_type, job.op);
    check(cudaMemcpyAsync(slot(0), &start, sizeof start, cudaMemcpyHostToDevice, stream_.get()));
    check(cudaMemcpyAsync(overflow_.data(), &nowhere, sizeof nowhere, cudaMemcpyHostToDevice, stream_.get()));
    device_scan_prepare(largest_, workspace(), stream_.get());
    stream_.synchronize();
  }

  ~CudaScanSession() override {
    // Buffers must not be freed during a copy, not even after an error.
    for (const auto& lane : lanes_)
      if (lane) (void)cudaStreamSynchronize(lane->stream.get());
    (void)cudaStreamSynchronize(stream_.get());
  }

  std::span<std::byte> begin_chunk(uint32_t worker, size_t offset) override {
    const DeviceGuard guard(device_);
    auto& lane = lanes_.at(worker);
    if (!lane) lane = std::make_unique<ScanLane>(job_, job_.chunk_bytes / key_bytes(job_.type) * out_width());
    lane->offset = offset % io_alignment;
    return {lane->staging.data() + lane->offset, job_.chunk_bytes};
  }

  std::span<std::byte> scan(uint32_t worker, uint64_t index, uint64_t first_element,
                            uint64_t count) override {
    const DeviceGuard guard(device_);
    ScanLane& lane = *lanes_.at(worker);
    check(cudaMemcpyAsync(lane.input.data(), lane.staging.data() + lane.offset, count * key_bytes(job_.type),
                          cudaMemcpyHostToDevice, lane.stream.get()));
    lane.uploaded.record(lane.stream);
    turnstile_.wait(index);
    enqueue(lane, index, first_element, count);
    turnstile_.pass(index);
    lane.scanned.hold_back(lane.stream);
    const size_t bytes = count * out_width();
    check(cudaMemcpyAsync(lane.staging.data(), lane.output.data(), bytes, cudaMemcpyDeviceToHost,
                          lane.stream.get()));
    if (job_.checks_overflow())
      check(cudaMemcpyAsync(lane.overflow.data(), overflow_.data(), sizeof(uint64_t), cudaMemcpyDeviceToHost,
                            lane.stream.get()));
    lane.stream.synchronize();
    if (job_.checks_overflow()) note_overflow(*reinterpret_cast<const uint64_t*>(lane.overflow.data()));
    return {lane.staging.data(), bytes};
  }

  std::optional<uint64_t> overflow() const override {
    const uint64_t place = lowest_overflow_.load(std::memory_order_acquire);
    return place == nowhere ? std::nullopt : std::optional(place);
  }

  void cancel() override { turnstile_.cancel(); }

  ScanSummary finish() override {
    const DeviceGuard guard(device_);
    ScanSummary summary{.overflow = overflow(), .algorithm = algorithm_name(job_.algorithm)};
    if (chunks_ != 0) {
      check(
          cudaMemcpyAsync(&summary.total, slot(chunks_), out_width(), cudaMemcpyDeviceToHost, stream_.get()));
      stream_.synchronize();
    }
    excuse_last(summary, job_.kind, elements_);
    return summary;
  }

 private:
  size_t out_width() const { return key_bytes(job_.output_type); }
  /// The carry before chunk `index`.
  std::byte* slot(uint64_t index) const { return slots_.data() + index % 2 * slot_bytes; }
  Workspace workspace() const { return Workspace(workspace_.span()); }

  /// Called in the chunk's turn: does everything that must happen in the order of the chunks.
  void enqueue(ScanLane& lane, uint64_t index, uint64_t first_element, uint64_t count) {
    lane.uploaded.hold_back(stream_);
    const std::byte* from = lane.input.data();
    if (job_.type != job_.output_type) {
      device_widen(job_.type, job_.output_type, from, lane.wide.data(), count, stream_.get());
      from = lane.wide.data();
    }
    DeviceScan scan = describe(job_, count);
    scan.in = from;
    scan.out = lane.output.data();
    // Nothing precedes an inclusive scan, not even an infinity, so that leading NaNs stay NaN.
    const bool starts = index != 0 || job_.kind == ScanKind::exclusive;
    scan.initial = starts ? slot(index) : nullptr;
    scan.total = slot(index + 1);
    device_scan(scan, workspace(), stream_.get());
    if (job_.checks_overflow()) device_find_overflow(scan, first_element, overflow_.data(), stream_.get());
    lane.scanned.record(stream_);
    chunks_ = index + 1;
    elements_ = first_element + count;
  }

  void note_overflow(uint64_t place) {
    uint64_t lowest = lowest_overflow_.load(std::memory_order_relaxed);
    while (place < lowest &&
           !lowest_overflow_.compare_exchange_weak(lowest, place, std::memory_order_release)) {
    }
  }

  DeviceId device_;
  ScanJob job_;
  DeviceScan largest_;
  DeviceBuffer<std::byte> workspace_;
  DeviceBuffer<std::byte> slots_;
  DeviceBuffer<uint64_t> overflow_;
  Stream stream_;
  std::vector<std::unique_ptr<ScanLane>> lanes_;
  Turnstile turnstile_;
  uint64_t chunks_ = 0;  // enqueued so far; this and the next are changed only by the thread whose turn it is
  uint64_t elements_ = 0;
  std::atomic<uint64_t> lowest_overflow_ = nowhere;
};

}  // namespace

std::unique_ptr<ScanSession> make_cuda_scan_session(DeviceId device, const ScanJob& job) {
  refuse_cpu_algorithms(job);
  const DeviceGuard guard(device);
  return std::make_unique<CudaScanSession>(device, job);
}

Measurement measure_cuda_scan(DeviceId device, const ScanJob& job, uint64_t count, const FillFunction& fill,
                              uint32_t runs) {
  refuse_cpu_algorithms(job);
  const DeviceGuard guard(device);
  const Stream stream;
  const bool widens = job.type != job.output_type;
  const DeviceBuffer<std::byte> in = load_on_device(count * key_bytes(job.type), fill);
  const DeviceBuffer<std::byte> wide(widens ? count * key_bytes(job.output_type) : 0);
  const DeviceBuffer<std::byte> out(count * key_bytes(job.output_type));
  DeviceScan scan = describe(job, count);
  scan.in = widens ? wide.data() : in.data();
  scan.out = out.data();
  const DeviceBuffer<std::byte> workspace(device_scan_workspace_bytes(scan));
  device_scan_prepare(scan, Workspace(workspace.span()), stream.get());
  return {.times_s = timed_runs(runs, stream, [&] {
            if (widens) device_widen(job.type, job.output_type, in.data(), wide.data(), count, stream.get());
            device_scan(scan, Workspace(workspace.span()), stream.get());
          })};
}

}  // namespace sweepsort
