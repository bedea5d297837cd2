// run_store.hpp - where runs are kept: in memory as far as the budget goes, then in spill files, one in each
// directory in turn.
#pragma once

#include "core/bytes.hpp"
#include "pipeline/run.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace sweepsort {

class SpillFile;

struct RunStoreOptions {
  RecordShape shape = {};
  Bytes memory = {};
  std::vector<std::string> directories = {};
  bool allow_anonymous = true;
};

class RunStore {
 public:
  explicit RunStore(RunStoreOptions options);
  ~RunStore();

  /// Room for a run of `count` records, on the disk reserved. A run gives its room back when it goes, and
  /// outlives the store if it must.
  std::unique_ptr<StoredRun> make_run(uint64_t count);

  /// Bytes on the disk by now.
  Bytes spilled() const { return Bytes{spilled_}; }

 private:
  std::unique_ptr<StoredRun> spill(uint64_t bytes, uint64_t count);

  RunStoreOptions options_;
  std::shared_ptr<std::atomic<uint64_t>> memory_left_;
  std::vector<std::shared_ptr<SpillFile>> files_;  // of each directory, made when first needed
  size_t turn_ = 0;
  uint64_t spilled_ = 0;
};

}  // namespace sweepsort
