// sort_file.cpp - the steps of sorting a file: open, choose a backend, plan, run, rename.
#include "pipeline/sort_file.hpp"

#include "core/bytes.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/rounding.hpp"
#include "core/sample.hpp"
#include "core/team.hpp"
#include "io/output.hpp"
#include "io/spill_file.hpp"
#include "pipeline/callback_watch.hpp"
#include "pipeline/plan_report.hpp"
#include "pipeline/referee.hpp"
#include "pipeline/sort_request.hpp"
#include "pipeline/sort_run.hpp"
#include "pipeline/stream_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace sweepsort {
namespace {

void check_values_options(const SortFileOptions& options) {
  const bool has_values = !options.values.empty();
  const bool has_counts = !options.counts_output.empty();
  if (has_counts && has_positions(options.result))
    throw UsageError("--counts and --argsort cannot be combined", "sort twice, with -u and one of them");
  if (has_counts && !is_unique(options.result))
    throw UsageError("--counts needs --unique, which writes each key once", "add -u");
  if (has_values && has_positions(options.result))
    throw UsageError("--values cannot be combined with --argsort",
                     "leave out --argsort, or --values and --values-output");
  if (has_counts && !options.values_output.empty())
    throw UsageError("--values-output and --counts cannot be combined",
                     "leave --values-output out: --counts writes the sum of each key's values");
  if (has_values && !has_counts && options.values_output.empty())
    throw UsageError("--values needs a name for the sorted values",
                     is_unique(options.result)
                         ? "add --values-output FILE for the first value of each key, or "
                           "--counts FILE for the sum"
                         : "add --values-output FILE");
  if (!has_values && !options.values_output.empty())
    throw UsageError("--values-output needs values to sort", "add --values FILE");
  if (options.values_type && !has_values)
    throw UsageError("--values-type needs --values", "add --values FILE, or leave it out");
}

void check_options(const std::vector<std::string>& inputs, const std::string& output,
                   const SortFileOptions& options) {
  if (options.in_place && options.file.has_window())
    throw UsageError(inputs.front() + ": sorting a part of it in place would lose the rest",
                     "leave out --skip-bytes and --read-bytes, or --in-place, and name an output with -o");
  if (options.in_place) require_regular_in_place(inputs.front());
  if (options.in_place && !output.empty() && output != inputs.front())
    throw UsageError("an in-place sort has no other output", "leave -o out");
  if (!options.in_place && output.empty()) throw UsageError("no output", "name one; '-' is standard output");
  if (options.in_place && options.output_format)
    throw UsageError("--in-place and --output-format cannot be combined: a file keeps its format in place",
                     "name an output with -o, or leave --output-format out");
  if (options.in_place && inputs.size() > 1)
    throw UsageError("several inputs cannot be sorted in place", "name an output with -o");
  if (options.in_place && has_positions(options.result))
    throw UsageError("--argsort writes positions, which cannot take the place of the keys",
                     "name an output with -o");
  const auto from_stdin = [](const std::vector<std::string>& names) {
    return std::ranges::count_if(names, is_standard_input);
  };
  if (from_stdin(options.values) != 0 && from_stdin(options.values) + from_stdin(inputs) > 1)
    throw UsageError("standard input is named twice",
                     "name a file for the values: standard input can be read only once");
  check_values_options(options);
  const char* const again = options.referee != Referee::none ? "--validate" : "--repeat";
  const bool is_again = options.referee != Referee::none || options.repeat != 0;
  if (is_again && (!options.values.empty() || options.result != SortResult::keys))
    throw UsageError(fmt::format("{} is for sorts of keys alone", again), fmt::format("leave {} out", again));
  if (is_again && options.inputs_are_sorted)
    throw UsageError(fmt::format("{} is for sorts, but --merge does not sort", again), "leave --merge out");
  if (options.referee != Referee::none) require_referee();
  require_different_devices(options.where);
}

const std::vector<std::string>& checked_inputs(const std::vector<std::string>& inputs) {
  if (inputs.empty()) throw UsageError("no input", "name a file, or pipe data in");
  return inputs;
}

/// The windows of a merge of streams hold keys alone.
const SortInput& checked_for_merge(const SortInput& input, const SortFileOptions& options) {
  if (!options.inputs_are_sorted || (options.values.empty() && !has_positions(options.result))) return input;
  for (const InputFile* file : input.files())
    if (file->is_stream())
      throw UsageError(fmt::format("{}: --merge with {} needs files, but this is a stream", file->name(),
                                   options.values.empty() ? "--argsort" : "--values"),
                       "write it to a file first, or leave --merge out");
  return input;
}

class SortFileRun {
 public:
  SortFileRun(const SortEnvironment& environment, const std::vector<std::string>& inputs,
              const std::string& output, const SortFileOptions& options)
      : environment_(environment),
        options_(callbacks_.watched(options)),
        limit_(environment.memory()),
        input_(checked_inputs(inputs), options_.file,
               options.in_place && !options.plan_only ? InputUse::to_replace : InputUse::read),
        values_(options_, checked_for_merge(input_, options_)),
        outputs_(input_, values_, output, options_, environment.allow_anonymous),
        clock_(report_.phases, options_.progress),
        context_{environment,
                 options_,
                 input_,
                 values_,
                 outputs_,
                 limit_,
                 temporary_directories(output),
                 threads_or_all(options_.where.threads),
                 random_secret()} {}

