// bucket_keys.cuh - the keys of a bucket of few values, as the kernels read them that need no more than each
// key's distance from the bucket's lowest value (bucket_bits.cuh, bucket_counting.cuh).
#pragma once

#include "kernels/bucket_list.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"
#include "kernels/vector16.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort::bucket_list {

/// Some keys of a thread, as distances from the lowest value of their bucket, modulo 2^few_value_bits.
template <uint32_t most, bool has_all>
struct SomeValues {
  static constexpr uint32_t size = most;
  uint32_t values[most];
  uint32_t present;  // if not all are

  /// Calls body(value, k) for the keys that exist.
  template <class Body>
  __device__ __forceinline__ void for_values(Body body) const {
#pragma unroll
    for (uint32_t k = 0; k < most; ++k)
      if (has_all || k < present) body(values[k], k);
  }
};

/// Where the keys of a bucket of few values are: contiguous from `keys` on or, if that is null, in chunks.
template <class Bits, uint32_t threads>
struct BucketKeys {
  const Bits* keys;
  ChunkedKeys<Bits> chunked;
  uint32_t size;

  /// The lowest value that the bucket may have. `low_bits` are its low bits.
  __device__ __forceinline__ Bits lowest(uint32_t low_bits) const {
    if (keys == nullptr) return widen(static_cast<NarrowKey<Bits>>(low_bits), chunked.lowest);
    const Bits first = *keys;
    return static_cast<Bits>(first - (static_cast<uint32_t>(first) - low_bits));
  }

  /// Calls body(SomeValues) for all keys. Each thread takes some of them.
  template <class Body>
  __device__ __forceinline__ void for_each(uint32_t low_bits, Body body) const {
    if (keys == nullptr && chunked.is_narrow) {
      for_chunks<NarrowKey<Bits>>(low_bits, body);
    } else if (keys == nullptr) {
      for_chunks<Bits>(low_bits, body);
    } else {
      for_all<Bits>(
          size / (threads * width), [&](uint32_t row) { return row_at(row); }, low_bits, body);
      const uint32_t begin = size / (threads * width) * (threads * width);
      for (uint32_t i = begin + threadIdx.x; i < size; i += threads)
        body(SomeValues<1, true>{{static_cast<uint32_t>(__ldcs(keys + i)) - low_bits}, 1});
    }
  }

 private:
  static constexpr uint32_t width = sizeof(uint4) / sizeof(Bits);
  static constexpr uint32_t warps = threads / warp_threads;

  __device__ __forceinline__ Vector16<Bits> row_at(uint32_t row) const {
    Vector16<Bits> vector;
#pragma unroll
    for (uint32_t k = 0; k < width; ++k)
      vector.elements[k] = __ldcs(keys + (row * width + k) * threads + threadIdx.x);
    return vector;
  }

  template <class Stored, bool has_all, class Body>
  static __device__ __forceinline__ void give(const Vector16<Stored>& vector, uint32_t low_bits,
                                              uint32_t present, Body body) {
    constexpr uint32_t most = sizeof(uint4) / sizeof(Stored);
    SomeValues<most, has_all> some;
    some.present = present;
#pragma unroll
    for (uint32_t k = 0; k < most; ++k) some.values[k] = static_cast<uint32_t>(vector.elements[k]) - low_bits;
    body(some);
  }

  /// Each warp takes a chunk at a time.
  template <class Stored, class Body>
  __device__ __forceinline__ void for_chunks(uint32_t low_bits, Body body) const {
    constexpr uint32_t chunk = dealt_chunk<Stored>;
    constexpr uint32_t a_lane = sizeof(uint4) / sizeof(Stored);
    static_assert(chunk == warp_threads * a_lane);
    const uint32_t warp = threadIdx.x / warp_threads;
    const auto vector = [&](uint32_t number) {
      const Stored* const own = chunked.template at<Stored>(number * chunk);
      return Vector16<Stored>{.whole = __ldcs(reinterpret_cast<const uint4*>(own) + ptx::lane_id())};
    };
    const uint32_t full = size / chunk;
    for_all<Stored>(
        full / warps + (warp < full % warps), [&](uint32_t row) { return vector(row * warps + warp); },
        low_bits, body);
    const uint32_t left = size - full * chunk;
    const uint32_t before = ptx::lane_id() * a_lane;
    if (warp == full % warps && before < left)
      give<Stored, false>(vector(full), low_bits, min(left - before, a_lane), body);
  }

  static constexpr uint32_t in_flight = 4;

  /// Calls body with what load(row) returns, for the rows below `rows`. Several rows are loaded at once.
  template <class Stored, class Load, class Body>
  static __device__ __forceinline__ void for_all(uint32_t rows, Load load, uint32_t low_bits, Body body) {
    uint32_t row = 0;
    for (; row + in_flight <= rows; row += in_flight) {
      Vector16<Stored> loaded[in_flight];
#pragma unroll
      for (uint32_t u = 0; u < in_flight; ++u) loaded[u] = load(row + u);
#pragma unroll
      for (uint32_t u = 0; u < in_flight; ++u) give<Stored, true>(loaded[u], low_bits, 0, body);
    }
#pragma unroll 1
    for (; row < rows; ++row) give<Stored, true>(load(row), low_bits, 0, body);
  }
};

}  // namespace sweepsort::bucket_list
