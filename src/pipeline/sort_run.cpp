// sort_run.cpp - budgets, the in-memory and counting strategies, and the verification of a result.
#include "pipeline/sort_run.hpp"

#include "core/error.hpp"
#include "pipeline/counting_session.hpp"
#include "pipeline/referee.hpp"
#include "pipeline/stream_run.hpp"

#include <fmt/format.h>
#include <pthread.h>

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

uint64_t thread_stack_bytes() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_getstacksize(&attributes, &bytes);
  ::pthread_attr_destroy(&attributes);
  return bytes;
}

/// The requested memory, or 75 % of what is available after the stacks of `threads` threads. Throws
/// UsageError if more is requested than is available.
Bytes memory_budget(const std::optional<Bytes>& asked, const MemoryLimit& limit, uint32_t threads) {
  if (!asked) {
    // Every thread reserves a stack, including the threads for signals and progress.
    const uint64_t stacks = limit.is_address_space ? (threads + 2) * thread_stack_bytes() : 0;
    const uint64_t all = limit.available.value;
    return std::max(Bytes{std::max(all - std::min(stacks, all), all / 8) / 4 * 3}, min_memory);
  }
  if (*asked > limit.available)
    throw UsageError(fmt::format("--memory {}: {} leaves {}", format_bytes(*asked), limit.what,
                                 format_bytes(limit.available)),
                     "leave it out to use three quarters of that");
  require_min_memory(*asked);
  return *asked;
}

/// The memory that a sort may use on each backend; empty for backends without a device. Throws UsageError if
/// more is requested than is free, unless it was free before.
std::optional<Bytes> gpu_memory_budget(const SortContext& context, const Backends& backends, bool on_gpu) {
  if (!on_gpu) return {};
  Bytes free = backends.front()->device_memory();
  for (const auto& backend : std::span(backends).subspan(1)) free = std::min(free, backend->device_memory());
  const std::optional<Bytes>& asked = context.options.memory.gpu_memory;
  if (asked && *asked > free && !context.max_gpu_memory)
    throw UsageError(
        fmt::format("--gpu-memory {}: only {} is free {}", format_bytes(*asked), format_bytes(free),
                    backends.size() > 1 ? "on one of the GPUs" : "on the GPU"),
        "leave it out to use three quarters of that");
  const Bytes budget = asked.value_or(Bytes{free.value / 4 * 3});
  return std::min({budget, free, context.max_gpu_memory.value_or(budget)});
}

/// The part of the budget for keys that are read ahead: whole chunks, which are freed before runs take their
/// memory.
Bytes memory_ahead(const SortContext& context, Bytes budget) {
  const SortFileOptions& options = context.options;
  // A merge reads its inputs in another order, and the referee's copy leaves less memory.
  const bool pays =
      !context.input.is_stream() && !options.inputs_are_sorted && options.referee == Referee::none;
  constexpr uint64_t most = uint64_t{1} << 30;  // no disk delivers more in that time
  const uint64_t share = std::min(budget.value / 8, most);
  const uint64_t bytes = context.input.data_bytes();
  if (!pays) return {};
  return Bytes{bytes <= share ? bytes : share / chunk_ahead * chunk_ahead};
}

FileRecord file_record(const SortContext& context, std::optional<uint64_t> keys) {
  const SortFileOptions& options = context.options;
  const uint64_t key = key_bytes(context.input.type());
  const uint64_t value = options.values.empty() ? 0 : context.values.bytes();
  const uint64_t second = options.counts_output.empty() ? value : sizeof(uint64_t);
  const bool is_permutation = options.result == SortResult::permutation;
  return {.read = key + value, .written = is_permutation ? position_bytes(keys) : key + second};
}

}  // namespace

void read_ahead(const SortContext& context) {
  // More threads would delay the context. H200, 1 GiB of u32 from the disk, five measurements in turn of
  // whole sorts: 1.49 s without, 1.36 s with 4 threads (huge pages), 1.39 s with 8 and 1.48 s with 16 (small
  // pages).
  constexpr uint32_t max_threads = 4;
  if (context.options.plan_only) return;
  Bytes memory;
  try {
    memory = memory_budget(context.options.memory.memory, context.limit, context.threads);
  } catch (const Error&) {
    return;  // the plan will report it, if nothing worse is found before
  }
  const Bytes ahead = memory_ahead(context, memory);
  if (ahead != Bytes{}) context.input.read_ahead(ahead, std::min(context.threads, max_threads));
}

PlanRequest plan_request(const SortContext& context, const Backends& backends, bool on_gpu) {
  const SortFileOptions& options = context.options;
  // With values, each worker keeps a copy of a chunk's keys.
  constexpr size_t max_with_values = 1u << 20;
  const bool has_values = context.values.bytes() != 0;
  const Bytes memory = memory_budget(options.memory.memory, context.limit, context.threads);
  return {.shape = {context.input.type(), context.values.bytes()},
          .file = file_record(context, context.input.count()),
          .order = options.order,
          .algorithm = options.algorithm,
          .unique = options.result == SortResult::unique && !has_values,
          .threads = context.threads,
          .chunk_bytes = has_values ? std::min(context.environment.chunk_bytes, max_with_values)
                                    : context.environment.chunk_bytes,
          .memory = memory,
          .page_cache =
              Bytes{context.limit.available.value - std::min(memory.value, context.limit.available.value)},
          .ahead = on_gpu ? memory_ahead(context, memory) : Bytes{},
          .gpus = static_cast<uint32_t>(backends.size()),
          .gpu_memory = gpu_memory_budget(context, backends, on_gpu),
          .may_count = !on_gpu,
          .one_session = options.referee != Referee::none ? OneSession::for_referee
                         : options.repeat != 0            ? OneSession::for_repeat
                                                          : OneSession::not_needed,
          .sorted_inputs = options.inputs_are_sorted ? context.input.inputs() : 0,
          .min_runs = context.environment.min_runs};
}

SortRun::SortRun(const SortContext& context, const Backends& backends, const std::vector<int>& devices,
                 SortReport& report)
    : context_(context),
      options_(context.options),
      backends_(backends),
      first_device_(devices.empty() ? std::nullopt : std::optional(devices.front())),
      report_(report),
      clock_(report.phases, context.options.progress),
      request_(make_request()),
      plan_(make_plan(request_, [&](const SortJob& job) { return backends_.front()->footprint(job); })) {}

PlanRequest SortRun::make_request() const {
  PlanRequest request = plan_request(context_, backends_, on_gpu());
  request.count = context_.input.count();
  // What was collected of a stream before it turned out too long is only freed while the runs are formed.
  if (!request.count && !options_.inputs_are_sorted) {
    request.collected.value = request.memory.value - std::max(min_memory.value, request.memory.value / 2);
    request.memory.value -= request.collected.value;
  }
  // The referee has its own copy and needs as much memory again to sort it, even after a GPU that has no room
  // for it.
  if (options_.referee != Referee::none) request.for_referee = Bytes{2 * context_.input.data_bytes()};
  // A collected stream stays in memory in case the GPU fails, and where it is read more than once.
  const bool stays = on_gpu() || options_.repeat != 0 || options_.referee != Referee::none;
  const uint64_t kept = context_.input.is_stream() && stays ? context_.input.data_bytes() : 0;
  request.kept.value = std::min(kept, request.memory.value - min_memory.value);
  request.memory.value -= request.kept.value;
  return request;
}

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
