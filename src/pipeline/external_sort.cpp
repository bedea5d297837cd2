// external_sort.cpp - forms runs, then merges them by blocks.
#include "pipeline/external_sort.hpp"

#include "core/rounding.hpp"
#include "pipeline/key_scan.hpp"
#include "pipeline/rank_cutter.hpp"

#include <algorithm>
#include <numeric>

namespace sweepsort {
namespace {

/// Stores the samples of a run that are among `keys`, which begin at position `first` in the run.
void take_samples(IndexedRun& run, uint64_t first, std::span<const std::byte> keys,
                  const Transfer& transfer) {
  const KeyType type = transfer.shape.type;
  const size_t width = key_bytes(type);
  const uint64_t end = first + keys.size() / width;
  for (uint64_t i = ceil_divide(first, run.stride); i * run.stride < end; ++i)
    run.samples[i] = ordered_key(keys.data() + (i * run.stride - first) * width, type, transfer.order);
}

/// Turns what a sink writes into a run of keys alone, with its samples.
class RunTarget : public ByteTarget {
 public:
  RunTarget(IndexedRun& run, const Transfer& transfer) : run_(run), transfer_(transfer) {}

  bool is_sequential() const override { return false; }
  void write_at(uint64_t offset, std::span<const std::byte> keys) override {
    if (keys.empty()) return;
    const size_t width = key_bytes(transfer_.shape.type);
    if (transfer_.verify) written_.add(sweepsort::fingerprint(keys, width, transfer_.secret));
    take_samples(run_, offset / width, keys, transfer_);
    static_cast<StoredRun&>(*run_.run).write(Column::keys, offset, keys);
  }
  Fingerprint fingerprint() const { return written_.sum(); }

