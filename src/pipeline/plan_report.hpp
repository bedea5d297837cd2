// plan_report.hpp - what a report and the log say of a plan.
#pragma once

#include "pipeline/plan.hpp"
#include "sweepsort.hpp"

#include <string>

namespace sweepsort {

/// Without the temporary directories, which no plan knows.
FilePlan described(const Plan& plan);

/// For -v: of a sort that is not made in memory.
std::string plan_line(const FilePlan& plan);

}  // namespace sweepsort
