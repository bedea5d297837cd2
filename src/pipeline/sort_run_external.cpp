// sort_run_external.cpp - the external strategy: forms runs of files, of streams or of sorted inputs, and
// merges them.
#include "core/error.hpp"
#include "core/key_bits.hpp"
#include "core/key_text.hpp"
#include "pipeline/key_scan.hpp"
#include "pipeline/sort_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace sweepsort {
namespace {

/// A sorted input of --merge.
class InputRun : public Run {
 public:
  InputRun(std::unique_ptr<KeySource> keys, uint64_t count) : keys_(std::move(keys)), count_(count) {}
  uint64_t count() const override { return count_; }
  void read(Column, uint64_t first_byte, std::span<std::byte> to) const override {
    keys_->read(first_byte, to);
  }

 private:
  std::unique_ptr<KeySource> keys_;
  uint64_t count_;
};

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

std::string print_key(const std::byte* key, KeyType type) {
  uint64_t bits = 0;
  std::memcpy(&bits, key, key_bytes(type));
  return key_text(type, bits);
}

/// Puts all keys of a session.
void put_keys(SortSession& session, std::span<const std::byte> keys, size_t chunk_bytes) {
  for (size_t at = 0; at < keys.size(); at += chunk_bytes) {
    const auto chunk = keys.subspan(at, std::min(keys.size() - at, chunk_bytes));
    std::ranges::copy(chunk, session.begin_put(0, Column::keys, at, chunk.size()).begin());
    session.end_put(0);
  }
}

/// Records the time that the stages worked in this phase, since `before`.
void note_stages(PhaseTime& phase, const StageTimes& now, const StageTimes& before = {}) {
  phase.read_s = now.load_s - before.load_s;
  phase.sort_s = now.sort_s - before.sort_s;
  phase.write_s = now.store_s - before.store_s;
}

}  // namespace

void SortRun::run_external() {
  std::vector<DeviceRoom> devices;
  for (size_t gpu = 0; gpu < plan_.room_on_gpus.size(); ++gpu)
    devices.push_back({backends_[gpu].get(), plan_.room_on_gpus[gpu]});
  ExternalSort sort(backends_, {.plan = plan_,
                                .transfer = transfer(),
                                .store = {.shape = transfer().shape,
                                          .devices = std::move(devices),
                                          .memory = plan_.memory_for_runs,
                                          .directories = context_.temporary_directories,
                                          .run_records = plan_.job.count,
                                          .caching = plan_.caches_runs ? Caching::use : Caching::bypass,
                                          .may_wait = !plan_.caches_runs || plan_.runs == 0,
                                          .allow_anonymous = context_.environment.allow_anonymous},
                                .packs = options_.result == SortResult::unique &&
                                         !options_.inputs_are_sorted && options_.counts_output.empty(),
                                .cancel = [this] { stop_streams(); }});
  if (options_.inputs_are_sorted)
    adopt_inputs(sort);
  else
    form_runs(sort);
  merge(sort);
  report_.algorithm = "external, " + sort.lanes().algorithm();
  report_.algorithm_why = sort.lanes().algorithm_why();
}

void SortRun::form_runs(ExternalSort& sort) {
  const auto values = context_.values.source();
  if (const auto count = context_.input.count()) sort.reserve(*count);
  clock_.run(Phase::runs, 0, moved_bytes(), [&](const MovedFunction& moved) {
    if (context_.input.count()) {
      // If the GPU fails, the CPU reads the keys again.
      const auto keys = context_.input.keys(on_gpu() ? Reads::often : Reads::once);
      loaded_ = sort.form_runs({*keys, values.get(), context_.input.data_offset()}, moved);
    } else {
      form_stream_runs(sort, values.get(), moved);
    }
    context_.input.check_ends();
    context_.values.check_unchanged();
  });
  if (const auto& packed = sort.packed()) {
    check_sorted(packed->sorted, loaded_);
    kept_ = packed->kept;
  }
  clock_.last().bytes = sort.taken() * key_bytes(context_.input.type()) + context_.values.file_bytes();
  if (!context_.input.count()) {
    report_.count = sort.taken();
    context_.values.check_counts(context_.input, sort.taken());
    context_.outputs.prepare(sort.count());
  }
}

