// run_store.hpp - where runs are kept: in the memory of GPUs and then in memory, as far as the budgets go,
// then in spill files.
//
//     area 0   | run 0 | run 1 | run 2 | run 3 |     written by the first pass, the third, ...
//     area 1   |     run 0     |     run 1     |     by the second, the fourth, ...
//
// A pass reads one area and writes the other. Longer runs take no more room than those that they are made of,
// so that two areas of one size serve any number of passes and can be reserved before the first of them.
#pragma once

#include "core/bytes.hpp"
#include "io/spill_space.hpp"
#include "pipeline/run.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sweepsort {

class Backend;
class SpillSpace;

/// What runs may take of a device's memory.
struct DeviceRoom {
  Backend* device = nullptr;
  Bytes memory = {};
};

struct RunStoreOptions {
  RecordShape shape = {};
  std::vector<DeviceRoom> devices = {};
  Bytes memory = {};
  std::vector<std::string> directories = {};
  uint64_t run_records = 1;  // of most runs: each of these lies in one directory, unless runs are shortened
  Caching caching = Caching::bypass;  // of the files
  bool may_wait = true;               // who reads a little of one, for the disk
  bool allow_anonymous = true;
};

/// Memory, of the GPU or not, that a run of `count` records takes.
uint64_t run_bytes(RecordShape shape, uint64_t count);
/// Disk space that it takes: whole pages, so that each run begins with one.
uint64_t spilled_run_bytes(RecordShape shape, uint64_t count);

class RunStore {
 public:
  explicit RunStore(RunStoreOptions options);
  ~RunStore();

  /// Takes the disk space of one or two areas of `area_bytes` (no less than before).
  void reserve(uint64_t area_bytes, uint32_t areas);

  /// Room for the next run of this pass. Of a stream, which reserves nothing beforehand, the one area grows.
  /// A run gives memory back when it goes, and outlives the store if it must.
  std::unique_ptr<StoredRun> make_run(uint64_t count);

  /// The run that was made last, of keys alone, has only so many records: the next one may begin behind them.
  void shorten_last(StoredRun& run, uint64_t count);

  /// From now on runs are made in the other area, from its beginning.
  void next_pass();

  /// When runs have been read: throws Error if what was written of them may not have been what was read.
  void check_written() const { space_->check_written(); }

  /// Disk space that was taken by now.
  Bytes spilled() const;

 private:
  struct Device {
    Backend* backend;
    std::shared_ptr<std::atomic<uint64_t>> memory_left;
  };

  RunStoreOptions options_;
  std::vector<Device> devices_;
  std::shared_ptr<std::atomic<uint64_t>> memory_left_;
  std::shared_ptr<SpillSpace> space_;
  uint64_t area_bytes_ = 0;
  uint32_t areas_ = 1;
  uint32_t area_ = 0;                // that is being written
  uint64_t used_ = 0;                // of it
  std::optional<uint64_t> last_at_;  // where the last run begins in it, if it was spilled
};

}  // namespace sweepsort
