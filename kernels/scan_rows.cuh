// scan_rows.cuh - the part of a tile that one warp scans in its registers, by loads and stores of 16 bytes.
//
//     row 0:  | lane 0: a b c d | lane 1: e f g h | ... | lane 31 |     a row is 32 vectors, coalesced
//     row 1:  | lane 0          | lane 1          | ... | lane 31 |
//
// Three sums are combined: of the elements inside a lane's vector, of the lower lanes in the row (Hillis &
// Steele by shuffles, all rows at once, so that their latencies overlap), and of the rows above.
#pragma once

#include "kernels/scan_op.cuh"
#include "kernels/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace sweepsort {

/// Elements per load.
template <class T>
inline constexpr uint32_t vector_elements = sizeof(T) < 16 && 16 % sizeof(T) == 0 ? 16 / sizeof(T) : 1;

template <class T>
struct alignas(16 % sizeof(T) == 0 ? 16 : alignof(T)) Vector {
  T at[vector_elements<T>];
};

/// Whether vectors can be loaded from, and stored to, this address.
template <class T>
__host__ __device__ inline bool is_vector_aligned(const T* at) {
  return reinterpret_cast<uintptr_t>(at) % alignof(Vector<T>) == 0;
}

/// As warp_reduce() for any operator (warp.cuh), but words are added up by one instruction.
template <class T>
__device__ __forceinline__ T warp_reduce(T value, const Sum<T>& op) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) <= 4) return static_cast<T>(ptx::warp_sum(value));
  return warp_reduce<T, Sum<T>>(value, op);
}

/// One warp's rows. Calls come in this order: load, scan, finish, store. The whole warp calls every method.
template <class T, uint32_t rows>
class ScanRows {
 public:
  static constexpr uint32_t vectors = rows * warp_threads;
  static constexpr uint32_t elements = vectors * vector_elements<T>;

  /// Loads from memory that holds all `elements`.
  __device__ __forceinline__ void load(const Vector<T>* from) {
#pragma unroll
    for (uint32_t row = 0; row < rows; ++row) vector_[row] = from[row * warp_threads + ptx::lane_id()];
  }

  /// Loads the elements in[first, size), as far as they exist, and `fill` in place of the others.
  __device__ __forceinline__ void load_guarded(const T* in, uint64_t first, uint64_t size, const T& fill) {
#pragma unroll
    for (uint32_t row = 0; row < rows; ++row) {
#pragma unroll
      for (uint32_t k = 0; k < vector_elements<T>; ++k) {
        const uint64_t at = first + place(row) + k;
        vector_[row].at[k] = at < size ? in[at] : fill;
      }
    }
  }

  /// Loads in[first, ...): by vectors if `whole`, that is, if the caller knows that all exist and are
  /// aligned.
  __device__ __forceinline__ void load(const T* in, uint64_t first, uint64_t size, bool whole,
                                       const T& fill) {
    if (whole)
      load(reinterpret_cast<const Vector<T>*>(in + first));
    else
      load_guarded(in, first, size, fill);
  }

  /// Turns the loaded elements into terms, or the finished terms into elements (scan_op.cuh).
  template <class Terms>
  __device__ __forceinline__ void enter(const Terms& terms) {
    for_each([&](T& element) { element = terms.enter(element); });
  }
  template <class Terms>
  __device__ __forceinline__ void leave(const Terms& terms) {
    for_each([&](T& term) { term = terms.leave(term); });
  }

  /// Combines all elements of the warp by a commutative operator; every lane gets the result. It is there
  /// sooner than that of scan().
  template <class Op>
  __device__ __forceinline__ T sum(const Op& op) const {
    T sum = op.identity();
#pragma unroll
    for (uint32_t row = 0; row < rows; ++row) {
#pragma unroll
      for (uint32_t k = 0; k < vector_elements<T>; ++k) sum = op(sum, vector_[row].at[k]);
    }
    return warp_reduce(sum, op);
  }

  /// Combines all elements of the warp; every lane gets the result.
  template <class Op>
  __device__ __forceinline__ T scan(const Op& op) {
    T inclusive[rows];
#pragma unroll
    for (uint32_t row = 0; row < rows; ++row) {
      inclusive[row] = vector_[row].at[0];
#pragma unroll
      for (uint32_t k = 1; k < vector_elements<T>; ++k)
        inclusive[row] = op(inclusive[row], vector_[row].at[k]);
    }
#pragma unroll
    for (uint32_t distance = 1; distance < warp_threads; distance *= 2) {
#pragma unroll
      for (uint32_t row = 0; row < rows; ++row) {
        const T below = shuffle_up(inclusive[row], distance);
        if (ptx::lane_id() >= distance) inclusive[row] = op(below, inclusive[row]);
      }
    }
    T sum = op.identity();
#pragma unroll
    for (uint32_t row = 0; row < rows; ++row) {
      before_[row] = op(sum, warp_exclusive_from_inclusive(inclusive[row], op));
      sum = op(sum, shuffle_from(inclusive[row], warp_threads - 1));
    }
    return sum;
  }

  /// Turns the elements into the scan's results. `prefix` is what comes before the warp's first element. Lane
  /// 31 gets the combination of everything up to the warp's last element.
  template <class Op>
  __device__ __forceinline__ T finish(const T& prefix, const Op& op, bool exclusive) {
    T sum = prefix;
#pragma unroll
    for (uint32_t row = 0; row < rows; ++row) {
      sum = op(prefix, before_[row]);
#pragma unroll
      for (uint32_t k = 0; k < vector_elements<T>; ++k) {
        const T up_to_me = op(sum, vector_[row].at[k]);
        vector_[row].at[k] = exclusive ? sum : up_to_me;
        sum = up_to_me;
      }
    }
    return sum;
  }

  __device__ __forceinline__ void store(Vector<T>* to) const {
#pragma unroll
    for (uint32_t row = 0; row < rows; ++row) to[row * warp_threads + ptx::lane_id()] = vector_[row];
  }

  __device__ __forceinline__ void store_guarded(T* out, uint64_t first, uint64_t size) const {
#pragma unroll
    for (uint32_t row = 0; row < rows; ++row) {
#pragma unroll
      for (uint32_t k = 0; k < vector_elements<T>; ++k) {
        const uint64_t at = first + place(row) + k;
        if (at < size) out[at] = vector_[row].at[k];
      }
    }
  }

  __device__ __forceinline__ void store(T* out, uint64_t first, uint64_t size, bool whole) const {
    if (whole)
      store(reinterpret_cast<Vector<T>*>(out + first));
    else
      store_guarded(out, first, size);
  }

 private:
  template <class Visit>
  __device__ __forceinline__ void for_each(const Visit& visit) {
#pragma unroll
    for (Vector<T>& vector : vector_) {
#pragma unroll
      for (T& element : vector.at) visit(element);
    }
  }
  static __device__ __forceinline__ uint32_t place(uint32_t row) {
    return (row * warp_threads + ptx::lane_id()) * vector_elements<T>;
  }

  Vector<T> vector_[rows];
  T before_[rows];  // in the warp, before this lane's vector
};

}  // namespace sweepsort
