// sort_run.cpp - the in-memory and counting strategies, and the verification of a result.
#include "pipeline/sort_run.hpp"

#include "core/error.hpp"
#include "pipeline/counting_session.hpp"
#include "pipeline/referee.hpp"
#include "pipeline/sort_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <span>

namespace sweepsort {
namespace {

constexpr const char* advice = "the memory or the device may be faulty: try again, or on another machine";

// Settings for a session that splits its keys as they arrive (share_split). It gets more workers than the
// plan has, because some can sort buckets while others wait for the disk; but only one more worker reads,
// because more readers are slower. It gets many chunks, which in small files have about the size of a
// second-level cache. Measured with two threads of a Zen 4, 1 GiB, medians of 7, compared with one more
// worker and chunks of 8 MiB: u32 1.63 -> 1.41 s, u64 1.44 -> 1.06 s (also with huge pages timed by the
// thread).
constexpr uint32_t split_workers_more = 5;
constexpr uint32_t split_loaders_more = 1;
constexpr uint64_t split_chunks = 512;
constexpr uint64_t min_split_chunk = 2u << 20;

}  // namespace

SortRun::SortRun(const SortContext& context, const Backends& backends, const std::vector<int>& devices,
                 SortReport& report)
    : context_(context),
      options_(context.options),
      backends_(backends),
      first_device_(devices.empty() ? std::nullopt : std::optional(devices.front())),
      report_(report),
      clock_(report.phases, context.options.progress),
      request_(plan_request(context, backends, on_gpu())),
      plan_(make_plan(request_, [&](const SortJob& job) { return backends_.front()->footprint(job); })) {}

Transfer SortRun::transfer() const {
  return {.shape = {context_.input.type(), context_.values.bytes()},
          .order = options_.order,
          .verify = options_.verify,
          .workers = plan_.job.workers,
          .chunk_bytes = plan_.job.chunk_bytes,
          .secret = context_.secret};
}

void SortRun::run() {
  if (plan_.strategy == SortStrategy::external)
    run_external();
  else if (plan_.strategy == SortStrategy::streams)
    merge_streams();
  else
    run_in_memory();
  name_backends();
  if (options_.repeat != 0) repeat();
}

void SortRun::name_backends() {
  report_.backend = backends_.front()->info().name;
  std::vector<std::string> devices;
  for (const auto& backend : std::span(backends_).first(std::max(plan_.gpus, 1u)))
    devices.push_back(backend->info().description);
  const bool are_alike = std::ranges::adjacent_find(devices, std::not_equal_to()) == devices.end();
  report_.device = devices.size() > 1 && are_alike ? fmt::format("{} x {}", devices.size(), devices.front())
                                                   : fmt::format("{}", fmt::join(devices, "; "));
}

void SortRun::prepare_split() {
  // If the output is written in order, one thread would get all keys, and thus sort everything.
  if (plan_.strategy != SortStrategy::in_memory || context_.outputs.is_sequential()) return;
  if (!backends_.front()->wants_sample(plan_.job, request_.memory)) return;
  const auto keys = context_.input.keys(Reads::often);
  plan_.job.sample = sample_of(*keys, plan_.job.count, plan_.job.type, plan_.job.order);
  // The additional threads would reserve address space, too.
  if (context_.threads > 1 && !context_.limit.is_address_space) share_split();
}

void SortRun::share_split() {
  max_loaders_ = plan_.job.workers + split_loaders_more;
  plan_.job.workers += split_workers_more;
  const uint64_t chunk =
      std::max(std::bit_floor(context_.input.data_bytes() / split_chunks), min_split_chunk);
  plan_.job.chunk_bytes = std::min<uint64_t>(plan_.job.chunk_bytes, chunk);
}

std::unique_ptr<SortSession> SortRun::begin_session() {
  return plan_.strategy == SortStrategy::counting ? make_counting_session(plan_.job)
                                                  : backends_.front()->begin_sort(plan_.job);
}

Fingerprint SortRun::load(SortSession& session, Reads reads, const MovedFunction& moved) {
  const auto keys = context_.input.keys(reads);
  const auto values = context_.values.source();
  const RecordSource source{*keys, values.get(), context_.input.data_offset()};
  Transfer reading = transfer();
  reading.workers = std::min(reading.workers, max_loaders_);
  const Fingerprint loaded = load_records(source, 0, *context_.input.count(), session, reading, moved);
  context_.input.check_ends();
  context_.values.check_unchanged();
  return loaded;
}

/// Keys that are only counted need no memory, so the stream may have any length.
Fingerprint SortRun::load_counted_stream(SortSession& session, const MovedFunction& moved) {
  const size_t width = key_bytes(context_.input.type());
  std::vector<std::byte> buffer(plan_.job.chunk_bytes);
  Fingerprint total{};
  size_t got = 0;
  do {
    got = context_.input.read_next(buffer);
    const std::span<const std::byte> keys = std::span(buffer).first(got);
    std::ranges::copy(keys, session.begin_put(0, Column::keys, total.count * width, got).begin());
    session.end_put(0);
    Fingerprint part{got / width, 0};
    if (options_.verify) part = fingerprint(keys, width, context_.secret);
    total += part;
    moved(got);
  } while (got == buffer.size());
  context_.input.check_ends();
  report_.count = total.count;
  context_.outputs.prepare(total.count);
  complete_plan(1);
  return total;
}

void SortRun::run_in_memory() {
  const bool is_once = !on_gpu() && options_.repeat == 0 && options_.referee == Referee::none;
  const Reads reads = is_once ? Reads::once : Reads::often;
  prepare_split();
  const auto session = begin_session();
  clock_.run(Phase::read, 0, moved_bytes(), [&](const MovedFunction& moved) {
    loaded_ = context_.input.count() ? load(*session, reads, moved) : load_counted_stream(*session, moved);
  });
  const uint64_t bytes = report_.count * key_bytes(context_.input.type()) + context_.values.file_bytes();
  clock_.last().bytes = bytes;
  SortSummary summary;
  clock_.run(Phase::sort, bytes, [&](const MovedFunction&) { summary = session->sort(); });
  report_.algorithm = summary.algorithm;
  report_.algorithm_why = summary.why;
  if (summary.get_sorts) clock_.last().bytes = 0;  // no rate, because get() sorts during the write phase
  std::optional<GrowingBuffer> expected;
  if (options_.referee != Referee::none)
    clock_.run(Phase::verify, bytes, [&](const MovedFunction&) { expected.emplace(sort_again()); });
  StoreResult stored;
  const uint64_t moved_records = report_.count * transfer().shape.bytes();
  clock_.run(Phase::write, context_.outputs.bytes(), moved_records, [&](const MovedFunction& moved) {
    context_.outputs.start();
    const auto sink = context_.outputs.sink(
        transfer(), expected ? std::as_const(*expected).bytes() : std::span<const std::byte>());
    sink->store(*session, 0, report_.count, moved);
    stored = sink->finish();
  });
  if (options_.referee != Referee::none) report_.referee_agrees = stored.agrees;
  judge(stored);
}

/// Returns the keys sorted by the referee.
GrowingBuffer SortRun::sort_again() {
  GrowingBuffer copy;
  const uint64_t bytes = context_.input.data_bytes();
  const std::span<std::byte> keys = copy.room(bytes).first(bytes);
  copy.commit(bytes);
  const size_t width = key_bytes(context_.input.type());
  const auto source = context_.input.keys(Reads::often);
  for_record_chunks(transfer(), context_.input.data_offset(), bytes / width, plan_.job.workers,
                    [&](uint32_t, const RecordChunk& chunk) {
                      source->read(chunk.first * width,
                                   keys.subspan(chunk.first * width, chunk.count * width));
                    });
  referee_sort(keys, context_.input.type(), options_.order, first_device_);
  return copy;
}

void SortRun::complete_plan(uint64_t runs) {
  FilePlan& plan = report_.plan;
  const FileRecord file = file_record(context_, report_.count);
  plan.runs = runs;
  plan.read = file.all_read(report_.count, plan.passes, transfer().shape.bytes());
  plan.written = file.all_written(report_.count, plan.passes, transfer().shape.bytes());
}

void SortRun::check_sorted(const StoreResult& sorted, const Fingerprint& wanted) const {
  const std::string& name = context_.outputs.name();
  const char* const fate =
      context_.outputs.has_streamed() ? "what was written there is wrong" : "the result was discarded";
  if (options_.verify && !sorted.is_ordered)
    throw Error(fmt::format("{}: the sorted keys are not in order; {}", name, fate), advice);
  if (options_.verify && wanted != sorted.fingerprint)
    throw Error(fmt::format("{}: the sorted keys are not the keys of the input; {}", name, fate), advice);
}

void SortRun::judge(const StoreResult& stored) {
  check_sorted(stored, kept_.value_or(loaded_));
  context_.outputs.finish(options_.result == SortResult::unique ? stored.distinct : report_.count);
  report_.verified = options_.verify;
  report_.fingerprint = loaded_;
  if (options_.result == SortResult::unique) report_.distinct = stored.distinct;
  report_.output_bytes = context_.outputs.bytes();
}

void SortRun::repeat() {
  plan_.job.sample.clear();  // with a sample, get() would sort, too
  report_.repeat_s.clear();  // discard those of a GPU that failed
  clock_.run(Phase::repeat, 0, options_.repeat * moved_bytes(), [&](const MovedFunction& moved) {
    for (uint32_t run = 0; run < options_.repeat; ++run) {
      const auto session = begin_session();
      load(*session, Reads::often, moved);
      report_.repeat_s.push_back(session->sort().sort_s);
    }
    report_.copy_bandwidth_bytes_s = backends_.front()->copy_bandwidth();
  });
}

}  // namespace sweepsort
