// generate.cpp - generate_file: threads generate one chunk each and write it to its place, in constant
// memory.
#include "core/checked.hpp"
#include "core/clock.hpp"
#include "core/page_array.hpp"
#include "core/team.hpp"
#include "datasets/distributions.hpp"
#include "io/byte_swap.hpp"
#include "io/key_type_names.hpp"
#include "io/layout.hpp"
#include "io/output.hpp"
#include "io/parallel_chunks.hpp"
#include "sweepsort.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

namespace sweepsort {
namespace {

/// One thread for a stream, which is written from front to back; otherwise as many as requested, as far as
/// they are useful.
uint32_t worker_count(const Output& output, const ChunkGrid& grid, uint32_t threads) {
  if (output.is_sequential()) return 1;
  const uint32_t most = std::min(threads_or_all(threads), max_io_workers);
  return static_cast<uint32_t>(std::clamp<uint64_t>(grid.count(), 1, most));
}

}  // namespace

GenerateReport generate_file(const std::string& output_path, const GenerateOptions& options) {
  const auto start = Clock::now();
  const Distribution& distribution = require_distribution(options.distribution, options.type);
  const FileFormat format =
      options.format == FileFormat::automatic ? format_from_name(output_path) : options.format;
  if (format == FileFormat::sosd)
    require_sosd(options.type, options.endian, output_path == "-" ? "standard output" : output_path,
                 "use --format raw or npy");
  const std::vector<std::byte> header = new_header(format, options.type, options.endian, options.count);
  const size_t size = key_bytes(options.type);
  const uint64_t data_bytes = bytes_of(options.count, size);

  const std::unique_ptr<Output> output = open_output(output_path, {.overwrite = options.overwrite});
  output->reserve(header.size() + data_bytes);
  if (!header.empty()) output->write_header(header);

  constexpr size_t chunk_bytes = 4u << 20;
  const ChunkGrid grid = make_grid(header.size(), data_bytes, size, chunk_bytes);
  const uint32_t workers = worker_count(*output, grid, options.threads);
  std::vector<PageArray> buffers(workers);  // aligned for O_DIRECT
  const auto make_chunk = [&](uint32_t worker, const Chunk& chunk) {
    PageArray& buffer = buffers[worker];
    if (buffer.size() == 0) buffer = PageArray(chunk_bytes, PageSize::small);
    const std::span keys(buffer.data(), chunk.bytes);
    fill(distribution, options.type, options.seed, options.count, chunk.first_byte / size, keys);
    if (options.endian == Endian::big) swap_key_bytes(keys, size);
    output->write_at(header.size() + chunk.first_byte, keys);
  };
  parallel_chunks(workers, grid, make_chunk, [&](uint64_t done) {
    if (options.progress) options.progress(Phase::write, done, data_bytes);
  });

  if (options.progress) options.progress(Phase::sync, 0, 0);
  commit(*output);
  return {.count = options.count, .bytes = header.size() + data_bytes, .total_s = seconds_since(start)};
}

}  // namespace sweepsort
