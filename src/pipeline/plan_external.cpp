// plan_external.cpp - the sizes of runs and blocks, and where runs stay: in GPU memory, main memory or files.
#include "core/pages.hpp"
#include "core/rounding.hpp"
#include "pipeline/plan_sizes.hpp"
#include "pipeline/run_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sweepsort {
namespace {

/// Pieces of this size are read at half the speed of large ones, which costs as much as another pass.
constexpr uint64_t min_piece_bytes = 16u << 10;
constexpr uint64_t good_piece_bytes = 1u << 20;
/// On a GPU, a session gets this many chunks or more if runs are to have room beside it. A piece is one
/// chunk.
constexpr uint64_t good_gpu_run_chunks = 32;
/// Runs in files go through the page cache if they take at most this fraction of it. Then nobody waits for
/// the disk, and most runs never get there. Whole sorts past the cache and through it, in s. Zen 4, two
/// threads, 22 GiB free, u64: 1 GiB within 8, 64, 128 and 512 MiB: 8.3 and 2.8, 3.0 and 1.6, 2.9 and 1.5, 2.4
/// and 1.7; 6 GiB within 512 MiB: 14.7 and 13.4. An H200's machine, 16 threads, 4 GiB within 512 MiB: 11.1
/// and 5.0.
constexpr uint64_t part_of_cache = 4;
/// A stream is assumed to be this many times as large as all memory.
constexpr uint64_t stream_to_memory = 4;
constexpr uint64_t min_fan_in = 8;
/// What a merge remembers about each run besides its samples.
constexpr uint64_t bytes_per_run = 256;
constexpr uint64_t min_run_records = 16;

/// The size of runs that are merged in pieces of `piece` bytes, if each run has as many pieces as there are
/// runs.
uint64_t geometric_mean(uint64_t data, uint64_t piece) {
  return static_cast<uint64_t>(std::sqrt(static_cast<double>(data)) * std::sqrt(static_cast<double>(piece)));
}

class ExternalPlanner : public SessionSizes {
 public:
  using SessionSizes::SessionSizes;

  Plan plan() const {
    const uint64_t memory = request_.memory.value;
    // An eighth is for samples and for what a merge remembers about its runs.
    const uint64_t usable = for_sessions() - std::min(for_sessions(), memory / 8);
    const uint64_t gpu_memory = request_.gpu_memory.value_or(Bytes{}).value;
    const uint64_t data = request_.count.value_or(0) * record_;
    const uint64_t on_gpu = room_beside_sessions();
    const uint64_t beside = data - std::min(data, sum(rooms(max_lanes, on_gpu)));
    const bool may_stay = has_known_runs() && request_.min_runs == 1 && beside < usable - usable / 8;
    Plan plan = may_stay ? with_sessions(usable - beside, gpu_memory - on_gpu, RunPlace::in_memory) : Plan{};
    if (plan.merge_passes == 1) keep_runs(plan, usable, on_gpu);
    // Spill rather than merge twice. And no place can hold a part of a run.
    if (plan.merge_passes != 1 || plan.runs_on_gpu + plan.runs_in_memory < plan.runs)
      plan = with_sessions(usable, gpu_memory - on_gpu, RunPlace::anywhere);
    // If several merges are needed, sessions get all the memory.
    const bool merges_again = request_.count && plan.merge_passes > 1;
    if (merges_again) plan = with_sessions(usable, gpu_memory, RunPlace::anywhere);
    if (!merges_again && request_.sorted_inputs == 0 && request_.min_runs == 1)
      keep_runs(plan, usable, on_gpu);

    const Backend::Footprint one = footprint_(plan.job);
    plan.memory =
        Bytes{plan.lanes * one.host.value + plan.memory_for_runs.value + request_.ahead.value +
              request_.collected.value + request_.kept.value + std::min(memory / 8, known_of(plan))};
    plan.gpu_memory = Bytes{plan.lanes * one.device.value + plan.gpu_memory_for_runs.value};
    set_gpus(plan);
    plan.passes = plan.merge_passes + (request_.sorted_inputs == 0 ? 1 : 0);
    set_moved(plan);
    set_spill(plan);
    choose_caching(plan);
    return plan;
  }

 private:
  enum class RunPlace : uint8_t { in_memory, anywhere };

  /// Of sessions that merge keys with counts of 4 bytes, in the memory of sessions for runs.
  SortJob counted_job(const SortJob& of_runs) const {
    const Backend::Footprint room = footprint_(of_runs);
    const auto pairs_of = [&](uint64_t count) {
      SortJob with = job(count);
      with.value_bytes = sizeof(uint32_t);
      with.unique = false;
      with.chunk_bytes = std::min(with.chunk_bytes, max_chunk_with_values);
      return with;
    };
    const uint64_t records = largest(of_runs.count, [&](uint64_t count) {
      const Backend::Footprint need = footprint_(pairs_of(count));
      return need.host <= room.host && need.device <= room.device;
    });
    const bool has_room = records >= min_run_records && of_runs.count <= std::numeric_limits<uint32_t>::max();
    return has_room ? pairs_of(aligned(records)) : SortJob{};
  }

