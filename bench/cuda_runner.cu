// cuda_runner.cu - measures device sorts with CUDA events, in rounds. Inputs are restored and outputs
// poisoned outside of the timed region, and the output of every run is compared with the referee's.
#include "bench/cub_sort.hpp"
#include "bench/cuda_graph.cuh"
#include "bench/device_check.hpp"
#include "bench/device_peer.hpp"
#include "bench/device_place.hpp"
#include "bench/rounds.hpp"
#include "bench/sort_runner.hpp"
#include "bench/statistics.hpp"
#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/rounding.hpp"
#include "datasets/distributions.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace sweepsort::bench {
namespace {

constexpr unsigned char poison = 0xA5;
/// In-place sorts of small arrays use as many copies as fit here.
constexpr size_t slots_bytes = size_t{64} << 20;
constexpr uint64_t max_in_batch = 200;

/// A case's part of the pool. `keys_in` comes first, so that cases with the same keys find them at the same
/// address.
struct CaseMemory {
  DeviceSpan<std::byte> keys_in, keys_out, keys_right, spare, values_in, values_out, values_right, workspace;
  DeviceSpan<uint32_t> flag;
};

CaseMemory lay_out(const SortCase& what, size_t workspace_bytes, Workspace& pool) {
  CaseMemory memory;
  memory.keys_in = pool.take<std::byte>(what.keys_bytes());
  memory.keys_out = pool.take<std::byte>(std::max<uint64_t>(what.keys_bytes(), slots_bytes));
  memory.keys_right = pool.take<std::byte>(what.keys_bytes());
  memory.spare = pool.take<std::byte>(what.keys_bytes());
  memory.values_in = pool.take<std::byte>(what.values_bytes());
  memory.values_out = pool.take<std::byte>(what.values_bytes());
  memory.values_right = pool.take<std::byte>(what.values_bytes());
  memory.workspace = pool.take<std::byte>(workspace_bytes);
  memory.flag = pool.take<uint32_t>(1);
  return memory;
}

/// A peer during the rounds of one case.
struct Contender {
  const DevicePeer* peer;
  SortRow row;
  CudaGraph graph{};  // empty: timed without a graph
  double spent_s = 0;
};

class CudaRunner final : public SortRunner {
 public:
  CudaRunner(const SortBenchOptions& options, const std::vector<SortCase>& cases)
      : options_(selected(options)), place_(device_place(options.device)), peers_(device_peers(options)) {
    place_.copy_bandwidth_bytes_s = measure_copy_bandwidth(stream_);
    size_t pool_bytes = 0;
    size_t host_bytes = 0;
    for (const SortCase& what : cases) {
      Workspace counter;
      lay_out(what, workspace_bytes(what), counter);
      pool_bytes = std::max(pool_bytes, counter.used());
      host_bytes = std::max<size_t>(host_bytes, what.keys_bytes());
    }
    try {
      pool_ = DeviceBuffer<std::byte>(pool_bytes);
    } catch (const CudaError& error) {
      if (error.code() != cudaErrorMemoryAllocation) throw;
      throw Error("the cases need " + format_bytes({pool_bytes}) + " of device memory",
                  "ask for a smaller --size");
    }
    host_ = std::make_unique_for_overwrite<std::byte[]>(host_bytes);
  }

  const Place& place() const override { return place_; }

  std::vector<SortRow> run(const SortCase& what) override {
    if (!referee_supports(what))
      throw NoRefereeError("no referee for pairs of " + std::string(name(what.type)) + " and " +
                           std::to_string(what.value_bytes) + " byte values");
    Workspace pool{pool_.span()};
    memory_ = lay_out(what, workspace_bytes(what), pool);
    prepare(what);
    return measure_in_rounds(enter(what), options_,
                             [this](Contender& contender) { return run_once(contender); });
  }

 private:
  /// Makes the selected device current before anything is created on it.
  static const SortBenchOptions& selected(const SortBenchOptions& options) {
    select_device(options.device);
    return options;
  }

  size_t workspace_bytes(const SortCase& what) const {
    if (!referee_supports(what)) return 0;
    size_t bytes = referee_workspace_bytes(what);
    for (const DevicePeer& peer : peers_)
      if (peer.supports(what)) bytes = std::max(bytes, peer.workspace_bytes(what));
    return bytes;
  }

  /// Puts the input on the device, and next to it the referee's result.
  void prepare(const SortCase& what) {
    const std::string input = std::string(name(what.type)) + " " + what.distribution + " " +
                              std::to_string(what.count) + " " + std::to_string(what.seed);
    if (input != loaded_) {
      const std::span host(host_.get(), what.keys_bytes());
      fill_all(*find_distribution(what.distribution), what.type, what.seed, host, options_.threads);
      // On this stream, because it does not wait for the default stream.
      check(cudaMemcpyAsync(memory_.keys_in.data(), host.data(), host.size(), cudaMemcpyHostToDevice,
                            stream_.get()));
      stream_.synchronize();
      loaded_ = input;
    }
    number_values(what, memory_.values_in.data(), stream_.get());
    referee_sort(what,
                 {.keys_in = memory_.keys_in.data(),
                  .keys_out = memory_.keys_right.data(),
                  .values_in = memory_.values_in.data(),
                  .values_out = memory_.values_right.data(),
                  .workspace = memory_.workspace},
                 memory_.spare.data(), stream_.get());
  }

