// cuda_pass_runner.cu - measures the GPU's scans and searches with CUDA events, in rounds. Outputs are
// poisoned outside of the timed region, and the output of every run is verified.
#include "bench/cuda_graph.cuh"
#include "bench/device_pass.hpp"
#include "bench/device_place.hpp"
#include "bench/host_pass.hpp"
#include "bench/pass_runner.hpp"
#include "bench/rounds.hpp"
#include "bench/statistics.hpp"
#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/rounding.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

namespace sweepsort::bench {
namespace {

constexpr unsigned char poison = 0xA5;
constexpr uint64_t max_in_batch = 200;
constexpr uint64_t launches_in_a_graph = 50;
/// Many times as large as the cache of any GPU.
constexpr size_t flush_bytes = size_t{512} << 20;
/// Up to this size, the result is also compared with that of the standard library.
constexpr uint64_t host_checked_elements = 1 << 20;
/// A search writes an element and an index, a read one word.
constexpr uint64_t min_output_bytes = 256;

/// An algorithm or peer during the rounds of one case.
struct Contender {
  const DevicePassPeer* peer;
  PassArrays arrays;
  PassRow row;
  CudaGraph graph{};  // empty: timed without a graph
  double spent_s = 0;
};

class CudaPassRunner final : public PassRunner {
 public:
  CudaPassRunner(const PassOptions& options, const std::vector<PassCase>& cases)
      : options_(selected(options)),
        cases_(cases),
        place_(device_place(options.device)),
        peers_(device_pass_peers(options)) {
    if (options.pass == Pass::scan)
      place_.copy_bandwidth_bytes_s = measure_copy_bandwidth(stream_);
    else
      place_.read_bandwidth_bytes_s = measure_read_bandwidth(stream_);
    const size_t out_bytes = options.pass == Pass::scan ? max_bytes(cases) : 0;
    size_t workspace = 0;
    for (const PassCase& what : cases) workspace = std::max(workspace, workspace_bytes(what));
    try {
      in_ = DeviceBuffer<std::byte>(max_bytes(cases));
      out_ = DeviceBuffer<std::byte>(std::max<size_t>(out_bytes, min_output_bytes));
      workspace_ = DeviceBuffer<std::byte>(workspace);
      flush_ = DeviceBuffer<std::byte>(flush_bytes);
      check_ = DeviceBuffer<uint64_t>(check_words);
    } catch (const CudaError& error) {
      if (error.code() != cudaErrorMemoryAllocation) throw;
      throw Error("the cases need " + format_bytes({max_bytes(cases) + out_bytes + workspace + flush_bytes}) +
                      " of device memory",
                  "ask for a smaller --size");
    }
    host_ = std::make_unique_for_overwrite<std::byte[]>(max_bytes(cases));
  }

  const Place& place() const override { return place_; }

  std::vector<PassRow> run(const PassCase& what) override {
    load(what);
    return measure_in_rounds(enter(what), options_,
                             [this](Contender& contender) { return run_once(contender); });
  }

 private:
  /// Makes the selected device current before anything is created on it.
  static const PassOptions& selected(const PassOptions& options) {
    select_device(options.device);
    return options;
  }

  /// Each contender keeps its own workspace, because a scan leaves state in it for the next scan.
  size_t workspace_bytes(const PassCase& what) const {
    size_t bytes = 0;
    for (const DevicePassPeer& peer : peers_)
      if (peer.supports(what)) bytes += round_up(peer.workspace_bytes(what), workspace_alignment);
    return bytes;
  }

  void load(const PassCase& what) {
    if (loaded_ && loaded_->type == what.type && loaded_->sums_floats() == what.sums_floats()) return;
    const std::span host(host_.get(), max_bytes(cases_, what.type));
    fill_pass_input(what, options_.seed, options_.threads, host);
    check(cudaMemcpyAsync(in_.data(), host.data(), host.size(), cudaMemcpyHostToDevice, stream_.get()));
    stream_.synchronize();
    loaded_ = what;
  }

