// plan.hpp - the strategy and sizes of a sort: a pure function of counts and budgets.
//
//     in memory   all records in one session
//     counting    keys of 1 or 2 bytes alone: a histogram while reading; then its keys are written
//     external    sorted runs of k records, in GPU memory and main memory as far as they fit, then in spill
//                 files; merged by blocks of k records, in as many passes as are needed to get from all
//                 runs to one
//     streams     sorted inputs of which one is a stream: merged while they are read (stream_merge.hpp)
//
// So a sort with a budget of 64 KiB in a test takes the same path as a sort of a terabyte. strategies.hpp
// carries the plan out.
#pragma once

#include "backend/backend.hpp"
#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/record.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace sweepsort {

/// With values, each worker keeps a copy of a chunk's keys.
inline constexpr size_t max_chunk_with_values = 1u << 20;

enum class SortStrategy : uint8_t { in_memory, counting, external, streams };

/// Bytes of each record that files hold before and after the sort. The positions of a permutation are not
/// read, and its keys are not written. With --unique, the numbers hold if no key occurs twice.
struct FileRecord {
  uint64_t read = 0;
  uint64_t written = 0;

  /// Bytes read for `count` records in `passes` passes. Between passes a record has `record` bytes.
  Bytes all_read(uint64_t count, uint64_t passes, uint64_t record) const {
    return Bytes{count * (read + (passes - 1) * record)};
  }
  Bytes all_written(uint64_t count, uint64_t passes, uint64_t record) const {
    return Bytes{count * (written + (passes - 1) * record)};
  }
};

/// Whether all keys must fit in one session, and why.
enum class OneSession : uint8_t { not_needed, for_repeat, for_referee };

struct PlanRequest {
  std::optional<uint64_t> count = {};  // records; empty: a stream of unknown length
  RecordShape shape = {};
  FileRecord file = {};
  Order order = Order::ascending;
  SortAlgorithm algorithm = SortAlgorithm::automatic;
  bool unique = false;  // of equal keys only one is written
  bool counts = false;  // with how often it occurred: runs may keep that, too, if they are merged once
  uint32_t threads = 1;
  size_t chunk_bytes = default_chunk_bytes;  // most bytes in one transfer
  Bytes memory = {};
  Bytes page_cache = {};  // what the machine leaves besides `memory`
  // besides `memory`: the collected part of a stream that was too long, until it is in runs
  Bytes collected = {};
  Bytes kept = {};                       // besides `memory`: a collected stream that stays there to the end
  Bytes ahead = {};                      // part of `memory` for keys that are read before there are sessions
  Bytes for_referee = {};                // part of `memory` for the referee
  uint32_t gpus = 1;                     // sessions are distributed over them in turn
  std::optional<Bytes> gpu_memory = {};  // per GPU; empty: no GPU takes part
  bool may_count = false;                // keys alone, on the CPU: counting is allowed
  OneSession one_session = OneSession::not_needed;
  uint64_t sorted_inputs = 0;  // --merge: number of existing runs; without a count, these are streams
  uint64_t min_runs = 1;  // if above 1: make at least this many runs and spill all, even if they would fit
};

struct Plan {
  SortStrategy strategy = SortStrategy::in_memory;
  SortJob job = {};          // of one session: for all records, or for a run or a block
  SortJob counted_job = {};  // of one session that merges runs with counts; no records: runs keep none
  uint32_t lanes = 1;        // sessions at a time
  uint64_t runs = 1;         // 0 for a stream (unknown)
  uint64_t runs_on_gpu = 0;  // how many of them stay in GPU memory, on any GPU
  uint64_t runs_in_memory = 0;
  uint64_t fan_in = 1;                   // most runs merged at once
  uint32_t merge_passes = 0;             // over all records
  uint32_t passes = 1;                   // forming runs, plus all merges
  uint64_t stride = 1;                   // one in this many keys of a run is remembered
  uint64_t max_samples = 1;              // most remembered keys of all runs together
  std::vector<Bytes> room_on_gpus = {};  // memory that runs may use, per GPU
  Bytes gpu_memory_for_runs = {};        // memory that runs use on all GPUs
  Bytes memory_for_runs = {};
  Bytes memory = {};  // the most in use at a time
  Bytes gpu_memory = {};
  uint32_t gpus = 0;         // how many take part (the first ones)
  Bytes spill_area = {};     // disk space of the runs of one pass
  uint32_t spill_areas = 1;  // if two, passes write them alternately (run_store.hpp)
  bool caches_runs = false;  // runs in files go through the page cache
  Bytes temporary = {};      // total disk space
  Bytes read = {};           // from all files, in all passes
  Bytes written = {};
};

/// Thrown if the budgets are too small for any strategy.
class NoPlanError : public BackendLimitError {
 public:
  using BackendLimitError::BackendLimitError;
};

/// The smallest allowed budget.
inline constexpr Bytes min_memory{64u << 10};
/// Throws NoPlanError if `memory` is less than min_memory.
void require_min_memory(Bytes memory);

using FootprintFunction = std::function<Backend::Footprint(const SortJob&)>;

/// Throws NoPlanError, whose hint says what would be enough, and Error for more records than are possible.
Plan make_plan(const PlanRequest& request, const FootprintFunction& footprint);

/// The most records that can be sorted in memory within the request's budgets (its count is ignored).
uint64_t max_in_memory(const PlanRequest& request, const FootprintFunction& footprint);

/// The most records of a stream that are worth collecting for the CPU before it sorts them: max_in_memory or,
/// of keys that are counted in constant memory, only as many as tell a small stream from a large one.
uint64_t max_to_collect(const PlanRequest& request, const FootprintFunction& footprint);

/// The number of passes needed to merge `runs` runs into one, merging `fan_in` at a time.
uint32_t passes_of(uint64_t runs, uint64_t fan_in);

}  // namespace sweepsort
