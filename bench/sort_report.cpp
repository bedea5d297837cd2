// sort_report.cpp - rows as a table for people and as JSON for programs.
#include "bench/sort_report.hpp"

#include "bench/report_file.hpp"
#include "bench/statistics.hpp"
#include "core/bytes.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace sweepsort::bench {
namespace {

/// The bytes that any sort must move divided by this sort's time, relative to the copy bandwidth.
double copy_share(const SortRow& row, const Place& place) {
  const double bytes_s = static_cast<double>(row.what.least_bytes()) / median(row.runs_s);
  return place.copy_bandwidth_bytes_s > 0 ? bytes_s / place.copy_bandwidth_bytes_s : 0;
}

double keys_per_s(const SortRow& row) { return static_cast<double>(row.what.count) / median(row.runs_s); }

nlohmann::ordered_json row_json(const SortRow& row, const Place& place) {
  const auto [fastest, slowest] = std::ranges::minmax(row.runs_s);
  return {{"backend", row.backend},
          {"type", name(row.what.type)},
          {"distribution", row.what.distribution},
          {"n", row.what.count},
          {"order", name(row.what.order)},
          {"value_bytes", row.what.value_bytes},
          {"peer", row.peer},
          {"detail", row.detail},
          {"threads", row.threads},
          {"timing", row.timing},
          {"batch", row.batch},
          {"runs", row.runs_s.size()},
          {"median_s", median(row.runs_s)},
          {"min_s", fastest},
          {"max_s", slowest},
          {"keys_per_s", keys_per_s(row)},
          {"least_bytes", row.what.least_bytes()},
          {"copy_share", copy_share(row, place)},
          {"verified", row.verified}};
}

}  // namespace

void print_heading(const Place& place) {
  print_place(place);
  fmt::print(
      "# copy bandwidth (read + written) {:.1f} GB/s; copy%: least bytes a sort can move, at the row's "
      "speed, "
      "against that\n",
      place.copy_bandwidth_bytes_s * 1e-9);
  fmt::print("# times: this row's time over that of the case's first row, ours\n");
  fmt::print("#{:>4} {:<20} {:>14} {:<5} {:>3} {:<17} {:>11} {:>11} {:>11} {:>4} {:>9} {:>6} {:>6} {}\n",
             "type", "distribution", "keys", "order", "val", "peer", "median(us)", "min(us)", "max(us)",
             "runs", "Gkeys/s", "copy%", "times", "verified");
}

void print_rows(std::span<const SortRow> rows, const Place& place) {
  const bool has_ours = rows[0].peer.starts_with("sweepsort");
  for (const SortRow& row : rows) {
    const double times = median(row.runs_s) / median(rows[0].runs_s);
    const auto [fastest, slowest] = std::ranges::minmax(row.runs_s);
    const std::string_view order = row.what.order == Order::ascending ? "asc" : "desc";
    fmt::print(
        "{:>5} {:<20.20} {:>14} {:<5} {:>3} {:<17} {:>11.2f} {:>11.2f} {:>11.2f} {:>4} {:>9.3f} {:>6.1f} "
        "{:>6} {}{}\n",
        name(row.what.type), row.what.distribution, format_count(row.what.count), order, row.what.value_bytes,
        row.peer, median(row.runs_s) * 1e6, fastest * 1e6, slowest * 1e6, row.runs_s.size(),
        keys_per_s(row) * 1e-9, copy_share(row, place) * 100, has_ours ? fmt::format("{:.2f}", times) : "-",
        row.verified ? "yes" : "WRONG", row.detail.empty() ? "" : "  # " + row.detail);
  }
  std::fflush(stdout);
}

void write_json(const SortBenchOptions& options, const Place& place, const std::vector<SortRow>& rows) {
  nlohmann::ordered_json report = report_head("sort", options, place);
  report["copy_bandwidth_bytes_s"] = place.copy_bandwidth_bytes_s;
  report["rows"] = nlohmann::ordered_json::array();
  for (const SortRow& row : rows) report["rows"].push_back(row_json(row, place));
  write_report(options.json_file, report);
}

}  // namespace sweepsort::bench
