// units.hpp - times and rates for people.
#pragma once

#include <string>

namespace sweepsort::cli {

/// "1.234 s", "12.3 ms", "45.6 us".
std::string format_time(double time_s);

/// "3.21 GB/s" (powers of 1000, as usual for bandwidths), "1.23 Gkeys/s"; "-" if no time passed.
std::string format_rate(double amount, double time_s, const char* unit);

}  // namespace sweepsort::cli
