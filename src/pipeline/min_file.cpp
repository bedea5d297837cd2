// min_file.cpp - the smallest or largest element of a file, which is read once and not stored.
#include "core/bytes.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/key_text.hpp"
#include "core/team.hpp"
#include "pipeline/callback_watch.hpp"
#include "pipeline/phase_clock.hpp"
#include "pipeline/scan_file.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <vector>

namespace sweepsort {
namespace {

bool is_nan(KeyType type, uint64_t bits) {
  if (type == KeyType::f32) return std::isnan(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return type == KeyType::f64 && std::isnan(std::bit_cast<double>(bits));
}

class MinFileRun {
 public:
  MinFileRun(const StreamEnvironment& environment, const std::string& input, const MinFileOptions& options)
      : environment_(environment),
        options_(callbacks_.watched(options)),
        device_(only_device(options.where)),
        reader_(input, options.file) {
    require_file_to_repeat(reader_, options.repeat);
  }

  MinReport run() {
    const Clock::time_point start = Clock::now();
    for (const std::string& line : layout().notes) log(line);
    report_.type = layout().type;
    report_.format = layout().format;
    std::optional<uint64_t> known_bytes;
    if (!reader_.is_stream()) known_bytes = layout().data_bytes();
    const BackendDecision decision = environment_.choose(
        known_bytes, 0, environment_.status, threads_at_once(options_.where.threads), options_.where);
    note_ignored(gpu_options(options_.where), decision.no_gpu, lines_);
    run_as_decided(
        decision, options_.where, lines_, report_.backend_why,
        [&](BackendChoice which) {
          phases_.clear();  // discard those of a GPU that failed
          search_on(which);
        },
        [&] { return !callbacks_.has_thrown() && !reader_.is_stream(); });
    report_.total_s = seconds_since(start) - time_of(phases_, Phase::repeat);
    return std::move(report_);
  }

 private:
  const Layout& layout() const { return reader_.layout(); }
  const std::string& input_name() const { return reader_.file().name(); }

  void log(const std::string& line) const { lines_.say(line); }

  void search_on(BackendChoice which) {
    const auto backend = environment_.make(which, device_, options_.where.threads);
    ReduceJob job{.type = layout().type,
                  .extreme = options_.extreme,
                  .wants_index = options_.wants_index,
                  .chunk_bytes = environment_.chunk_bytes != 0 ? environment_.chunk_bytes
                                                               : backend->stream_shape().chunk_bytes};
    reader_.start(job.chunk_bytes);
    job.workers = stream_workers(threads_or_all(options_.where.threads), backend->stream_shape().max_workers,
                                 reader_.chunks());
    const uint64_t bytes = reader_.is_stream() ? 0 : layout().data_bytes();
    if (options_.repeat != 0) require_memory_to_repeat(environment_, *backend, reader_, {bytes});
    const auto session = backend->begin_reduce(job);
    ReduceResult found;
    clock_.run(Phase::read, bytes,
               [&](const MovedFunction& moved) { found = pass_through(*session, job, moved); });
    report_.count = reader_.count();
    report_.input_bytes = reader_.input_bytes();
    if (!found.found)
      throw InputError(fmt::format("{}: there are no elements, so there is no {} one", input_name(),
                                   options_.extreme == Extreme::min ? "smallest" : "largest"),
                       "'sweepsort check' shows what a file holds");
    report_.value = key_text(layout().type, found.bits);
    // If all are NaN, the index is that of the first one, whatever its bits.
    if (options_.wants_index) report_.index = is_nan(layout().type, found.bits) ? 0 : found.index;
    report_.algorithm = found.algorithm;
    const BackendInfo info = backend->info();
    report_.backend = info.name;
    report_.device = info.description;
    if (options_.repeat != 0)
      clock_.run(Phase::repeat, 0, [&](const MovedFunction&) { repeat(*backend, job); });
  }

  ReduceResult pass_through(ReduceSession& session, const ReduceJob& job, const MovedFunction& moved) {
    const auto turn = [&](uint32_t worker, uint64_t index) {
      ReadChunk chunk;
      const auto place = [&](size_t offset) { return session.begin_chunk(worker, offset); };
      if (!reader_.read(index, place, chunk)) return false;
      session.end_chunk(worker, chunk.first_element, chunk.count);
      moved(chunk.bytes.size());
      return true;
    };
    parallel_turns(job.workers, turn, [&] { reader_.cancel(); });
    reader_.finish();
    return session.finish();
  }

  void repeat(Backend& backend, const ReduceJob& job) {
    const auto fill = [this](uint64_t at, std::span<std::byte> to) { reader_.read_at(at, to); };
    const Measurement measured = backend.measure_reduce(job, layout().count, fill, options_.repeat);
    report_.repeat_s = measured.times_s;
    report_.read_bandwidth_bytes_s = measured.bandwidth_bytes_s;
  }

  const StreamEnvironment& environment_;
  CallbackWatch callbacks_;
  const MinFileOptions options_;
  const Lines lines_{options_.log, options_.note};
  int device_;
  ChunkReader reader_;
  MinReport report_;
  std::vector<PhaseTime> phases_;
  PhaseClock clock_{phases_, options_.progress};
};

}  // namespace

MinReport min_file_with(const StreamEnvironment& environment, const std::string& input,
                        const MinFileOptions& options) {
  return MinFileRun(environment, input, options).run();
}

}  // namespace sweepsort
