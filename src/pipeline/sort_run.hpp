// sort_run.hpp - one sort of opened inputs into opened outputs on a chosen backend: its plan, and what all
// strategies share.
#pragma once

#include "backend/backend.hpp"
#include "core/fingerprint.hpp"
#include "pipeline/phase_clock.hpp"
#include "pipeline/plan.hpp"
#include "pipeline/record_sink.hpp"
#include "pipeline/sort_context.hpp"
#include "pipeline/transfer.hpp"
#include "sweepsort.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace sweepsort {

struct SortRun {
  /// Makes the plan for these backends, within the budgets. `devices`: those of the backends; empty for the
  /// CPU. `into_report` receives what is found out during the sort.
  SortRun(const SortContext& with_context, const Backends& on_backends, const std::vector<int>& devices,
          SortReport& into_report);

  /// Names the backends that take part in the report.
  void name_backends();
  /// Does everything except giving the outputs their names. Throws Error if the result is wrong.
  void run();

  // The rest is for the strategies (strategies.hpp).

  bool on_gpu() const { return first_device.has_value(); }
  Transfer transfer() const;
  /// Bytes of all records on their way through the backend; 0 if their number is unknown.
  uint64_t moved_bytes() const { return context.input.count().value_or(0) * request.shape.bytes(); }
  /// Called on a failure, so that nobody keeps waiting for a pipe.
  void stop_streams() const;
  /// Adds what could not be planned for a stream before it was read.
  void complete_plan(uint64_t runs);
  /// Throws Error if the sorted keys are not in order or do not match `wanted`.
  void check_sorted(const StoreResult& sorted, const Fingerprint& wanted) const;
  /// The end of each strategy: throws Error if the result is wrong; otherwise completes the outputs and the
  /// report. `loaded` is of all keys read, `wanted` of those that the result should have.
  void finish(const StoreResult& stored, const Fingerprint& loaded, const Fingerprint& wanted);

  const SortContext& context;
  const Backends& backends;
  const std::optional<int> first_device;
  SortReport& report;
  PhaseClock clock;
  const PlanRequest request;  // made once, because free memory may change
  Plan plan;                  // sort_in_memory() may give its job more workers
};

}  // namespace sweepsort
