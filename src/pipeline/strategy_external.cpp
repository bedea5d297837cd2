// strategy_external.cpp - more records than one session holds: forms sorted runs of files or of a stream, or
// takes sorted inputs as runs, and merges them.
#include "core/key_bits.hpp"
#include "pipeline/external_sort.hpp"
#include "pipeline/key_scan.hpp"
#include "pipeline/sort_run.hpp"
#include "pipeline/sorted_inputs.hpp"
#include "pipeline/strategies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace sweepsort {
namespace {

/// Fills up a run that a stream did not fill. Uses the key that sorts after all others of its type. For a
/// counting sort, whose range of keys must not grow, it uses the last key of this run.
class RunFiller {
 public:
  RunFiller(const Transfer& how, bool keeps_range)
      : type_(how.shape.type), order_(how.order), keeps_range_(keeps_range) {}

  /// Takes the next keys of the run.
  void see(std::span<const std::byte> keys) {
    if (!keeps_range_) return;
    const size_t width = key_bytes(type_);
    for (size_t at = 0; at < keys.size(); at += width) {
      const uint64_t key = ordered_key(keys.data() + at, type_, order_);
      last_ = std::max(last_.value_or(key), key);
    }
  }
  void fill(std::span<std::byte> keys) const {
    dispatch_bits(type_, [&]<class Bits>(std::type_identity<Bits>) {
      const Bits last =
          key_map<Bits>(type_, order_)
              .from_ordered(static_cast<Bits>(last_.value_or(std::numeric_limits<Bits>::max())));
      for (size_t at = 0; at < keys.size(); at += sizeof last)
        std::memcpy(keys.data() + at, &last, sizeof last);
    });
  }

