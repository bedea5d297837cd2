// sort_request.cpp - budgets, and what the options and the inputs ask of a plan.
#include "pipeline/sort_request.hpp"

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "pipeline/read_ahead.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <span>

namespace sweepsort {
namespace {

uint64_t thread_stack_bytes() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_getstacksize(&attributes, &bytes);
  ::pthread_attr_destroy(&attributes);
  return bytes;
}

/// The requested memory, or 75 % of what is available after the stacks of `threads` threads. Throws
/// UsageError if more is requested than is available.
Bytes memory_budget(const std::optional<Bytes>& asked, const MemoryLimit& limit, uint32_t threads) {
  if (!asked) {
    // Every thread reserves a stack, including the threads for signals and progress.
    const uint64_t stacks = limit.is_address_space ? (threads + 2) * thread_stack_bytes() : 0;
    const uint64_t all = limit.available.value;
    return std::max(Bytes{std::max(all - std::min(stacks, all), all / 8) / 4 * 3}, min_memory);
  }
  if (*asked > limit.available)
    throw UsageError(fmt::format("--memory {}: {} leaves {}", format_bytes(*asked), limit.what,
                                 format_bytes(limit.available)),
                     "leave it out to use three quarters of that");
  require_min_memory(*asked);
  return *asked;
}

/// The memory that a sort may use on each backend; empty for backends without a device. Throws UsageError if
/// more is requested than is free, unless it was free before.
std::optional<Bytes> gpu_memory_budget(const SortContext& context, const Backends& backends, bool on_gpu) {
  if (!on_gpu) return {};
  Bytes free = backends.front()->device_memory();
  for (const auto& backend : std::span(backends).subspan(1)) free = std::min(free, backend->device_memory());
  const std::optional<Bytes>& asked = context.options.memory.gpu_memory;
  if (asked && *asked > free && !context.max_gpu_memory)
    throw UsageError(
        fmt::format("--gpu-memory {}: only {} is free {}", format_bytes(*asked), format_bytes(free),
                    backends.size() > 1 ? "on one of the GPUs" : "on the GPU"),
        "leave it out to use three quarters of that");
  const Bytes budget = asked.value_or(Bytes{free.value / 4 * 3});
  return std::min({budget, free, context.max_gpu_memory.value_or(budget)});
}

/// The part of the budget for keys that are read ahead: whole chunks, which are freed before runs take their
/// memory.
Bytes memory_ahead(const SortContext& context, Bytes budget) {
  const SortFileOptions& options = context.options;
  // A merge reads its inputs in another order, and the referee's copy leaves less memory.
  const bool pays =
      !context.input.is_stream() && !options.inputs_are_sorted && options.referee == Referee::none;
  constexpr uint64_t most = uint64_t{1} << 30;  // no disk delivers more in that time
  const uint64_t share = std::min(budget.value / 8, most);
  const uint64_t bytes = context.input.data_bytes();
  if (!pays) return {};
  return Bytes{bytes <= share ? bytes : share / chunk_ahead * chunk_ahead};
}

}  // namespace

void read_ahead(const SortContext& context) {
  // More threads would delay the context. H200, 1 GiB of u32 from the disk, five measurements in turn of
  // whole sorts: 1.49 s without, 1.36 s with 4 threads (huge pages), 1.39 s with 8 and 1.48 s with 16 (small
  // pages).
  constexpr uint32_t max_threads = 4;
  if (context.options.plan_only) return;
  Bytes memory;
  try {
    memory = memory_budget(context.options.memory.memory, context.limit, context.threads);
  } catch (const Error&) {
    return;  // the plan will report it, if nothing worse is found before
  }
  const Bytes ahead = memory_ahead(context, memory);
  if (ahead != Bytes{}) context.input.read_ahead(ahead, std::min(context.threads, max_threads));
}

FileRecord file_record(const SortContext& context, std::optional<uint64_t> keys) {
  const SortFileOptions& options = context.options;
  const uint64_t key = key_bytes(context.input.type());
  const uint64_t value = options.values.empty() ? 0 : context.values.bytes();
  const uint64_t second = options.counts_output.empty() ? value : sizeof(uint64_t);
  return {.read = key + value,
          .written = has_positions(options.result) ? position_bytes(keys) : key + second};
}

PlanRequest request_without_count(const SortContext& context, const Backends& backends, bool on_gpu) {
  const SortFileOptions& options = context.options;
  const bool has_values = context.values.bytes() != 0;
  const Bytes memory = memory_budget(options.memory.memory, context.limit, context.threads);
  return {.shape = {context.input.type(), context.values.bytes()},
          .file = file_record(context, context.input.count()),
          .order = options.order,
          .algorithm = options.algorithm,
          .unique = is_unique(options.result) && !has_values,
          .counts = !options.counts_output.empty() && !has_values,
          .threads = context.threads,
          .chunk_bytes = has_values ? std::min(context.environment.chunk_bytes, max_chunk_with_values)
                                    : context.environment.chunk_bytes,
          .memory = memory,
          .page_cache =
              Bytes{context.limit.available.value - std::min(memory.value, context.limit.available.value)},
          .ahead = on_gpu ? memory_ahead(context, memory) : Bytes{},
          .gpus = static_cast<uint32_t>(backends.size()),
          .gpu_memory = gpu_memory_budget(context, backends, on_gpu),
          .may_count = !on_gpu,
          .one_session = options.referee != Referee::none ? OneSession::for_referee
                         : options.repeat != 0            ? OneSession::for_repeat
                                                          : OneSession::not_needed,
          .sorted_inputs = options.inputs_are_sorted ? context.input.inputs() : 0,
          .min_runs = context.environment.min_runs};
}

PlanRequest plan_request(const SortContext& context, const Backends& backends, bool on_gpu) {
  const SortFileOptions& options = context.options;
  PlanRequest request = request_without_count(context, backends, on_gpu);
  request.count = context.input.count();
  // Sessions for counts may find that somebody has taken the memory of a GPU. Then a stream would be lost.
  request.counts = request.counts && (request.count || !on_gpu);
  // What was collected of a stream before it turned out too long is only freed while the runs are formed.
  if (!request.count && !options.inputs_are_sorted) {
    request.collected.value = request.memory.value - std::max(min_memory.value, request.memory.value / 2);
    request.memory.value -= request.collected.value;
  }
  // The referee has its own copy and needs as much memory again to sort it, even after a GPU that has no room
  // for it.
  if (options.referee != Referee::none) request.for_referee = Bytes{2 * context.input.data_bytes()};
  // A collected stream stays in memory in case the GPU fails, and where it is read more than once.
  const bool stays = on_gpu || options.repeat != 0 || options.referee != Referee::none;
  const uint64_t kept = context.input.is_stream() && stays ? context.input.data_bytes() : 0;
  request.kept.value = std::min(kept, request.memory.value - min_memory.value);
  request.memory.value -= request.kept.value;
  return request;
}

}  // namespace sweepsort
