// cpu_runner.cpp - measures the CPU's sorts with the steady clock, in rounds as on the GPU, and verifies
// every output.
#include "bench/host_peer.hpp"
#include "bench/rounds.hpp"
#include "bench/sort_runner.hpp"
#include "bench/statistics.hpp"
#include "bench/verify.hpp"
#include "core/error.hpp"
#include "core/page_array.hpp"
#include "core/team.hpp"
#include "datasets/distributions.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

namespace sweepsort::bench {
namespace {

constexpr unsigned char poison = 0xA5;
constexpr uint64_t max_in_batch = 1000;

/// Bytes for the largest case. They are allocated once, so that page faults do not add to the peers' times,
/// and in huge pages if the system has them, the same for all peers.
class HostMemory {
 public:
  explicit HostMemory(size_t bytes) : bytes_(bytes) {}
  std::span<std::byte> first(size_t bytes) const { return {bytes_.data(), bytes}; }

 private:
  PageArray bytes_;
};

struct Contender {
  const HostPeer* peer;
  SortRow row;
  double spent_s = 0;
};

size_t max_bytes(const std::vector<SortCase>& cases, uint64_t (SortCase::*bytes)() const) {
  size_t most = 0;
  for (const SortCase& what : cases) most = std::max<size_t>(most, (what.*bytes)());
  return most;
}

void number_values(const SortCase& what, std::span<std::byte> values) {
  if (what.value_bytes == 4) {
    auto* const numbers = reinterpret_cast<uint32_t*>(values.data());
    std::iota(numbers, numbers + what.count, 0u);
  }
  if (what.value_bytes == 8) {
    auto* const numbers = reinterpret_cast<uint64_t*>(values.data());
    std::iota(numbers, numbers + what.count, uint64_t{0});
  }
}

class CpuRunner final : public SortRunner {
 public:
  CpuRunner(const SortBenchOptions& options, const std::vector<SortCase>& cases)
      : options_(options),
        backend_(make_cpu_backend(options.threads)),
        keys_in_(max_bytes(cases, &SortCase::keys_bytes)),
        keys_out_(max_bytes(cases, &SortCase::keys_bytes)),
        values_in_(max_bytes(cases, &SortCase::values_bytes)),
        values_out_(max_bytes(cases, &SortCase::values_bytes)) {
    const uint32_t threads = threads_or_all(options.threads);
    place_ = {.backend = "cpu", .threads = threads, .copy_bandwidth_bytes_s = backend_->copy_bandwidth()};
    for (const SortAlgorithm algorithm : options.algorithms)
      peers_.push_back(sweepsort_host_peer(backend_, algorithm, threads));
    for (HostPeer& peer : other_host_peers(threads))
      if (is_wanted(options.peers, peer.name)) peers_.push_back(std::move(peer));
  }

  const Place& place() const override { return place_; }

  std::vector<SortRow> run(const SortCase& what) override {
    arrays_ = {.keys_in = keys_in_.first(what.keys_bytes()),
               .keys_out = keys_out_.first(what.keys_bytes()),
               .values_in = values_in_.first(what.values_bytes()),
               .values_out = values_out_.first(what.values_bytes())};
    fill_all(*find_distribution(what.distribution), what.type, what.seed, keys_in_.first(what.keys_bytes()),
             options_.threads);
    number_values(what, values_in_.first(what.values_bytes()));
    return measure_in_rounds(enter(what), options_,
                             [this](Contender& contender) { return run_batch(contender); });
  }

 private:
  /// The peers that support the case, each warmed up and with its batch size chosen.
  std::vector<Contender> enter(const SortCase& what) {
    std::vector<Contender> contenders;
    for (const HostPeer& peer : peers_) {
      if (!peer.supports(what)) continue;
      Contender contender{.peer = &peer, .row = {.what = what, .backend = "cpu", .peer = peer.name}};
      contender.row.timing = "clock";
      contender.row.threads = peer.threads;
      contender.row.verified = true;
      try {
        contender.row.batch = batch_for(run_once(contender), max_in_batch);
      } catch (const Error&) {
        // Counting was requested for keys whose range is too wide: no row, as on the GPU.
        if (peer.name != "sweepsort-counting") throw;
        continue;
      }
      contenders.push_back(std::move(contender));
    }
    return contenders;
  }

  double run_once(Contender& contender) {
    std::ranges::fill(arrays_.keys_out, std::byte{poison});
    std::ranges::fill(arrays_.values_out, std::byte{poison});
    HostRun run = contender.peer->sort(contender.row.what, arrays_);
    if (!is_right(
            contender.row.what, contender.peer->float_order,
            {.keys_in = arrays_.keys_in, .keys_out = arrays_.keys_out, .values_out = arrays_.values_out}))
      contender.row.verified = false;
    contender.row.detail = std::move(run.detail);
    return run.sort_s;
  }

  /// One run is the mean of a batch, because a clock cannot time a few microseconds.
  double run_batch(Contender& contender) {
    double batch_s = 0;
    for (uint64_t i = 0; i < contender.row.batch; ++i) batch_s += run_once(contender);
    return batch_s / static_cast<double>(contender.row.batch);
  }

  SortBenchOptions options_;
  Place place_;
  std::shared_ptr<Backend> backend_;
  std::vector<HostPeer> peers_;
  HostMemory keys_in_, keys_out_, values_in_, values_out_;
  HostArrays arrays_;
};

}  // namespace

std::unique_ptr<SortRunner> make_cpu_runner(const SortBenchOptions& options,
                                            const std::vector<SortCase>& cases) {
  return std::make_unique<CpuRunner>(options, cases);
}

}  // namespace sweepsort::bench
