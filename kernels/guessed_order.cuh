// guessed_order.cuh - arrays that a sample shows to be in ascending or descending order: they are moved as if
// they were, and checked meanwhile. Work O(n), moves 2n records if the guess is right.
//
//     in    9 7 7 4 3 1        each key is compared with the one behind it, and stored at its mirrored place
//     out   1 3 4 7 7 9        (ascending: at its own place)
//
// If neighbours contradict the guess, it has failed, and other methods sort `in`, which is as it was: if
// `out` is `in`, keys move only after the check.
#pragma once

#include "core/key_bits.hpp"
#include "core/no_value.hpp"
#include "kernels/launch.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"
#include "kernels/rearrange.cuh"
#include "kernels/tickets.cuh"
#include "kernels/vector16.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

namespace rearrange_detail {

/// If pairs have equal keys, a thread finds the place of a value by walking to both ends of these. So there
/// must not be many of them in a row.
inline constexpr uint32_t many_ties = 32;

/// As reverse(), for the values of pairs some of which have equal keys: these keep their order. Not in place.
template <class Bits, class T>
__device__ void reverse_stably(const Bits* keys, const T* from, T* to, uint64_t count) {
  for (uint64_t i = first_index(); i < count; i += grid_threads()) {
    const Bits key = keys[i];
    uint64_t before = 0;
    while (before < i && keys[i - before - 1] == key) ++before;
    uint64_t last = i;
    while (last + 1 < count && keys[last + 1] == key) ++last;
    to[count - 1 - last + before] = from[i];
  }
}

/// Moves keys to where a guess sends them, and checks the guess. A thread has `in_flight_` loads of 16 bytes
/// in flight. They bypass the caches if it `streams`.
template <class Bits, uint32_t in_flight_, bool streams>
class GuessCheck {
 public:
  using Vector = Vector16<Bits>;
  static constexpr uint32_t width = sizeof(uint4) / sizeof(Bits);
  static constexpr uint32_t in_flight = in_flight_;
  static constexpr uint32_t row_keys = threads * width * in_flight;

  /// A block's next row_keys keys; those of a warp are neighbours. A warp's last lane also has the key behind
  /// them.
  struct Row {
    Vector vectors[in_flight];
    Bits behind = 0;
  };

  __device__ __forceinline__ GuessCheck(const Bits* in, Bits* out, uint64_t count, const KeyMap<Bits>& map,
                                        const MsdPlan<Bits>& plan)
      : in_(in),
        out_(out),
        count_(count),
        map_(map),
        guess_(plan.order.guess()),
        minds_ties_(plan.with_values != 0 && plan.order.guess() == Guess::descending) {}

  /// Whether a row has all its keys, and another key behind them.
  __device__ __forceinline__ bool is_whole(uint64_t row) const { return row + row_keys < count_; }

  __device__ __forceinline__ void load(uint64_t row, Row& keys) const {
    const Bits* const own = in_ + row + own_place(0);
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u)
      keys.vectors[u].whole = load(reinterpret_cast<const uint4*>(own + u * warp_threads * width));
    if (is_last_lane()) keys.behind = own[((in_flight - 1) * warp_threads + 1) * width];
  }

  /// Whether pairs in falling order with equal neighbouring keys have been met so far.
  __device__ __forceinline__ bool has_ties() const { return has_ties_; }

