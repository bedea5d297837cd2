// plan_report.hpp - descriptions of a plan for the report and the log.
#pragma once

#include "pipeline/plan.hpp"
#include "sweepsort.hpp"

#include <string>

namespace sweepsort {

/// Leaves out the temporary directories, which a plan does not contain.
FilePlan described(const Plan& plan);

/// The line for -v about a sort that is not done in memory.
std::string plan_line(const FilePlan& plan);

}  // namespace sweepsort
