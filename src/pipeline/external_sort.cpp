// external_sort.cpp - forms runs, then merges them by blocks.
#include "pipeline/external_sort.hpp"

#include "core/rounding.hpp"
#include "pipeline/key_scan.hpp"
#include "pipeline/rank_cutter.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace sweepsort {
namespace {

/// Runs keep counts if the first one then takes at most this fraction of its room. Pairs are merged in
/// smaller blocks, which takes longer for each byte. Zen 4, two threads, 1 GiB of u64 within 256 MiB, with
/// all keys in the runs and with counts, s: 12 % distinct 2.55, 1.5; 29 %, which take 43 % of the room, 2.5,
/// 2.0.
constexpr uint64_t counted_part = 2;

constexpr RecordShape with_counts(RecordShape keys) {
  return {.type = keys.type, .value_bytes = sizeof(uint32_t)};
}

void fill_with_ones(std::span<std::byte> counts) {
  constexpr uint32_t once = 1;
  for (size_t at = 0; at < counts.size(); at += sizeof once)
    std::memcpy(counts.data() + at, &once, sizeof once);
}

}  // namespace

ExternalSort::ExternalSort(const Backends& backends, const ExternalJob& job)
    : job_(job),
      lanes_(backends, job.plan.job, job.plan.lanes),
      store_(std::make_unique<RunStore>(job.store)) {}

IndexedRun ExternalSort::make_run(RecordShape shape, uint64_t count) {
  IndexedRun indexed{.run = store_->make_run(shape, count), .stride = job_.plan.stride};
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
  for (uint64_t first = 0; first < count; first += most) planned_.push_back(std::min(most, count - first));
  // Packed runs are made one by one, as each leaves room for the next.
  if (job_.packing != RunPacking::none) return;
  for (const uint64_t records : planned_) runs_.push_back(make_run(job_.transfer.shape, records));
}

uint64_t ExternalSort::records_in_runs() const {
  return std::accumulate(runs_.begin(), runs_.end(), uint64_t{0},
                         [](uint64_t sum, const IndexedRun& run) { return sum + run.run->count(); });
}

void ExternalSort::save_run(SortSession& session, uint64_t count, uint64_t item) {
  if (job_.packing != RunPacking::none) return pack_run(session, count);
  if (item == runs_.size()) runs_.push_back(make_run(job_.transfer.shape, count));
  store_records(session, 0, count, job_.transfer, runs_[item], {});
}

void ExternalSort::pack_run(SortSession& session, uint64_t count) {
  const Transfer& transfer = job_.transfer;
  const bool counts = job_.packing == RunPacking::counted;
  const bool packs = !counts || keep_counts_.value_or(true);
  const uint64_t distinct = packs ? distinct_keys(session, count, transfer) : count;
  if (counts && !decide_counts(distinct, count)) {
    runs_.push_back(make_run(transfer.shape, count));
    runs_.back().each_once = *keep_counts_;
    return store_records(session, 0, count, transfer, runs_.back(), {});
  }
  runs_.push_back(make_run(counts ? with_counts(transfer.shape) : transfer.shape, distinct));
  const StoreResult run = pack_records(session, count, transfer, job_.packing, runs_.back());
  if (counts) return;
  if (!packed_) packed_.emplace();
  packed_->fingerprint += run.fingerprint;
  packed_->is_ordered &= run.is_ordered;
  packed_->kept += run.kept;
}

bool ExternalSort::decide_counts(uint64_t distinct, uint64_t count) {
  const RecordShape shape = job_.transfer.shape;
  const bool fits = run_bytes(with_counts(shape), distinct) <= run_bytes(shape, count);
  if (!keep_counts_)
    keep_counts_ = fits && job_.plan.counted_job.count != 0 &&
                   distinct * with_counts(shape).bytes() <= count * shape.bytes() / counted_part;
  return *keep_counts_ && fits;
}