  /// Returns true if keys contradict the guess.
  __device__ __forceinline__ bool move(uint64_t row, const Row& keys) {
    Bits first[in_flight + 1];  // of each vector, and the key behind the last lane's last one
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u) first[u] = map_.to_ordered(keys.vectors[u].elements[0]);
    first[in_flight] = map_.to_ordered(keys.behind);
    bool is_wrong = false;
#pragma unroll
    for (uint32_t u = 0; u < in_flight; ++u) {
      const Vector& vector = keys.vectors[u];
      Bits left = first[u];
#pragma unroll
      for (uint32_t k = 1; k < width; ++k) {
        const Bits right = map_.to_ordered(vector.elements[k]);
        is_wrong |= contradict(left, right);
        left = right;
      }
      // The key behind a vector is the first key of the next lane; for the last lane, of the next vectors.
      const Bits from_next_lane = shuffle_down(first[u], 1);
      const Bits from_next_vectors = u + 1 < in_flight ? shuffle_from(first[u + 1], 0) : first[in_flight];
      is_wrong |= contradict(left, is_last_lane() ? from_next_vectors : from_next_lane);
      if (minds_ties_) {
        constexpr uint32_t lanes = many_ties / width;
        const Bits further = shuffle_down(first[u], lanes);
        is_wrong |= ptx::lane_id() < warp_threads - lanes && first[u] == further;
      }
      if (in_ != out_) store(row + own_place(u), vector);
    }
    return is_wrong;
  }

  /// The same for the last row, which is not complete.
  __device__ __forceinline__ bool move_last(uint64_t row) {
    bool is_wrong = false;
    for (uint64_t i = row + threadIdx.x; i < count_; i += threads) {
      const Bits key = in_[i];
      if (i + 1 < count_) is_wrong |= contradict(map_.to_ordered(key), map_.to_ordered(in_[i + 1]));
      if (minds_ties_ && i + many_ties < count_) is_wrong |= key == in_[i + many_ties];
      if (in_ != out_) out_[guess_ == Guess::ascending ? i : count_ - 1 - i] = key;
    }
    return is_wrong;
  }

 private:
  /// Whether two neighbours contradict the guess.
  __device__ __forceinline__ bool contradict(Bits left, Bits right) {
    if (guess_ == Guess::ascending) return left > right;
    const bool is_tie = minds_ties_ && left == right;
    has_ties_ |= is_tie;
    return left < right || (is_tie && in_ == out_);
  }
  __device__ __forceinline__ static uint4 load(const uint4* from) {
    return streams ? ptx::load_streaming(from) : *from;
  }
  __device__ __forceinline__ static void store(uint4* to, const uint4& vector) {
    if (streams)
      __stcs(to, vector);
    else
      *to = vector;
  }
  __device__ __forceinline__ static bool is_last_lane() { return ptx::lane_id() == warp_threads - 1; }
  __device__ __forceinline__ static uint32_t own_place(uint32_t u) {
    const uint32_t warp = threadIdx.x / warp_threads;
    return ((warp * in_flight + u) * warp_threads + ptx::lane_id()) * width;
  }

  __device__ __forceinline__ void store(uint64_t first, const Vector& vector) const {
    if (guess_ == Guess::ascending) {
      store(reinterpret_cast<uint4*>(out_ + first), vector.whole);
      return;
    }
    Vector reversed;
#pragma unroll
    for (uint32_t k = 0; k < width; ++k) reversed.elements[k] = vector.elements[width - 1 - k];
    Bits* const to = out_ + (count_ - width - first);
    if (count_ % width == 0) {
      store(reinterpret_cast<uint4*>(to), reversed.whole);
    } else {
#pragma unroll
      for (uint32_t k = 0; k < width; ++k) to[k] = reversed.elements[k];
    }
  }

  const Bits* in_;
  Bits* out_;
  uint64_t count_;
  const KeyMap<Bits>& map_;
  Guess guess_;
  bool minds_ties_;
  bool has_ties_ = false;
};

struct CheckShared {
  uint32_t next_row[2];  // of this turn and the one before
};

