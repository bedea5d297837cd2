// plan_sizes.hpp - what the planners of all strategies share (plan.cpp, plan_external.cpp): the sizes of
// sessions, and whether they fit their budgets.
#pragma once

#include "core/pages.hpp"
#include "pipeline/plan.hpp"

#include <algorithm>
#include <cstdint>

namespace sweepsort {

/// The sizes of sessions for one request.
class SessionSizes {
 public:
  SessionSizes(const PlanRequest& request, const FootprintFunction& footprint)
      : request_(request), footprint_(footprint), record_(request.shape.bytes()) {}

 protected:
  /// While one run is sorted, the next is read and the last is written. A third session would make all of
  /// them smaller and gain little, because a sort takes about as long as reading and writing together.
  static constexpr uint32_t max_lanes = 2;
  /// Smaller sessions reuse the same memory and stay nearer to the caches: 1 GiB of u64 took 7.0 s in
  /// sessions of 26 MiB, and 9.0 s in sessions of 102 MiB (two busy cores). But pieces should have this size.
  static constexpr uint64_t good_run_bytes = 32u << 20;
  /// A session on a GPU packs equal keys only if that takes at most this fraction of its GPU memory.
  static constexpr uint64_t packing_part = 16;
  static constexpr uint64_t max_bytes = uint64_t{1} << 56;

  /// The largest n in [0, most] for which fits(n). fits must be true up to some n and false above it.
  template <class Fits>
  static uint64_t largest(uint64_t most, Fits fits) {
    uint64_t low = 0;
    while (low < most) {
      const uint64_t middle = most - (most - low) / 2;
      if (fits(middle))
        low = middle;
      else
        most = middle - 1;
    }
    return low;
  }

  /// With less memory, chunks are smaller, because pinned buffers hold some for each worker.
  SortJob job(uint64_t count) const {
    const uint64_t fair = request_.memory.value / (8 * max_lanes * workers_for(count));
    const uint64_t chunk = std::max<uint64_t>(fair / io_alignment * io_alignment, io_alignment);
    const uint64_t most = std::min<uint64_t>(chunk, request_.chunk_bytes);
    const uint64_t widest = request_.shape.widest();
    SortJob job{.count = count,
                .type = request_.shape.type,
                .order = request_.order,
                .algorithm = request_.algorithm,
                .value_bytes = request_.shape.value_bytes,
                .workers = workers_for(count),
                .chunk_bytes = static_cast<size_t>(std::max(widest, most / widest * widest))};
    job.unique = request_.unique && has_room_to_pack(job);
    return job;
  }

  /// With a small memory budget, a GPU leaves packing equal keys to the CPU rather than sorting less at a
  /// time. Without a GPU, telling a backend that it may pack costs nothing.
  bool has_room_to_pack(SortJob job) const {
    if (!request_.gpu_memory) return true;
    const uint64_t without = footprint_(job).device.value;
    job.unique = true;
    return footprint_(job).device.value - without <= request_.gpu_memory->value / packing_part;
  }

  /// Records of a run or a block whose bytes begin at page borders, if it is long.
  static uint64_t aligned(uint64_t records) {
    return records < io_alignment ? records : records / io_alignment * io_alignment;
  }

  uint32_t workers_for(uint64_t count) const {
    const uint64_t chunks = count * request_.shape.widest() / request_.chunk_bytes + 1;
    return static_cast<uint32_t>(std::min<uint64_t>({request_.threads, chunks, max_io_workers}));
  }

  /// A referee has its own part of the memory. So has what was read ahead, although it is freed as sessions
  /// take it over.
  uint64_t for_sessions() const {
    return request_.memory.value -
           std::min(request_.memory.value, request_.ahead.value + request_.for_referee.value);
  }

  bool fits(const SortJob& job, uint64_t lanes, Bytes memory, Bytes gpu_memory) const {
    const Backend::Footprint one = footprint_(job);
    return one.device.value <= gpu_memory.value / sessions_on(0, lanes) &&
           one.host.value <= memory.value / lanes;
  }

  /// How many of `lanes` sessions are on this GPU. The first GPU has at least as many as any other.
  uint64_t sessions_on(uint32_t gpu, uint64_t lanes) const {
    return (lanes + request_.gpus - 1 - gpu) / request_.gpus;
  }

  void set_gpus(Plan& plan) const {
    if (!request_.gpu_memory) return;
    const uint64_t kept = has_known_runs() ? plan.runs_on_gpu : plan.gpu_memory_for_runs.value;
    plan.gpus = static_cast<uint32_t>(std::min<uint64_t>(request_.gpus, plan.lanes + kept));
  }

  void set_moved(Plan& plan) const {
    const uint64_t count = request_.count.value_or(0);
    plan.read = request_.file.all_read(count, plan.passes, record_);
    plan.written = request_.file.all_written(count, plan.passes, record_);
  }

  /// Whether runs have equal sizes except for the last.
  bool has_known_runs() const { return request_.count && request_.sorted_inputs == 0; }

  const PlanRequest& request_;
  const FootprintFunction& footprint_;
  uint64_t record_;
};

/// The plan of an external sort. Throws NoPlanError.
Plan plan_external(const PlanRequest& request, const FootprintFunction& footprint);

}  // namespace sweepsort
