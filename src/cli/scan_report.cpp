// scan_report.cpp - reports of scan and min.
#include "cli/scan_report.hpp"

#include "cli/report_parts.hpp"
#include "cli/units.hpp"
#include "core/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace sweepsort::cli {
namespace {

RepeatTimes times_of(const ScanReport& report) {
  return repeat_times(report.repeat_s, report.count,
                      report.count * (key_bytes(report.type) + key_bytes(report.output_type)),
                      report.copy_bandwidth_bytes_s);
}

RepeatTimes times_of(const MinReport& report) {
  return repeat_times(report.repeat_s, report.count, report.count * key_bytes(report.type),
                      report.read_bandwidth_bytes_s);
}

std::string rows(const RepeatTimes& times, uint64_t count) {
  return fmt::format(
      "{:>15}{:>6}{:>14}{:>12}{:>10}{:>14}{:>10}{:>10}\n"
      "{:>15} {:>5} {:>13.4f} {:>11.4f} {:>8.1f}% {:>13.4f} {:>9.3f} {:>8.1f}%\n",
      "elements", "runs", "median (ms)", "min (ms)", "spread", "Gelements/s", "GB/s", "share",
      format_count(count), times.runs, times.median_s * 1e3, times.min_s * 1e3, times.spread * 100,
      times.elements_per_s / 1e9, times.bytes_per_s / 1e9, times.share * 100);
}

}  // namespace

std::vector<std::string> scan_lines(const ScanReport& report) {
  std::vector<std::string> lines{
      fmt::format("{} on {}: {}", report.algorithm, report.backend, report.device)};
  std::ranges::move(phase_lines(report.phases), std::back_inserter(lines));
  lines.push_back(fmt::format(
      "{}  {} elements{}, {}", phase_line("total", report.total_s, report.input_bytes),
      format_count(report.count), report.total.empty() ? "" : fmt::format(", in all {}", report.total),
      report.verified ? "verified" : "not verified"));
  return lines;
}

std::string min_line(const MinReport& report) {
  return fmt::format("{} on {}: {}; {} elements in {}, {}", report.algorithm, report.backend, report.device,
                     format_count(report.count), format_time(report.total_s),
                     format_rate(static_cast<double>(report.input_bytes), report.total_s, "B"));
}

std::string repeat_table(const ScanReport& report) {
  const std::string types = report.type == report.output_type
                                ? std::string(name(report.type))
                                : fmt::format("{} to {}", name(report.type), name(report.output_type));
  return fmt::format(
             "scan of {}, {}, {}\nGB/s counts each element as read once and written once; the share is of "
             "this "
             "device's copy bandwidth, {:.2f} GB/s\n",
             types, report.backend, report.algorithm, report.copy_bandwidth_bytes_s / 1e9) +
         rows(times_of(report), report.count);
}

std::string repeat_table(const MinReport& report) {
  return fmt::format(
             "search of {}, {}, {}\nGB/s counts each element as read once; the share is of this device's "
             "read "
             "bandwidth, {:.2f} GB/s\n",
             name(report.type), report.backend, report.algorithm, report.read_bandwidth_bytes_s / 1e9) +
         rows(times_of(report), report.count);
}

Json scan_json(const ScanReport& report, const std::string& input, const std::string& output,
               const ScanFileOptions& options) {
  return {{"schema", "sweepsort.scan/1"},
          {"version", version()},
          {"input", input},
          {"output", output},
          {"format", name(report.format)},
          {"output_format", name(report.output_format)},
          {"type", name(report.type)},
          {"output_type", name(report.output_type)},
          {"op", name(options.op)},
          {"kind", name(options.kind)},
          {"wrap", options.wrap},
          {"count", report.count},
          {"total", key_json(report.total, report.output_type)},
          {"input_bytes", report.input_bytes},
          {"output_bytes", report.output_bytes},
          {"backend", report.backend},
          {"backend_why", report.backend_why},
          {"device", report.device},
          {"algorithm", report.algorithm},
          {"verified", report.verified},
          {"time_s", report.total_s},
          {"elements_per_s", per_second(report.count, report.total_s)},
          {"phases", phases_json(report.phases)},
          {"repeat", repeat_json(times_of(report), report.repeat_s, report.copy_bandwidth_bytes_s,
                                 {"elements", "copy_bandwidth", "bandwidth_share"})}};
}

Json min_json(const MinReport& report, const std::string& input, const MinFileOptions& options) {
  return {{"schema", "sweepsort.min/1"},
          {"version", version()},
          {"input", input},
          {"format", name(report.format)},
          {"type", name(report.type)},
          {"wanted", name(options.extreme)},
          {"count", report.count},
          {"value", key_json(report.value, report.type)},
          {"index", or_null(report.index)},
          {"input_bytes", report.input_bytes},
          {"backend", report.backend},
          {"backend_why", report.backend_why},
          {"device", report.device},
          {"algorithm", report.algorithm},
          {"time_s", report.total_s},
          {"elements_per_s", per_second(report.count, report.total_s)},
          {"repeat", repeat_json(times_of(report), report.repeat_s, report.read_bandwidth_bytes_s,
                                 {"elements", "read_bandwidth", "bandwidth_share"})}};
}

}  // namespace sweepsort::cli