  /// The peers that support the case, each warmed up, with its batch size chosen and its graph recorded.
  std::vector<Contender> enter(const SortCase& what) {
    std::vector<Contender> contenders;
    for (const DevicePeer& peer : peers_) {
      if (!peer.supports(what)) continue;
      Contender contender{.peer = &peer, .row = {.what = what, .backend = "cuda", .peer = peer.name}};
      contender.row.timing = "events";
      contender.row.verified = true;
      constexpr int warm_ups = 2;
      double one_sort_s = 0;
      for (int run = 0; run < warm_ups; ++run) one_sort_s = run_once(contender);
      if (peer.outcome) {
        const std::optional<std::string> outcome = peer.outcome(what, memory_.workspace, stream_.get());
        if (!outcome) continue;
        contender.row.detail = *outcome;
      }
      const uint64_t slots = std::max<uint64_t>(1, slots_bytes / slot_bytes(what));
      const bool copies = peer.placement == Placement::in_place;
      contender.row.batch = batch_for(one_sort_s, copies ? std::min(slots, max_in_batch) : max_in_batch);
      if (options_.timing == Timing::graph && peer.capturable) {
        contender.row.timing = "graph";
        contender.graph = CudaGraph(stream_, [&] { enqueue(contender); });
        run_once(contender);  // the first replay uploads the graph
      }
      contenders.push_back(std::move(contender));
    }
    return contenders;
  }

  static size_t slot_bytes(const SortCase& what) {
    return round_up(std::max<size_t>(what.keys_bytes(), 1), workspace_alignment);
  }

  /// A batch of sorts, one after another.
  void enqueue(const Contender& contender) {
    const SortCase& what = contender.row.what;
    const bool copies = contender.peer->placement == Placement::in_place;
    for (uint64_t i = 0; i < contender.row.batch; ++i)
      contender.peer->sort(what,
                           {.keys_in = memory_.keys_in.data(),
                            .keys_out = memory_.keys_out.data() + (copies ? i * slot_bytes(what) : 0),
                            .values_in = memory_.values_in.data(),
                            .values_out = memory_.values_out.data(),
                            .workspace = memory_.workspace},
                           stream_.get());
  }

  /// Seconds per sort. Clears the row's `verified` if the last output of the batch is wrong.
  double run_once(Contender& contender) {
    const SortCase& what = contender.row.what;
    check(cudaMemsetAsync(memory_.keys_out.data(), poison, memory_.keys_out.size(), stream_.get()));
    check(cudaMemsetAsync(memory_.values_out.data(), poison, memory_.values_out.size(), stream_.get()));
    size_t last_slot = 0;
    if (contender.peer->placement == Placement::in_place) {
      last_slot = (contender.row.batch - 1) * slot_bytes(what);
      for (size_t at = 0; at <= last_slot; at += slot_bytes(what))
        check(cudaMemcpyAsync(memory_.keys_out.data() + at, memory_.keys_in.data(), what.keys_bytes(),
                              cudaMemcpyDeviceToDevice, stream_.get()));
    }
    stream_.synchronize();
    const double batch_s = timer_.timed(stream_, [&] {
      if (contender.graph.get() != nullptr)
        contender.graph.launch(stream_);
      else
        enqueue(contender);
    });
    if (!is_right(what, contender.peer->float_order, memory_.keys_out.data() + last_slot))
      contender.row.verified = false;
    return batch_s / static_cast<double>(contender.row.batch);
  }

  /// May change the order of the keys.
  bool is_right(const SortCase& what, FloatOrder float_order, std::byte* keys) {
    const auto equal = [&](const std::byte* a, DeviceSpan<std::byte> b) {
      return equal_on_device(a, b.data(), b.size(), memory_.flag, stream_.get());
    };
    if (!equal(memory_.values_out.data(), memory_.values_right)) return false;
    if (equal(keys, memory_.keys_right)) return true;
    if (!is_floating(what.type) || float_order == FloatOrder::total) return false;
    // The peer puts NaN and zeros elsewhere: check its own order, and compare its multiset with the
    // referee's.
    SortCase keys_alone = what;
    keys_alone.value_bytes = 0;
    if (!ordered_on_device(keys_alone, float_order, keys, memory_.flag, stream_.get())) return false;
    referee_sort(keys_alone, {.keys_in = keys, .keys_out = keys, .workspace = memory_.workspace},
                 memory_.spare.data(), stream_.get());
    return equal(keys, memory_.keys_right);
  }

  SortBenchOptions options_;
  Place place_;
  Stream stream_;
  StreamTimer timer_;
  std::vector<DevicePeer> peers_;
  DeviceBuffer<std::byte> pool_;
  std::unique_ptr<std::byte[]> host_;
  CaseMemory memory_;
  std::string loaded_;  // identifies the keys on the device
};

}  // namespace

std::unique_ptr<SortRunner> make_cuda_runner(const SortBenchOptions& options,
                                             const std::vector<SortCase>& cases) {
  return std::make_unique<CudaRunner>(options, cases);
}

}  // namespace sweepsort::bench
