// plan.cpp - turns budgets into sizes: chooses the strategy, and plans all but external sorts
// (plan_external.cpp).
#include "pipeline/plan.hpp"

#include "core/rounding.hpp"
#include "pipeline/counting_session.hpp"
#include "pipeline/plan_sizes.hpp"
#include "pipeline/stream_merge.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sweepsort {
namespace {

/// Counting needs no array of keys, whose memory costs more than the sort: 512 MiB of u8 took 2.5 s instead
/// of 5.7 s (two busy cores). Smaller files use a session, which notices if they are already sorted.
constexpr uint64_t min_counted_bytes = 16u << 20;

class Planner : public SessionSizes {
 public:
  using SessionSizes::SessionSizes;

  Plan plan() {
    // No machine can address more bytes. Up to this limit, no product overflows.
    if (request_.count.value_or(0) > max_bytes / record_)
      throw Error(
          fmt::format("{} records of {} bytes are more than any disk holds", *request_.count, record_),
          "sort the file in parts");
    require_min_memory(request_.memory);
    const bool counts = can_count();
    if (counts && request_.count.value_or(0) * record_ >= min_counted_bytes) return counting();
    if (request_.count && request_.sorted_inputs == 0 && fits_whole(*request_.count)) return in_memory();
    if (needs_one_session()) refuse_whole();
    if (request_.sorted_inputs != 0 && !request_.count) return streams();
    return counts ? counting() : plan_external(request_, footprint_);
  }

  bool can_count() const {
    return request_.may_count && record_ <= 2 && request_.algorithm != SortAlgorithm::radix &&
           request_.sorted_inputs == 0 && !needs_one_session();
  }

  uint64_t max_in_memory() const {
    return largest(max_bytes / record_, [&](uint64_t count) { return fits_whole(count); });
  }

 private:
  bool fits_whole(uint64_t count) const {
    return (request_.min_runs == 1 || count <= 1 || needs_one_session()) &&
           fits(job(count), 1, Bytes{for_sessions()}, request_.gpu_memory.value_or(Bytes{}));
  }

  Plan in_memory() const {
    Plan plan{.strategy = SortStrategy::in_memory, .job = job(*request_.count)};
    const Backend::Footprint need = footprint_(plan.job);
    plan.memory =
        Bytes{need.host.value + request_.ahead.value + request_.for_referee.value + request_.kept.value};
    plan.gpu_memory = need.device;
    set_gpus(plan);
    set_moved(plan);
    return plan;
  }

  /// Even one worker may need more memory than the budget: with 16-bit keys, its counters take half a
  /// mebibyte, and so do the shared ends of all values.
  Plan counting() const {
    Plan plan{.strategy = SortStrategy::counting,
              .job = job(request_.count.value_or(request_.chunk_bytes)),
              .runs = request_.count ? 1u : 0u};
    plan.job.count = request_.count.value_or(0);
    const uint64_t a_worker = counting_worker_bytes(plan.job);
    const uint64_t beside = counting_shared_bytes(plan.job);
    const uint64_t of_workers = request_.memory.value - std::min(request_.memory.value, beside);
    plan.job.workers =
        static_cast<uint32_t>(std::clamp<uint64_t>(of_workers / a_worker, 1, plan.job.workers));
    plan.memory = Bytes{plan.job.workers * a_worker + beside};
    set_moved(plan);
    return plan;
  }

  /// A session holds a block; the windows of all inputs hold half a block.
  Plan streams() const {
    Plan plan{.strategy = SortStrategy::streams, .runs = 0, .fan_in = request_.sorted_inputs};
    const auto beside = [&](uint64_t block) {
      return StreamMerge::bytes({.type = request_.shape.type, .block = block});
    };
    const auto largest_block = [&](uint64_t lanes) {
      return largest(good_run_bytes / record_, [&](uint64_t block) {
        return beside(block) < request_.memory.value &&
               fits(job(block), lanes, Bytes{request_.memory.value - beside(block)},
                    request_.gpu_memory.value_or(Bytes{}));
      });
    };
    const uint64_t least = 2 * request_.sorted_inputs;
    uint64_t block = largest_block(plan.lanes = max_lanes);
    if (block < least) block = largest_block(plan.lanes = 1);
    if (block < least) refuse_streams();
    plan.job = job(block);
    const Backend::Footprint one = footprint_(plan.job);
    plan.memory = Bytes{plan.lanes * one.host.value + beside(block)};
    plan.gpu_memory = Bytes{plan.lanes * one.device.value};
    set_gpus(plan);
    return plan;
  }

  [[noreturn]] void refuse_streams() const {
    throw NoPlanError(fmt::format("{} of memory is too little to merge {} inputs",
                                  format_bytes(request_.memory), request_.sorted_inputs),
                      "merge fewer at a time, or raise --memory");
  }

  [[noreturn]] void refuse_whole() const {
    if (!request_.count)
      throw NoPlanError(fmt::format("{}, but the stream has more than fit", wants_all_keys()),
                        "leave it out, or sort a file; or raise --memory, if it was given");
    const Backend::Footprint need = footprint_(job(*request_.count));
    if (request_.gpu_memory && need.device > *request_.gpu_memory)
      throw NoPlanError(
          fmt::format("{}: {} on the GPU to sort them, but only {} is allowed", wants_all_keys(),
                      format_bytes(need.device), format_bytes(*request_.gpu_memory)),
          "leave it out; or raise --gpu-memory, if it was given");
    const std::string check = request_.for_referee == Bytes{}
                                  ? ""
                                  : fmt::format(" and {} to check that", format_bytes(request_.for_referee));
    const std::string stream = request_.kept == Bytes{} ? ""
                                                        : fmt::format(", of which the stream itself takes {}",
                                                                      format_bytes(request_.kept));
    throw NoPlanError(fmt::format("{}: {} to sort them{}, but only {} is allowed{}", wants_all_keys(),
                                  format_bytes(need.host), check,
                                  format_bytes(Bytes{request_.memory.value + request_.kept.value}), stream),
                      "leave it out; or raise --memory, if it was given");
  }

  bool needs_one_session() const { return request_.one_session != OneSession::not_needed; }
  const char* wants_all_keys() const {
    return request_.one_session == OneSession::for_referee ? "--validate needs all keys in memory"
                                                           : "--repeat needs all keys in memory";
  }
};

}  // namespace

void require_min_memory(Bytes memory) {
  if (memory < min_memory)
    throw NoPlanError(fmt::format("--memory: {} bytes are too few to sort anything", memory.value),
                      fmt::format("allow at least {}", format_bytes(min_memory)));
}

Plan make_plan(const PlanRequest& request, const FootprintFunction& footprint) {
  return Planner(request, footprint).plan();
}

uint64_t max_in_memory(const PlanRequest& request, const FootprintFunction& footprint) {
  return Planner(request, footprint).max_in_memory();
}

uint64_t max_to_collect(const PlanRequest& request, const FootprintFunction& footprint) {
  const Planner planner(request, footprint);
  const uint64_t most = planner.max_in_memory();
  return planner.can_count() ? std::min(most, min_counted_bytes / request.shape.bytes()) : most;
}

uint32_t passes_of(uint64_t runs, uint64_t fan_in) {
  uint32_t passes = 0;
  for (; runs > 1; runs = ceil_divide(runs, fan_in)) ++passes;
  return passes;
}

}  // namespace sweepsort
