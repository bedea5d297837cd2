// sort_request.hpp - from sizes and budgets to the request that a sort's plan answers.
#pragma once

#include "backend/backend.hpp"
#include "pipeline/plan.hpp"
#include "pipeline/sort_context.hpp"

#include <cstdint>
#include <optional>

namespace sweepsort {

/// If the sort may run on a GPU: begins to read keys into the memory that its plan allows, while the driver
/// wakes and the context is created.
void read_ahead(const SortContext& context);

/// What the files hold of each record if there are `keys` keys.
FileRecord file_record(const SortContext& context, std::optional<uint64_t> keys);

/// The request of a sort on these backends. Throws UsageError if more memory is asked for than there is.
PlanRequest plan_request(const SortContext& context, const Backends& backends, bool on_gpu);

/// The same without the count, and before a collected stream and the referee take their parts of the memory.
PlanRequest request_without_count(const SortContext& context, const Backends& backends, bool on_gpu);

}  // namespace sweepsort
