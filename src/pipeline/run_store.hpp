// run_store.hpp - where runs are kept: in GPU memory, then in main memory, as far as the budgets allow, then
// in spill files.
//
//     area 0   | run 0 | run 1 | run 2 | run 3 |     written by the first pass, the third, ...
//     area 1   |     run 0     |     run 1     |     by the second, the fourth, ...
//
// A pass reads one area and writes the other. Longer runs take no more room than the runs they are merged
// from. So two areas of one size suffice for any number of passes and can be reserved before the first pass.
#pragma once

#include "core/bytes.hpp"
#include "io/spill_space.hpp"
#include "pipeline/run.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace sweepsort {

class Backend;

/// How much of a device's memory runs may use.
struct DeviceRoom {
  Backend* device = nullptr;
  Bytes memory = {};
};

struct RunStoreOptions {
  RecordShape shape = {};  // of most runs
  std::vector<DeviceRoom> devices = {};
  Bytes memory = {};
  std::vector<std::string> directories = {};
  uint64_t run_records = 1;  // of most runs; such a run lies in one directory, unless some are shorter
  Caching caching = Caching::bypass;  // of the files
  bool may_wait = true;               // a small read of a spilled run may wait for the disk
  bool allow_anonymous = true;
};

/// Memory (on a GPU or not) that a run of `count` records takes.
uint64_t run_bytes(RecordShape shape, uint64_t count);
/// Disk space that it takes: whole pages, so that each run begins with a page.
uint64_t spilled_run_bytes(RecordShape shape, uint64_t count);

class RunStore {
 public:
  explicit RunStore(RunStoreOptions options);
  ~RunStore();

  /// Takes the disk space of one or two areas of `area_bytes` (at least as many as before).
  void reserve(uint64_t area_bytes, uint32_t areas);

  /// Makes room for the next run of this pass. For a stream nothing is reserved in advance, and its only area
  /// grows. A run frees its memory when it is destroyed; it may outlive the store.
  std::unique_ptr<StoredRun> make_run(RecordShape shape, uint64_t count);

  /// From now on, runs are made in the other area, from its beginning.
  void next_pass();

  /// Call this when runs have been read: throws Error if what was read may differ from what was written.
  void check_written() const { space_->check_written(); }

  /// The disk space taken so far.
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
  uint32_t area_ = 0;  // the one being written
  uint64_t used_ = 0;  // bytes used in this area
};

}  // namespace sweepsort
