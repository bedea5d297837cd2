// sort_run.cpp - the plan of a sort, its strategy, and the verification of its result.
#include "pipeline/sort_run.hpp"

#include "core/error.hpp"
#include "pipeline/sort_request.hpp"
#include "pipeline/strategies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>

namespace sweepsort {

SortRun::SortRun(const SortContext& with_context, const Backends& on_backends,
                 const std::vector<int>& devices, SortReport& into_report)
    : context(with_context),
      backends(on_backends),
      first_device(devices.empty() ? std::nullopt : std::optional(devices.front())),
      report(into_report),
      clock(report.phases, context.options.progress),
      request(plan_request(context, backends, on_gpu())),
      plan(make_plan(request, [&](const SortJob& job) { return backends.front()->footprint(job); })) {}

void SortRun::name_backends() {
  report.backend = backends.front()->info().name;
  std::vector<std::string> devices;
  for (const auto& backend : std::span(backends).first(std::max(plan.gpus, 1u)))
    devices.push_back(backend->info().description);
  const bool are_alike = std::ranges::adjacent_find(devices, std::not_equal_to()) == devices.end();
  report.device = devices.size() > 1 && are_alike ? fmt::format("{} x {}", devices.size(), devices.front())
                                                  : fmt::format("{}", fmt::join(devices, "; "));
}

void SortRun::run() {
  if (plan.strategy == SortStrategy::external)
    sort_external(*this);
  else if (plan.strategy == SortStrategy::streams)
    merge_streams(*this);
  else
    sort_in_memory(*this);
}

Transfer SortRun::transfer() const {
  return {.shape = request.shape,
          .order = context.options.order,
          .verify = context.options.verify,
          .workers = plan.job.workers,
          .chunk_bytes = plan.job.chunk_bytes,
          .secret = context.secret,
          .values = has_positions(context.options.result) ? ValueKind::positions : ValueKind::data};
}

void SortRun::stop_streams() const {
  context.input.stop();
  context.outputs.stop();
}

void SortRun::complete_plan(uint64_t runs) {
  const FileRecord file = file_record(context, report.count);
  report.plan.runs = runs;
  report.plan.read = file.all_read(report.count, report.plan.passes, request.shape.bytes());
  report.plan.written = file.all_written(report.count, report.plan.passes, request.shape.bytes());
}

void SortRun::check_sorted(const StoreResult& sorted, const Fingerprint& wanted) const {
  const std::string& name = context.outputs.name();
  const char* const fate =
      context.outputs.has_streamed() ? "what was written there is wrong" : "the result was discarded";
  if (context.options.verify && !sorted.is_ordered)
    throw Error(fmt::format("{}: the sorted keys are not in order; {}", name, fate), try_elsewhere);
  if (context.options.verify && wanted != sorted.fingerprint)
    throw Error(fmt::format("{}: the sorted keys are not the keys of the input; {}", name, fate),
                try_elsewhere);
}

void SortRun::finish(const StoreResult& stored, const Fingerprint& loaded, const Fingerprint& wanted) {
  const bool unique = is_unique(context.options.result);
  check_sorted(stored, wanted);
  context.outputs.finish(unique ? stored.distinct : report.count);
  report.verified = context.options.verify;
  report.fingerprint = loaded;
  if (unique) report.distinct = stored.distinct;
  report.output_bytes = context.outputs.bytes();
}

}  // namespace sweepsort
