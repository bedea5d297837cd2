// sort_run.hpp - one sort of opened inputs into opened outputs on a chosen backend, with the strategies of
// plan.hpp.
#pragma once

#include "core/growing_buffer.hpp"
#include "pipeline/external_sort.hpp"
#include "pipeline/lanes.hpp"
#include "pipeline/phase_clock.hpp"
#include "pipeline/plan.hpp"
#include "pipeline/sort_context.hpp"
#include "pipeline/stream_merge.hpp"
#include "sweepsort.hpp"

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace sweepsort {

class SortRun {
 public:
  /// `devices`: the devices of the backends; empty for the CPU. `report` receives what is found out during
  /// the sort.
  SortRun(const SortContext& context, const Backends& backends, const std::vector<int>& devices,
          SortReport& report);

  /// The plan for this backend, within the budgets.
  const Plan& plan() const { return plan_; }
  /// Names the backends that take part in the report.
  void name_backends();
  /// Does everything except giving the outputs their names. Throws Error if the result is wrong.
  void run();

 private:
  bool on_gpu() const { return first_device_.has_value(); }
  Transfer transfer() const;
  /// Bytes of all records on their way through the backend; 0 if their number is unknown.
  uint64_t moved_bytes() const { return context_.input.count().value_or(0) * transfer().shape.bytes(); }
  void run_in_memory();
  void run_external();
  /// For a session that splits its keys into buckets as they arrive: gives it a sample, more workers and
  /// smaller chunks.
  void prepare_split();
  void share_split();
  std::unique_ptr<SortSession> begin_session();
  Fingerprint load(SortSession& session, Reads reads, const MovedFunction& moved);
  Fingerprint load_counted_stream(SortSession& session, const MovedFunction& moved);
  void form_runs(ExternalSort& sort);
  void form_stream_runs(ExternalSort& sort, KeySource* values, const MovedFunction& moved);
  void adopt_inputs(ExternalSort& sort);
  void merge(ExternalSort& sort);
  void merge_streams();
  /// Writes the sorted blocks of the streams one after another. Returns the number of keys.
  uint64_t store_blocks(StreamMerge& streams, Lanes& lanes, RecordSink& sink, const MovedFunction& moved);
  /// Called on a failure, so that nobody keeps waiting for a pipe.
  void stop_streams() const {
    context_.input.stop();
    context_.outputs.stop();
  }
  void inspect(size_t input, uint64_t first_byte, std::span<const std::byte> before,
               std::span<const std::byte> keys);
  GrowingBuffer sort_again();
  /// Adds what could not be planned for a stream before it was read.
  void complete_plan(uint64_t runs);
  /// Throws Error if the sorted keys are not in order or do not match `wanted`.
  void check_sorted(const StoreResult& sorted, const Fingerprint& wanted) const;
  void judge(const StoreResult& stored);
  void repeat();

  const SortContext& context_;
  const SortFileOptions& options_;
  const Backends& backends_;
  std::optional<int> first_device_;
  SortReport& report_;
  PhaseClock clock_;
  PlanRequest request_;  // made once, because free memory may change
  Plan plan_;
  uint32_t max_loaders_ = std::numeric_limits<uint32_t>::max();
  SharedFingerprint read_;  // of all keys read
  Fingerprint loaded_;
  std::optional<Fingerprint> kept_;  // of the remaining keys, if runs keep only one of equal keys
};

}  // namespace sweepsort
