// units.cpp - times and rates for people.
#include "cli/units.hpp"

#include <fmt/format.h>

#include <array>

namespace sweepsort::cli {

std::string format_time(double time_s) {
  if (time_s >= 1) return fmt::format("{:.3f} s", time_s);
  if (time_s >= 1e-3) return fmt::format("{:.2f} ms", time_s * 1e3);
  return fmt::format("{:.1f} us", time_s * 1e6);
}

std::string format_rate(double amount, double time_s, const char* unit) {
  if (time_s <= 0) return "-";
  constexpr std::array prefixes{"", "k", "M", "G", "T"};
  double rate = amount / time_s;
  size_t prefix = 0;
  while (rate >= 999.5 && prefix + 1 < prefixes.size()) {
    rate /= 1000;
    ++prefix;
  }
  return fmt::format("{:.2f} {}{}/s", rate, prefixes[prefix], unit);
}

}  // namespace sweepsort::cli
