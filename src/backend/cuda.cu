// cuda.cu - the CUDA backend: a small ring of pinned buffers, one array in device memory, and the kernels'
// sort.
//
//     begin_put ── pinned buffer of the worker ── end_put: copy to the device, digest it there (asynchronous)
//     sort      ── the rest of the digest, the plan, the passes
//     get       ── copy from the device into the worker's pinned buffer; get_unique: its distinct keys
//
// Each worker has its own stream and buffers, so that reading, copying and digesting overlap without locks.
#include "backend/backend.hpp"
#include "backend/cuda_device.hpp"
#include "backend/cuda_measure.hpp"
#include "backend/cuda_scan_session.hpp"
#include "backend/cuda_sort.hpp"
#include "backend/cuda_unique.hpp"
#include "core/error.hpp"
#include "gpu/handles.hpp"

#include <algorithm>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace sweepsort {
namespace {

/// The number of chunk starts that the device examines together.
constexpr uint64_t borders_at_once = 4096;

size_t column_bytes(const SortJob& job, Column column) {
  return job.count * (column == Column::keys ? key_bytes(job.type) : job.value_bytes);
}

DeviceSort describe(const SortJob& job, std::byte* keys, std::byte* values) {
  return {.type = job.type,
          .order = job.order,
          .algorithm = job.algorithm,
          .count = job.count,
          .value_bytes = job.value_bytes,
          .keys_in = keys,
          .keys_out = keys,
          .values_in = values,
          .values_out = values};
}

/// What one thread of the pipeline uses: a stream, and two buffers in turn, so that it fills one while the
/// other is still being copied. With many workers one buffer each is enough, and pinned memory is slow to
/// allocate.
class WorkerLane {
 public:
  WorkerLane(size_t chunk_bytes, size_t buffers) : chunk_bytes_(chunk_bytes), slots_(buffers) {}

  struct Slot {
    PinnedBuffer memory;  // allocated by the worker itself when it first needs it
    Event copied;
  };

  /// Returns the next buffer, once the copy out of it is done.
  Slot& next() {
    Slot& slot = slots_[turn_++ % slots_.size()];
    if (slot.memory.size() == 0) slot.memory = PinnedBuffer(chunk_bytes_);
    slot.copied.synchronize();
    return slot;
  }

  Stream stream;
  Slot* open = nullptr;  // set between begin_put and end_put
  Column column = Column::keys;
  uint64_t first_byte = 0;
  size_t bytes = 0;

 private:
  size_t chunk_bytes_;
  std::vector<Slot> slots_;
  size_t turn_ = 0;
};

/// The most distinct keys in a chunk.
uint64_t max_unique(const SortJob& job) {
  return max_distinct(job.type, job.chunk_bytes / key_bytes(job.type));
}

/// What one thread needs to compact a chunk, on its lane's stream.
class UniqueLane {
 public:
  /// Ready when the work in the stream is done.
  UniqueLane(const SortJob& job, const Stream& stream)
      : type_(job.type),
        max_keys_(job.chunk_bytes / key_bytes(job.type)),
        max_distinct_(max_unique(job)),
        keys_(max_distinct_ * key_bytes(job.type)),
        found_and_ends_(1 + max_distinct_),
        workspace_(device_unique_workspace_bytes(max_keys_)) {
    check(cudaMemsetAsync(workspace_.data(), 0, workspace_.size(), stream.get()));
  }
  static size_t device_bytes(const SortJob& job) {
    return max_unique(job) * key_bytes(job.type) + ends_bytes(job) +
           device_unique_workspace_bytes(job.chunk_bytes / key_bytes(job.type));
  }
  static size_t ends_bytes(const SortJob& job) { return (1 + max_unique(job)) * sizeof(uint32_t); }

