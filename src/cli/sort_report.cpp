// sort_report.cpp - a sort's report as lines, as a table and as JSON.
#include "cli/sort_report.hpp"

#include "cli/report_parts.hpp"
#include "cli/terminal.hpp"
#include "cli/units.hpp"
#include "core/bytes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace sweepsort::cli {
namespace {

/// Counts each key as read once and written once, the minimum that any sort must move.
RepeatTimes times_of(const SortReport& report) {
  return repeat_times(report.repeat_s, report.count, 2 * report.count * key_bytes(report.type),
                      report.copy_bandwidth_bytes_s);
}

}  // namespace

std::vector<std::string> sort_lines(const SortReport& report) {
  std::vector<std::string> lines;
  if (!report.algorithm_why.empty())
    lines.push_back(fmt::format("algorithm {}: {}", report.algorithm, report.algorithm_why));
  lines.push_back(fmt::format("{} on {}: {}", report.algorithm, report.backend, report.device));
  std::ranges::move(phase_lines(report.phases), std::back_inserter(lines));
  lines.push_back(fmt::format("{}  {} keys, {}", phase_line("total", report.total_s, report.input_bytes),
                              format_count(report.count), report.verified ? "verified" : "not verified"));
  if (report.referee_agrees.value_or(false)) lines.emplace_back("thrust::sort gives the same result");
  return lines;
}

std::string plan_table(const SortReport& report, const SortFileOptions& options) {
  const FilePlan& plan = report.plan;
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) {
    text += fmt::format("{:<18}{}\n", label, value);
  };
  const auto size = [](Bytes bytes) { return fmt::format("{} ({})", bytes.value, format_bytes(bytes)); };
  line("keys", plan.runs == 0 ? "unknown: a stream" : format_count(report.count));
  line("backend", fmt::format("{}: {}", report.backend, report.backend_why));
  const bool may_fit = plan.runs == 0 && plan.strategy == "external";
  line("strategy", plan.strategy + (may_fit ? ", unless all of it fits into memory" : ""));
  if (plan.strategy == "external") {
    line("runs", plan.runs == 0
                     ? "as many as it takes"
                     : fmt::format("{}: {} in GPU memory, {} in memory, {} in files", format_count(plan.runs),
                                   format_count(plan.runs_on_gpu), format_count(plan.runs_in_memory),
                                   format_count(plan.runs - plan.runs_on_gpu - plan.runs_in_memory)));
    line("records per run", format_count(plan.run_records));
    line("sessions", fmt::format("{}", plan.sessions));
  }
  if (plan.strategy == "streams") line("keys per block", format_count(plan.run_records));
  line("passes", fmt::format("{}{}", may_fit ? "at least " : "", plan.passes));
  if (plan.runs != 0) {
    line("bytes read", size(plan.read));
    line("bytes written", (is_unique(options.result) ? "at most " : "") + size(plan.written));
  }
  line("memory", size(plan.memory));
  line("GPU memory", size(plan.gpu_memory) + (plan.gpus > 1 ? fmt::format(" of {} GPUs", plan.gpus) : ""));
  line("temporary space",
       may_fit ? "what does not fit into memory"
               : size(plan.temporary) +
                     (plan.temporary.value == 0 ? "" : ", reserved before the first key is read"));
  if (!plan.temporary_directories.empty())
    line("temporary files", printable(fmt::format("in {}", fmt::join(plan.temporary_directories, ", "))));
  return text;
}

std::string repeat_table(const SortReport& report) {
  const RepeatTimes times = times_of(report);
  const bool is_done = report.algorithm == "already sorted" || report.algorithm == "all equal";
  return (is_done ? "the keys were found to be in order while they were loaded, which is not timed: little "
                    "was left to do\n"
                  : std::string()) +
         fmt::format(
             "{} {} keys, {}, {}\n"
             "GB/s counts each key as read once and written once; the share is of this device's copy "
             "bandwidth, "
             "{:.2f} GB/s\n"
             "{:>8}{:>14}{:>12}{:>10}{:>12}{:>10}{:>10}\n"
             "{:>8} {:>13.4f} {:>11.4f} {:>8.1f}% {:>11.4f} {:>9.3f} {:>8.1f}%\n",
             format_count(report.count), name(report.type), report.backend, report.algorithm,
             report.copy_bandwidth_bytes_s / 1e9, "runs", "median (ms)", "min (ms)", "spread", "Gkeys/s",
             "GB/s", "share", times.runs, times.median_s * 1e3, times.min_s * 1e3, times.spread * 100,
             times.elements_per_s / 1e9, times.bytes_per_s / 1e9, times.share * 100);
}

nlohmann::ordered_json sort_json(const SortReport& report, const std::vector<std::string>& inputs,
                                 const std::string& output, const SortFileOptions& options) {
  const FilePlan& plan = report.plan;
  // For streams, these numbers are unknown until they have been read.
  const auto if_known = [is_known = !options.plan_only || plan.runs != 0](uint64_t number) {
    return is_known ? Json(number) : Json();
  };
  const Json plan_json = {
      {"strategy", plan.strategy},
      {"runs", plan.runs},
      {"runs_on_gpu", plan.runs_on_gpu},
      {"runs_in_memory", plan.runs_in_memory},
      {"run_records", plan.run_records},
      {"sessions", plan.sessions},
      {"passes", plan.passes},
      {"read_bytes", if_known(plan.read.value)},
      {"written_bytes", if_known(plan.written.value)},
      {"memory_bytes", plan.memory.value},
      {"gpus", plan.gpus},
      {"gpu_memory_bytes", plan.gpu_memory.value},
      {"temporary_bytes", plan.strategy == "external" ? if_known(plan.temporary.value) : Json(0)},
      {"temporary_directories", plan.temporary_directories}};
  constexpr const char* results[] = {"keys", "unique", "permutation", "first positions"};
  return {{"schema", "sweepsort.sort/1"},
          {"version", version()},
          {"input", inputs.front()},
          {"inputs", inputs},
          {"output", output},
          {"result", results[static_cast<uint8_t>(options.result)]},
          {"values", options.values},
          {"values_output", or_null(options.values_output)},
          {"counts_output", or_null(options.counts_output)},
          {"format", name(report.format)},
          {"output_format", name(report.output_format)},
          {"type", name(report.type)},
          {"order", name(options.order)},
          {"count", if_known(report.count)},
          {"input_bytes", if_known(report.input_bytes)},
          {"output_bytes", options.plan_only ? Json() : Json(report.output_bytes)},
          {"backend", report.backend},
          {"backend_why", report.backend_why},
          {"device", report.device},
          {"algorithm", report.algorithm},
          {"algorithm_why", report.algorithm_why},
          {"dry_run", options.plan_only},
          {"plan", plan_json},
          {"distinct", or_null(report.distinct)},
          {"verified", options.plan_only ? Json() : Json(report.verified)},
          {"referee_agrees", or_null(report.referee_agrees)},
          {"time_s", report.total_s},
          {"keys_per_s", options.plan_only ? Json() : Json(per_second(report.count, report.total_s))},
          {"phases", phases_json(report.phases)},
          {"repeat", repeat_json(times_of(report), report.repeat_s, report.copy_bandwidth_bytes_s,
                                 {"keys", "copy_bandwidth", "copy_bandwidth_share"})}};
}

}  // namespace sweepsort::cli