  /// The peers that support the case, each warmed up, with its batch size chosen and its graph recorded.
  std::vector<Contender> enter(const PassCase& what) {
    std::vector<Contender> contenders;
    Workspace workspace{workspace_.span()};
    for (const DevicePassPeer& peer : peers_) {
      if (!peer.supports(what)) continue;
      Contender contender{.peer = &peer,
                          .arrays = {.in = in_.data(),
                                     .out = out_.data(),
                                     .workspace = workspace.take<std::byte>(peer.workspace_bytes(what)),
                                     .check = check_.span()},
                          .row = {.what = what, .backend = "cuda", .peer = peer.name}};
      PassRow& row = contender.row;
      row.timing = "events";
      row.cache = options_.cache;
      row.yardstick_bytes_s =
          what.pass == Pass::scan ? place_.copy_bandwidth_bytes_s : place_.read_bandwidth_bytes_s;
      row.verified = true;
      if (peer.prepare) peer.prepare(what, contender.arrays, stream_.get());
      double one_pass_s = 0;
      constexpr int warm_ups = 2;
      for (int run = 0; run < warm_ups; ++run) one_pass_s = run_once(contender);
      if (what.pass == Pass::scan && peer.name != "copy" && !agrees_with_host(what)) row.verified = false;
      if (options_.timing == Timing::graph) {
        row.batch = launches_in_a_graph;
        if (peer.capturable) {
          row.timing = "graph";
          contender.graph = CudaGraph(stream_, [&] { enqueue(contender); });
          run_once(contender);  // the first replay uploads the graph
        }
      } else if (options_.cache == Cache::warm) {
        row.batch = batch_for(one_pass_s, max_in_batch);
      }
      contenders.push_back(std::move(contender));
    }
    return contenders;
  }

  void enqueue(const Contender& contender) {
    for (uint64_t i = 0; i < contender.row.batch; ++i)
      contender.peer->run(contender.row.what, contender.arrays, stream_.get());
  }

  /// Fills the cache with other data, as the pass itself would do: after a scan, some data still has to be
  /// written back, after a search none.
  void flush() {
    if (options_.pass == Pass::scan)
      check(cudaMemsetAsync(flush_.data(), poison, flush_bytes, stream_.get()));
    else
      enqueue_read(flush_.data(), flush_bytes, check_.data(), stream_.get());
  }

  /// Seconds per pass. Clears the row's `verified` if the result is wrong.
  double run_once(Contender& contender) {
    const PassCase& what = contender.row.what;
    const size_t out_bytes = what.pass == Pass::scan ? what.bytes() : min_output_bytes;
    check(cudaMemsetAsync(out_.data(), poison, out_bytes, stream_.get()));
    // While the GPU flushes, the host can launch, so that the host's time does not show between the events.
    if (options_.cache == Cache::cold) flush();
    const double batch_s = timer_.timed(stream_, [&] {
      if (contender.graph.get() != nullptr)
        contender.graph.launch(stream_);
      else
        enqueue(contender);
    });
    if (!contender.peer->is_right(what, contender.arrays, stream_.get())) contender.row.verified = false;
    return batch_s / static_cast<double>(contender.row.batch);
  }

  /// Whether a short scan's result equals that of the standard library, because the check on the GPU and the
  /// scans might share a fault.
  bool agrees_with_host(const PassCase& what) {
    if (what.count > host_checked_elements) return true;
    std::vector<std::byte> result(what.bytes()), expected(what.bytes());
    check(cudaMemcpyAsync(result.data(), out_.data(), what.bytes(), cudaMemcpyDeviceToHost, stream_.get()));
    stream_.synchronize();
    std_scan(what, host_.get(), expected.data());
    // The identity is infinity or NaN: neither changes a minimum.
    const bool any_identity =
        is_floating(what.type) && what.op != ScanOp::sum && what.kind == ScanKind::exclusive;
    const size_t skipped = any_identity ? key_bytes(what.type) : 0;
    return std::memcmp(result.data() + skipped, expected.data() + skipped, what.bytes() - skipped) == 0;
  }

  PassOptions options_;
  std::vector<PassCase> cases_;
  Stream stream_;
  StreamTimer timer_;
  Place place_;
  std::vector<DevicePassPeer> peers_;
  DeviceBuffer<std::byte> in_, out_, workspace_, flush_;
  DeviceBuffer<uint64_t> check_;
  std::unique_ptr<std::byte[]> host_;
  std::optional<PassCase> loaded_;  // the case whose elements the device holds
};

}  // namespace

std::unique_ptr<PassRunner> make_cuda_pass_runner(const PassOptions& options,
                                                  const std::vector<PassCase>& cases) {
  return std::make_unique<CudaPassRunner>(options, cases);
}

}  // namespace sweepsort::bench
