// bucket_rows.cuh - a bucket in the registers of a block (bucket_sort.cuh), and how its keys get there.
//
//     thread:    0  1  2  3
//     row 0:     0  1  2  3      a row is one record of each thread; here, their places in the bucket
//     row 1:     4  5  6  7
//     row 2:     8  9            some rows are loaded at once, without tests if all their records exist
#pragma once

#include "kernels/bucket_list.cuh"
#include "kernels/msd_plan.cuh"
#include "kernels/ptx.cuh"

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace sweepsort {

namespace bucket_sort_detail {

/// Rows of records whose loads and atomics are in flight at once.
inline constexpr uint32_t batch = 4;

template <uint32_t threads, uint32_t keys_per_thread>
struct BucketRows {
  /// Where this thread's record of a row is in the bucket.
  __device__ __forceinline__ static uint32_t index(uint32_t row) { return row * threads + threadIdx.x; }

  /// Some rows of a bucket. If `is_full`, as most batches are, all records exist. Otherwise each one is
  /// tested.
  template <bool is_full>
  struct Batch {
    static constexpr bool has_all = is_full;
    uint32_t first;
    uint32_t size;  // of the bucket

    /// Calls body(row) for the records that exist.
    template <class Body>
    __device__ __forceinline__ void for_rows(Body body) const {
#pragma unroll
      for (uint32_t row = first; row < min(first + batch, keys_per_thread); ++row)
        if (is_full || index(row) < size) body(row);
    }
  };
  /// Calls body(Batch) for all rows of a bucket.
  template <class Body>
  __device__ __forceinline__ static void for_batches(uint32_t size, Body body) {
#pragma unroll
    for (uint32_t row = 0; row < keys_per_thread; row += batch) {
      if constexpr (batch <= keys_per_thread) {
        if (row + batch <= keys_per_thread && (row + batch) * threads <= size) {
          body(Batch<true>{row, size});
          continue;
        }
      }
      if (row * threads < size) body(Batch<false>{row, size});
    }
  }
  /// Calls body(row) for all of this thread's records.
  template <class Body>
  __device__ __forceinline__ static void for_rows(uint32_t size, Body body) {
    for_batches(size, [&](auto rows) { rows.for_rows(body); });
  }
};

/// The keys of a bucket, of which there are `size` to load.
template <class Bits, uint32_t threads, uint32_t keys_per_thread>
class BucketKeyRows : public BucketRows<threads, keys_per_thread> {
  using Rows = BucketRows<threads, keys_per_thread>;

 public:
  __device__ __forceinline__ Bits& operator[](uint32_t row) { return keys_[row]; }
  __device__ __forceinline__ const Bits& operator[](uint32_t row) const { return keys_[row]; }

  /// All rows, also those that the bucket does not have.
  __device__ __forceinline__ Bits* begin() { return keys_; }
  __device__ __forceinline__ Bits* end() { return keys_ + keys_per_thread; }

  __device__ __forceinline__ void load(uint32_t size, const Bits* from) {
    const Bits* const mine = from + threadIdx.x;
    Rows::for_rows(size, [&](uint32_t row) { keys_[row] = __ldcs(mine + row * threads); });
  }
  __device__ __forceinline__ void load(uint32_t size, const bucket_list::ChunkedKeys<Bits>& from) {
    if (from.is_narrow) return load_narrow(size, from);
    constexpr uint32_t chunk = dealt_chunk<Bits>;
    static_assert(threads % chunk == 0);
    const Bits* const mine = ptx::opaque(from.region + threadIdx.x % chunk);
    const uint16_t* const numbers = from.numbers + threadIdx.x / chunk;
    Rows::for_rows(
        size, [&](uint32_t row) { keys_[row] = __ldcs(mine + numbers[row * (threads / chunk)] * chunk); });
  }
  /// Keys that are key_of(loaded value, index in the bucket).
  template <class Stored, class KeyOf>
  __device__ __forceinline__ void load_as(uint32_t size, const Stored* from, KeyOf key_of) {
    const Stored* const mine = from + threadIdx.x;
    Rows::for_rows(size, [&](uint32_t row) { keys_[row] = __ldcs(mine + row * threads); });
    Rows::for_rows(
        size, [&](uint32_t row) { keys_[row] = key_of(static_cast<Stored>(keys_[row]), Rows::index(row)); });
  }
  /// As load(), but `front` keys are at the beginning of the `room` keys from `from` on, and the others at
  /// their end.
  __device__ __forceinline__ void load_ends(uint32_t size, uint32_t front, const Bits* from, uint32_t room) {
    const Bits* const mine = from + threadIdx.x;
#pragma unroll
    for (uint32_t first = 0; first < keys_per_thread; first += batch) {
      if ((first + batch) * threads <= front) {
        All{first, size}.for_rows([&](uint32_t row) { keys_[row] = __ldcs(mine + row * threads); });
      } else if (first * threads < size) {
        const uint32_t gap = room - size;
        Some{first, size}.for_rows([&](uint32_t row) {
          keys_[row] = __ldcs(mine + row * threads + (Rows::index(row) < front ? 0 : gap));
        });
      }
    }
  }

 private:
  using All = typename Rows::template Batch<true>;
  using Some = typename Rows::template Batch<false>;
  using Narrow = NarrowKey<Bits>;

  /// What a thread loads of a whole batch of narrow keys.
  union Neighbours {
    std::conditional_t<sizeof(Bits) == 4, uint2, uint4> whole;
    Narrow narrow[batch];
    Bits keys[batch / 2];
  };

  __device__ __forceinline__ void load_narrow(uint32_t size, const bucket_list::ChunkedKeys<Bits>& from) {
    // In a whole batch, a thread loads neighbouring keys, as it does not matter which thread has which key.
    static_assert(sizeof(Neighbours) == batch * sizeof(Narrow));
    static_assert(threads * batch % dealt_chunk<Narrow> == 0);
    Rows::for_batches(size, [&](auto rows) {
      if constexpr (rows.has_all) {
        const Narrow* const own = from.template at<Narrow>(rows.first * threads + threadIdx.x * batch);
        const Neighbours some{.whole = __ldcs(reinterpret_cast<const decltype(Neighbours::whole)*>(own))};
#pragma unroll
        for (uint32_t k = 0; k < batch / 2; ++k) keys_[rows.first + k] = some.keys[k];
      } else {
        rows.for_rows([&](uint32_t row) { keys_[row] = __ldcs(from.template at<Narrow>(Rows::index(row))); });
      }
    });
    // All loads are in flight now.
    const Bits lowest = from.lowest;
    if (static_cast<Narrow>(lowest) == 0)
      widen_all(size, [=](Narrow key) { return static_cast<Bits>(lowest | key); });
    else
      widen_all(size, [=](Narrow key) { return widen(key, lowest); });
  }
  template <class Widen>
  __device__ __forceinline__ void widen_all(uint32_t size, Widen widen) {
    Rows::for_batches(size, [&](auto rows) {
      if constexpr (rows.has_all) {
        Neighbours some;
#pragma unroll
        for (uint32_t k = 0; k < batch / 2; ++k) some.keys[k] = keys_[rows.first + k];
#pragma unroll
        for (uint32_t k = 0; k < batch; ++k) keys_[rows.first + k] = widen(some.narrow[k]);
      } else {
        rows.for_rows([&](uint32_t row) { keys_[row] = widen(static_cast<Narrow>(keys_[row])); });
      }
    });
  }

  Bits keys_[keys_per_thread] = {};
};

}  // namespace bucket_sort_detail

}  // namespace sweepsort