  SortReport run() {
    // A plan reads no more of a stream than its first bytes, which tell its format.
    if (input_.is_stream() && !options_.inputs_are_sorted && !options_.plan_only) collect_stream();
    for (const std::string& line : input_.notes()) log(line);
    for (const std::string& line : values_.notes()) log(line);
    describe_files();
    if (options_.plan_only)
      require_plannable();
    else
      prepare();
    const std::vector<PhaseTime> so_far = report_.phases;
    // A stream that was not collected completely is large, but its size is unknown.
    constexpr uint64_t many = uint64_t{1} << 36;
    const BackendDecision decision = environment_.choose(
        {.count = input_.count().value_or(many),
         .type = input_.type(),
         .looks_in_order = [&] { return looks_in_order(); }},
        [&] { return ask_status(); }, threads_at_once(options_.where.threads), options_.where);
    note_ignored_options(decision);
    run_as_decided(
        decision, options_.where, lines_, report_.backend_why,
        [&](BackendChoice which) {
          report_.phases = so_far;  // without those of a GPU that failed
          sort_on(which);
        },
        [&] { return may_run_again(); });
    report_.output_type = outputs_.type();
    if (!options_.plan_only && report_.referee_agrees.value_or(true)) commit();
    report_.input_bytes = input_.bytes() + values_.file_bytes();
    report_.total_s = seconds_since(start_) - time_of(report_.phases, Phase::repeat);
    return std::move(report_);
  }

 private:
  void log(const std::string& line) const { lines_.say(line); }

  /// The input is unchanged and no output has its name yet, but data that was read from or written to a pipe
  /// is gone.
  bool may_run_again() const {
    return !callbacks_.has_thrown() && !outputs_.has_streamed() && input_.is_whole();
  }

  void note_ignored_options(const BackendDecision& decision) const {
    if (options_.where.backend != BackendChoice::automatic) return;
    const std::vector<std::string> names =
        gpu_options(options_.where, options_.memory.gpu_memory.has_value());
    // A plan has time, so it looks for a GPU even if the CPU is faster.
    const bool asks = options_.plan_only && decision.which == BackendChoice::cpu && decision.no_gpu.empty();
    note_ignored(names, asks && !names.empty() ? environment_.status().reason : decision.no_gpu, lines_);
  }

  bool looks_in_order() {
    if (!input_.count()) return false;
    return is_monotone(sample_of(*input_.keys(Reads::often), *input_.count(), input_.type(), options_.order));
  }

