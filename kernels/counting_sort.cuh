// counting_sort.cuh - keys of few distinct values are not moved at all: they are counted, and each value is
// written as often as it occurs. Seward, "Information Sorting in the Application of Electronic Digital
// Computers", 1954. Work O(n + bins), reads n keys (1-byte keys: read once, by the digest), writes n keys.
//
//     keys:     c a a d a        counts:  a 3   b 0   c 1   d 1
//     offsets:  a 0  b 3  c 3  d 4       out:  a a a c d      each chunk of `out` is told its bins by a search
#pragma once

#include "core/key_bits.hpp"
#include "core/rounding.hpp"
#include "kernels/histogram.cuh"
#include "kernels/launch.cuh"
#include "kernels/policy_passes.cuh"
#include "kernels/ptx.cuh"
#include "kernels/scan_counts.cuh"
#include "kernels/sort_plan.cuh"
#include "kernels/vector16.cuh"
#include "kernels/wide_counters.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace sweepsort {

namespace counting_detail {

/// Counts keys by value, one span of keys per block. 2-byte keys are counted by their raw bits, wider ones by
/// their distance from the smallest. `keys` is aligned to 16 bytes. If `plan` is null, the kernel is wanted.
template <class Bits>
__global__ __launch_bounds__(WideCounters::threads) void counting_histogram_kernel(
    const Bits* keys, uint64_t count, uint64_t span, KeyMap<Bits> map, const SortPlan<Bits>* plan,
    unsigned long long* counts) {
  ptx::wait_for_previous_launch();
  if (plan != nullptr && (plan->method != Method::counting || plan->list.values != nullptr)) return;
  WideCounters& counters = shared_memory<WideCounters>();
  const Bits minimum = plan != nullptr ? plan->minimum : Bits{0};
  const auto bin_of = [&](Bits raw) {
    return sizeof(Bits) == 2 ? static_cast<uint32_t>(raw)
                             : static_cast<uint32_t>(map.to_ordered(raw) - minimum);
  };
  const uint64_t first = min(blockIdx.x * span, count);
  counters.count(keys + first, min(span, count - first), bin_of, [&](uint32_t bin) {
    atomicAdd(&counts[bin], static_cast<unsigned long long>(WideCounters::half));
  });
  for (uint32_t bin = threadIdx.x; bin < counting_bins; bin += blockDim.x)
    if (const uint32_t keys_here = counters.at(bin))
      atomicAdd(&counts[bin], static_cast<unsigned long long>(keys_here));
}

/// The same on any device, with counts in device memory. The lanes of a warp with the same bin share an
/// atomic.
template <class Bits>
__global__ __launch_bounds__(256) void portable_histogram_kernel(const Bits* keys, uint64_t count,
                                                                 KeyMap<Bits> map, const SortPlan<Bits>* plan,
                                                                 unsigned long long* counts) {
  ptx::wait_for_previous_launch();
  if (plan->method != Method::counting) return;
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t row = uint64_t{blockIdx.x} * blockDim.x; row < count; row += step) {
    const uint64_t i = row + threadIdx.x;
    const bool present = i < count;
    const Bits from_smallest = present ? static_cast<Bits>(map.to_ordered(keys[i]) - plan->minimum) : Bits{0};
    const uint32_t bin = static_cast<uint32_t>(from_smallest);
    const uint32_t peers =
        warp_match<std::bit_width(counting_bins - 1)>(bin) & __ballot_sync(full_warp, present);
    if (present && (peers & ptx::lanes_below()) == 0)
      atomicAdd(&counts[bin], static_cast<unsigned long long>(__popc(peers)));
  }
}

/// Brings counts by raw 2-byte value into the order of the keys.
template <class Bits>
__global__ void order_counts_kernel(const uint64_t* raw_counts, KeyMap<Bits> map, uint64_t* counts) {
  ptx::wait_for_previous_launch();
  const uint32_t bin = blockIdx.x * blockDim.x + threadIdx.x;
  if (bin < counting_bins) counts[bin] = raw_counts[map.from_ordered(static_cast<Bits>(bin))];
}

