// sort_file.cpp - a file's way through: open, plan, read, sort, check and write, rename.
#include "pipeline/sort_file.hpp"

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "io/byte_swap.hpp"
#include "io/output.hpp"
#include "io/parallel_chunks.hpp"
#include "pipeline/referee.hpp"
#include "pipeline/sort_input.hpp"
#include "pipeline/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace sweepsort {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// More threads than this read and write no faster.
constexpr uint32_t most_io_workers = 16;

void check_options(const std::string& output, const SortFileOptions& options) {
  const bool has_window = options.file.skip_bytes != 0 || options.file.read_bytes;
  if (options.in_place && has_window)
    throw UsageError("sorting a part of a file in place would lose the rest", "name an output with -o");
  if (options.in_place && output == "-") throw UsageError("an in-place sort has no other output");
  if (options.referee != Referee::none) require_referee();
}

class SortFileRun {
 public:
  SortFileRun(const SortEnvironment& environment, const std::string& input, const std::string& output,
              const SortFileOptions& options)
      : environment_(environment),
        options_(options),
        input_(input, options.file),
        threads_(options.where.threads ? options.where.threads
                                       : std::max(1u, std::thread::hardware_concurrency())) {
    const OutputOptions output_options{.overwrite = options.overwrite,
                                       .in_place = options.in_place,
                                       .input = &input_.file(),
                                       .allow_anonymous = environment.allow_anonymous};
    output_ = open_output(options.in_place && output.empty() ? input
                          : output.empty()                   ? "-"
                                                             : output,
                          output_options);
  }

  SortReport run() {
    load_stream();
    prepare();
    const BackendDecision decision =
        environment_.choose(layout().count, layout().type, environment_.status(), threads_, options_.where);
    const bool may_fall_back =
        decision.which == BackendChoice::cuda && options_.where.backend != BackendChoice::cuda;
    log(fmt::format("backend {}: {}", decision.which == BackendChoice::cuda ? "cuda" : "cpu", decision.why));
    report_.backend_why = decision.why;
    if (!may_fall_back || !try_on_gpu()) sort_on(may_fall_back ? BackendChoice::cpu : decision.which);
    if (report_.referee_agrees.value_or(true)) commit();
    report_.total_s = seconds_since(start_);
    return std::move(report_);
  }

 private:
  const Layout& layout() const { return input_.layout(); }

  void log(const std::string& line) const {
    if (options_.log) options_.log(line);
  }

  /// Runs f as a phase of the report; `bytes` is what it moves.
  template <class F>
  auto timed(Phase phase, uint64_t bytes, F f) {
    if (options_.progress) options_.progress(phase, 0, bytes);
    struct Recorder {
      SortReport& report;
      PhaseTime time;
      Clock::time_point start = Clock::now();
      ~Recorder() {
        time.time_s = seconds_since(start);
        report.phases.push_back(time);
      }
    } recorder{report_, {phase, 0, bytes}};
    return f();
  }

  DoneFunction progress_of(Phase phase, uint64_t total) const {
    if (!options_.progress) return {};
    return [this, phase, total](uint64_t done) { options_.progress(phase, done, total); };
  }

  void load_stream() {
    if (!input_.file().is_stream()) return;
    const uint64_t memory = environment_.memory().available.value;
    timed(Phase::read, 0, [&] { input_.load_stream(memory, progress_of(Phase::read, 0)); });
    report_.phases.back().bytes = input_.bytes();
  }

  void prepare() {
    timed(Phase::prepare, 0, [&] {
      for (const std::string& line : layout().notes) log(line);
      header_ = output_header(layout(), layout().count);
      report_.count = layout().count;
      report_.type = layout().type;
      report_.format = layout().format;
      report_.input_bytes = input_.bytes();
      report_.output_bytes = header_.size() + layout().data_bytes();
      output_->reserve(report_.output_bytes);
      secret_ = random_secret();
    });
  }

  /// Automatic choice alone: whatever goes wrong on the GPU, the input is untouched and nothing has its name
  /// yet.
  bool try_on_gpu() {
    try {
      sort_on(BackendChoice::cuda);
      return true;
    } catch (const std::exception& error) {
      // A pipe has swallowed the beginning already: there is no second try.
      if (output_->is_ordered() && has_written_) throw;
      log(fmt::format("the GPU failed ({}): once more on the CPU", error.what()));
      report_.backend_why = fmt::format("the GPU failed: {}", error.what());
      return false;
    }
  }

  SortJob job() const {
    const size_t width = key_bytes(layout().type);
    const uint64_t chunks = layout().data_bytes() / environment_.chunk_bytes + 1;
    return {.count = layout().count,
            .type = layout().type,
            .order = options_.order,
            .algorithm = options_.algorithm,
            .workers = static_cast<uint32_t>(std::min<uint64_t>({threads_, chunks, most_io_workers})),
            .chunk_bytes = std::max(width, environment_.chunk_bytes / width * width)};
  }