/// Moves the keys where the guess sends them, and sets plan->order.failed if two neighbours contradict it. A
/// block that sees the flag leaves. Blocks draw their rows, so that all of them work side by side. H200, 2^28
/// u32 keys, ms: 0.525; with a fixed stride of rows per block 0.545; with one row per block 0.519, but 0.026
/// if there is no guess; by a ring of bulk copies 0.555; cudaMemcpy 0.508. The second launch bound limits the
/// registers to 64 (4-byte keys).
template <class Bits, uint32_t in_flight, bool streams>
__global__ __launch_bounds__(threads, sizeof(Bits) == 8 ? 2 : 4) void check_guess_kernel(
    const Bits* in, Bits* out, uint64_t count, KeyMap<Bits> map, MsdPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  if (plan->order.guess() == Guess::unordered) return;
  auto& next_row = shared_memory<CheckShared>().next_row;
  GuessCheck<Bits, in_flight, streams> check(in, out, count, map, *plan);
  const DeviceAtomic<uint32_t> failed(plan->order.failed);
  uint64_t row = uint64_t{blockIdx.x} * check.row_keys;
  bool is_wrong = false;
  for (uint32_t turn = 0; check.is_whole(row); turn ^= 1) {
    if (threadIdx.x == 0) next_row[turn] = gridDim.x + draw_ticket(&plan->order_ticket);
    typename GuessCheck<Bits, in_flight, streams>::Row keys;
    check.load(row, keys);
    const bool has_failed = failed.load(cuda::memory_order_relaxed) != 0;  // in flight together with the keys
    is_wrong = check.move(row, keys);
    if (__syncthreads_or(is_wrong || has_failed) != 0) break;
    row = uint64_t{next_row[turn]} * check.row_keys;
  }
  if (!is_wrong && !check.is_whole(row) && row < count) is_wrong = check.move_last(row);
  if (__any_sync(full_warp, is_wrong) && ptx::lane_id() == 0) failed.store(1, cuda::memory_order_relaxed);
  if (__any_sync(full_warp, check.has_ties()) && ptx::lane_id() == 0)
    DeviceAtomic<uint32_t>(plan->order.has_ties).store(1, cuda::memory_order_relaxed);
}

/// After the check: moves the values, and reverses keys in place. `keys`: as the check read them.
template <class Bits, class T>
__global__ __launch_bounds__(threads) void follow_guess_kernel(const Bits* keys, const T* in, T* out,
                                                               uint64_t count, const MsdPlan<Bits>* plan) {
  ptx::wait_for_previous_launch();
  if (!plan->order.is_right()) return;
  if (plan->order.has_ties)
    reverse_stably(keys, in, out, count);
  else if (plan->order.guess() == Guess::descending)
    reverse(in, out, count);
  else if (in != out)
    copy(in, out, count);
}

}  // namespace rearrange_detail

/// Moves the records to where plan->order.guess() sends them, if the guess is right. Otherwise sets
/// plan->order.failed. `out` may be `in`; then nothing moves until the guess was found right.
template <class Bits, class Value>
void rearrange_as_guessed(const Bits* keys_in, Bits* keys_out, const Value* values_in, Value* values_out,
                          uint64_t count, KeyMap<Bits> map, MsdPlan<Bits>* plan, cudaStream_t stream) {
  using namespace rearrange_detail;
  const auto check_guess = [&](auto kernel) {
    launch_chained(kernel, {blocks_for(kernel, count), threads, sizeof(CheckShared)}, stream, keys_in,
                   keys_out, count, map, plan);
  };
  // The key behind a warp's keys is another warp's: what streams is read twice. Small arrays stay in the
  // cache from sort to sort, if the output does not displace them. H200, u32 2^28, ms: 0.556, streaming
  // 0.567; four loads in flight 0.591, 0.571. 2^24 with the surrounding launches: 0.094, streaming four
  // 0.078.
  if (count >= uint64_t{1} << 26)
    check_guess(check_guess_kernel<Bits, 8, false>);
  else
    check_guess(check_guess_kernel<Bits, 4, true>);
  const auto follow_keys = follow_guess_kernel<Bits, Bits>;
  if (keys_in == keys_out)
    launch_chained(follow_keys, {blocks_for(follow_keys, count), threads}, stream, keys_in, keys_in, keys_out,
                   count, plan);
  if constexpr (value_bytes<Value> != 0) {
    const auto follow_values = follow_guess_kernel<Bits, Value>;
    launch_chained(follow_values, {blocks_for(follow_values, count), threads}, stream, keys_in, values_in,
                   values_out, count, plan);
  }
}

}  // namespace sweepsort