  /// The most bytes that the index and a merge's data about its runs take.
  uint64_t known_of(const Plan& plan) const {
    if (!request_.count) return max_bytes;
    const uint64_t samples = std::min(*request_.count / plan.stride + plan.runs, plan.max_samples);
    return samples * sizeof(uint64_t) + plan.runs * bytes_per_run;
  }

  /// Decides where runs stay that need no file: on GPUs, in `on_gpu` bytes beside their sessions, and in what
  /// the sessions leave of `memory`.
  void keep_runs(Plan& plan, uint64_t memory, uint64_t on_gpu) const {
    const uint64_t sessions = plan.lanes * footprint_(plan.job).host.value;
    plan.room_on_gpus = rooms(plan.lanes, on_gpu);
    plan.gpu_memory_for_runs = Bytes{sum(plan.room_on_gpus)};
    plan.memory_for_runs = Bytes{memory - std::min(memory, sessions)};
    if (!has_known_runs()) return;
    plan.gpu_memory_for_runs.value = std::min(plan.gpu_memory_for_runs.value, bytes_of_runs(plan, 0));
    plan.runs_on_gpu = runs_on_gpus(plan);
    plan.memory_for_runs.value = std::min(plan.memory_for_runs.value, bytes_of_runs(plan, plan.runs_on_gpu));
    plan.runs_in_memory = runs_within(plan, plan.runs_on_gpu, plan.memory_for_runs);
  }

  /// The memory of each GPU that runs may use: `on_gpu` on a GPU with sessions, else all of it.
  std::vector<Bytes> rooms(uint64_t lanes, uint64_t on_gpu) const {
    if (!request_.gpu_memory) return {};
    std::vector<Bytes> all(request_.gpus, *request_.gpu_memory);
    for (uint32_t gpu = 0; gpu < request_.gpus && sessions_on(gpu, lanes) != 0; ++gpu)
      all[gpu].value = on_gpu;
    return all;
  }

  static uint64_t sum(const std::vector<Bytes>& rooms) {
    return std::accumulate(rooms.begin(), rooms.end(), uint64_t{0},
                           [](uint64_t so_far, Bytes room) { return so_far + room.value; });
  }

  /// The memory that sessions of a good size leave on a GPU that has sessions. On a single GPU, the sessions
  /// also get what the runs do not need. On several GPUs, each has a remainder in which no whole run fits, so
  /// runs keep a good size.
  uint64_t room_beside_sessions() const {
    if (!request_.gpu_memory || request_.sorted_inputs != 0 || request_.min_runs > 1) return 0;
    const uint64_t streamed =
        stream_to_memory * (request_.gpus * request_.gpu_memory->value + request_.memory.value);
    const uint64_t data = request_.count ? *request_.count * record_ : streamed;
    const uint64_t good =
        std::max(good_gpu_run_chunks * request_.chunk_bytes, geometric_mean(data, request_.chunk_bytes));
    const uint64_t sessions =
        sessions_on(0, max_lanes) * footprint_(job(std::min(data, good) / record_)).device.value;
    const uint64_t left = request_.gpu_memory->value - std::min(request_.gpu_memory->value, sessions);
    return request_.gpus > 1 ? left : std::min(left, data + data / 64);  // columns begin at page borders
  }

  uint64_t last_run(const Plan& plan) const { return *request_.count - (plan.runs - 1) * plan.job.count; }

  /// Memory for run number `first` and all later runs.
  uint64_t bytes_of_runs(const Plan& plan, uint64_t first) const {
    if (first >= plan.runs) return 0;
    return (plan.runs - 1 - first) * run_bytes(request_.shape, plan.job.count) +
           run_bytes(request_.shape, last_run(plan));
  }

  /// How many runs fit on the GPUs; each run is on one GPU.
  uint64_t runs_on_gpus(const Plan& plan) const {
    const uint64_t run = run_bytes(request_.shape, plan.job.count);
    uint64_t whole = 0;
    uint64_t max_left = 0;
    for (const Bytes room : plan.room_on_gpus) {
      whole += room.value / run;
      max_left = std::max(max_left, room.value % run);
    }
    if (whole + 1 == plan.runs && run_bytes(request_.shape, last_run(plan)) <= max_left) return plan.runs;
    return std::min(whole, plan.runs);
  }

  /// How many of the runs from number `first` on fit in `memory`.
  uint64_t runs_within(const Plan& plan, uint64_t first, Bytes memory) const {
    if (memory.value >= bytes_of_runs(plan, first)) return plan.runs - first;
    return memory.value / run_bytes(request_.shape, plan.job.count);
  }

