// strategy_in_memory.cpp - all records in one session: of the backend, or one that only counts the keys.
#include "core/growing_buffer.hpp"
#include "pipeline/counting_session.hpp"
#include "pipeline/referee.hpp"
#include "pipeline/sort_run.hpp"
#include "pipeline/strategies.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sweepsort {
namespace {

// Settings for a session that splits its keys as they arrive (prepare_split). It gets more workers than the
// plan has, because some can sort buckets while others wait for the disk; but only one more worker reads,
// because more readers are slower. It gets many chunks, which in small files have about the size of a
// second-level cache. Measured with two threads of a Zen 4, 1 GiB, medians of 7, compared with one more
// worker and chunks of 8 MiB: u32 1.63 -> 1.41 s, u64 1.44 -> 1.06 s (also with huge pages timed by the
// thread).
constexpr uint32_t split_workers_more = 5;
constexpr uint32_t split_loaders_more = 1;
constexpr uint64_t split_chunks = 512;
constexpr uint64_t min_split_chunk = 2u << 20;

/// For a session that splits its keys into buckets as they arrive: gives it a sample, more workers and
/// smaller chunks. Returns how many of the workers load keys.
uint32_t prepare_split(SortRun& sort) {
  const SortContext& context = sort.context;
  SortJob& job = sort.plan.job;
  const uint32_t loaders = job.workers;
  // If the output is written in order, one thread would get all keys, and thus sort everything.
  if (sort.plan.strategy != SortStrategy::in_memory || context.outputs.is_sequential()) return loaders;
  SortJob shared = job;
  // The additional threads would reserve address space, too.
  const bool is_shared = context.threads > 1 && !context.limit.is_address_space;
  if (is_shared) {
    shared.workers += split_workers_more;
    const uint64_t chunk =
        std::max(std::bit_floor(context.input.data_bytes() / split_chunks), min_split_chunk);
    shared.chunk_bytes = std::min<uint64_t>(job.chunk_bytes, chunk);
  }
  const uint64_t chunks = shared.workers * shared.chunk_bytes;
  const Bytes memory{sort.request.memory.value - std::min(sort.request.memory.value, chunks)};
  if (!sort.backends.front()->wants_sample(shared, memory)) return loaders;
  job = shared;
  const auto keys = context.input.keys(Reads::often);
  job.sample = sample_of(*keys, job.count, job.type, job.order);
  return loaders + (is_shared ? split_loaders_more : 0);
}

std::unique_ptr<SortSession> begin_session(const SortRun& sort) {
  return sort.plan.strategy == SortStrategy::counting ? make_counting_session(sort.plan.job)
                                                      : sort.backends.front()->begin_sort(sort.plan.job);
}

Fingerprint load(const SortRun& sort, uint32_t loaders, Reads reads, SortSession& session,
                 const MovedFunction& moved) {
  const SortContext& context = sort.context;
  const auto keys = context.input.keys(reads);
  const auto values = context.values.source();
  const RecordSource source{*keys, values.get(), context.input.data_offset()};
  Transfer how = sort.transfer();
  how.workers = loaders;
  const Fingerprint loaded = load_records(source, 0, *context.input.count(), session, how, moved);
  context.input.check_ends();
  context.values.check_unchanged();
  return loaded;
}

/// Keys that are only counted need no memory, so the stream may have any length.
Fingerprint load_counted_stream(SortRun& sort, SortSession& session, const MovedFunction& moved) {
  const SortContext& context = sort.context;
  const size_t width = key_bytes(context.input.type());
  std::vector<std::byte> buffer(sort.plan.job.chunk_bytes);
  Fingerprint total{};
  size_t got = 0;
  do {
    got = context.input.read_next(buffer);
    const std::span<const std::byte> keys = std::span(buffer).first(got);
    std::ranges::copy(keys, session.begin_put(0, Column::keys, total.count * width, got).begin());
    session.end_put(0);
    Fingerprint part{got / width, 0};
    if (context.options.verify) part = fingerprint(keys, width, context.secret);
    total += part;
    moved(got);
  } while (got == buffer.size());
  context.input.check_ends();
  sort.report.count = total.count;
  context.outputs.prepare(total.count);
  sort.complete_plan(1);
  return total;
}

/// Returns the keys sorted by the referee.
GrowingBuffer sort_again(const SortRun& sort) {
  SortInput& input = sort.context.input;
  GrowingBuffer copy;
  const uint64_t bytes = input.data_bytes();
  const std::span<std::byte> keys = copy.room(bytes).first(bytes);
  copy.commit(bytes);
  const size_t width = key_bytes(input.type());
  const auto source = input.keys(Reads::often);
  for_record_chunks(sort.transfer(), input.data_offset(), bytes / width, sort.plan.job.workers,
                    [&](uint32_t, const RecordChunk& chunk) {
                      source->read(chunk.first * width,
                                   keys.subspan(chunk.first * width, chunk.count * width));
                    });
  const uint64_t allowed = sort.request.gpu_memory.value_or(Bytes{}).value;
  const Bytes room{allowed - std::min(allowed, sort.plan.gpu_memory.value)};
  referee_sort(keys, input.type(), sort.context.options.order, sort.first_device, room);
  return copy;
}

void sort_once(SortRun& sort, uint32_t loaders) {
  const SortContext& context = sort.context;
  SortReport& report = sort.report;
  const bool has_referee = context.options.referee != Referee::none;
  const bool is_once = !sort.on_gpu() && context.options.repeat == 0 && !has_referee;
  const auto session = begin_session(sort);
  Fingerprint loaded;
  sort.clock.run(Phase::read, 0, sort.moved_bytes(), [&](const MovedFunction& moved) {
    loaded = context.input.count()
                 ? load(sort, loaders, is_once ? Reads::once : Reads::often, *session, moved)
                 : load_counted_stream(sort, *session, moved);
  });
  const uint64_t bytes = report.count * key_bytes(context.input.type()) + context.values.file_bytes();
  sort.clock.last().bytes = bytes;
  SortSummary summary;
  sort.clock.run(Phase::sort, bytes, [&](const MovedFunction&) { summary = session->sort(); });
  report.algorithm = summary.algorithm;
  report.algorithm_why = summary.why;
  if (summary.get_sorts) sort.clock.last().bytes = 0;  // no rate, because get() sorts during the write phase
  std::optional<GrowingBuffer> expected;
  if (has_referee)
    sort.clock.run(Phase::verify, bytes, [&](const MovedFunction&) { expected.emplace(sort_again(sort)); });
  StoreResult stored;
  const uint64_t moved_records = report.count * sort.request.shape.bytes();
  sort.clock.run(Phase::write, context.outputs.bytes(), moved_records, [&](const MovedFunction& moved) {
    context.outputs.start();
    const auto sink = context.outputs.sink(
        sort.transfer(), expected ? std::as_const(*expected).bytes() : std::span<const std::byte>());
    sink->store(*session, 0, report.count, moved);
    stored = sink->finish();
  });
  if (has_referee) report.referee_agrees = stored.agrees;
  sort.finish(stored, loaded, loaded);
}

/// Loads and sorts again, for --repeat.
void repeat(SortRun& sort, uint32_t loaders) {
  const uint32_t runs = sort.context.options.repeat;
  sort.plan.job.sample.clear();  // with a sample, get() would sort, too
  sort.report.repeat_s.clear();  // discard those of a GPU that failed
  sort.clock.run(Phase::repeat, 0, runs * sort.moved_bytes(), [&](const MovedFunction& moved) {
    for (uint32_t run = 0; run < runs; ++run) {
      const auto session = begin_session(sort);
      load(sort, loaders, Reads::often, *session, moved);
      sort.report.repeat_s.push_back(session->sort().sort_s);
    }
    sort.report.copy_bandwidth_bytes_s = sort.backends.front()->copy_bandwidth();
  });
}

}  // namespace

void sort_in_memory(SortRun& sort) {
  const uint32_t loaders = prepare_split(sort);
  sort_once(sort, loaders);
  if (sort.context.options.repeat != 0) repeat(sort, loaders);
}

}  // namespace sweepsort
