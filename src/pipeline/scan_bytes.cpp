// scan_bytes.cpp - scans and searches in the caller's memory.
#include "backend/backend.hpp"
#include "core/error.hpp"
#include "pipeline/stream_run.hpp"
#include "sweepsort.hpp"

#include <fmt/format.h>

namespace sweepsort::detail {
namespace {

/// Uses a GPU only if asked to: from memory to memory, the CPU is limited by memory bandwidth, the GPU by
/// PCIe.
std::unique_ptr<Backend> backend_for(const WhereOptions& where) {
  const int device = only_device(where);
  if (where.backend != BackendChoice::cuda) return make_cpu_backend(where.threads);
  choose_backend({}, cuda_status, 1, where);  // throws the reason if it is not available
  return make_cuda_backend(device);
}

}  // namespace

void scan_bytes(KeyType type, KeyType output_type, std::span<const std::byte> in, std::span<std::byte> out,
                const ScanOptions& options) {
  const bool same_place = in.data() == out.data() && type == output_type;
  const bool overlaps = in.data() < out.data() + out.size() && out.data() < in.data() + in.size();
  if (overlaps && !same_place) throw Error("scan: input and output overlap");
  const auto backend = backend_for(where_for(options.algorithm, options.where));
  const ScanJob job{.type = type,
                    .output_type = output_type,
                    .op = options.op,
                    .kind = options.kind,
                    .algorithm = options.algorithm,
                    .wrap = options.wrap,
                    .chunk_bytes = backend->stream_shape().chunk_bytes};
  const ScanSummary summary = backend->scan(in, out, job);
  if (summary.overflow)
    throw Error(fmt::format("scan: the sum overflows {} at element {}", name(output_type), *summary.overflow),
                "allow it to wrap, or scan into a wider type");
}

Found<uint64_t> extreme_bytes(KeyType type, std::span<const std::byte> keys, Extreme extreme,
                              const WhereOptions& where) {
  const auto backend = backend_for(where);
  const ReduceJob job{.type = type,
                      .extreme = extreme,
                      .wants_index = true,
                      .chunk_bytes = backend->stream_shape().chunk_bytes};
  const ReduceResult found = backend->reduce(keys, job);
  if (!found.found) throw Error("there are no elements, and so no smallest or largest one");
  return {found.bits, found.index};
}

}  // namespace sweepsort::detail
