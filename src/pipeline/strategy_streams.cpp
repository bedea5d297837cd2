// strategy_streams.cpp - sorted inputs of which one is a stream: merged while they are read.
#include "pipeline/lanes.hpp"
#include "pipeline/sort_run.hpp"
#include "pipeline/sorted_inputs.hpp"
#include "pipeline/strategies.hpp"
#include "pipeline/stream_merge.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace sweepsort {
namespace {

/// Puts all keys of a session.
void put_keys(SortSession& session, std::span<const std::byte> keys, size_t chunk_bytes) {
  for (size_t at = 0; at < keys.size(); at += chunk_bytes) {
    const auto chunk = keys.subspan(at, std::min(keys.size() - at, chunk_bytes));
    std::ranges::copy(chunk, session.begin_put(0, Column::keys, at, chunk.size()).begin());
    session.end_put(0);
  }
}

/// Writes the sorted blocks of the streams one after another. Returns the number of keys.
uint64_t store_blocks(const SortRun& sort, StreamMerge& streams, Lanes& lanes, RecordSink& sink,
                      const MovedFunction& moved) {
  struct Block {
    uint64_t first = 0;
    uint64_t count = 0;
  };
  const uint64_t width = key_bytes(sort.context.input.type());
  std::vector<Block> blocks(sort.plan.lanes);
  uint64_t total = 0;
  lanes.begin();
  lanes.run(
      [&](uint32_t lane, uint64_t) {
        const std::span<const std::byte> keys = streams.next();
        if (keys.empty()) return false;
        blocks[lane] = {total, keys.size() / width};
        total += blocks[lane].count;
        put_keys(lanes.session(lane, blocks[lane].count), keys, sort.plan.job.chunk_bytes);
        return true;
      },
      [&](uint32_t lane, uint64_t) {
        const auto [first, count] = blocks[lane];
        if (first == 0) sort.context.outputs.start();
        sink.store(lanes[lane], first, count, moved);
      },
      [&] { sort.stop_streams(); });
  if (total == 0) sort.context.outputs.start();
  return total;
}

}  // namespace

void merge_streams(SortRun& sort) {
  const SortContext& context = sort.context;
  SortReport& report = sort.report;
  SortInput& input = context.input;
  const size_t width = key_bytes(input.type());
  SortedInputs inputs(context);
  struct Read {
    uint64_t bytes = 0;
    std::vector<std::byte> last_key = {};
  };
  std::vector<Read> reads(input.inputs());
  const StreamMerge::Options how{.inputs = input.inputs(),
                                 .type = input.type(),
                                 .order = context.options.order,
                                 .block = sort.plan.job.count};
  const auto ready = [&](std::span<const size_t> parts, bool waits) { return input.readable(parts, waits); };
  StreamMerge streams(how, ready, [&](size_t part, std::span<std::byte> to) {
    const size_t got = input.read_some_of(part, to);
    if (got == 0) return got;
    Read& so_far = reads[part];
    const std::span<const std::byte> keys = to.first(got);
    inputs.check(part, so_far.bytes, so_far.last_key, keys);
    so_far.bytes += got;
    so_far.last_key.assign(keys.end() - static_cast<ptrdiff_t>(width), keys.end());
    return got;
  });
  Lanes lanes(sort.backends, sort.plan.job, sort.plan.lanes);
  // Headers are trusted only if necessary: the header of a pipe must be written first.
  context.outputs.prepare(context.outputs.is_sequential() ? input.announced_count() : std::nullopt);
  StoreResult stored;
  sort.clock.run(Phase::merge, 0, [&](const MovedFunction& moved) {
    const auto sink = context.outputs.sink(sort.transfer(), {});
    report.count = store_blocks(sort, streams, lanes, *sink, moved);
    stored = sink->finish();
    input.check_ends();
  });
  sort.clock.last().bytes = report.count * width;
  sort.clock.note_stages(lanes.times());
  sort.complete_plan(0);
  report.algorithm = "merge of streams, " + lanes.algorithm();
  report.algorithm_why = lanes.algorithm_why();
  sort.finish(stored, inputs.fingerprint(), inputs.fingerprint());
}

}  // namespace sweepsort
