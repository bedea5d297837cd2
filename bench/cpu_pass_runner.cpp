// cpu_pass_runner.cpp - measures scans and searches on the CPU with the steady clock, in rounds. Outputs are
// poisoned before each run and verified after it.
#include "backend/backend.hpp"
#include "backend/cpu/copy_bandwidth.hpp"
#include "bench/host_pass.hpp"
#include "bench/pass_runner.hpp"
#include "bench/rounds.hpp"
#include "bench/statistics.hpp"
#include "core/page_array.hpp"
#include "core/team.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace sweepsort::bench {
namespace {

constexpr unsigned char poison = 0xA5;
constexpr uint64_t max_in_batch = 100'000;

struct HostArrays {
  std::span<const std::byte> in;
  std::span<std::byte> out;  // of a scan
  PassFound found{};         // by a search
};

struct HostPassPeer {
  std::string name;
  uint32_t threads;
  std::function<void(const PassCase&, HostArrays&)> run;
};

HostPassPeer scan_peer(std::shared_ptr<Backend> backend, ScanAlgorithm algorithm, uint32_t threads) {
  return {.name = std::string(name(algorithm)),
          .threads = algorithm == ScanAlgorithm::sequential ? 1 : threads,
          .run = [=](const PassCase& what, HostArrays& arrays) {
            backend->scan(arrays.in, arrays.out,
                          {.type = what.type,
                           .output_type = what.type,
                           .op = what.op,
                           .kind = what.kind,
                           .algorithm = algorithm,
                           .wrap = true});
          }};
}

HostPassPeer search_peer(std::shared_ptr<Backend> backend, uint32_t threads) {
  return {.name = "threads", .threads = threads, .run = [=](const PassCase& what, HostArrays& arrays) {
            const ReduceResult result = backend->reduce(
                arrays.in, {.type = what.type, .extreme = what.extreme, .wants_index = what.wants_index});
            arrays.found = {.bits = result.bits, .index = result.index};
          }};
}

HostPassPeer std_peer() {
  return {.name = "std", .threads = 1, .run = [](const PassCase& what, HostArrays& arrays) {
            if (what.pass == Pass::scan)
              std_scan(what, arrays.in.data(), arrays.out.data());
            else
              arrays.found = std_search(what, arrays.in.data());
          }};
}

struct Contender {
  const HostPassPeer* peer;
  PassRow row;
  double spent_s = 0;
};

class CpuPassRunner final : public PassRunner {
 public:
  CpuPassRunner(const PassOptions& options, const std::vector<PassCase>& cases)
      : options_(options),
        cases_(cases),
        threads_(threads_or_all(options.threads)),
        in_(max_bytes(cases)),
        out_(options.pass == Pass::scan ? max_bytes(cases) : 0),
        flush_(options.cache == Cache::cold ? flush_bytes : 0) {
    const std::shared_ptr<Backend> backend = make_cpu_backend(options.threads);
    place_ = {.backend = "cpu", .threads = threads_};
    poison_all({in_.data(), in_.size()});  // allocates the pages, which exist only once they are written
    if (options.pass == Pass::scan)
      place_.copy_bandwidth_bytes_s =
          measure_copy_bandwidth(threads_, {in_.data(), in_.size()}, {out_.data(), out_.size()});
    else
      place_.read_bandwidth_bytes_s = measure_read_bandwidth(threads_, {in_.data(), in_.size()});
    for (const ScanAlgorithm algorithm : options.scan_algorithms)
      if (is_cpu_algorithm(algorithm)) peers_.push_back(scan_peer(backend, algorithm, threads_));
    if (options.pass == Pass::search) peers_.push_back(search_peer(backend, threads_));
    if (is_wanted(options.peers, "std")) peers_.push_back(std_peer());
  }

  const Place& place() const override { return place_; }

  std::vector<PassRow> run(const PassCase& what) override {
    if (!loaded_ || loaded_->type != what.type || loaded_->sums_floats() != what.sums_floats()) {
      fill_pass_input(what, options_.seed, options_.threads, {in_.data(), max_bytes(cases_, what.type)});
      loaded_ = what;
    }
    return measure_in_rounds(enter(what), options_,
                             [this](Contender& contender) { return run_once(contender); });
  }

 private:
  /// Larger than the last-level cache of the machines that this was written for.
  static constexpr size_t flush_bytes = size_t{256} << 20;

  /// Every algorithm, warmed up and with its batch size chosen.
  std::vector<Contender> enter(const PassCase& what) {
    std::vector<Contender> contenders;
    for (const HostPassPeer& peer : peers_) {
      Contender contender{.peer = &peer, .row = {.what = what, .backend = "cpu", .peer = peer.name}};
      contender.row.timing = "clock";
      contender.row.cache = options_.cache;
      contender.row.threads = peer.threads;
      contender.row.yardstick_bytes_s =
          what.pass == Pass::scan ? place_.copy_bandwidth_bytes_s : place_.read_bandwidth_bytes_s;
      contender.row.verified = true;
      const double one_pass_s = run_once(contender);
      // Only one pass can start from cold memory; data in the cache can be used again.
      if (options_.cache == Cache::warm) contender.row.batch = batch_for(one_pass_s, max_in_batch);
      contenders.push_back(std::move(contender));
    }
    return contenders;
  }

  /// Seconds per pass.
  double run_once(Contender& contender) {
    const PassCase& what = contender.row.what;
    HostArrays arrays{.in = {in_.data(), what.bytes()},
                      .out = {out_.data(), what.pass == Pass::scan ? what.bytes() : 0}};
    poison_all(arrays.out);
    poison_all(flush_);
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    for (uint64_t i = 0; i < contender.row.batch; ++i) contender.peer->run(what, arrays);
    const std::chrono::duration<double> batch_s = Clock::now() - begin;
    const bool is_right = what.pass == Pass::scan
                              ? scan_is_right(what, arrays.in.data(), arrays.out.data(), threads_)
                              : search_is_right(what, arrays.in.data(), arrays.found, threads_);
    if (!is_right) contender.row.verified = false;
    return batch_s.count() / static_cast<double>(contender.row.batch);
  }

  void poison_all(std::span<std::byte> bytes) const {
    run_team(threads_, [&](uint32_t thread) {
      const uint64_t first = slice_begin(bytes.size(), thread, threads_);
      std::ranges::fill(bytes.subspan(first, slice_begin(bytes.size(), thread + 1, threads_) - first),
                        std::byte{poison});
    });
  }

  PassOptions options_;
  std::vector<PassCase> cases_;
  uint32_t threads_;
  Place place_;
  std::vector<HostPassPeer> peers_;
  PageArray in_, out_;  // in huge pages, like those of the yardstick
  std::vector<std::byte> flush_;
  std::optional<PassCase> loaded_;  // the case whose elements `in_` holds
};

}  // namespace

std::unique_ptr<PassRunner> make_cpu_pass_runner(const PassOptions& options,
                                                 const std::vector<PassCase>& cases) {
  return std::make_unique<CpuPassRunner>(options, cases);
}

}  // namespace sweepsort::bench
