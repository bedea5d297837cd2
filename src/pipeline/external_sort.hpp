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
// runs. RankCutter finds which part of each run a block takes; no sample decides, so that no data makes a
// block larger than another. Where there are more runs than can be merged at once, groups of them become
// longer runs first.
#pragma once

#include "backend/backend.hpp"
#include "pipeline/lanes.hpp"
#include "pipeline/plan.hpp"
#include "pipeline/record_sink.hpp"
#include "pipeline/run.hpp"
#include "pipeline/run_store.hpp"
#include "pipeline/transfer.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sweepsort {

/// The records of a stream, a run at a time. Puts up to `most` into the session, which holds exactly so many,
/// and fills the rest up with keys that sort behind all others; returns how many were there.
using StreamFunction = std::function<uint64_t(SortSession& session, uint64_t first, uint64_t most)>;

/// What a merge of inputs wants to see of each run: the bytes of keys from `first_byte` on.
using InspectFunction = std::function<void(size_t run, uint64_t first_byte, std::span<const std::byte> keys)>;

/// Of runs that keep one of equal keys.
struct PackedRuns {
  StoreResult sorted = {};  // must be what was read
  Fingerprint kept = {};    // must be what is merged
};

struct ExternalJob {
  Plan plan = {};
  Transfer transfer = {};
  RunStoreOptions store = {};
  bool packs = false;                 // of equal keys alone, the runs that are formed keep one
  std::function<void()> cancel = {};  // called on a failure, so that nobody waits for a stream any more
};

class ExternalSort {
 public:
  /// The lanes' sessions lie on the backends in turn.
  ExternalSort(const Backends& backends, const ExternalJob& job);

  /// Takes the disk space for the runs of `count` records in all passes, before anything is read.
  void reserve(uint64_t count);
  /// Sorts what reserve() made room for into runs and returns its fingerprint.
  Fingerprint form_runs(const RecordSource& source, const MovedFunction& moved);
  /// The same for a stream of any length.
  void form_runs(const StreamFunction& stream);
  /// Takes runs that are there already, and the disk space for longer ones.
  void adopt(std::vector<std::unique_ptr<Run>> runs, InspectFunction inspect);

  /// Records that were read into runs.
  uint64_t taken() const { return taken_; }
  /// Those that the runs have.
  uint64_t count() const;
  /// Nothing unless runs were packed.
  const std::optional<PackedRuns>& packed() const { return packed_; }
  uint64_t runs() const { return runs_.size(); }
  /// Keys of them that are remembered (IndexedRun): of a stream, while it lasts, no more than the plan allows
  /// and one a run.
  uint64_t samples() const { return samples_; }
  /// Before the last pass.
  Bytes spilled() const { return store_->spilled(); }

  /// Until so few runs are left that they can be merged at once; returns how many passes that took.
  uint32_t merge_down(const MovedFunction& moved);
  /// The last pass. Then the runs are gone, and their disk space is free.
  void merge(RecordSink& sink, const MovedFunction& moved);

  /// Where runs and blocks are sorted.
  const Lanes& lanes() const { return lanes_; }

 private:
  void save(SortSession& session, uint64_t first, uint64_t count, IndexedRun& to, const MovedFunction& moved);
  /// The session's first records become run number `item`.
  void save_run(SortSession& session, uint64_t count, uint64_t item);
  void pack(SortSession& session, uint64_t count, IndexedRun& to);
  IndexedRun make_run(uint64_t count);
  void thin_samples();
  /// Merges runs_[first, last) and hands each block to `store`.
  using StoreFunction = std::function<void(SortSession& session, uint64_t first, uint64_t count)>;
  void merge_group(size_t first, size_t last, const StoreFunction& store);
  void gather(SortSession& session, std::span<const IndexedRun> runs, size_t first_run,
              const std::vector<uint64_t>& from, const std::vector<uint64_t>& to);

  ExternalJob job_;
  Lanes lanes_;
  std::unique_ptr<RunStore> store_;  // until the last pass is over
  std::vector<IndexedRun> runs_;
  std::vector<uint64_t> counts_;  // records of the runs that reserve() made room for
  uint64_t taken_ = 0;
  std::optional<PackedRuns> packed_;
  uint64_t samples_ = 0;  // of a stream's runs
  InspectFunction inspect_;
  bool are_stored_ = true;  // the runs, by us
};

}  // namespace sweepsort
