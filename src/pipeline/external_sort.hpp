// external_sort.hpp - more records than one session holds: sorted runs, merged by blocks.
//
//     input ---> sort ---> runs:   |  run 0  |  run 1  |  run 2  |      each as large as a session, or packed
//                                   \   |   / \   |   / \   |   /
//                          blocks:  | from each | from each |  ...  |   the next so many records of all
//                                        sort        sort               exact ranks: blocks of equal size
//                                         |           |
//                                   output, from front to back
//
// There is no merge kernel: a block is gathered from all runs and sorted again, by the same backends as the
// runs. RankCutter finds which part of each run belongs to a block. It does not depend on a sample, so no
// data can make one block larger than another. If there are more runs than can be merged at once, groups of
// them are first merged into longer runs.
#pragma once

#include "backend/backend.hpp"
#include "pipeline/cut_check.hpp"
#include "pipeline/lanes.hpp"
#include "pipeline/plan.hpp"
#include "pipeline/record_sink.hpp"
#include "pipeline/run.hpp"
#include "pipeline/run_store.hpp"
#include "pipeline/run_writer.hpp"
#include "pipeline/transfer.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sweepsort {

/// Puts the next records of a stream, from record `first` on, into the session, which holds exactly `most`.
/// Fills the rest with keys that sort after all others. Returns the number of records from the stream.
using StreamFunction = std::function<uint64_t(SortSession& session, uint64_t first, uint64_t most)>;

/// Sees what a merge reads of runs that were not formed here: all keys and, if results are verified, all
/// pairs of a key and its value. Several threads may call it at once.
class RunInspector {
 public:
  virtual ~RunInspector() = default;
  /// Keys of a run, from byte `first_byte` of its keys on.
  virtual void see_keys(size_t run, uint64_t first_byte, std::span<const std::byte> keys) = 0;
  /// Pairs of any runs.
  virtual void see_pairs(std::span<const std::byte> keys, std::span<const std::byte> values) = 0;
};

struct ExternalJob {
  Plan plan = {};
  Transfer transfer = {};
  RunStoreOptions store = {};
  RunPacking packing = RunPacking::none;
  std::function<void()> cancel = {};  // called on a failure, so that nobody keeps waiting for a stream
};

class ExternalSort {
 public:
  /// The lanes' sessions are distributed over the backends in turn.
  ExternalSort(const Backends& backends, const ExternalJob& job);

  /// Takes the disk space for the runs of `count` records in all passes, before anything is read.
  void reserve(uint64_t count);
  /// Sorts the records that reserve() made room for into runs, and returns their fingerprint.
  Fingerprint form_runs(const RecordSource& source, const MovedFunction& moved);
  /// Sorts a stream of any length into runs.
  void form_runs(const StreamFunction& stream);
  /// Takes existing runs, and the disk space for longer ones. The first pass shows `inspector` all records.
  void adopt(std::vector<std::unique_ptr<Run>> runs, RunInspector& inspector);

  /// The number of records read into runs.
  uint64_t records_read() const { return records_read_; }
  /// The number of records in the runs.
  uint64_t records_in_runs() const;
  /// All runs together, if they keep the first of equal keys.
  const std::optional<StoreResult>& packed() const { return packed_; }
  /// How records are merged: with a value that is a count, if runs keep counts.
  const Transfer& transfer() const { return job_.transfer; }
  uint64_t runs() const { return runs_.size(); }
  /// The number of remembered keys (IndexedRun) of all runs. While a stream is read, at most as many as the
  /// plan allows, or one per run if that is more.
  uint64_t samples() const { return samples_; }
  /// Call this before the last pass.
  Bytes spilled() const { return store_->spilled(); }

  /// Merges until the remaining runs can be merged at once. Returns the number of passes.
  uint32_t merge_down(const MovedFunction& moved);
  /// The last pass. Afterwards the runs are gone, and their disk space is free.
  void merge(RecordSink& sink, const MovedFunction& moved);

  /// Whether no block took a record that comes before what an earlier one took (CutCheck).
  bool cuts_in_order() const { return cuts_in_order_; }

  /// The lanes in which runs and blocks are sorted.
  const Lanes& lanes() const { return lanes_; }

 private:
  /// Makes the first `count` records of the session run number `item`.
  void save_run(SortSession& session, uint64_t count, uint64_t item);
  void pack_run(SortSession& session, uint64_t count);
  /// Decides whether the next run keeps counts; with the first one, whether any run does.
  bool decide_counts(uint64_t distinct, uint64_t count);
  /// All runs are formed.
  void begin_merging();
  IndexedRun make_run(RecordShape shape, uint64_t count);
  void thin_samples();
  /// Merges runs_[first, last) and passes each block to `store`.
  using StoreFunction = std::function<void(SortSession& session, uint64_t first, uint64_t count)>;
  void merge_group(size_t first, size_t last, const StoreFunction& store);
  void gather(SortSession& session, std::span<const IndexedRun> runs, size_t first_run,
              const std::vector<uint64_t>& from, const std::vector<uint64_t>& to, CutCheck& check);

  ExternalJob job_;
  Lanes lanes_;
  std::unique_ptr<RunStore> store_;  // until the end of the last pass
  std::vector<IndexedRun> runs_;
  std::vector<uint64_t> planned_;  // records in each of the runs that reserve() made room for
  uint64_t records_read_ = 0;
  std::optional<StoreResult> packed_;
  std::optional<bool> keep_counts_;    // empty until there is a run
  uint64_t samples_ = 0;               // of a stream's runs
  RunInspector* inspector_ = nullptr;  // until the adopted runs are merged
  bool cuts_in_order_ = true;
  bool are_stored_ = true;  // whether the runs were stored by us
};

}  // namespace sweepsort