  void check_memory(const Backend& backend, const SortJob& job) const {
    const Backend::Footprint need = backend.footprint(job);
    const MemoryLimit limit = environment_.memory();
    uint64_t host = need.host.value;
    if (options_.referee != Referee::none) host += layout().data_bytes();
    const std::string why = "files beyond memory are not supported yet";
    if (host > limit.available.value)
      throw Error(fmt::format("{}: sorting it takes {} of memory, {} leaves {}: {}", input_.file().name(),
                              format_bytes({host}), limit.what, format_bytes(limit.available), why),
                  "sort it on a machine with more memory, or in parts");
    if (need.device > backend.device_memory())
      throw Error(
          fmt::format("{}: sorting it takes {} of GPU memory, and there are {}: {}", input_.file().name(),
                      format_bytes(need.device), format_bytes(backend.device_memory()), why),
          "--backend cpu sorts it in the machine's memory");
  }

  Transfer transfer(const SortJob& job, Phase phase, uint64_t data_offset) const {
    return {.type = layout().type,
            .order = options_.order,
            .swap_bytes = layout().is_swapped(),
            .verify = options_.verify,
            .workers = job.workers,
            .grid = make_grid(data_offset, layout().data_bytes(), key_bytes(layout().type), job.chunk_bytes),
            .secret = secret_,
            .done = progress_of(phase, layout().data_bytes())};
  }

  Fingerprint load(SortSession& session, const SortJob& job, bool read_once) {
    const auto keys = input_.keys(read_once);
    const Fingerprint loaded = load_keys(*keys, session, transfer(job, Phase::read, layout().data_offset));
    input_.file().check_unchanged();
    return loaded;
  }

  void sort_on(BackendChoice which) {
    const bool on_gpu = which == BackendChoice::cuda;
    const auto backend = on_gpu ? environment_.make_cuda(options_.where.device)
                                : environment_.make_cpu(options_.where.threads);
    const SortJob job = this->job();
    check_memory(*backend, job);
    const bool read_once = !on_gpu && options_.repeat == 0 && options_.referee == Referee::none;
    auto session = backend->begin_sort(job);
    const Fingerprint loaded =
        timed(Phase::read, layout().data_bytes(), [&] { return load(*session, job, read_once); });
    const SortSummary summary = timed(Phase::sort, layout().data_bytes(), [&] { return session->sort(); });
    const GrowingBuffer expected =
        options_.referee == Referee::none
            ? GrowingBuffer()
            : timed(Phase::verify, layout().data_bytes(), [&] { return sort_again(job, on_gpu); });
    const StoreResult stored = timed(Phase::write, report_.output_bytes, [&] {
      has_written_ = true;
      if (!header_.empty()) output_->write_at(0, header_);
      return store_keys(*session, *output_, header_.size(), expected.bytes(),
                        transfer(job, Phase::write, header_.size()));
    });
    session.reset();
    judge(loaded, stored);
    const BackendInfo info = backend->info();
    report_.backend = info.name;
    report_.device = info.description;
    report_.algorithm = summary.algorithm;
    if (options_.repeat != 0) repeat(*backend, job);
  }

  /// The sorted keys as the referee has them.
  GrowingBuffer sort_again(const SortJob& job, bool on_device) {
    GrowingBuffer copy;
    const std::span<std::byte> keys = copy.room(layout().data_bytes()).first(layout().data_bytes());
    copy.commit(keys.size());
    const auto source = input_.keys(false);
    const Transfer how = transfer(job, Phase::verify, layout().data_offset);
    parallel_chunks(
        job.workers, how.grid,
        [&](uint32_t, const Chunk& chunk) {
          const std::span<std::byte> place = keys.subspan(chunk.first_byte, chunk.bytes);
          source->read(chunk.first_byte, place);
          if (how.swap_bytes) swap_key_bytes(place, key_bytes(how.type));
        },
        how.done);
    referee_sort(keys, layout().type, options_.order,
                 on_device ? std::optional(options_.where.device) : std::nullopt);
    return copy;
  }

  void judge(const Fingerprint& loaded, const StoreResult& stored) {
    if (options_.verify && !stored.is_ordered)
      throw Error(output_->name() + ": the sorted keys are not in order; the result was thrown away",
                  advice());
    if (options_.verify && loaded != stored.fingerprint)
      throw Error(
          output_->name() + ": the sorted keys are not those of the input; the result was thrown away",
          advice());
    report_.verified = options_.verify;
    report_.fingerprint = loaded;
    if (options_.referee != Referee::none) report_.referee_agrees = stored.agrees;
  }

  static std::string advice() {
    return "the memory or the device may be faulty: try again, or on another machine";
  }

  void repeat(Backend& backend, const SortJob& job) {
    for (uint32_t run = 0; run < options_.repeat; ++run) {
      const auto session = backend.begin_sort(job);
      load(*session, job, false);
      report_.repeat_s.push_back(session->sort().sort_s);
    }
    report_.copy_bandwidth_bytes_s = backend.copy_bandwidth();
  }

  void commit() {
    if (options_.in_place) input_.file().check_replaceable();  // nobody's writing is lost
    timed(Phase::sync, report_.output_bytes, [&] { output_->commit(); });
  }

  const SortEnvironment& environment_;
  const SortFileOptions& options_;
  Clock::time_point start_ = Clock::now();
  SortInput input_;
  uint32_t threads_;
  std::unique_ptr<Output> output_;
  std::vector<std::byte> header_;
  uint64_t secret_ = 0;
  bool has_written_ = false;
  SortReport report_;
};

}  // namespace

SortReport sort_file_with(const SortEnvironment& environment, const std::string& input,
                          const std::string& output, const SortFileOptions& options) {
  check_options(output, options);
  return SortFileRun(environment, input, output, options).run();
}

}  // namespace sweepsort