/// Where the keys of each bin start. If `may_be_turned`, the bins may begin in the middle of the array of
/// offsets, and go on at its front.
template <bool may_be_turned>
struct BinOffsets {
  const uint64_t* offsets;
  uint32_t bins;
  uint32_t first;
  uint64_t count;  // of all keys

  __device__ __forceinline__ uint64_t operator()(uint32_t bin) const {
    return bin < bins ? inside(bin) : count;
  }
  __device__ __forceinline__ uint64_t inside(uint32_t bin) const {
    if (!may_be_turned || first == 0) return offsets[bin];
    const bool is_at_front = bin >= bins - first;
    return offsets[is_at_front ? bin - (bins - first) : first + bin] + (is_at_front ? count : 0) -
           offsets[first];
  }
};

/// The last bin in [first, end) whose keys start at or before `position`.
template <class Offsets>
__device__ __forceinline__ uint32_t bin_at(const Offsets& offsets, uint32_t first, uint32_t end,
                                           uint64_t position) {
  while (end - first > 1) {
    const uint32_t middle = first + (end - first) / 2;
    if (offsets.inside(middle) <= position)
      first = middle;
    else
      end = middle;
  }
  return first;
}

/// The same for a whole warp, which looks at 32 bins at once: two looks find one of 256 bins, four looks one
/// of 65,536. Every lane gets the result.
template <class Offsets>
__device__ __forceinline__ uint32_t bin_at_by_warp(const Offsets& offsets, uint32_t first, uint32_t end,
                                                   uint64_t position) {
  while (end - first > 1) {
    const uint32_t step = ceil_divide(end - first, warp_threads);
    const uint32_t mine = first + ptx::lane_id() * step;
    const bool is_before = ptx::lane_id() == 0 || (mine < end && offsets.inside(mine) <= position);
    first += (static_cast<uint32_t>(__popc(__ballot_sync(full_warp, is_before))) - 1) * step;
    end = min(first + step, end);
  }
  return first;
}

/// 16 bytes of one value.
template <class Bits>
__device__ __forceinline__ uint4 repeated(Bits value) {
  uint64_t pattern = value;
  if constexpr (sizeof(Bits) == 1) pattern *= 0x0101010101010101ull;
  if constexpr (sizeof(Bits) == 2) pattern *= 0x0001000100010001ull;
  if constexpr (sizeof(Bits) == 4) pattern *= 0x0000000100000001ull;
  const uint32_t low = static_cast<uint32_t>(pattern);
  const uint32_t high = static_cast<uint32_t>(pattern >> 32);
  return make_uint4(low, high, low, high);
}

/// As bin_at_by_warp(), for a bin that is mostly one of the 32 from `first` on.
template <class Offsets>
__device__ __forceinline__ uint32_t bin_near_by_warp(const Offsets& offsets, uint32_t first, uint32_t end,
                                                     uint64_t position) {
  const uint32_t mine = first + ptx::lane_id();
  const bool is_before = ptx::lane_id() == 0 || (mine < end && offsets.inside(mine) <= position);
  const uint32_t last = first + static_cast<uint32_t>(__popc(__ballot_sync(full_warp, is_before))) - 1;
  return last < first + warp_threads - 1 ? last : bin_at_by_warp(offsets, last, end, position);
}

