// pass_report.cpp - scans and searches as a table for people and as JSON for programs.
#include "bench/pass_report.hpp"

#include "bench/report_file.hpp"
#include "bench/statistics.hpp"
#include "core/bytes.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <string>

namespace sweepsort::bench {
namespace {

double bytes_per_s(const PassRow& row) {
  return static_cast<double>(row.what.least_bytes()) / median(row.runs_s);
}

double elements_per_s(const PassRow& row) { return static_cast<double>(row.what.count) / median(row.runs_s); }

/// The speed relative to that of a copy or a read.
double share(const PassRow& row) {
  return row.yardstick_bytes_s > 0 ? bytes_per_s(row) / row.yardstick_bytes_s : 0;
}

std::string_view share_key(Pass pass) { return pass == Pass::scan ? "copy_share" : "read_share"; }

/// "inclusive sum", "min", "min + index".
std::string task(const PassCase& what) {
  if (what.pass == Pass::scan) return fmt::format("{} {}", name(what.kind), name(what.op));
  return fmt::format("{}{}", name(what.extreme), what.wants_index ? " + index" : "");
}

nlohmann::ordered_json row_json(const PassRow& row) {
  const auto [fastest, slowest] = std::ranges::minmax(row.runs_s);
  nlohmann::ordered_json json{{"backend", row.backend}, {"type", name(row.what.type)}};
  if (row.what.pass == Pass::scan) {
    json["op"] = name(row.what.op);
    json["kind"] = name(row.what.kind);
  } else {
    json["extreme"] = name(row.what.extreme);
    json["index"] = row.what.wants_index;
  }
  json["n"] = row.what.count;
  json["peer"] = row.peer;
  json["threads"] = row.threads;
  json["timing"] = row.timing;
  json["cache"] = name(row.cache);
  json["batch"] = row.batch;
  json["runs"] = row.runs_s.size();
  json["median_s"] = median(row.runs_s);
  json["min_s"] = fastest;
  json["max_s"] = slowest;
  json["elements_per_s"] = elements_per_s(row);
  json["least_bytes"] = row.what.least_bytes();
  json["bytes_per_s"] = bytes_per_s(row);
  json[std::string(share_key(row.what.pass))] = share(row);
  json["verified"] = row.verified;
  return json;
}

}  // namespace

void print_heading(Pass pass, std::span<const Place> places) {
  const bool scan = pass == Pass::scan;
  for (const Place& place : places) {
    print_place(place);
    fmt::print("# {} {:.1f} GB/s\n", scan ? "copy bandwidth (read + written)" : "read bandwidth",
               (scan ? place.copy_bandwidth_bytes_s : place.read_bandwidth_bytes_s) * 1e-9);
  }
  fmt::print(
      "# {}%: the least bytes to move, at the row's speed, against that; times: over the case's first row\n",
      scan ? "copy" : "read");
  fmt::print("#{:>4} {:<13} {:>14} {:<16} {:>4} {:>11} {:>11} {:>11} {:>4} {:>9} {:>8} {:>6} {:>7} {}\n",
             "type", "task", "elements", "algorithm", "", "median(us)", "min(us)", "max(us)", "runs",
             "Gelem/s", "GB/s", scan ? "copy%" : "read%", "times", "verified");
}

void print_rows(std::span<const PassRow> rows) {
  for (const PassRow& row : rows) {
    const auto [fastest, slowest] = std::ranges::minmax(row.runs_s);
    fmt::print(
        "{:>5} {:<13} {:>14} {:<16} {:>4} {:>11.2f} {:>11.2f} {:>11.2f} {:>4} {:>9.3f} {:>8.1f} {:>6.1f} "
        "{:>7.2f} {}\n",
        name(row.what.type), task(row.what), format_count(row.what.count), row.peer, row.backend,
        median(row.runs_s) * 1e6, fastest * 1e6, slowest * 1e6, row.runs_s.size(), elements_per_s(row) * 1e-9,
        bytes_per_s(row) * 1e-9, share(row) * 100, median(row.runs_s) / median(rows[0].runs_s),
        row.verified ? "yes" : "WRONG");
  }
  std::fflush(stdout);
}

void write_json(const PassOptions& options, std::span<const Place> places, const std::vector<PassRow>& rows) {
  nlohmann::ordered_json report = report_head(name(options.pass), options, places.front());
  report["threads"] = places.back().threads;  // the CPU, if it was measured, comes last
  if (options.pass == Pass::scan)
    report["copy_bandwidth_bytes_s"] = places.front().copy_bandwidth_bytes_s;
  else
    report["read_bandwidth_bytes_s"] = places.front().read_bandwidth_bytes_s;
  report["rows"] = nlohmann::ordered_json::array();
  for (const PassRow& row : rows) report["rows"].push_back(row_json(row));
  write_report(options.json_file, report);
}

}  // namespace sweepsort::bench
