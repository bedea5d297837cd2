// cuda_reduce_session.cu - the smallest or largest element of data that is streamed through a GPU: uploads on
// the workers' streams, all pieces one after another on a separate stream.
#include "backend/cuda_measure.hpp"
#include "backend/cuda_scan.hpp"
#include "backend/cuda_scan_session.hpp"
#include "core/pages.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

namespace sweepsort {
namespace {

/// What one worker uses. It reads into one buffer while the other is being uploaded.
struct ReduceLane {
  explicit ReduceLane(const ReduceJob& job) : input(job.chunk_bytes) {
    for (Staging& staging : stagings) staging.memory = PinnedBuffer(job.chunk_bytes + io_alignment);
  }

  struct Staging {
    PinnedBuffer memory;
    Event uploaded;
  };

  Stream stream;
  Event reduced;
  std::array<Staging, 2> stagings;
  DeviceBuffer<std::byte> input;
  uint32_t turn = 0;
  size_t offset = 0;  // of the chunk in its buffer

  Staging& staging() { return stagings[turn % stagings.size()]; }
};

DeviceReduce describe(const ReduceJob& job, uint64_t count) {
  return {.type = job.type, .extreme = job.extreme, .wants_index = job.wants_index, .count = count};
}

class CudaReduceSession final : public ReduceSession {
 public:
  /// `device` must be the current device.
  CudaReduceSession(DeviceId device, const ReduceJob& job)
      : device_(device),
        job_(job),
        largest_(describe(job, job.chunk_bytes / key_bytes(job.type))),
        workspace_(device_reduce_workspace_bytes(largest_)),
        lanes_(std::max(1u, job.workers)) {
    device_reduce_begin(largest_, workspace(), stream_.get());
  }

  ~CudaReduceSession() override {
    for (const auto& lane : lanes_)
      if (lane) (void)cudaStreamSynchronize(lane->stream.get());
    (void)cudaStreamSynchronize(stream_.get());
  }

  std::span<std::byte> begin_chunk(uint32_t worker, size_t offset) override {
    const DeviceGuard guard(device_);
    auto& lane = lanes_.at(worker);
    if (!lane) lane = std::make_unique<ReduceLane>(job_);
    ++lane->turn;
    lane->staging().uploaded.synchronize();  // waits until the previous chunk in it has been uploaded
    lane->offset = offset % io_alignment;
    return {lane->staging().memory.data() + lane->offset, job_.chunk_bytes};
  }

  void end_chunk(uint32_t worker, uint64_t first_element, uint64_t count) override {
    const DeviceGuard guard(device_);
    ReduceLane& lane = *lanes_.at(worker);
    lane.reduced.hold_back(lane.stream);  // until then the device still reads the previous chunk
    ReduceLane::Staging& staging = lane.staging();
    check(cudaMemcpyAsync(lane.input.data(), staging.memory.data() + lane.offset,
                          count * key_bytes(job_.type), cudaMemcpyHostToDevice, lane.stream.get()));
    staging.uploaded.record(lane.stream);
    DeviceReduce reduce = describe(job_, count);
    reduce.in = lane.input.data();
    reduce.first_index = first_element;
    const std::lock_guard lock(mutex_);  // one workspace: one stream, and one piece after another
    staging.uploaded.hold_back(stream_);
    device_reduce(reduce, workspace(), stream_.get());
    lane.reduced.record(stream_);
  }

  ReduceResult finish() override {
    const DeviceGuard guard(device_);
    const DeviceReduced found = device_reduce_result(largest_, workspace(), stream_.get());
    return {.found = found.found,
            .bits = found.bits,
            .index = found.index,
            .algorithm = std::string(name(ReduceAlgorithm::single_pass))};
  }

 private:
  Workspace workspace() const { return Workspace(workspace_.span()); }

  DeviceId device_;
  ReduceJob job_;
  DeviceReduce largest_;
  DeviceBuffer<std::byte> workspace_;
  Stream stream_;
  std::vector<std::unique_ptr<ReduceLane>> lanes_;
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<ReduceSession> make_cuda_reduce_session(DeviceId device, const ReduceJob& job) {
  const DeviceGuard guard(device);
  return std::make_unique<CudaReduceSession>(device, job);
}

Measurement measure_cuda_reduce(DeviceId device, const ReduceJob& job, uint64_t count,
                                const FillFunction& fill, uint32_t runs) {
  const DeviceGuard guard(device);
  const Stream stream;
  const DeviceBuffer<std::byte> in = load_on_device(count * key_bytes(job.type), fill);
  DeviceReduce reduce = describe(job, count);
  reduce.in = in.data();
  const DeviceBuffer<std::byte> workspace(device_reduce_workspace_bytes(reduce));
  device_reduce_begin(reduce, Workspace(workspace.span()), stream.get());
  return {.times_s = timed_runs(runs, stream,
                                [&] { device_reduce(reduce, Workspace(workspace.span()), stream.get()); })};
}

}  // namespace sweepsort
