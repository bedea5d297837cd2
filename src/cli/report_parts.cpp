// report_parts.cpp - keys, phases and repeated runs, as lines and as JSON.
#include "cli/report_parts.hpp"

#include "cli/units.hpp"
#include "core/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sweepsort::cli {
namespace {

double divided(double amount, double by) { return by > 0 ? amount / by : 0; }

/// Whether reading, sorting and writing overlap in the phase.
bool has_stages(const PhaseTime& phase) { return phase.phase == Phase::runs || phase.phase == Phase::merge; }

}  // namespace

Json key_json(const std::string& text, KeyType type) {
  const auto parsed = [&]<class Number>(Number value) -> Json {
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    if (text.empty()) return {};
    return result.ec == std::errc() && result.ptr == end ? Json(value) : Json(text);
  };
  if (is_floating(type)) {
    const Json value = parsed(double{});
    return value.is_number() && !std::isfinite(value.get<double>()) ? Json(text) : value;
  }
  return is_signed(type) ? parsed(int64_t{}) : parsed(uint64_t{});
}

std::string phase_line(std::string_view label, double time_s, uint64_t bytes) {
  const std::string line = fmt::format("{:<8}{:>10}", label, format_time(time_s));
  if (bytes == 0) return line;
  return line + fmt::format("{:>12}  {}", format_bytes({bytes}),
                            format_rate(static_cast<double>(bytes), time_s, "B"));
}

std::vector<std::string> phase_lines(std::span<const PhaseTime> phases) {
  std::vector<std::string> lines;
  for (const PhaseTime& phase : phases) {
    lines.push_back(phase_line(name(phase.phase), phase.time_s, phase.bytes));
    if (has_stages(phase))
      lines.back() += fmt::format("  (at work: read {}, sort {}, write {})", format_time(phase.read_s),
                                  format_time(phase.sort_s), format_time(phase.write_s));
  }
  return lines;
}

Json phases_json(std::span<const PhaseTime> phases) {
  Json list = Json::array();
  for (const PhaseTime& phase : phases) {
    list.push_back({{"phase", name(phase.phase)}, {"time_s", phase.time_s}, {"bytes", phase.bytes}});
    if (has_stages(phase))
      list.back().update({{"read_s", phase.read_s}, {"sort_s", phase.sort_s}, {"write_s", phase.write_s}});
  }
  return list;
}

RepeatTimes repeat_times(std::vector<double> times_s, uint64_t elements, uint64_t bytes, double bandwidth) {
  if (times_s.empty()) return {};
  std::sort(times_s.begin(), times_s.end());
  const size_t middle = times_s.size() / 2;
  const double median =
      times_s.size() % 2 == 1 ? times_s[middle] : (times_s[middle - 1] + times_s[middle]) / 2;
  const double bytes_per_s = per_second(bytes, median);
  return {.runs = times_s.size(),
          .median_s = median,
          .min_s = times_s.front(),
          .max_s = times_s.back(),
          .spread = divided(times_s.back() - times_s.front(), median),
          .elements_per_s = per_second(elements, median),
          .bytes_per_s = bytes_per_s,
          .share = divided(bytes_per_s, bandwidth)};
}

Json repeat_json(const RepeatTimes& times, const std::vector<double>& times_s, double bandwidth,
                 const RepeatNames& names) {
  if (times.runs == 0) return {};
  return {{"runs", times.runs},
          {"median_s", times.median_s},
          {"min_s", times.min_s},
          {"max_s", times.max_s},
          {"spread", times.spread},
          {fmt::format("{}_per_s", names.elements), times.elements_per_s},
          {"bytes_per_s", times.bytes_per_s},
          {fmt::format("{}_bytes_per_s", names.bandwidth), bandwidth},
          {std::string(names.share), times.share},
          {"times_s", times_s}};
}

double per_second(uint64_t amount, double time_s) { return divided(static_cast<double>(amount), time_s); }

}  // namespace sweepsort::cli