  /// Writes the distinct keys among `count` keys in device memory (at least one) to `to`. Empty if there are
  /// none, or so many that the keys cannot be in order.
  std::optional<UniqueKeys> get(const std::byte* keys, uint64_t count, std::byte* to, const Stream& stream) {
    if (count > max_keys_) throw Error("internal: more different keys are wanted than those of a chunk");
    if (host_.size() == 0) host_ = PinnedBuffer(found_and_ends_.size() * sizeof(uint32_t));
    device_unique({.type = type_,
                   .keys = keys,
                   .count = static_cast<uint32_t>(count),
                   .different = keys_.data(),
                   .ends = found_and_ends_.data() + 1,
                   .most = static_cast<uint32_t>(max_distinct_),
                   .found = found_and_ends_.data()},
                  max_keys_, Workspace(workspace_.span()), stream.get());
    auto* const host = reinterpret_cast<uint32_t*>(host_.data());
    download(host, found_and_ends_.data(), sizeof(uint32_t), stream);
    stream.synchronize();
    const uint32_t found = host[0];
    if (found == 0 || found > max_distinct_) return {};
    const size_t bytes = found * key_bytes(type_);
    download(to, keys_.data(), bytes, stream);
    download(host + 1, found_and_ends_.data() + 1, found * sizeof(uint32_t), stream);
    stream.synchronize();
    return UniqueKeys{{to, bytes}, {host + 1, found}};
  }

 private:
  static void download(void* to, const void* from, size_t bytes, const Stream& stream) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream.get()));
  }

  KeyType type_;
  uint64_t max_keys_;
  uint64_t max_distinct_;
  DeviceBuffer<std::byte> keys_;
  DeviceBuffer<uint32_t> found_and_ends_;
  DeviceBuffer<std::byte> workspace_;
  PinnedBuffer host_;  // count and ends; allocated by the worker itself when it first needs them
};

/// Calls f. A kernel's first launch may need device memory, too.
template <class F>
decltype(auto) within_device_memory(const F& f) {
  try {
    return f();
  } catch (const CudaError& error) {
    if (error.code() != cudaErrorMemoryAllocation) throw;
    throw DeviceMemoryError(error.what(), error.hint());
  }
}

/// With few workers, a worker fills one buffer while the other is being copied.
size_t buffers_per_worker(const SortJob& job) { return job.workers < 4 ? 2 : 1; }

class CudaSortSession final : public SortSession {
 public:
  /// `device` must be the current device.
  CudaSortSession(DeviceId device, const SortJob& job)
      : device_(device),
        job_(job),
        keys_(column_bytes(job, Column::keys)),
        values_(column_bytes(job, Column::values)),
        sort_(describe(job, keys_.data(), values_.data())),
        workspace_(device_sort_workspace_bytes(sort_)),
        borders_(borders_at_once) {
    for (uint32_t i = 0; i < job.workers; ++i)
      lanes_.push_back(
          std::make_unique<WorkerLane>(std::max<size_t>(job.chunk_bytes, 1), buffers_per_worker(job)));
    for (uint32_t i = 0; i < (job.unique ? job.workers : 0); ++i)
      unique_lanes_.push_back(std::make_unique<UniqueLane>(job, stream_));
    device_sort_begin(sort_, workspace(), stream_.get());
    stream_.synchronize();
  }

  ~CudaSortSession() override {
    // Buffers must not be freed during a copy, not even after an error.
    for (const auto& lane : lanes_) (void)cudaStreamSynchronize(lane->stream.get());
    (void)cudaStreamSynchronize(stream_.get());
  }

  std::span<std::byte> begin_put(uint32_t worker, Column column, uint64_t first_byte, size_t bytes) override {
    const DeviceGuard guard(device_);
    WorkerLane& lane = *lanes_[worker];
    lane.open = &lane.next();
    lane.column = column;
    lane.first_byte = first_byte;
    lane.bytes = bytes;
    return {lane.open->memory.data(), bytes};
  }

