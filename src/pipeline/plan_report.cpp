// plan_report.cpp - a plan in the types of the library, and as text.
#include "pipeline/plan_report.hpp"

#include "core/bytes.hpp"

#include <fmt/format.h>

namespace sweepsort {

FilePlan described(const Plan& plan) {
  constexpr const char* names[] = {"in memory", "counting", "external", "streams"};
  return {.strategy = names[static_cast<uint8_t>(plan.strategy)],
          .runs = plan.runs,
          .runs_on_gpu = plan.runs_on_gpu,
          .runs_in_memory = plan.runs_in_memory,
          .run_records = plan.job.count,
          .sessions = plan.lanes,
          .passes = plan.passes,
          .read = plan.read,
          .written = plan.written,
          .memory = plan.memory,
          .gpus = plan.gpus,
          .gpu_memory = plan.gpu_memory,
          .temporary = plan.temporary};
}

std::string plan_line(const FilePlan& plan) {
  if (plan.strategy == "counting")
    return "plan: the keys are counted while they are read, and written from the counts";
  if (plan.strategy == "streams")
    return fmt::format(
        "plan: the inputs are merged while they are read, in blocks of up to {} keys, {} of memory",
        plan.run_records, format_bytes(plan.memory));
  const bool is_stream = plan.runs == 0;
  const auto counted = [](uint64_t number, const char* one, const char* several) {
    return fmt::format("{} {}", number, number == 1 ? one : several);
  };
  return fmt::format("plan: {} of {} records, {}{}, {} of memory, {}",
                     is_stream ? "runs" : counted(plan.runs, "run", "runs"), plan.run_records,
                     is_stream ? "at least " : "", counted(plan.passes, "pass", "passes"),
                     format_bytes(plan.memory),
                     is_stream ? "temporary files for what does not fit"
                               : format_bytes(plan.temporary) + " of temporary files");
}

}  // namespace sweepsort
