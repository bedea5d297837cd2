// gpusorting_sort.cu - GPUSorting's OneSweep (github.com/b0nes164/GPUSorting). Its host interface allocates,
// sorts its own data and prints. So its kernels are launched here, with the same launch shapes.
#include "bench/gpusorting_sort.hpp"
#include "core/rounding.hpp"
#include "kernels/launch.cuh"

#include <GPUSortingCUDA/Sort/OneSweep.cuh>

#include <cstdint>
#include <utility>

namespace sweepsort::bench {
namespace {

constexpr uint32_t digits = 256;
constexpr uint32_t digit_width = 8;
constexpr uint32_t passes = 4;
constexpr uint32_t histogram_threads = 128;
constexpr uint32_t histogram_copies = 2;
constexpr uint32_t histogram_keys = 65536;  // per block
constexpr uint32_t pass_warps = 16;
constexpr uint32_t pass_keys_per_thread = 15;
constexpr uint32_t pass_threads = pass_warps * 32;

uint32_t blocks_for(uint64_t count, uint32_t keys) { return static_cast<uint32_t>(ceil_divide(count, keys)); }
uint32_t pass_blocks(const SortCase& what) {
  return blocks_for(what.count, pass_threads * pass_keys_per_thread);
}

struct Layout {
  DeviceSpan<uint32_t> tickets;
  DeviceSpan<uint32_t> histogram;
  DeviceSpan<uint32_t> statuses;
  size_t zeroed_bytes;
  DeviceSpan<uint32_t> keys;

  Layout(const SortCase& what, Workspace& workspace)
      : tickets(workspace.take<uint32_t>(passes)),
        histogram(workspace.take<uint32_t>(passes * digits)),
        statuses(workspace.take<uint32_t>(uint64_t{passes} * digits * pass_blocks(what))),
        zeroed_bytes(workspace.used()),
        keys(workspace.take<uint32_t>(what.count)) {}
};

}  // namespace

bool gpusorting_supports(const SortCase& what) {
  return what.type == KeyType::u32 && what.order == Order::ascending && what.value_bytes == 0 &&
         what.count > 0 && what.count < uint64_t{1} << 30;
}

size_t gpusorting_workspace_bytes(const SortCase& what) {
  Workspace workspace;
  (void)Layout(what, workspace);
  return workspace.used();
}

void gpusorting_sort(const SortCase& what, const DeviceArrays& arrays, cudaStream_t stream) {
  Workspace workspace(arrays.workspace);
  const Layout layout(what, workspace);
  const uint32_t count = static_cast<uint32_t>(what.count);
  const uint32_t blocks = pass_blocks(what);
  uint32_t* keys = static_cast<uint32_t*>(arrays.keys_out);
  uint32_t* other_keys = layout.keys.data();

  check(cudaMemsetAsync(layout.tickets.data(), 0, layout.zeroed_bytes, stream));
  OneSweep::GlobalHistogram<uint32_t, digits, histogram_threads, histogram_copies, histogram_keys>
      <<<blocks_for(count, histogram_keys), histogram_threads, 0, stream>>>(keys, layout.histogram.data(),
                                                                            count);
  check(cudaGetLastError());
  OneSweep::Scan<digits>
      <<<passes, digits, 0, stream>>>(layout.histogram.data(), layout.statuses.data(), blocks);
  check(cudaGetLastError());
  // an even number, so the last pass ends in the array in which the first began
  for (uint32_t pass = 0; pass < passes; ++pass) {
    uint32_t* const statuses = layout.statuses.data() + uint64_t{pass} * digits * blocks;
    OneSweep::DigitBinningPassKeys<digits, digit_width, pass_warps, pass_keys_per_thread>
        <<<blocks, pass_threads, 0, stream>>>(keys, other_keys, statuses, layout.tickets.data(), count,
                                              pass * digit_width);
    check(cudaGetLastError());
    std::swap(keys, other_keys);
  }
}

}  // namespace sweepsort::bench
