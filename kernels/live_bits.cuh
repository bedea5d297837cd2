// live_bits.cuh - an LSD sort by the bits in which keys differ. Text digits, packed fields, multiples, and
// ids of few bits per field have bits that are the same in all keys. Without these bits there are fewer
// digits, and fewer passes.
//
//     key      0011 0101   0011 0001     two decimal digits as text: 4 live bits each
//     packed             0101 0001       one digit
//
// The digest says which bits are live. If packed keys (bit_pack.cuh) have fewer digits, the second launch of
// passes sorts by these. It first counts them, which reads n keys once more, and plans the passes. The first
// pass packs the keys that it loads, and the last one unpacks those that it stores (radix_onesweep.cuh).
#pragma once

#include "core/key_bits.hpp"
#include "core/rounding.hpp"
#include "kernels/bit_pack.cuh"
#include "kernels/block.cuh"
#include "kernels/digit.cuh"
#include "kernels/histogram.cuh"
#include "kernels/policy_passes.cuh"
#include "kernels/ptx.cuh"
#include "kernels/sort_plan.cuh"
#include "kernels/tickets.cuh"
#include "kernels/vector16.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort::live_bits_detail {

/// What the blocks share. All zeros before.
template <class Bits>
struct State {
  uint64_t histogram[digit_places<Bits>][digit_values];  // of the packed keys
  uint32_t count_tickets;
  uint32_t rows_counted;
  uint32_t is_planned;
};

/// First the counters, then the memory for making a plan from them.
template <class Bits, uint32_t threads>
struct Shared {
  uint32_t next_row[2];
  union {
    digest_detail::Shared<Bits, portable_digest_shared_bytes> counts;
    plan_detail::Shared<threads> plan;
  };
};

/// One of the blocks that count the digits of the packed keys, and plan the passes.
template <class Bits, uint32_t threads>
class Packer {
 public:
  using PackerShared = Shared<Bits, threads>;

  /// `offsets`: of the passes. `offsets_stride`: distance between two places in it.
  __device__ __forceinline__ Packer(PackerShared& shared, const Bits* keys, uint64_t count,
                                    SortPlan<Bits>& plan, uint64_t* offsets, uint64_t offsets_stride,
                                    State<Bits>& state)
      : shared_(shared),
        keys_(keys),
        count_(count),
        plan_(plan),
        map_(plan.pass_map),
        pack_(plan.pack),
        digits_(plan_detail::packed_digits(plan.pack.live)),
        offsets_(offsets),
        offsets_stride_(offsets_stride),
        state_(state) {}

  /// Returns when the plan is made. The block that has counted the last row makes it.
  __device__ __forceinline__ void run() {
    const uint32_t rows = static_cast<uint32_t>(ceil_divide(count_, row_keys));
    digest_detail::clear_counters(shared_.counts);
    const uint32_t counted = for_drawn_rows(&state_.count_tickets, rows, shared_.next_row,
                                            [&](uint32_t row) { count_row(uint64_t{row} * row_keys); });
    if (counted != 0) digest_detail::add_counters(shared_.counts, state_.histogram);
    const bool plans = counted != 0 && completes(state_.rows_counted, counted, rows);
    if (plans) plan_passes();
    if (threadIdx.x == 0) {
      const DeviceAtomic<uint32_t> is_planned(state_.is_planned);
      if (plans) is_planned.store(1, cuda::memory_order_release);
      while (is_planned.load(cuda::memory_order_acquire) == 0) {
      }
    }
    __syncthreads();
  }

 private:
  using Vector = Vector16<Bits>;
  static constexpr uint32_t width = elements_per_vector<Bits>;
  static constexpr uint32_t in_flight = 4;
  static constexpr uint32_t row_keys = threads * width * in_flight;

  __device__ __forceinline__ void count_row(uint64_t first) {
    const uint64_t own = first + threadIdx.x * width;
    if (first + row_keys > count_) {  // key by key
      for (uint64_t i = first + threadIdx.x; i < count_; i += threads) count(keys_[i]);
      return;
    }
    Vector vectors[in_flight];
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u)
      vectors[u].whole =
          ptx::load_streaming(reinterpret_cast<const uint4*>(keys_ + own + u * threads * width));
#pragma unroll
    for (const Vector& vector : vectors)
#pragma unroll
      for (const Bits key : vector.elements) count(key);
  }

  __device__ __forceinline__ void count(Bits key) {
    constexpr uint32_t columns = digest_detail::Shared<Bits, portable_digest_shared_bytes>::columns;
    digest_detail::count_digits(shared_.counts, pack_.pack(map_.to_ordered(key)), ptx::lane_id() % columns,
                                digits_);
  }

  /// Plans the passes, one place after the other. One thread per digit.
  __device__ __forceinline__ void plan_passes() {
    const uint32_t digit = threadIdx.x;
    for (uint32_t place = 0; place < digits_; ++place) {
      const uint64_t keys = digit < digit_values ? state_.histogram[place][digit] : 0;
      uint64_t total = 0;
      const uint64_t start = block_exclusive_sum<threads>(keys, shared_.plan.warp_sums, total);
      if (digit < digit_values) offsets_[place * offsets_stride_ + digit] = start;
      plan_detail::describe_digits(keys, count_, shared_.plan, plan_.passes[place]);
    }
    if (threadIdx.x == 0) {
      for (uint32_t place = digits_; place < digit_places<Bits>; ++place) plan_.passes[place].live = 0;
      plan_.live_digits = digits_;
      plan_.scatters = 1;
      plan_detail::lay_out_passes(plan_, plan_.in_place != 0);
    }
    __syncthreads();
  }

  PackerShared& shared_;
  const Bits* keys_;
  uint64_t count_;
  SortPlan<Bits>& plan_;
  const KeyMap<Bits> map_;
  const BitPack<Bits> pack_;
  const uint32_t digits_;
  uint64_t* offsets_;
  uint64_t offsets_stride_;
  State<Bits>& state_;
};

}  // namespace sweepsort::live_bits_detail