  void end_put(uint32_t worker) override {
    const DeviceGuard guard(device_);
    WorkerLane& lane = *lanes_[worker];
    check(cudaMemcpyAsync(at(lane.column, lane.first_byte), lane.open->memory.data(), lane.bytes,
                          cudaMemcpyHostToDevice, lane.stream.get()));
    lane.open->copied.record(lane.stream);
    if (lane.column != Column::keys || lane.bytes == 0) return;
    const uint64_t first = lane.first_byte / key_bytes(job_.type);
    within_device_memory([&] {
      device_sort_digest(sort_, first, lane.bytes / key_bytes(job_.type), workspace(), lane.stream.get());
    });
    const std::lock_guard lock(starts_mutex_);
    starts_.push_back(first);
  }

  SortSummary sort() override {
    const DeviceGuard guard(device_);
    for (const auto& lane : lanes_) lane->stream.synchronize();
    const Event begun;
    const Event done;
    begun.record(stream_);
    within_device_memory([&] {
      digest_borders();
      device_sort_finish(sort_, workspace(), stream_.get());
    });
    done.record(stream_);
    done.synchronize();
    const DeviceSortOutcome outcome = device_sort_outcome(sort_, workspace(), stream_.get());
    if (outcome.algorithm == DeviceSortOutcome::Algorithm::unsuitable)
      throw BackendLimitError("--algorithm counting: the keys' range is too wide to be counted",
                              "use --algorithm auto or radix");
    return {
        .algorithm = name_of(outcome.algorithm), .why = why(outcome), .sort_s = done.seconds_since(begun)};
  }

  std::span<std::byte> get(uint32_t worker, Column column, uint64_t first_byte, size_t bytes) override {
    const DeviceGuard guard(device_);
    WorkerLane& lane = *lanes_[worker];
    WorkerLane::Slot& slot = lane.next();
    check(cudaMemcpyAsync(slot.memory.data(), at(column, first_byte), bytes, cudaMemcpyDeviceToHost,
                          lane.stream.get()));
    lane.stream.synchronize();
    return {slot.memory.data(), bytes};
  }

  std::optional<UniqueKeys> get_unique(uint32_t worker, uint64_t first, uint64_t count) override {
    if (unique_lanes_.empty()) return {};
    const DeviceGuard guard(device_);
    WorkerLane& lane = *lanes_[worker];
    return within_device_memory([&] {
      return unique_lanes_[worker]->get(at(Column::keys, first * key_bytes(job_.type)), count,
                                        lane.next().memory.data(), lane.stream);
    });
  }

  bool restart(uint64_t count) override {
    const DeviceGuard guard(device_);
    DeviceSort again = sort_;
    again.count = count;
    if (count * key_bytes(job_.type) > keys_.size() || device_sort_workspace_bytes(again) > workspace_.size())
      return false;
    job_.count = count;
    sort_ = again;
    starts_.clear();
    device_sort_begin(sort_, workspace(), stream_.get());
    stream_.synchronize();  // the workers' streams digest into the memory that was cleared here
    return true;
  }

 private:
  static std::string name_of(DeviceSortOutcome::Algorithm algorithm) {
    switch (algorithm) {
      case DeviceSortOutcome::Algorithm::already_sorted: return "already sorted";
      case DeviceSortOutcome::Algorithm::reversed: return "reversed";
      case DeviceSortOutcome::Algorithm::counting: return "counting";
      case DeviceSortOutcome::Algorithm::msd: return "radix-msd";
      case DeviceSortOutcome::Algorithm::block: return "one-block";
      case DeviceSortOutcome::Algorithm::grid: return "one-launch";
      default: return "radix-lsd";
    }
  }

