// machine.hpp - which machine, which source, when: without these a figure means nothing.
#pragma once

#include <string>

namespace sweepsort::bench {

/// The processor's name according to Linux, or "unknown".
std::string cpu_name();
/// The current time in UTC: "2026-11-21T10:56:02Z".
std::string utc_date();
/// What git called the source when the program was built, or "unknown".
std::string built_revision();

}  // namespace sweepsort::bench