  /// Where spill files would go.
  std::vector<std::string> temporary_directories(const std::string& output) const {
    const auto& asked = options_.memory.temporary_directories;
    for (const std::string& directory : asked) {
      std::error_code error;
      const std::filesystem::file_status status = std::filesystem::status(directory, error);
      if (status.type() == std::filesystem::file_type::not_found)
        throw Error(fmt::format("-T {}: no such directory", directory),
                    directory.find(':') == std::string::npos ? "create it first"
                                                             : "give -T again for another directory");
      if (error) throw Error(fmt::format("-T {}: {}", directory, error.message()), "name another directory");
      if (!std::filesystem::is_directory(status))
        throw Error(fmt::format("-T {}: is not a directory", directory), "name one, for example -T /var/tmp");
    }
    if (!asked.empty()) return asked;
    // TMPDIR is set by others and mostly not needed here, so it is only checked when something must be
    // written there.
    if (const char* variable = std::getenv("TMPDIR"); variable && *variable) return {variable};
    if (outputs_.is_sequential()) return {"/var/tmp"};
    return {directory_of(options_.in_place ? input_.file().path() : output)};
  }

  /// Collects as much of a stream as the CPU could sort in memory. A stream that is collected completely is
  /// treated like a file.
  void collect_stream() {
    Backends cpu;
    cpu.push_back(environment_.make_cpu(options_.where.threads));
    PlanRequest request = request_without_count(context_, cpu, false);
    // Collected data stays mapped while a copy of it is sorted, and every thread reserves some address space.
    if (context_.limit.is_address_space)
      request.memory.value = std::max(min_memory.value, request.memory.value / 10 * 3);
    const auto footprint = [&](const SortJob& job) { return cpu.front()->footprint(job); };
    // How many keys there are decides for a GPU or against it.
    const bool is_for_cpu = options_.where.backend == BackendChoice::cpu || !environment_.has_driver();
    // Beside what was collected, a GPU's sessions need buffers of a size that is worth a transfer.
    if (!is_for_cpu) request.memory.value = std::max(min_memory.value, request.memory.value / 8 * 7);
    const uint64_t most = is_for_cpu ? max_to_collect(request, footprint) : max_in_memory(request, footprint);
    clock_.run(Phase::read, 0, [&](const MovedFunction&) {
      input_.collect(most * key_bytes(input_.type()), [&](uint64_t bytes) {
        if (options_.progress) options_.progress(Phase::read, bytes, 0);
      });
    });
    clock_.last().bytes = input_.bytes();
    if (input_.count()) values_ = SortValues(options_, input_);
  }

  void describe_files() {
    report_.count = input_.count().value_or(0);
    report_.type = input_.type();
    report_.format = input_.format();
    report_.endian = input_.endian();
    report_.output_format = outputs_.format();
  }

  /// What a sort would refuse, as far as that is known without the keys.
  void require_plannable() {
    if (input_.count() || is_unique(options_.result))
      outputs_.require_headers(input_.count());
    else if (options_.inputs_are_sorted)
      outputs_.require_headers(outputs_.is_sequential() ? input_.announced_count() : std::nullopt);
    if (!input_.count() && (options_.referee != Referee::none || options_.repeat != 0))
      throw UsageError(
          fmt::format("--dry-run with {}: whether all keys fit in memory is not known of a stream",
                      options_.repeat != 0 ? "--repeat" : "--validate"),
          "leave one of them out, or name a file");
  }

  void prepare() {
    input_.leave_standard_input_behind();
    clock_.run(Phase::prepare, 0, [&](const MovedFunction&) {
      if (!values_.files().empty()) report_.value_bytes = values_.bytes();
      report_.values_format = values_.format();
      report_.values_endian = values_.endian();
      if (input_.count()) outputs_.prepare(report_.count);
      report_.output_bytes = outputs_.bytes();
    });
  }

  /// Called only if a GPU is expected. Waking the driver takes as long as creating the context, so keys are
  /// read meanwhile. They are thrown away if there is a driver, but no usable GPU.
  CudaStatus ask_status() {
    if (environment_.has_driver()) read_ahead(context_);
    return environment_.status();
  }

