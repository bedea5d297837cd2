// widen.cuh - for a scan whose sums outgrow the type of its elements: copies the elements to a wider type,
// and finds where a sum left its type. Work O(n); moves the narrow and the wide elements once, and both
// arrays of a scan once.
#pragma once

#include "core/rounding.hpp"
#include "kernels/launch.cuh"
#include "kernels/tickets.cuh"

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace sweepsort {

namespace widen_detail {

inline constexpr uint32_t threads = 256;
inline constexpr uint32_t elements_per_thread = 8;

inline uint32_t blocks(uint64_t size) {
  constexpr uint32_t tile = threads * elements_per_thread;
  return static_cast<uint32_t>(ceil_divide(size, tile));
}

/// Calls use(i) for this thread's places in an array.
template <class Use>
__device__ __forceinline__ void for_my_places(uint64_t size, Use use) {
  const uint64_t first = uint64_t{blockIdx.x} * (threads * elements_per_thread) + threadIdx.x;
#pragma unroll
  for (uint32_t k = 0; k < elements_per_thread; ++k)
    if (first + k * threads < size) use(first + k * threads);
}

template <class From, class To>
static __global__ __launch_bounds__(threads) void widen_kernel(const From* in, To* out, uint64_t size) {
  for_my_places(size, [&](uint64_t i) { out[i] = static_cast<To>(in[i]); });
}

/// Whether left + right overflows the type.
template <class Integer>
__device__ __forceinline__ bool overflows(Integer left, Integer right) {
  using Bits = std::make_unsigned_t<Integer>;
  const auto sum =
      static_cast<Integer>(static_cast<Bits>(static_cast<Bits>(left) + static_cast<Bits>(right)));
  if constexpr (std::is_unsigned_v<Integer>)
    return sum < left;
  else
    return (right < 0) ? sum > left : sum < left;
}

template <class Integer>
static __global__ __launch_bounds__(threads) void find_overflow_kernel(const Integer* in, const Integer* out,
                                                                       uint64_t size, bool exclusive,
                                                                       uint64_t first_index,
                                                                       uint64_t* position) {
  using Bits = std::make_unsigned_t<Integer>;
  uint64_t mine = std::numeric_limits<uint64_t>::max();
  for_my_places(size, [&](uint64_t i) {
    const auto before =
        exclusive
            ? out[i]
            : static_cast<Integer>(static_cast<Bits>(static_cast<Bits>(out[i]) - static_cast<Bits>(in[i])));
    if (overflows(before, in[i]) && first_index + i < mine) mine = first_index + i;
  });
  const DeviceAtomic<uint64_t> word(*position);
  if (mine < word.load(cuda::memory_order_relaxed)) word.fetch_min(mine, cuda::memory_order_relaxed);
}

}  // namespace widen_detail

/// out[i] = in[i]; the arrays do not overlap.
template <class From, class To>
void widen(const From* in, To* out, uint64_t size, cudaStream_t stream) {
  if (size == 0) return;
  launch(widen_detail::widen_kernel<From, To>, {widen_detail::blocks(size), widen_detail::threads}, stream,
         in, out, size);
}

/// Lowers *position to first_index + the first i for which adding in[i] to all elements before it overflowed
/// the type. `out` is a scan of `in` that wrapped: it is right up to the first such place, though not after
/// it.
template <class Integer>
void find_overflow(const Integer* in, const Integer* out, uint64_t size, bool exclusive, uint64_t first_index,
                   uint64_t* position, cudaStream_t stream) {
  if (size == 0) return;
  launch(widen_detail::find_overflow_kernel<Integer>, {widen_detail::blocks(size), widen_detail::threads},
         stream, in, out, size, exclusive, first_index, position);
}

}  // namespace sweepsort
