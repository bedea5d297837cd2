// sort_plan.cuh - what the digest means for the sort, decided on the device: no host round trip between the
// first read and the last pass. Every kernel that might be needed is launched. It asks the plan whether it is
// needed.
#pragma once

#include "core/algorithm.hpp"
#include "core/key_bits.hpp"
#include "core/rounding.hpp"
#include "kernels/bit_pack.cuh"
#include "kernels/block.cuh"
#include "kernels/histogram.cuh"
#include "kernels/launch.cuh"
#include "kernels/leading_digits.cuh"
#include "kernels/policy_passes.cuh"
#include "kernels/ptx.cuh"
#include "kernels/radix_rank.cuh"
#include "kernels/tickets.cuh"

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace sweepsort {

/// The ways to sort the array.
enum class Method : uint32_t {
  nothing,     // fewer than two keys, or sorted already where they are
  copy,        // sorted already, elsewhere
  reverse,     // sorted the other way round
  counting,    // few values: count them, write runs (pairs: stable scatters)
  radix,       // one scatter per digit that is not constant
  unsuitable,  // counting was demanded, but the range is too wide: nothing is written
};

/// The three arrays that passes read and write.
enum class Where : uint32_t { in, scratch, out };

struct RadixPass {
  uint32_t live;       // 0: all keys have the same digit here; no pass
  uint32_t digits;     // number of distinct digits
  uint32_t is_spread;  // whether most digits are common
  uint32_t live_bits;  // bits in which some keys differ
  uint32_t index;      // number among the live passes
  Where source;
  Where destination;
  uint32_t first;  // reads raw keys and maps them
  uint32_t last;   // maps back and writes raw keys
  HotDigits hot;
};

/// Keys may have few distinct values if no place has more distinct digits than this, and if at least one in
/// this many samples equals the sample it is compared with.
inline constexpr uint32_t max_digits_of_few = 64;

/// Keys to look at for what a digest does not tell.
template <class Bits>
struct AskedKeys {
  const Bits* keys = nullptr;     // null: none
  uint32_t* maybe_few = nullptr;  // set if the keys may have few values; null: not asked for
};

/// Bins for the values of a list, which may lie anywhere. Holds each value, in order, as the caller stores
/// it, and how many keys come before its first key. Null: the bins are a range.
template <class Bits>
struct BinList {
  const Bits* values = nullptr;
  const uint64_t* starts = nullptr;
};

/// All zeros before the plan is made. It stays so if no plan is wanted, and then there is nothing to do.
/// value_codes.cuh makes a plan, too.
template <class Bits>
struct SortPlan {
  Method method;
  uint32_t finished_blocks;  // of the kernel that makes the plan
  uint32_t live_digits;
  uint32_t scatters;        // whether the passes run at all; for packed keys, set when their passes are
                            // planned
  uint32_t as_records;      // whether the passes move pairs as records
  uint32_t leading_digits;  // if not zero: only this many leading digits are passed, then the remaining
                            // disorder is mended
  uint32_t in_place;        // the passes' input is their output
  uint32_t copy_back;       // in place and an odd number of passes: the result is in the scratch array
  uint32_t bins;            // counting: distinct values at most
  uint32_t first_bin;     // counting: index of the count of `minimum`; the last bin is followed by the first
  Bits minimum;           // of the ordered bits
  BinList<Bits> list;     // counting: the bins, if they are not a range
  KeyMap<Bits> pass_map;  // what the passes sort by; for a counting sort it maps the smallest key to zero
  BitPack<Bits> pack;     // if pack.packs is not zero, the passes sort by the live bits of that
                          // (live_bits.cuh)
  RadixPass passes[digit_places<Bits>];
};

/// What the plan is made for, and what it may choose from.
struct SortTask {
  uint64_t count;
  SortAlgorithm algorithm;
  uint32_t with_values;
  uint32_t in_place;
  uint32_t avoids_counting = 0;  // keys alone of more than a byte are counted only on request
  uint32_t may_pass_records = 0;
  uint32_t leading_digits = 0;  // passes by this many leading digits may suffice (leading_digits_of); 0: all
                                // digits are passed
  uint32_t may_pack = 0;        // passes may sort by live bits
};

/// The number of keys alone from which counting may be the automatic choice. With fewer keys, its launches
/// take longer than passes.
template <class Bits>
SWEEPSORT_HOST_DEVICE constexpr bool counting_pays(uint64_t count) {
  return sizeof(Bits) == 1 || count >= uint64_t{1} << 20;
}

/// True if no pass by digits and no copy is ever made. Keys of one byte alone that are not sorted by a single
/// launch are counted, unless they are all equal and in place.
template <class Bits>
SWEEPSORT_HOST_DEVICE constexpr bool takes_no_passes(SortAlgorithm algorithm, bool with_values) {
  return sizeof(Bits) == 1 && !with_values && algorithm == SortAlgorithm::automatic;
}

namespace plan_detail {

template <class Bits>
__device__ Method choose(const SortTask& task, const KeyFacts<Bits>& facts, uint32_t live_digits,
                         uint64_t bins) {
  const Method in_order = task.in_place ? Method::nothing : Method::copy;
  // Whatever the order of the keys: writing one value costs no more than copying it.
  if (takes_no_passes<Bits>(task.algorithm, task.with_values))
    return live_digits == 0 && task.in_place ? Method::nothing : Method::counting;
  if (task.count < 2) return task.count == 0 ? Method::nothing : in_order;
  // Pairs are scattered by one digit, keys alone are counted in a block's shared memory.
  const uint64_t max_bins = task.with_values ? digit_values : counting_bins;
  if (task.algorithm == SortAlgorithm::counting)
    return bins <= max_bins ? Method::counting : Method::unsuitable;
  if (live_digits == 0) return in_order;
  if constexpr (sizeof(Bits) > 1) {
    if (!facts.falls) return in_order;
    // Equal keys must keep their order only if they carry values.
    if (!facts.rises && !(task.with_values && facts.repeats)) return Method::reverse;
    // Counting reads the keys twice and writes once, as one radix pass does, whatever the number of digits.
    const bool is_long = task.with_values ? task.count >= counting_bins
                                          : counting_pays<Bits>(task.count) && !task.avoids_counting;
    const bool pays = is_long && live_digits > 1 && bins <= max_bins;
    if (task.algorithm == SortAlgorithm::automatic && pays) return Method::counting;
  }
  return Method::radix;
}

/// Sources and destinations of the live passes. The last pass writes `out`, unless the first one would then
/// overwrite its own input.
template <class Bits>
__device__ void lay_out_passes(SortPlan<Bits>& plan, bool in_place) {
  plan.in_place = in_place;
  uint32_t index = 0;
  Where at = Where::in;
  plan.copy_back = plan.scatters && in_place && plan.live_digits % 2 == 1;
  for (RadixPass& pass : plan.passes) {
    if (!pass.live) continue;
    const uint32_t to_go = plan.live_digits - 1 - index;
    const bool to_out = (to_go % 2 == 0) != (plan.copy_back != 0);
    pass.index = index++;
    pass.source = at;
    pass.destination = at = to_out ? Where::out : Where::scratch;
    pass.first = pass.index == 0;
    pass.last = to_go == 0;
  }
}

/// A place with at most this many distinct digits has long runs: a tile has hundreds of keys of each digit.
inline constexpr uint32_t max_digits_in_long_runs = 16;

/// Whether pairs are moved as records between the passes. This pays if most of the passes write short runs.
/// The first pass reads columns, and the last one writes them.
template <class Bits>
__device__ bool pays_as_records(const SortPlan<Bits>& plan) {
  uint32_t in_long_runs = 0;
  for (const RadixPass& pass : plan.passes)
    in_long_runs += pass.live && (pass.hot.share_is_high || pass.digits <= max_digits_in_long_runs);
  return plan.method == Method::radix && plan.live_digits > 2 && 2 * in_long_runs < plan.live_digits;
}

template <uint32_t threads>
struct Shared {
  static constexpr uint32_t warps = threads / warp_threads;
  uint64_t warp_sums[warps];
  uint64_t most_frequent[HotDigits::candidates][warps];  // keys with the digit, the digit in the low bits
  uint32_t set_and_clear[warps];
};

/// The digits that most keys have. Each of the first digit_values threads knows the count of one digit. If
/// more than one lane in eight wants the same counter, a warp's atomics queue up for it.
template <uint32_t threads>
__device__ void find_hot_digits(uint64_t keys, uint64_t count, Shared<threads>& shared, HotDigits& hot) {
  const uint32_t digit = threadIdx.x % digit_values;
  uint64_t mine = keys * digit_values + digit;
  uint64_t most[HotDigits::candidates];
#pragma unroll
  for (uint32_t c = 0; c < HotDigits::candidates; ++c) {
    const uint64_t of_warp = warp_max(mine);
    if (ptx::lane_id() == 0) shared.most_frequent[c][threadIdx.x / warp_threads] = of_warp;
    __syncthreads();
    most[c] = warp_max(shared.most_frequent[c][ptx::lane_id() % Shared<threads>::warps]);
    if (most[c] == mine) mine = digit;  // found: takes no part in the next round
  }
  if (threadIdx.x != 0) return;
  hot.share_is_high = most[0] / digit_values > count / 8;
  for (uint32_t c = 0; c < HotDigits::candidates; ++c)
    hot.digits[c] = static_cast<uint32_t>(most[c] % digit_values);
}

/// The bits in which the keys' digits differ. The result is valid in the first thread.
template <uint32_t threads>
__device__ uint32_t find_live_bits(uint64_t keys, Shared<threads>& shared) {
  const uint32_t digit = threadIdx.x % digit_values;
  const uint32_t mine = keys != 0 ? digit | (digit_values - 1 - digit) << digit_bits : 0;
  const uint32_t of_warp = warp_or(mine);
  if (ptx::lane_id() == 0) shared.set_and_clear[threadIdx.x / warp_threads] = of_warp;
  __syncthreads();
  const uint32_t all = warp_or(shared.set_and_clear[ptx::lane_id() % Shared<threads>::warps]);
  return all & (all >> digit_bits);
}

/// Describes the digits of a pass. Each of the first digit_values threads knows how many keys have one of the
/// digits. Called by the whole block.
template <uint32_t threads>
__device__ void describe_digits(uint64_t keys, uint64_t count, Shared<threads>& shared, RadixPass& pass) {
  const bool constant = __syncthreads_or(keys == count) != 0;
  const int digits = __syncthreads_count(keys != 0);
  const int common = __syncthreads_count(keys > leading_detail::common_keys(count));
  const uint32_t live_bits = find_live_bits(keys, shared);
  find_hot_digits(keys, count, shared, pass.hot);
  if (threadIdx.x != 0) return;
  pass.live = !constant;
  pass.digits = static_cast<uint32_t>(digits);
  pass.is_spread = static_cast<uint32_t>(common) >= leading_detail::spread_values;
  pass.live_bits = live_bits;
}

/// Writes all of the plan except the passes' details. Called by one thread.
template <class Bits>
__device__ void write_plan(const KeyFacts<Bits>& facts, const SortTask& task, KeyMap<Bits> map,
                           uint32_t live_digits, SortPlan<Bits>& plan) {
  const uint64_t range = sizeof(Bits) == 1 ? digit_values - 1 : uint64_t{facts.maximum()} - facts.minimum();
  plan.method = choose(task, facts, live_digits, range == ~uint64_t{0} ? range : range + 1);
  plan.live_digits = live_digits;
  plan.first_bin = 0;
  plan.list = {};
  plan.minimum = sizeof(Bits) == 1 ? Bits{0} : facts.minimum();
  plan.bins = plan.method == Method::counting ? static_cast<uint32_t>(range + 1) : 0;
  plan.pass_map = map;
  plan.pack = BitPack<Bits>::none();
  plan.scatters = plan.method == Method::radix || (plan.method == Method::counting && task.with_values);
  if (plan.method == Method::counting && task.with_values) {
    plan.pass_map.add = static_cast<Bits>(map.add - plan.minimum);  // to the distance from the smallest key
    plan.live_digits = 1;
    for (uint32_t place = 0; place < digit_places<Bits>; ++place) plan.passes[place].live = place == 0;
  }
}

/// Whether leading digits save enough passes. Looking for the remaining disorder takes part of a pass, and
/// copying back after an odd number of passes takes another part (neither was timed by itself).
__device__ __forceinline__ bool pays_to_lead(const SortTask& task, uint32_t live_digits) {
  return task.leading_digits != 0 && live_digits >= task.leading_digits + 2 + task.in_place;
}

/// Whether the digits of `leading` places all look random.
template <class Bits>
__device__ bool are_spread(const SortPlan<Bits>& plan, uint32_t leading) {
  for (uint32_t place = digit_places<Bits> - leading; place < digit_places<Bits>; ++place)
    if (!plan.passes[place].is_spread) return false;
  return true;
}

/// Passes by the leading digits only. Called by one thread.
template <class Bits>
__device__ void lead(const SortTask& task, SortPlan<Bits>& plan) {
  for (uint32_t place = 0; place < digit_places<Bits> - task.leading_digits; ++place)
    plan.passes[place].live = 0;
  plan.leading_digits = plan.live_digits = task.leading_digits;
}

/// Passes by this many digits; the copy back after an odd number of them counts as one more.
__device__ __forceinline__ uint32_t passes_and_copy(uint32_t digits, uint32_t in_place) {
  return digits + (in_place != 0 && digits % 2 == 1);
}

/// Number of digits of packed keys.
template <class Bits>
__device__ __forceinline__ uint32_t packed_digits(Bits live) {
  const int bits = sizeof(Bits) == 8 ? __popcll(live) : __popc(static_cast<uint32_t>(live));
  return ceil_divide(static_cast<uint32_t>(bits), digit_bits);
}

/// Has the keys packed if that saves a pass. Counting the packed digits takes less than one pass. If the
/// passes would move records, which take a tenth less, packing must save two passes. The passes themselves
/// are planned by the launch that comes second (live_bits.cuh). Called by one thread.
template <class Bits>
__device__ void pack_if_it_pays(const SortTask& task, const KeyFacts<Bits>& facts, SortPlan<Bits>& plan) {
  Bits live = 0;
  for (uint32_t place = 0; place < digit_places<Bits>; ++place)
    live |= static_cast<Bits>(Bits{plan.passes[place].live_bits} << (place * digit_bits));
  const uint32_t digits = packed_digits(live);
  const uint32_t passes = passes_and_copy(digits, task.in_place) + (plan.as_records != 0);
  if (passes < passes_and_copy(plan.live_digits, task.in_place)) {
    plan.pack = BitPack<Bits>::of(live, facts.minimum());
    plan.scatters = 0;
  }
}

/// Whether keys at different places are often equal. The distance between the compared keys differs from
/// thread to thread: otherwise keys that repeat in a fixed order would pass for few values. Called by the
/// whole block.
template <class Bits>
__device__ __forceinline__ bool samples_repeat(const Bits* keys, uint64_t count) {
  constexpr uint32_t rounds = 4;
  int same = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    const uint64_t half = count / 2;
    const uint64_t at = half / (rounds * digit_values) * (round * digit_values + threadIdx.x);
    const uint64_t other = min(half + at + threadIdx.x, count - 1);
    same += __syncthreads_count(keys[at] == keys[other]);
  }
  return same >= static_cast<int>(rounds * digit_values / max_digits_of_few);
}

struct NoSamples {};
template <class Bits>
struct PlanShared {
  using Samples = std::conditional_t<sizeof(Bits) == 8, leading_detail::ApartShared<Bits>, NoSamples>;
  Shared<digit_values> block;
  uint32_t asks_for_few;
  uint32_t may_lead;
  KeyFacts<Bits> facts;
  SortPlan<Bits> plan;  // used by the last block, where one thread updates it repeatedly
  Samples samples;
};

/// Called by the whole block.
template <class Bits>
__device__ __forceinline__ void copy(const SortPlan<Bits>& from, SortPlan<Bits>& to) {
  constexpr uint32_t words = sizeof(SortPlan<Bits>) / sizeof(uint32_t);
  for (uint32_t w = threadIdx.x; w < words; w += blockDim.x)
    reinterpret_cast<uint32_t*>(&to)[w] = reinterpret_cast<const uint32_t*>(&from)[w];
}

/// One block per digit place, one thread per digit. Each block scans one histogram into bucket offsets. The
/// last block to finish chooses the method.
template <class Bits>
__global__ __launch_bounds__(digit_values) void plan_kernel(const Digest<Bits>* digest, SortTask task,
                                                            KeyMap<Bits> map, const uint32_t* wanted,
                                                            SortPlan<Bits>* result, uint64_t* offsets,
                                                            uint64_t offsets_stride, AskedKeys<Bits> asked) {
  ptx::wait_for_previous_launch();
  if (wanted != nullptr && *wanted == 0) return;  // the plan stays as it is
  auto& shared = shared_memory<PlanShared<Bits>>();
  const uint32_t digit = threadIdx.x;
  const auto scan_into_offsets = [&](uint32_t place, uint32_t bin) {
    const uint64_t keys = digest->histogram[place][bin];
    uint64_t total = 0;
    offsets[place * offsets_stride + digit] =
        block_exclusive_sum<digit_values>(keys, shared.block.warp_sums, total);
    return keys;
  };

  const uint32_t own = blockIdx.x;
  const uint64_t keys =
      scan_into_offsets(own, sizeof(Bits) == 1 ? map.from_ordered(static_cast<Bits>(digit)) : digit);
  describe_digits(keys, task.count, shared.block, result->passes[own]);
  if (!completes(result->finished_blocks, 1, digit_places<Bits>)) return;
  SortPlan<Bits>& plan = shared.plan;
  copy(*result, plan);
  if (digit == digit_values - 1) shared.facts = *digest;
  __syncthreads();
  if (digit == 0) {
    uint32_t live_digits = 0;
    uint32_t max_digits = 0;
    for (const RadixPass& pass : plan.passes) {
      live_digits += pass.live;
      max_digits = max(max_digits, pass.digits);
    }
    write_plan(shared.facts, task, map, live_digits, plan);
    const bool is_radix = plan.method == Method::radix;
    shared.asks_for_few =
        asked.maybe_few != nullptr && is_radix && live_digits > 1 && max_digits <= max_digits_of_few;
    shared.may_lead = is_radix && pays_to_lead(task, live_digits) && are_spread(plan, task.leading_digits);
  }
  __syncthreads();
  if (shared.asks_for_few && samples_repeat(asked.keys, task.count) && digit == 0) *asked.maybe_few = 1;
  if constexpr (sizeof(Bits) == 8) {
    using leading_detail::are_told_apart;
    const uint32_t shift = (digit_places<Bits> - task.leading_digits) * digit_bits;
    if (shared.may_lead && are_told_apart<digit_values>(asked.keys, task.count, map, shift, shared.samples) &&
        digit == 0)
      lead(task, plan);
  }
  if (digit == 0) {
    lay_out_passes(plan, task.in_place);
    plan.as_records = task.may_pass_records && pays_as_records(plan);
    if constexpr (sizeof(Bits) >= 4)
      if (task.may_pack && plan.method == Method::radix && plan.leading_digits == 0)
        pack_if_it_pays(task, shared.facts, plan);
  }

  // A stable counting scatter sorts by the lowest digit of (key - minimum). Its range is that of one digit.
  // So its counts are those of the keys' lowest digit, rotated to start at the minimum.
  if (sizeof(Bits) > 1 && plan.method == Method::counting && task.with_values) {
    const uint64_t lowest_keys =
        scan_into_offsets(0, static_cast<uint32_t>(plan.minimum + digit) % digit_values);
    find_hot_digits(lowest_keys, task.count, shared.block, plan.passes[0].hot);
  }
  __syncthreads();
  copy(plan, *result);
}

}  // namespace plan_detail

/// Writes `plan` and, for every digit place p, the 256 bucket offsets at offsets[p * offsets_stride]. If
/// `wanted` (device memory) is not null and *wanted is zero, the plan stays as it is. *asked.maybe_few is set
/// if passes are planned and the keys may have few values. asked.keys are aligned to 16 bytes.
template <class Bits>
void make_sort_plan(const Digest<Bits>* digest, const SortTask& task, KeyMap<Bits> map,
                    const uint32_t* wanted, SortPlan<Bits>* plan, uint64_t* offsets, uint64_t offsets_stride,
                    const AskedKeys<Bits>& asked, cudaStream_t stream) {
  launch_chained(plan_detail::plan_kernel<Bits>,
                 {digit_places<Bits>, digit_values, sizeof(plan_detail::PlanShared<Bits>)}, stream, digest,
                 task, map, wanted, plan, offsets, offsets_stride, asked);
}

}  // namespace sweepsort
