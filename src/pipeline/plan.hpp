// plan.hpp - by which strategy a sort goes and with what sizes: a pure function of counts and budgets.
//
//     in memory   all records in one session
//     counting    keys of 1 or 2 bytes alone: a histogram while reading, then what it says is written
//     external    sorted runs of k records, in GPU memory and in memory as far as they go, then in spill
//                 files; merged by blocks of k records, in as many passes as it takes to get from so many
//                 runs to one
//     streams     sorted inputs of which one is a stream: merged while they are read (stream_merge.hpp)
//
// So a test with a budget of 64 KiB goes the way of a terabyte.
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

enum class SortStrategy : uint8_t { in_memory, counting, external, streams };

/// What the files hold and get of each record, in bytes: a permutation is not read, the keys that it orders
/// are not written. With --unique, as if no key came twice.
struct FileRecord {
  uint64_t read = 0;
  uint64_t written = 0;

  /// Of so many records in so many passes, between which they are `record` bytes.
  Bytes all_read(uint64_t count, uint64_t passes, uint64_t record) const {
    return Bytes{count * (read + (passes - 1) * record)};
  }
  Bytes all_written(uint64_t count, uint64_t passes, uint64_t record) const {
    return Bytes{count * (written + (passes - 1) * record)};
  }
};

/// All keys in one session or not at all, and what for.
enum class OneSession : uint8_t { not_needed, for_repeat, for_referee };

struct PlanRequest {
  std::optional<uint64_t> count = {};  // records; empty: a stream whose end is not known
  RecordShape shape = {};
  FileRecord file = {};
  Order order = Order::ascending;
  SortAlgorithm algorithm = SortAlgorithm::automatic;
  bool unique = false;  // of equal keys one is written
  uint32_t threads = 1;
  size_t chunk_bytes = default_chunk_bytes;  // most bytes of one transfer
  Bytes memory = {};
  Bytes page_cache = {};   // what the machine leaves beside the memory
  Bytes collected = {};    // beside the memory, of a stream that turned out too long: until runs have it
  Bytes kept = {};         // not of the memory any more: a stream that stays there to the end
  Bytes ahead = {};        // of the memory, for keys that are read before there are sessions
  Bytes for_referee = {};  // of the memory
  uint32_t gpus = 1;       // sessions lie on them in turn
  std::optional<Bytes> gpu_memory = {};  // of each; empty: there is no GPU in it
  bool may_count = false;                // keys alone are wanted, on the CPU
  OneSession one_session = OneSession::not_needed;
  uint64_t sorted_inputs = 0;  // --merge: so many runs are there already; without a count: streams
  uint64_t min_runs = 1;       // more than 1: so many, all spilled, though they would fit
};

struct Plan {
  SortStrategy strategy = SortStrategy::in_memory;
  SortJob job = {};          // of one session: all records, or those of a run or a block
  uint32_t lanes = 1;        // sessions at a time
  uint64_t runs = 1;         // of a stream: 0, nobody knows
  uint64_t runs_on_gpu = 0;  // so many of them stay there, on whichever
  uint64_t runs_in_memory = 0;
  uint64_t fan_in = 1;                   // most runs that are merged at once
  uint32_t merge_passes = 0;             // over all records
  uint32_t passes = 1;                   // the forming of runs and all merges
  uint64_t stride = 1;                   // of so many keys of a run one is remembered
  uint64_t max_samples = 1;              // that are, of all runs
  std::vector<Bytes> room_on_gpus = {};  // that runs may take of each
  Bytes gpu_memory_for_runs = {};        // that they take of all
  Bytes memory_for_runs = {};
  Bytes memory = {};  // the most that is taken in all
  Bytes gpu_memory = {};
  uint32_t gpus = 0;         // so many, the first ones, have a part in it
  Bytes spill_area = {};     // disk space of the runs of one pass
  uint32_t spill_areas = 1;  // with two, passes write them in turn (run_store.hpp)
  bool caches_runs = false;  // those in files go through the page cache
  Bytes temporary = {};      // disk space in all
  Bytes read = {};           // from all files, in all passes
  Bytes written = {};
};

/// The budgets are too small for any strategy.
class NoPlanError : public BackendLimitError {
 public:
  using BackendLimitError::BackendLimitError;
};

/// No budget may be less.
inline constexpr Bytes min_memory{64u << 10};
/// Throws NoPlanError if there is less.
void require_min_memory(Bytes memory);

using FootprintFunction = std::function<Backend::Footprint(const SortJob&)>;

/// Throws NoPlanError, whose hint says what would do, and Error for more records than there can be.
Plan make_plan(const PlanRequest& request, const FootprintFunction& footprint);

/// The most records that are sorted in memory within the request's budgets (its count does not matter).
uint64_t max_in_memory(const PlanRequest& request, const FootprintFunction& footprint);

/// The most records of a stream that the CPU gains by collecting, before it sorts them: the same; of keys
/// that are counted in memory that does not grow only as many as tell a small stream from a large one.
uint64_t max_to_collect(const PlanRequest& request, const FootprintFunction& footprint);

/// Passes that get from `runs` runs to one, merging `fan_in` at a time.
uint32_t passes_of(uint64_t runs, uint64_t fan_in);

}  // namespace sweepsort