void SortRun::form_stream_runs(ExternalSort& sort, KeySource* values, const MovedFunction& moved) {
  const Transfer how = transfer();
  const uint64_t width = key_bytes(how.shape.type);
  const uint64_t value_bytes = how.shape.value_bytes;
  std::vector<std::byte> keys_of_chunk;
  sort.form_runs([&](SortSession& session, uint64_t first, uint64_t most) {
    uint64_t there = 0;
    bool ended = false;
    Transfer one_by_one = how;
    one_by_one.workers = 1;
    RunFiller filler(how, options_.algorithm == SortAlgorithm::counting);
    for_record_chunks(one_by_one, 0, most, 1, [&](uint32_t, const RecordChunk& chunk) {
      const std::span<std::byte> keys =
          session.begin_put(0, Column::keys, chunk.first * width, chunk.count * width);
      const size_t got = ended ? 0 : context_.input.read_next(keys);
      ended = got < keys.size();
      filler.see(keys.first(got));
      filler.fill(keys.subspan(got));
      if (how.verify && !values) loaded_ += fingerprint(keys.first(got), width, how.secret);
      if (values) keys_of_chunk.assign(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(got));
      session.end_put(0);
      const uint64_t count = got / width;
      if (values) {
        const std::span<std::byte> place =
            session.begin_put(0, Column::values, chunk.first * value_bytes, chunk.count * value_bytes);
        std::ranges::fill(place.subspan(count * value_bytes), std::byte{0});
        context_.values.check_enough(first + there + count);
        values->read((first + chunk.first) * value_bytes, place.first(count * value_bytes));
        if (how.verify)
          loaded_ += pair_fingerprint(keys_of_chunk, width, place.first(count * value_bytes), value_bytes,
                                      how.secret);
        session.end_put(0);
      }
      there += count;
      moved(count * how.shape.bytes());
    });
    return there;
  });
}

void SortRun::adopt_inputs(ExternalSort& sort) {
  std::vector<std::unique_ptr<Run>> runs;
  for (size_t i = 0; i < context_.input.inputs(); ++i)
    runs.push_back(std::make_unique<InputRun>(context_.input.keys_of(i), *context_.input.count_of(i)));
  sort.adopt(std::move(runs), [this](size_t input, uint64_t first_byte, std::span<const std::byte> keys) {
    std::vector<std::byte> before(first_byte == 0 ? 0 : key_bytes(context_.input.type()));
    if (!before.empty()) context_.input.keys_of(input)->read(first_byte - before.size(), before);
    inspect(input, first_byte, before, keys);
  });
}

/// Checks a part of an input that should be sorted: adds to the fingerprint and checks the order, including
/// the key before the part, if there is one.
void SortRun::inspect(size_t input, uint64_t first_byte, std::span<const std::byte> before,
                      std::span<const std::byte> keys) {
  const KeyType type = context_.input.type();
  const size_t width = key_bytes(type);
  if (options_.verify) read_.add(fingerprint(keys, width, context_.secret));
  const bool follows = before.empty() || ordered_key(before.data(), type, options_.order) <=
                                             ordered_key(keys.data(), type, options_.order);
  if (follows && is_ordered(keys, type, options_.order)) return;
  const uint64_t at = follows ? first_descent(keys, type, options_.order) : 0;
  const std::byte* const key = keys.data() + at * width;
  throw InputError(
      fmt::format("{}: not sorted{}: key {} is {} and comes after {}", context_.input.files()[input]->name(),
                  options_.order == Order::descending ? " in descending order" : "", first_byte / width + at,
                  print_key(key, type), print_key(at == 0 ? before.data() : key - width, type)),
      options_.order == Order::descending
          ? "leave --merge out to sort the files"
          : "leave --merge out to sort the files; if they are descending, add -r");
}