/// Writes the runs: out[p] is the value of the bin that position p falls into. A warp writes a chunk at a
/// time, and looks up the chunk's bins by itself. Memory is fastest if what is written at the same time lies
/// close together, as successive chunks of many blocks do. H200, 2^28 keys, alone, us, 8, 32, 64 and 128
/// blocks per multiprocessor: u32 of 65,536 values 298, 276, 263, 256; 90 % one value 285, 263, 257, 253; 16
/// values 255, 249, 245, 242; u16 of 65,536 161, 147, 140, 137; u8 73, 69, 68, 69. (With tiles of a block
/// between barriers, while two warps look for the bins of the next tile: 285, 302, 284; 144; 74. A memset:
/// 239, 123, 65 to 71.)
template <class Bits>
__global__ __launch_bounds__(counting_policy.expand_threads) void expand_kernel(
    const uint64_t* starts, uint32_t bins_known, uint64_t count, KeyMap<Bits> map, const SortPlan<Bits>* plan,
    Bits* out) {
  ptx::wait_for_previous_launch();
  if (plan != nullptr && plan->method != Method::counting) return;
  const uint32_t bins = plan != nullptr && bins_known == 0 ? plan->bins : bins_known;
  const Bits minimum = plan != nullptr ? plan->minimum : Bits{0};
  const BinList<Bits> list = sizeof(Bits) > 2 && plan != nullptr ? plan->list : BinList<Bits>{};
  const bool is_listed = list.values != nullptr;
  const auto value_of = [&](uint32_t bin) {
    return is_listed ? list.values[bin] : map.from_ordered(static_cast<Bits>(minimum + bin));
  };
  const BinOffsets<(sizeof(Bits) > 2)> offsets{is_listed ? list.starts : starts, bins,
                                               plan != nullptr ? plan->first_bin : 0, count};
  const auto end_of = [&](uint32_t bin) { return offsets(bin + 1); };

  constexpr uint64_t width = elements_per_vector<Bits>;
  constexpr uint32_t vectors = counting_policy.expand_vectors;
  constexpr uint64_t chunk = vectors * warp_threads * width;
  constexpr uint32_t warps = counting_policy.expand_threads / warp_threads;
  const uint64_t warp = uint64_t{blockIdx.x} * warps + threadIdx.x / warp_threads;
  for (uint64_t first = warp * chunk; first < count; first += gridDim.x * warps * chunk) {
    uint32_t bin = bin_at_by_warp(offsets, 0, bins, first);
    const uint32_t end_bin = bin_near_by_warp(offsets, bin, bins, min(first + chunk, count) - 1) + 1;
    if (bin + 1 == end_bin && first + chunk <= count) {
      const uint4 value = repeated(value_of(bin));
      uint4* const own = reinterpret_cast<uint4*>(out + first) + ptx::lane_id();
#pragma unroll
      for (uint32_t v = 0; v < vectors; ++v) own[v * warp_threads] = value;
      continue;
    }
#pragma unroll
    for (uint32_t v = 0; v < vectors; ++v) {
      const uint64_t position = first + (v * warp_threads + ptx::lane_id()) * width;
      if (position >= count) break;
      bin = bin_at(offsets, bin, end_bin, position);
      const uint64_t run_end = end_of(bin);
      if (position + width <= run_end) {
        *reinterpret_cast<uint4*>(out + position) = repeated(value_of(bin));
        continue;
      }
      // The run ends inside this vector, and others may, too.
      const uint64_t end = min(position + width, count);
      for (uint64_t p = position; p < end; ++p) {
        if (p >= end_of(bin)) bin = bin_at(offsets, bin, end_bin, p);
        out[p] = value_of(bin);
      }
    }
  }
}

template <class Bits>
void expand(const uint64_t* offsets, uint32_t bins_known, DeviceSpan<Bits> out, KeyMap<Bits> map,
            const SortPlan<Bits>* plan, cudaStream_t stream) {
  constexpr uint32_t threads = counting_policy.expand_threads;
  constexpr uint64_t vectors_per_block = uint64_t{threads} * counting_policy.expand_vectors;
  constexpr uint64_t keys_per_block = vectors_per_block * elements_per_vector<Bits>;
  // Wider keys seldom take this method, and blocks that return at once take time, too.
  const bool is_likely = sizeof(Bits) <= 2 || out.size() >= uint64_t{1} << 27;
  const uint64_t most = uint64_t{multiprocessors()} * (is_likely ? 64 : 16);
  const uint64_t blocks = std::clamp<uint64_t>(ceil_divide(out.size(), keys_per_block), 1, most);
  launch_chained(expand_kernel<Bits>, {static_cast<uint32_t>(blocks), threads}, stream, offsets, bins_known,
                 out.size(), map, plan, out.data());
}

}  // namespace counting_detail

