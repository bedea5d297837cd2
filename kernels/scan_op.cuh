// scan_op.cuh - the operators of a scan, and what the scans ask of an operator.
#pragma once

#include "core/key_bits.hpp"

#include <concepts>
#include <limits>
#include <type_traits>

namespace sweepsort {

/// An associative operator on elements T. `identity()` changes nothing on either side. `is_commutative`
/// allows the scans to combine partial results in any order. `is_slow`, if it exists and is true: the
/// operator takes more than two or three instructions. T is trivially copyable and default constructible, of
/// 1, 2, or a multiple of 4 bytes, at most 64. Example: maps x -> a x + b, of which the left one is applied
/// first:
///
///   struct Compose {
///     static constexpr bool is_commutative = false;
///     __host__ __device__ Affine identity() const { return {1, 0}; }
///     __host__ __device__ Affine operator()(Affine left, Affine right) const {
///       return {right.a * left.a, right.a * left.b + right.b};
///     }
///   };
template <class Op, class T>
concept ScanOperator = std::is_trivially_copyable_v<T> && std::default_initializable<T> &&
                       (sizeof(T) <= 2 || sizeof(T) % 4 == 0) &&
                       sizeof(T) <= 64 && requires(const Op op, T value) {
  { op.identity() } -> std::convertible_to<T>;
  { op(value, value) } -> std::convertible_to<T>;
  { Op::is_commutative } -> std::convertible_to<bool>;
};

template <class Op>
inline constexpr bool is_slow = requires {
  requires Op::is_slow;
};

/// Integers wrap: T is unsigned, or floating point. For floats, -0.0 is the identity; 0.0 is not, as 0.0 +
/// -0.0 is not -0.0.
template <class T>
struct Sum {
  static constexpr bool is_commutative = true;
  SWEEPSORT_HOST_DEVICE T identity() const {
    return std::is_floating_point_v<T> ? static_cast<T>(-0.0) : T{0};
  }
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

/// Of two keys (raw bits), the one that a sort by `map` puts first: the minimum in ascending order, the
/// maximum in descending order. NaN is last in both orders, so it loses against every number.
template <class Bits>
struct First {
  static constexpr bool is_commutative = true;
  static constexpr bool is_slow = true;
  KeyMap<Bits> map;
  SWEEPSORT_HOST_DEVICE Bits identity() const { return map.from_ordered(std::numeric_limits<Bits>::max()); }
  SWEEPSORT_HOST_DEVICE Bits operator()(Bits left, Bits right) const {
    return map.to_ordered(right) < map.to_ordered(left) ? right : left;
  }

  /// The same operator on ordered bits.
  struct Ordered {
    static constexpr bool is_commutative = true;
    SWEEPSORT_HOST_DEVICE Bits identity() const { return std::numeric_limits<Bits>::max(); }
    SWEEPSORT_HOST_DEVICE Bits operator()(Bits left, Bits right) const { return right < left ? right : left; }
  };
};

/// What the fast scans combine in registers. By default: the elements themselves, with the operator itself.
template <class T, class Op>
struct ScanTerms {
  Op op;
  SWEEPSORT_HOST_DEVICE const Op& inner() const { return op; }
  SWEEPSORT_HOST_DEVICE const T& enter(const T& element) const { return element; }
  SWEEPSORT_HOST_DEVICE const T& leave(const T& term) const { return term; }
};

/// Ordered bits, made once per element, not at every comparison.
template <class Bits>
struct ScanTerms<Bits, First<Bits>> {
  First<Bits> op;
  SWEEPSORT_HOST_DEVICE typename First<Bits>::Ordered inner() const { return {}; }
  SWEEPSORT_HOST_DEVICE Bits enter(Bits element) const { return op.map.to_ordered(element); }
  SWEEPSORT_HOST_DEVICE Bits leave(Bits term) const { return op.map.from_ordered(term); }
};

}  // namespace sweepsort