uint64_t SortRun::store_blocks(StreamMerge& streams, Lanes& lanes, RecordSink& sink,
                               const MovedFunction& moved) {
  struct Block {
    uint64_t first = 0;
    uint64_t count = 0;
  };
  const uint64_t width = key_bytes(context_.input.type());
  std::vector<Block> blocks(plan_.lanes);
  uint64_t total = 0;
  lanes.begin();
  lanes.run(
      [&](uint32_t lane, uint64_t) {
        const std::span<const std::byte> keys = streams.next();
        if (keys.empty()) return false;
        blocks[lane] = {total, keys.size() / width};
        total += blocks[lane].count;
        put_keys(lanes.session(lane, blocks[lane].count), keys, plan_.job.chunk_bytes);
        return true;
      },
      [&](uint32_t lane, uint64_t) {
        const auto [first, count] = blocks[lane];
        if (first == 0) context_.outputs.start();
        sink.store(lanes[lane], first, count, moved);
      },
      [this] { stop_streams(); });
  if (total == 0) context_.outputs.start();
  return total;
}

void SortRun::merge_streams() {
  SortInput& input = context_.input;
  const size_t width = key_bytes(input.type());
  struct Read {
    uint64_t bytes = 0;
    std::vector<std::byte> last_key = {};
  };
  std::vector<Read> reads(input.inputs());
  const StreamMerge::Options how{
      .inputs = input.inputs(), .type = input.type(), .order = options_.order, .block = plan_.job.count};
  const auto ready = [&](std::span<const size_t> parts, bool waits) { return input.readable(parts, waits); };
  StreamMerge streams(how, ready, [&](size_t part, std::span<std::byte> to) {
    const size_t got = input.read_some_of(part, to);
    if (got == 0) return got;
    Read& so_far = reads[part];
    const std::span<const std::byte> keys = to.first(got);
    inspect(part, so_far.bytes, so_far.last_key, keys);
    so_far.bytes += got;
    so_far.last_key.assign(keys.end() - static_cast<ptrdiff_t>(width), keys.end());
    return got;
  });
  Lanes lanes(backends_, plan_.job, plan_.lanes);
  // Headers are trusted only if necessary: the header of a pipe must be written first.
  context_.outputs.prepare(context_.outputs.is_sequential() ? input.announced_count() : std::nullopt);
  StoreResult stored;
  clock_.run(Phase::merge, 0, [&](const MovedFunction& moved) {
    const auto sink = context_.outputs.sink(transfer(), {});
    report_.count = store_blocks(streams, lanes, *sink, moved);
    stored = sink->finish();
    input.check_ends();
    loaded_ = read_.sum();
  });
  clock_.last().bytes = report_.count * width;
  note_stages(clock_.last(), lanes.times());
  complete_plan(0);
  report_.algorithm = "merge of streams, " + lanes.algorithm();
  report_.algorithm_why = lanes.algorithm_why();
  judge(stored);
}

void SortRun::merge(ExternalSort& sort) {
  const uint64_t bytes = sort.count() * transfer().shape.bytes();
  const StageTimes before = sort.lanes().times();
  if (!options_.inputs_are_sorted) note_stages(clock_.last(), before);
  StoreResult stored;
  const uint64_t runs = sort.runs();
  Bytes spilled;
  const uint64_t passes = passes_of(runs, plan_.fan_in);
  clock_.run(Phase::merge, std::max<uint64_t>(1, passes) * bytes, [&](const MovedFunction& moved) {
    const uint32_t merged = sort.merge_down(moved);
    spilled = sort.spilled();
    report_.plan.passes = merged + (options_.inputs_are_sorted ? 1 : 2);
    context_.outputs.start();
    const auto sink = context_.outputs.sink(transfer(), {});
    sort.merge(*sink, moved);
    stored = sink->finish();
    if (options_.inputs_are_sorted) {
      context_.input.check_ends();
      loaded_ = read_.sum();
    }
  });
  note_stages(clock_.last(), sort.lanes().times(), before);
  if (plan_.runs == 0) {  // a stream, whose runs could not be planned
    complete_plan(runs);
    report_.plan.temporary = spilled;
  }
  judge(stored);
}

}  // namespace sweepsort