/// Device memory of a counting sort of keys alone, independent of their number; all zeros before each sort.
/// `is_wanted` false: takes nothing, and cannot be used.
template <class Bits>
struct CountingWorkspace {
  DeviceSpan<uint64_t> raw_counts;  // 2-byte keys: by raw value
  DeviceSpan<uint64_t> counts;      // in the order of the keys, later the offsets
  ScanCountsWorkspace scan;

  CountingWorkspace(Workspace& workspace, bool is_wanted)
      : raw_counts(workspace.take<uint64_t>(is_wanted && sizeof(Bits) == 2 ? counting_bins : 0)),
        counts(workspace.take<uint64_t>(is_wanted && sizeof(Bits) > 1 ? counting_bins : 0)),
        scan(workspace, is_wanted && sizeof(Bits) > 1 ? counting_bins : 0) {}
};

/// As counting_sort() below, for keys of more than a byte, on a device whose shared memory is too small for a
/// block's counters.
template <class Bits>
void portable_counting_sort(DeviceSpan<const Bits> in, DeviceSpan<Bits> out, KeyMap<Bits> map,
                            const SortPlan<Bits>* plan, const CountingWorkspace<Bits>& workspace,
                            cudaStream_t stream) {
  using namespace counting_detail;
  constexpr uint32_t threads = 256;
  const auto histogram = portable_histogram_kernel<Bits>;
  const uint64_t blocks =
      std::clamp<uint64_t>(ceil_divide(in.size(), threads), 1, resident_blocks(histogram, threads, 0));
  launch_chained(histogram, {static_cast<uint32_t>(blocks), threads}, stream, in.data(), in.size(), map, plan,
                 reinterpret_cast<unsigned long long*>(workspace.counts.data()));
  scan_counts(workspace.counts, &plan->bins, workspace.scan, stream);
  expand(workspace.counts.data(), 0, out, map, plan, stream);
}

/// Sorts keys alone. 1-byte keys: `digit_offsets` are the plan's. 2-byte keys need no plan (`plan` is null).
/// Wider keys are sorted only if plan->method is counting, and are not counted here if plan->list is set.
/// `out` may be `in`.
template <class Bits>
void counting_sort(DeviceSpan<const Bits> in, DeviceSpan<Bits> out, KeyMap<Bits> map,
                   const SortPlan<Bits>* plan, const uint64_t* digit_offsets,
                   const CountingWorkspace<Bits>& workspace, cudaStream_t stream) {
  using namespace counting_detail;
  if constexpr (sizeof(Bits) == 1) {
    expand(digit_offsets, digit_values, out, map, plan, stream);
  } else {
    DeviceSpan<uint64_t> counts = workspace.counts;
    const auto histogram = counting_histogram_kernel<Bits>;
    const uint64_t max_blocks = resident_blocks(histogram, WideCounters::threads, sizeof(WideCounters));
    const Spans spans(in.size(), static_cast<uint32_t>(max_blocks));
    uint64_t* const counted = sizeof(Bits) == 2 ? workspace.raw_counts.data() : counts.data();
    launch_chained(histogram, {spans.number, WideCounters::threads, sizeof(WideCounters)}, stream, in.data(),
                   in.size(), spans.keys, map, plan, reinterpret_cast<unsigned long long*>(counted));
    if constexpr (sizeof(Bits) == 2)
      launch_chained(order_counts_kernel<Bits>, {counting_bins / 256, 256}, stream,
                     workspace.raw_counts.data(), map, counts.data());
    scan_counts(counts, plan == nullptr ? nullptr : &plan->bins, workspace.scan, stream);
    expand(counts.data(), sizeof(Bits) == 2 ? counting_bins : 0, out, map, plan, stream);
  }
}

}  // namespace sweepsort