  /// A GPU may have less memory than it reported, because others take some. Then less is sorted at a time,
  /// until no plan is left.
  void sort_on(BackendChoice which) {
    std::vector<int> devices;
    if (which == BackendChoice::cuda) {
      devices = devices_of(options_.where, environment_.status);
    } else {
      input_.forget_ahead();  // of a GPU that is unusable or has failed
    }
    Backends backends;  // all contexts are created at the same time
    for (const int device : devices) backends.push_back(environment_.make_cuda(device));
    if (backends.empty()) backends.push_back(environment_.make_cpu(options_.where.threads));
    const std::vector<PhaseTime> so_far = report_.phases;
    std::exception_ptr too_much;  // the error of a GPU in the previous plan
    for (;;) {
      std::optional<SortRun> run;
      outputs_.begin_attempt();
      try {
        run.emplace(context_, backends, devices, report_);
      } catch (const NoPlanError&) {
        if (too_much) std::rethrow_exception(too_much);
        throw;
      }
      try {
        return carry_out(*run, devices);
      } catch (const DeviceMemoryError&) {
        if (devices.empty() || !may_run_again()) throw;
        too_much = std::current_exception();
        const Plan& plan = run->plan;
        context_.max_gpu_memory = Bytes{plan.gpu_memory.value / plan.gpus / 2};
        log(fmt::format("the GPU has less memory left than it reported: starting again within {}",
                        format_bytes(*context_.max_gpu_memory)));
        report_.phases = so_far;
      }
    }
  }

  void carry_out(SortRun& run, const std::vector<int>& devices) {
    report_.plan = described(run.plan);
    const bool may_spill =
        run.plan.strategy == SortStrategy::external && (run.plan.runs == 0 || run.plan.temporary != Bytes{});
    if (may_spill) report_.plan.temporary_directories = context_.temporary_directories;
    if (run.plan.strategy != SortStrategy::in_memory) log(plan_line(report_.plan));
    if (devices.size() > 1)
      log(fmt::format("GPUs: {} of {} used, {} of their memory in all", report_.plan.gpus, devices.size(),
                      format_bytes(report_.plan.gpu_memory)));
    run.name_backends();
    if (!options_.plan_only) return run.run();
    // Finds what the sort would find wrong in these directories. The files disappear at once.
    for (const std::string& directory : report_.plan.temporary_directories)
      SpillFile(directory, Caching::use, environment_.allow_anonymous);
    if (input_.count()) note_lack_of_space(*input_.count());
  }

  void note_lack_of_space(uint64_t count) {
    std::vector<SpaceNeed> needs = outputs_.needs(count);
    const std::vector<std::string>& directories = report_.plan.temporary_directories;
    for (const std::string& directory : directories)
      needs.push_back({directory, directory, ceil_divide(report_.plan.temporary.value, directories.size())});
    for (const std::string& line : lacking_space(needs)) lines_.say_unasked(line);
  }

  void commit() {
    // Data written to a stream is not synced.
    clock_.run(Phase::sync, outputs_.is_sequential() ? 0 : report_.output_bytes,
               [&](const MovedFunction&) { outputs_.commit(); });
  }

  const SortEnvironment& environment_;
  CallbackWatch callbacks_;
  const SortFileOptions options_;
  const Lines lines_{options_.log, options_.note};
  const MemoryLimit limit_;  // determined before any file takes a descriptor
  Clock::time_point start_ = Clock::now();
  SortInput input_;
  SortValues values_;
  SortOutputs outputs_;
  SortReport report_;
  PhaseClock clock_;
  SortContext context_;
};

}  // namespace

SortReport sort_files_with(const SortEnvironment& environment, const std::vector<std::string>& inputs,
                           const std::string& output, const SortFileOptions& options) {
  check_options(inputs, output, options);
  for (const std::string& of : {output, options.values_output, options.counts_output})
    refuse_shared_pipe(inputs, of);
  return SortFileRun(environment, inputs, output, options).run();
}

}  // namespace sweepsort