  /// Empty if the name says it all.
  std::string why(const DeviceSortOutcome& outcome) const {
    if (job_.algorithm != SortAlgorithm::automatic) return "asked for";
    switch (outcome.algorithm) {
      case DeviceSortOutcome::Algorithm::counting: return "the keys have few values";
      case DeviceSortOutcome::Algorithm::msd:
        return "the keys are many, and buckets that follow their distribution are small enough";
      case DeviceSortOutcome::Algorithm::block: return "one block holds all keys";
      case DeviceSortOutcome::Algorithm::grid: return "this many are sorted in one launch";
      case DeviceSortOutcome::Algorithm::radix:
        return "passes by " + std::to_string(outcome.live_digits) + " digits of 8 bits suffice";
      default: return {};
    }
  }

  std::byte* at(Column column, uint64_t byte) const {
    return (column == Column::keys ? keys_ : values_).data() + byte;
  }
  /// Digests what the separate digests of the chunks cannot see: how each chunk follows the one before.
  void digest_borders() const {
    for (uint64_t first = 0; first < starts_.size(); first += borders_.size()) {
      const DeviceSpan<uint64_t> some{borders_.data(),
                                      std::min<uint64_t>(borders_.size(), starts_.size() - first)};
      check(cudaMemcpyAsync(some.data(), starts_.data() + first, some.size() * sizeof(uint64_t),
                            cudaMemcpyHostToDevice, stream_.get()));
      device_sort_digest_borders(sort_, some, workspace(), stream_.get());
    }
  }
  Workspace workspace() const { return Workspace(workspace_.span()); }

  DeviceId device_;
  SortJob job_;
  DeviceBuffer<std::byte> keys_;
  DeviceBuffer<std::byte> values_;
  DeviceSort sort_;
  DeviceBuffer<std::byte> workspace_;
  DeviceBuffer<uint64_t> borders_;  // starts of some chunks
  Stream stream_;
  std::vector<std::unique_ptr<WorkerLane>> lanes_;
  std::vector<std::unique_ptr<UniqueLane>> unique_lanes_;  // empty if not requested
  std::mutex starts_mutex_;
  std::vector<uint64_t> starts_;  // starts of all chunks: the index of each one's first key
};

/// Copies on the calling thread's own stream, so that threads do not wait for each other.
class CudaStorage final : public DeviceStorage {
 public:
  /// `device` must be the current device.
  CudaStorage(DeviceId device, uint64_t bytes) : device_(device), memory_(bytes) {}

  void read(uint64_t first_byte, std::span<std::byte> to) const override {
    const DeviceGuard guard(device_);
    check(cudaMemcpyAsync(to.data(), memory_.data() + first_byte, to.size(), cudaMemcpyDeviceToHost,
                          cudaStreamPerThread));
    check(cudaStreamSynchronize(cudaStreamPerThread));
  }
  void write(uint64_t first_byte, std::span<const std::byte> from) override {
    const DeviceGuard guard(device_);
    check(cudaMemcpyAsync(memory_.data() + first_byte, from.data(), from.size(), cudaMemcpyHostToDevice,
                          cudaStreamPerThread));
    check(cudaStreamSynchronize(cudaStreamPerThread));
  }

