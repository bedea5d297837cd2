// sort_run.hpp - one sort of opened inputs into opened outputs on a chosen backend: the strategies of
// plan.hpp.
#pragma once

#include "core/growing_buffer.hpp"
#include "pipeline/external_sort.hpp"
#include "pipeline/lanes.hpp"
#include "pipeline/phase_clock.hpp"
#include "pipeline/plan.hpp"
#include "pipeline/sort_file.hpp"
#include "pipeline/sort_input.hpp"
#include "pipeline/sort_outputs.hpp"
#include "pipeline/sort_values.hpp"
#include "pipeline/stream_merge.hpp"
#include "sweepsort.hpp"

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sweepsort {

struct SortContext {
  const SortEnvironment& environment;
  const SortFileOptions& options;
  SortInput& input;
  SortValues& values;
  SortOutputs& outputs;
  MemoryLimit limit;  // as it was before anything was read
  std::vector<std::string> temporary_directories;
  uint32_t threads = 1;
  uint64_t secret = 0;
  std::optional<Bytes> max_gpu_memory = {};  // of each GPU, where one had less than it said
};

class SortRun {
 public:
  /// `devices`: the backends'; none: it is the CPU. `report` gets what is found on the way.
  SortRun(const SortContext& context, const Backends& backends, const std::vector<int>& devices,
          SortReport& report);

  /// The plan for this backend, within the budgets.
  const Plan& plan() const { return plan_; }
  /// Puts the backends that have a part in it into the report.
  void name_backends();
  /// Everything up to the names of the outputs. Throws Error if the result is not right.
  void run();

 private:
  bool on_gpu() const { return first_device_.has_value(); }
  PlanRequest make_request() const;
  Transfer transfer() const;
  /// Bytes that all records are on their way through the backend; 0 while nobody knows how many there are.
  uint64_t moved_bytes() const { return context_.input.count().value_or(0) * transfer().shape.bytes(); }
  void run_in_memory();
  void run_external();
  /// Of a session that deals its keys out while it is read: what it needs to know of them, more workers,
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
  /// The blocks of the streams, each sorted, behind each other. Returns how many keys there were.
  uint64_t store_blocks(StreamMerge& streams, Lanes& lanes, RecordSink& sink, const MovedFunction& moved);
  /// Something failed: nobody waits for a pipe any more.
  void stop_streams() const {
    context_.input.stop();
    context_.outputs.stop();
  }
  void inspect(size_t input, uint64_t first_byte, std::span<const std::byte> before,
               std::span<const std::byte> keys);
  GrowingBuffer sort_again();
  /// What no plan could say of a stream before it had been read.
  void complete_plan(uint64_t runs);
  /// Throws Error if sorted keys are not in order or not those that are wanted.
  void check_sorted(const StoreResult& sorted, const Fingerprint& wanted) const;
  void judge(const StoreResult& stored);
  void repeat();

  const SortContext& context_;
  const SortFileOptions& options_;
  const Backends& backends_;
  std::optional<int> first_device_;
  SortReport& report_;
  PhaseClock clock_;
  PlanRequest request_;  // made once: what is free may change
  Plan plan_;
  uint32_t max_loaders_ = std::numeric_limits<uint32_t>::max();
  SharedFingerprint read_;  // of what came in
  Fingerprint loaded_;
  std::optional<Fingerprint> kept_;  // of what is left of it where runs keep of equal keys one
};

/// Of a sort that may be on a GPU: begins to read what its plan has memory for, while the driver wakes and
/// the context comes up.
void read_ahead(const SortContext& context);

/// What is asked of a plan, but for the count.
PlanRequest plan_request(const SortContext& context, const Backends& backends, bool on_gpu);

}  // namespace sweepsort