void ExternalSort::begin_merging() {
  if (keep_counts_.value_or(false)) {
    job_.plan.job = job_.plan.counted_job;
    job_.transfer.shape = with_counts(job_.transfer.shape);
    job_.transfer.values = ValueKind::counts;
    job_.transfer.workers = job_.plan.job.workers;
    job_.transfer.chunk_bytes = job_.plan.job.chunk_bytes;
    lanes_.change(job_.plan.job);
  }
  // Only now is the length of a stream known.
  const bool is_stream = planned_.empty();
  if (!is_stream || passes_of(runs_.size(), job_.plan.fan_in) <= 1) return;
  uint64_t area = 0;
  for (const IndexedRun& run : runs_) area += spilled_run_bytes(job_.transfer.shape, run.run->count());
  store_->reserve(area, 2);
}

Fingerprint ExternalSort::form_runs(const RecordSource& source, const MovedFunction& moved) {
  Fingerprint total;
  const uint64_t most = job_.plan.job.count;
  // Without cancel, because collected streams must still be available to the CPU if a GPU fails.
  lanes_.run(
      [&](uint32_t lane, uint64_t item) {
        if (item >= planned_.size()) return false;
        const uint64_t count = planned_[item];
        total += load_records(source, item * most, count, lanes_.session(lane, count), job_.transfer, moved);
        records_read_ += count;
        return true;
      },
      [&](uint32_t lane, uint64_t item) { save_run(lanes_[lane], planned_[item], item); });
  begin_merging();
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
        records_read_ += counts[lane];
        return counts[lane] != 0;
      },
      [&](uint32_t lane, uint64_t item) {
        save_run(lanes_[lane], counts[lane], item);
        thin_samples();
      },
      job_.cancel);
  begin_merging();
}

void ExternalSort::adopt(std::vector<std::unique_ptr<Run>> runs, RunInspector& inspector) {
  store_->reserve(job_.plan.spill_area.value, job_.plan.spill_areas);
  for (auto& run : runs) runs_.push_back({.run = std::move(run)});
  inspector_ = &inspector;
  are_stored_ = false;
  lanes_.begin();
}

void ExternalSort::gather(SortSession& session, std::span<const IndexedRun> runs, size_t first_run,
                          const std::vector<uint64_t>& from, const std::vector<uint64_t>& to,
                          CutCheck& check) {
  std::vector<uint64_t> begins{0};  // of each run's part in the block
  for (size_t run = 0; run < runs.size(); ++run) begins.push_back(begins.back() + to[run] - from[run]);
  const bool has_values = job_.transfer.shape.value_bytes != 0;
  const bool shows_pairs = inspector_ && has_values && job_.transfer.verify;
  KeyCopies copies(job_.transfer.workers);
  const auto key_at = [&](const std::byte* key) {
    return ordered_key(key, job_.transfer.shape.type, job_.transfer.order);
  };
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
      if (column == Column::values && runs[run].each_once)
        fill_with_ones(bytes);
      else
        runs[run].run->read(column, first_byte, bytes);
      if (column == Column::keys) {
        if (inspector_) inspector_->see_keys(first_run + run, first_byte, bytes);
        if (at == begins[run]) check.note_first(run, key_at(bytes.data()));
        if (at + part == begins[run + 1]) check.note_last(run, key_at(&bytes.back() + 1 - width));
      }
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
  check.end_block();
}

void ExternalSort::merge_group(size_t first, size_t last, const StoreFunction& store) {
  const std::span<const IndexedRun> runs = std::span(runs_).subspan(first, last - first);
  RankCutter cutter(runs, job_.transfer.shape.type, job_.transfer.order);
  CutCheck check(runs.size());
  const uint64_t most = job_.plan.job.count;
  const auto size_of = [&](uint64_t item) { return std::min(most, cutter.total() - item * most); };
  std::vector<uint64_t> from(runs.size());
  lanes_.run(
      [&](uint32_t lane, uint64_t item) {
        if (item * most >= cutter.total()) return false;
        const std::vector<uint64_t>& to = cutter.cut(item * most + size_of(item));
        gather(lanes_.session(lane, size_of(item)), runs, first, from, to, check);
        from = to;
        return true;
      },
      [&](uint32_t lane, uint64_t item) { store(lanes_[lane], item * most, size_of(item)); }, job_.cancel);
  cuts_in_order_ &= check.is_in_order();
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
      longer.push_back(make_run(job_.transfer.shape, count));
      merge_group(first, last, [&](SortSession& session, uint64_t at, uint64_t records) {
        store_records(session, at, records, job_.transfer, longer.back(), moved);
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