 private:
  IndexedRun& run_;
  const Transfer& transfer_;
  SharedFingerprint written_;
};

}  // namespace

ExternalSort::ExternalSort(const Backends& backends, const ExternalJob& job)
    : job_(job),
      lanes_(backends, job.plan.job, job.plan.lanes),
      store_(std::make_unique<RunStore>(job.store)) {}

IndexedRun ExternalSort::make_run(uint64_t count) {
  IndexedRun indexed{.run = store_->make_run(count), .stride = job_.plan.stride};
  indexed.samples.resize(ceil_divide(count, indexed.stride));
  return indexed;
}

/// A stream may be longer than any plan. If the samples of its runs exceed their share, every second one is
/// dropped. (The first sample of a run always stays.)
void ExternalSort::thin_samples() {
  samples_ += runs_.back().samples.size();
  if (samples_ <= std::max<uint64_t>(job_.plan.max_samples, runs_.size())) return;
  samples_ = 0;
  for (IndexedRun& run : runs_) {
    std::vector<uint64_t> kept;
    kept.reserve((run.samples.size() + 1) / 2);
    for (size_t i = 0; i < run.samples.size(); i += 2) kept.push_back(run.samples[i]);
    run.samples = std::move(kept);
    run.stride *= 2;
    samples_ += run.samples.size();
  }
  job_.plan.stride *= 2;
}

void ExternalSort::reserve(uint64_t count) {
  store_->reserve(job_.plan.spill_area.value, job_.plan.spill_areas);
  lanes_.begin();  // a run can go elsewhere if a GPU has no room, a session cannot
  const uint64_t most = job_.plan.job.count;
  for (uint64_t first = 0; first < count; first += most) counts_.push_back(std::min(most, count - first));
  // Packed runs are made one by one, as each leaves room for the next.
  if (job_.packs) return;
  for (const uint64_t records : counts_) runs_.push_back(make_run(records));
}

uint64_t ExternalSort::count() const {
  return std::accumulate(runs_.begin(), runs_.end(), uint64_t{0},
                         [](uint64_t sum, const IndexedRun& run) { return sum + run.run->count(); });
}

/// Stores records of the session in a run, from its record `first` on, with their samples.
void ExternalSort::save(SortSession& session, uint64_t first, uint64_t count, IndexedRun& to,
                        const MovedFunction& moved) {
  const Transfer& transfer = job_.transfer;
  const uint32_t value_bytes = transfer.shape.value_bytes;
  const uint64_t width = key_bytes(transfer.shape.type);
  auto& run = static_cast<StoredRun&>(*to.run);
  for_record_chunks(
      transfer, first * width, count, transfer.workers, [&](uint32_t worker, const RecordChunk& chunk) {
        const uint64_t at = first + chunk.first;
        const std::span<std::byte> keys =
            session.get(worker, Column::keys, chunk.first * width, chunk.count * width);
        take_samples(to, at, keys, transfer);
        run.write(Column::keys, at * width, keys);
        if (value_bytes != 0)
          run.write(
              Column::values, at * value_bytes,
              session.get(worker, Column::values, chunk.first * value_bytes, chunk.count * value_bytes));
        if (moved) moved(chunk.count * transfer.shape.bytes());
      });
}

void ExternalSort::save_run(SortSession& session, uint64_t count, uint64_t item) {
  if (item == runs_.size()) runs_.push_back(make_run(count));
  if (job_.packs)
    pack(session, count, runs_[item]);
  else
    save(session, 0, count, runs_[item], {});
}

void ExternalSort::pack(SortSession& session, uint64_t count, IndexedRun& to) {
  auto& run = static_cast<StoredRun&>(*to.run);
  RunTarget target(to, job_.transfer);
  const auto sink = make_unique_sink(job_.transfer, {.keys = {.output = &target}});
  sink->store(session, 0, count, {});
  const StoreResult stored = sink->finish();
  if (!packed_) packed_.emplace();
  packed_->sorted.fingerprint += stored.fingerprint;
  packed_->sorted.is_ordered &= stored.is_ordered;
  packed_->kept += target.fingerprint();
  store_->shorten_last(run, stored.distinct);
  to.samples.resize(ceil_divide(stored.distinct, to.stride));
  to.samples.shrink_to_fit();  // a stream may have many such runs
}

Fingerprint ExternalSort::form_runs(const RecordSource& source, const MovedFunction& moved) {
  Fingerprint total;
  const uint64_t most = job_.plan.job.count;
  // Without cancel, because collected streams must still be available to the CPU if a GPU fails.
  lanes_.run(
      [&](uint32_t lane, uint64_t item) {
        if (item >= counts_.size()) return false;
        const uint64_t count = counts_[item];
        total += load_records(source, item * most, count, lanes_.session(lane, count), job_.transfer, moved);
        taken_ += count;
        return true;
      },
      [&](uint32_t lane, uint64_t item) { save_run(lanes_[lane], counts_[item], item); });
  return total;
}

void ExternalSort::form_runs(const StreamFunction& stream) {
  const uint64_t most = job_.plan.job.count;
  std::vector<uint64_t> counts(job_.plan.lanes);
  bool ended = false;
  lanes_.begin();
  lanes_.run(
      [&](uint32_t lane, uint64_t item) {
        if (ended) return false;
        counts[lane] = stream(lanes_.session(lane, most), item * most, most);
        ended = counts[lane] < most;
        taken_ += counts[lane];
        return counts[lane] != 0;
      },
      [&](uint32_t lane, uint64_t item) {
        save_run(lanes_[lane], counts[lane], item);
        thin_samples();
      },
      job_.cancel);
  // Only now is the length of the stream known.
  if (passes_of(runs_.size(), job_.plan.fan_in) <= 1) return;
  uint64_t area = 0;
  for (const IndexedRun& run : runs_) area += spilled_run_bytes(job_.transfer.shape, run.run->count());
  store_->reserve(area, 2);
}

void ExternalSort::adopt(std::vector<std::unique_ptr<Run>> runs, RunInspector& inspector) {
  store_->reserve(job_.plan.spill_area.value, job_.plan.spill_areas);
  for (auto& run : runs) runs_.push_back({.run = std::move(run)});
  inspector_ = &inspector;
  are_stored_ = false;
  lanes_.begin();
}

void ExternalSort::gather(SortSession& session, std::span<const IndexedRun> runs, size_t first_run,
                          const std::vector<uint64_t>& from, const std::vector<uint64_t>& to) {
  std::vector<uint64_t> begins{0};  // of each run's part in the block
  for (size_t run = 0; run < runs.size(); ++run) begins.push_back(begins.back() + to[run] - from[run]);
  const bool has_values = job_.transfer.shape.value_bytes != 0;
  const bool shows_pairs = inspector_ && has_values && job_.transfer.verify;
  KeyCopies copies(job_.transfer.workers);
  const auto put = [&](uint32_t worker, const RecordChunk& chunk, Column column) {
    const uint64_t width = job_.transfer.shape.column_bytes(column);
    const std::span<std::byte> place =
        session.begin_put(worker, column, chunk.first * width, chunk.count * width);
    const uint64_t end = chunk.first + chunk.count;
    auto run =
        static_cast<size_t>(std::upper_bound(begins.begin(), begins.end(), chunk.first) - begins.begin() - 1);
    for (uint64_t at = chunk.first; at < end; ++run) {
      const uint64_t part = std::min(end, begins[run + 1]) - at;
      if (part == 0) continue;
      const std::span<std::byte> bytes = place.subspan((at - chunk.first) * width, part * width);
      const uint64_t first_byte = (from[run] + at - begins[run]) * width;
      runs[run].run->read(column, first_byte, bytes);
      if (inspector_ && column == Column::keys) inspector_->see_keys(first_run + run, first_byte, bytes);
      at += part;
    }
    if (shows_pairs && column == Column::keys) copies.keep(worker, place);
    if (shows_pairs && column == Column::values) inspector_->see_pairs(copies.of(worker), place);
    session.end_put(worker);
  };
  for_record_chunks(job_.transfer, 0, begins.back(), job_.transfer.workers,
                    [&](uint32_t worker, const RecordChunk& chunk) {
                      put(worker, chunk, Column::keys);
                      if (has_values) put(worker, chunk, Column::values);
                    });
}

void ExternalSort::merge_group(size_t first, size_t last, const StoreFunction& store) {
  const std::span<const IndexedRun> runs = std::span(runs_).subspan(first, last - first);
  RankCutter cutter(runs, job_.transfer.shape.type, job_.transfer.order);
  const uint64_t most = job_.plan.job.count;
  const auto size_of = [&](uint64_t item) { return std::min(most, cutter.total() - item * most); };
  std::vector<uint64_t> from(runs.size());
  lanes_.run(
      [&](uint32_t lane, uint64_t item) {
        if (item * most >= cutter.total()) return false;
        const std::vector<uint64_t>& to = cutter.cut(item * most + size_of(item));
        gather(lanes_.session(lane, size_of(item)), runs, first, from, to);
        from = to;
        return true;
      },
      [&](uint32_t lane, uint64_t item) { store(lanes_[lane], item * most, size_of(item)); }, job_.cancel);
}

uint32_t ExternalSort::merge_down(const MovedFunction& moved) {
  uint32_t passes = 0;
  for (; runs_.size() > job_.plan.fan_in; ++passes) {
    if (are_stored_) store_->next_pass();
    are_stored_ = true;
    std::vector<IndexedRun> longer;
    for (size_t first = 0; first < runs_.size(); first += job_.plan.fan_in) {
      const size_t last = std::min<size_t>(runs_.size(), first + job_.plan.fan_in);
      uint64_t count = 0;
      for (size_t run = first; run < last; ++run) count += runs_[run].run->count();
      longer.push_back(make_run(count));
      merge_group(first, last, [&](SortSession& session, uint64_t at, uint64_t records) {
        save(session, at, records, longer.back(), moved);
      });
      for (size_t run = first; run < last; ++run) runs_[run] = {};  // frees its memory
    }
    store_->check_written();
    runs_ = std::move(longer);
    inspector_ = nullptr;  // the remaining runs were written by us
  }
  return passes;
}

void ExternalSort::merge(RecordSink& sink, const MovedFunction& moved) {
  merge_group(0, runs_.size(), [&](SortSession& session, uint64_t first, uint64_t count) {
    sink.store(session, first, count, moved);
  });
  store_->check_written();
  // Free the runs here, as part of the pass: on an ext4 file system that discards freed blocks immediately,
  // deleting a fragmented file takes seconds.
  runs_.clear();
  store_.reset();
}

}  // namespace sweepsort
