// report_parts.hpp - parts that the reports of several commands share.
#pragma once

#include "sweepsort.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sweepsort::cli {

using Json = nlohmann::ordered_json;  // keeps keys in insertion order

/// A printed key as JSON: a number; null for empty text; text if JSON has no such number (nan, inf).
Json key_json(const std::string& text, KeyType type);
inline Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }
template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

/// "sort 12.30 ms 1.0 MiB 85.25 MB/s"; without the last two if no bytes were moved.
std::string phase_line(std::string_view label, double time_s, uint64_t bytes);
std::vector<std::string> phase_lines(std::span<const PhaseTime> phases);
Json phases_json(std::span<const PhaseTime> phases);

/// A summary of the times of --repeat.
struct RepeatTimes {
  size_t runs = 0;
  double median_s = 0, min_s = 0, max_s = 0;
  double spread = 0;  // (max - min) / median
  // At the median:
  double elements_per_s = 0;
  double bytes_per_s = 0;
  double share = 0;  // of the device's bandwidth
};

/// `bytes` is the minimum that a run must move; `bandwidth` counts bytes in the same way.
RepeatTimes repeat_times(std::vector<double> times_s, uint64_t elements, uint64_t bytes, double bandwidth);

/// The names in a command's schema for the counted elements, the device's bandwidth, and the share of it.
struct RepeatNames {
  std::string_view elements, bandwidth, share;
};
/// Returns null if there were no runs.
Json repeat_json(const RepeatTimes& times, const std::vector<double>& times_s, double bandwidth,
                 const RepeatNames& names);

/// Returns 0 if no time passed.
double per_second(uint64_t amount, double time_s);

}  // namespace sweepsort::cli
