// scan_op.cuh - the operators of a scan, and what the scans ask of an operator.
#pragma once

#include "core/key_bits.hpp"

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sweepsort {

/// An operator on elements T: associative; `identity()` changes nothing on either side. `is_commutative`
/// allows the scans to combine partial results in any order. T is trivially copyable, of 1, 2, or a multiple
/// of 4 bytes. Example, maps x -> a x + b, first the left one:
///
///   struct Compose {
///     static constexpr bool is_commutative = false;
///     __host__ __device__ Affine identity() const { return {1, 0}; }
///     __host__ __device__ Affine operator()(Affine left, Affine right) const {
///       return {right.a * left.a, right.a * left.b + right.b};
///     }
///   };
template <class Op, class T>
concept ScanOperator = std::is_trivially_copyable_v<T> && sizeof(T) <= 64 && requires(const Op op, T value) {
  { op.identity() } -> std::convertible_to<T>;
  { op(value, value) } -> std::convertible_to<T>;
  { Op::is_commutative } -> std::convertible_to<bool>;
};

/// Integers wrap: T is unsigned, or floating point.
template <class T>
struct Sum {
  static constexpr bool is_commutative = true;
  SWEEPSORT_HOST_DEVICE T identity() const { return T{0}; }
  SWEEPSORT_HOST_DEVICE T operator()(T left, T right) const { return static_cast<T>(left + right); }
};

template <class Bits>
struct Xor {
  static constexpr bool is_commutative = true;
  SWEEPSORT_HOST_DEVICE Bits identity() const { return Bits{0}; }
  SWEEPSORT_HOST_DEVICE Bits operator()(Bits left, Bits right) const {
    return static_cast<Bits>(left ^ right);
  }
};

/// Of two keys (raw bits) the one that a sort by `map` puts first: the minimum in ascending order, the
/// maximum in descending order. NaN is last in both, and so loses against every number.
template <class Bits>
struct First {
  static constexpr bool is_commutative = true;
  KeyMap<Bits> map;
  SWEEPSORT_HOST_DEVICE Bits identity() const { return map.from_ordered(std::numeric_limits<Bits>::max()); }
  SWEEPSORT_HOST_DEVICE Bits operator()(Bits left, Bits right) const {
    return map.to_ordered(right) < map.to_ordered(left) ? right : left;
  }
};

}  // namespace sweepsort