 private:
  KeyType type_;
  Order order_;
  bool keeps_range_;
  std::optional<uint64_t> last_;  // as ordered key
};

RunPacking packing_of(const SortRun& sort) {
  const SortFileOptions& options = sort.context.options;
  if (!is_unique(options.result) || options.inputs_are_sorted) return RunPacking::none;
  if (sort.request.counts) return RunPacking::counted;
  return options.counts_output.empty() ? RunPacking::first : RunPacking::none;  // sums may outgrow values
}

ExternalJob external_job(const SortRun& sort) {
  const SortContext& context = sort.context;
  const Plan& plan = sort.plan;
  std::vector<DeviceRoom> devices;
  for (size_t gpu = 0; gpu < plan.room_on_gpus.size(); ++gpu)
    devices.push_back({sort.backends[gpu].get(), plan.room_on_gpus[gpu]});
  return {.plan = plan,
          .transfer = sort.transfer(),
          .store = {.shape = sort.request.shape,
                    .devices = std::move(devices),
                    .memory = plan.memory_for_runs,
                    .directories = context.temporary_directories,
                    .run_records = plan.job.count,
                    .caching = plan.caches_runs ? Caching::use : Caching::bypass,
                    .may_wait = !plan.caches_runs || plan.runs == 0,
                    .allow_anonymous = context.environment.allow_anonymous},
          .packing = packing_of(sort),
          .cancel = [&sort] { sort.stop_streams(); }};
}

Fingerprint form_stream_runs(const SortRun& sort, ExternalSort& external, KeySource* values,
                             const MovedFunction& moved) {
  const SortContext& context = sort.context;
  const Transfer how = sort.transfer();
  const uint64_t width = key_bytes(how.shape.type);
  const uint64_t value_bytes = how.shape.value_bytes;
  Fingerprint loaded;
  std::vector<std::byte> keys_of_chunk;
  external.form_runs([&](SortSession& session, uint64_t first, uint64_t most) {
    uint64_t there = 0;
    bool ended = false;
    Transfer one_by_one = how;
    one_by_one.workers = 1;
    RunFiller filler(how, context.options.algorithm == SortAlgorithm::counting);
    for_record_chunks(one_by_one, 0, most, 1, [&](uint32_t, const RecordChunk& chunk) {
      const std::span<std::byte> keys =
          session.begin_put(0, Column::keys, chunk.first * width, chunk.count * width);
      const size_t got = ended ? 0 : context.input.read_next(keys);
      ended = got < keys.size();
      filler.see(keys.first(got));
      filler.fill(keys.subspan(got));
      if (how.verify && !values) loaded += fingerprint(keys.first(got), width, how.secret);
      if (values) keys_of_chunk.assign(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(got));
      session.end_put(0);
      const uint64_t count = got / width;
      if (values) {
        const std::span<std::byte> place =
            session.begin_put(0, Column::values, chunk.first * value_bytes, chunk.count * value_bytes);
        std::ranges::fill(place.subspan(count * value_bytes), std::byte{0});
        context.values.check_enough(first + there + count);
        values->read((first + chunk.first) * value_bytes, place.first(count * value_bytes));
        if (how.verify)
          loaded += pair_fingerprint(keys_of_chunk, width, place.first(count * value_bytes), value_bytes,
                                     how.secret);
        session.end_put(0);
      }
      there += count;
      moved(count * how.shape.bytes());
    });
    return there;
  });
  return loaded;
}

/// Returns the fingerprint of all keys read.
Fingerprint form_runs(SortRun& sort, ExternalSort& external) {
  const SortContext& context = sort.context;
  const auto values = context.values.source();
  if (const auto count = context.input.count()) external.reserve(*count);
  Fingerprint loaded;
  sort.clock.run(Phase::runs, 0, sort.moved_bytes(), [&](const MovedFunction& moved) {
    if (context.input.count()) {
      // If the GPU fails, the CPU reads the keys again.
      const auto keys = context.input.keys(sort.on_gpu() ? Reads::often : Reads::once);
      loaded = external.form_runs({*keys, values.get(), context.input.data_offset()}, moved);
    } else {
      loaded = form_stream_runs(sort, external, values.get(), moved);
    }
    context.input.check_ends();
    context.values.check_unchanged();
  });
  if (const auto& packed = external.packed()) sort.check_sorted(*packed, loaded);
  sort.clock.last().bytes =
      external.records_read() * key_bytes(context.input.type()) + context.values.file_bytes();
  if (!context.input.count()) {
    sort.report.count = external.records_read();
    context.values.check_counts(context.input, external.records_read());
    context.outputs.prepare(external.records_read(), external.records_in_runs());
  }
  sort.clock.note_stages(external.lanes().times());
  if (packing_of(sort) != RunPacking::none && context.options.log)
    context.options.log(fmt::format("runs: {} of {} keys are left{}", external.records_in_runs(),
                                    external.records_read(),
                                    external.transfer().values == ValueKind::counts ? ", with counts" : ""));
  return loaded;
}

StoreResult merge_runs(SortRun& sort, ExternalSort& external) {
  const SortContext& context = sort.context;
  const bool is_merge = context.options.inputs_are_sorted;
  const uint64_t bytes = external.records_in_runs() * external.transfer().shape.bytes();
  const StageTimes before = external.lanes().times();
  const uint64_t runs = external.runs();
  const uint64_t passes = passes_of(runs, sort.plan.fan_in);
  Bytes spilled;
  StoreResult stored;
  sort.clock.run(Phase::merge, std::max<uint64_t>(1, passes) * bytes, [&](const MovedFunction& moved) {
    const uint32_t merged = external.merge_down(moved);
    spilled = external.spilled();
    sort.report.plan.passes = merged + (is_merge ? 1 : 2);
    context.outputs.start();
    const auto sink = context.outputs.sink(external.transfer(), {});
    external.merge(*sink, moved);
    stored = sink->finish();
    stored.is_ordered = stored.is_ordered && external.cuts_in_order();
    if (!is_merge) return;
    context.input.check_ends();
    context.values.check_unchanged();
  });
  sort.clock.note_stages(external.lanes().times(), before);
  if (sort.plan.runs == 0) {  // a stream, whose runs could not be planned
    sort.complete_plan(runs);
    sort.report.plan.temporary = spilled;
  }
  return stored;
}

}  // namespace

void sort_external(SortRun& sort) {
  const bool is_merge = sort.context.options.inputs_are_sorted;
  SortedInputs inputs(sort.context);
  ExternalSort external(sort.backends, external_job(sort));
  Fingerprint loaded;
  if (is_merge)
    inputs.give_to(external);
  else
    loaded = form_runs(sort, external);
  const StoreResult stored = merge_runs(sort, external);
  if (is_merge) loaded = inputs.fingerprint();
  const auto& packed = external.packed();
  sort.finish(stored, loaded, packed ? packed->kept : loaded);
  const std::string& algorithm = external.lanes().algorithm();  // empty without any key
  sort.report.algorithm = algorithm.empty() ? "external" : "external, " + algorithm;
  sort.report.algorithm_why = external.lanes().algorithm_why();
}

}  // namespace sweepsort