  /// Disk space for the runs of all passes. For a stream it is taken as the stream arrives.
  void set_spill(Plan& plan) const {
    if (!request_.count) return;
    if (request_.sorted_inputs != 0) {
      plan.spill_areas = std::min(plan.merge_passes - 1, 2u);
      // Each column of a group of inputs may end inside a page.
      const uint64_t columns = request_.shape.value_bytes == 0 ? 1 : 2;
      const uint64_t groups = ceil_divide(request_.sorted_inputs, plan.fan_in);
      const uint64_t borders = columns * groups * io_alignment;
      // The second area, too, begins with a page.
      const uint64_t area = round_up(*request_.count * record_ + borders, io_alignment);
      plan.spill_area = Bytes{plan.spill_areas == 0 ? 0 : area};
    } else {
      plan.spill_areas = plan.merge_passes > 1 ? 2 : 1;
      const uint64_t spilled = plan.runs - plan.runs_on_gpu - plan.runs_in_memory;
      if (spilled != 0)
        plan.spill_area = Bytes{(spilled - 1) * spilled_run_bytes(request_.shape, plan.job.count) +
                                spilled_run_bytes(request_.shape, last_run(plan))};
    }
    plan.temporary = Bytes{plan.spill_area.value * plan.spill_areas};
  }

  /// For streams, too, whose runs exist before anyone knows how many there will be.
  void choose_caching(Plan& plan) const {
    const uint64_t spilled = request_.count ? plan.temporary.value : stream_to_memory * request_.memory.value;
    plan.caches_runs = spilled <= request_.page_cache.value / part_of_cache;
  }

  /// A plan whose sessions use at most `memory` and `gpu_memory`.
  Plan with_sessions(uint64_t memory, uint64_t gpu_memory, RunPlace where) const {
    Plan plan{.strategy = SortStrategy::external};
    uint64_t records = 0;
    for (plan.lanes = max_lanes; plan.lanes > 0 && records == 0; --plan.lanes)
      records = largest_run(plan.lanes, memory, gpu_memory);
    ++plan.lanes;
    if (records == 0) {
      if (where == RunPlace::in_memory) return plan;
      refuse();
    }
    set_runs(plan, records, where);
    return plan;
  }

  /// Returns 0 if not even the smallest run fits.
  uint64_t largest_run(uint64_t lanes, uint64_t memory, uint64_t gpu_memory) const {
    const uint64_t most = std::max<uint64_t>(
        min_run_records, request_.count.value_or(std::max(request_.memory.value, uint64_t{1} << 40)));
    uint64_t records = largest(
        most, [&](uint64_t count) { return fits(job(count), lanes, Bytes{memory}, Bytes{gpu_memory}); });
    if (records < min_run_records) return 0;
    if (request_.count && !request_.gpu_memory) {
      const uint64_t good = geometric_mean(*request_.count * record_, good_piece_bytes);
      records = std::min(records, std::max(good_run_bytes, good) / record_);
    }
    return std::min(records, std::max<uint64_t>(1, ceil_divide(most, request_.min_runs)));
  }

  /// Makes runs of equal size. If they are long, their bytes begin at page borders.
  void set_runs(Plan& plan, uint64_t records, RunPlace where) const {
    records = aligned(records);
    if (request_.count && request_.sorted_inputs == 0) {
      plan.runs = std::max<uint64_t>(1, ceil_divide(*request_.count, records));
      const uint64_t even = ceil_divide(*request_.count, plan.runs);
      const uint64_t even_pages = ceil_divide(even, io_alignment) * io_alignment;
      records = std::min(records, even_pages);
      plan.runs = std::max<uint64_t>(1, ceil_divide(*request_.count, records));
    } else {
      plan.runs = request_.sorted_inputs;
    }
    plan.job = job(records);
    const uint64_t run_bytes = records * record_;
    const uint64_t max_runs = std::max(min_fan_in, request_.memory.value / 16 / bytes_per_run);
    plan.fan_in = where == RunPlace::in_memory
                      ? max_runs
                      : std::clamp(run_bytes / min_piece_bytes, min_fan_in, max_runs);
    plan.merge_passes = std::max(1u, passes_of(plan.runs, plan.fan_in));
    // Longer runs with counts might take more room than all their keys.
    if (request_.counts && plan.merge_passes == 1) plan.counted_job = counted_job(plan.job);
    // A stride below a page would save no read. All samples together take at most a sixteenth of the memory.
    const uint64_t keys = request_.count.value_or(plan.fan_in * records);
    plan.max_samples = std::max<uint64_t>(1, request_.memory.value / 16 / sizeof(uint64_t));
    plan.stride =
        std::max(io_alignment / key_bytes(request_.shape.type), ceil_divide(keys, plan.max_samples));
  }

  [[noreturn]] void refuse() const {
    const Backend::Footprint least = footprint_(job(min_run_records));
    if (request_.gpu_memory && least.device > *request_.gpu_memory)
      throw NoPlanError(
          fmt::format("{} of GPU memory is too little to sort anything", format_bytes(*request_.gpu_memory)),
          fmt::format("allow at least {}, or use --backend cpu", format_bytes(least.device)));
    throw NoPlanError(
        fmt::format("{} of memory is too little to sort anything", format_bytes(request_.memory)),
        fmt::format("allow at least {}",
                    format_bytes(Bytes{std::max(min_memory.value, 2 * least.host.value)})));
  }
};

}  // namespace

Plan plan_external(const PlanRequest& request, const FootprintFunction& footprint) {
  return ExternalPlanner(request, footprint).plan();
}

}  // namespace sweepsort