 private:
  DeviceId device_;
  DeviceBuffer<std::byte> memory_;
};

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(DeviceId device) : device_(device) {
    const CudaStatus status = cuda_status();
    if (status.usable.empty()) throw Error(status.reason, status.hint);
    if (device.ordinal < 0 || device.ordinal >= status.device_count)
      throw Error("--device " + std::to_string(device.ordinal) + ": there is no such CUDA device",
                  "this machine has devices 0 to " + std::to_string(status.device_count - 1));
    check(cudaGetDeviceProperties(&properties_, device.ordinal));
    require_usable(device.ordinal, properties_.name);
    // Creating a context takes a few tenths of a second, so do it in parallel with the caller's first steps.
    context_ = std::async(std::launch::async, [device, name = std::string(properties_.name)] {
      check(cudaSetDevice(device.ordinal));
      wake_up(device.ordinal, name);
    });
  }

  BackendInfo info() const override {
    const Bytes memory{properties_.totalGlobalMem};
    int driver = 0;
    int runtime = 0;
    check(cudaDriverGetVersion(&driver));
    check(cudaRuntimeGetVersion(&runtime));
    const auto version = [](int number) {
      return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
    };
    return {.name = "cuda",
            .description = std::string(properties_.name) + ", " +
                           std::to_string(properties_.multiProcessorCount) + " multiprocessors, " +
                           format_bytes(memory) + ", compute " + std::to_string(properties_.major) + "." +
                           std::to_string(properties_.minor),
            .details = {"CUDA runtime " + version(runtime) + ", driver for up to " + version(driver)}};
  }

  Footprint footprint(const SortJob& job) const override {
    const uint64_t unique_lanes = job.unique ? job.workers : 0;
    const size_t device = column_bytes(job, Column::keys) + column_bytes(job, Column::values) +
                          device_sort_workspace_bytes(describe(job, nullptr, nullptr)) +
                          borders_at_once * sizeof(uint64_t) + unique_lanes * UniqueLane::device_bytes(job);
    const size_t host =
        job.workers * buffers_per_worker(job) * job.chunk_bytes + unique_lanes * UniqueLane::ends_bytes(job);
    return {.host = Bytes{host}, .device = Bytes{device}};
  }

  Bytes device_memory() const override {
    wait_for_context();
    const DeviceGuard guard(device_);
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes));
    return Bytes{free_bytes};
  }

  std::unique_ptr<DeviceStorage> make_storage(uint64_t bytes) override {
    wait_for_context();
    const DeviceGuard guard(device_);
    return within_device_memory([&] { return std::make_unique<CudaStorage>(device_, bytes); });
  }

  std::unique_ptr<SortSession> begin_sort(const SortJob& job) override {
    wait_for_context();
    const DeviceGuard guard(device_);
    return within_device_memory([&] { return std::make_unique<CudaSortSession>(device_, job); });
  }

  double copy_bandwidth() override {
    wait_for_context();
    const DeviceGuard guard(device_);
    const size_t bytes = yardstick_bytes();
    const DeviceBuffer<std::byte> from(bytes);
    const DeviceBuffer<std::byte> to(bytes);
    const Stream stream;
    check(cudaMemsetAsync(from.data(), 1, bytes, stream.get()));
    const std::vector<double> times = timed_runs(8, stream, [&] {
      check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream.get()));
    });
    return 2.0 * static_cast<double>(bytes) / std::ranges::min(times);
  }

  StreamShape stream_shape() const override {
    return {.chunk_bytes = cuda_chunk_bytes, .max_workers = max_cuda_workers};
  }

  std::unique_ptr<ScanSession> begin_scan(const ScanJob& job) override {
    wait_for_context();
    return make_cuda_scan_session(device_, job);
  }

  std::unique_ptr<ReduceSession> begin_reduce(const ReduceJob& job) override {
    wait_for_context();
    return make_cuda_reduce_session(device_, job);
  }

  Measurement measure_scan(const ScanJob& job, uint64_t count, const FillFunction& fill,
                           uint32_t runs) override {
    wait_for_context();
    Measurement measured = measure_cuda_scan(device_, job, count, fill, runs);
    measured.bandwidth_bytes_s = copy_bandwidth();
    return measured;
  }

  Measurement measure_reduce(const ReduceJob& job, uint64_t count, const FillFunction& fill,
                             uint32_t runs) override {
    wait_for_context();
    Measurement measured = measure_cuda_reduce(device_, job, count, fill, runs);
    measured.bandwidth_bytes_s = measure_cuda_read_bandwidth(device_, yardstick_bytes());
    return measured;
  }

 private:
  void wait_for_context() const { context_.get(); }
  /// Much larger than the caches.
  size_t yardstick_bytes() const { return std::min<size_t>(size_t{1} << 30, device_memory().value / 4); }

  DeviceId device_;
  cudaDeviceProp properties_{};
  std::shared_future<void> context_;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(int device) {
  return std::make_unique<CudaBackend>(DeviceId{device});
}

}  // namespace sweepsort
