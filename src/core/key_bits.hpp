// key_bits.hpp - order-preserving maps from every key type to unsigned integers, so that everything below
// sorts unsigned bits of 1, 2, 4 or 8 bytes in ascending order and knows nothing of signs, floats or
// directions.
//
//   unsigned   as it is
//   signed     flip the sign bit
//   float      flip the sign bit of positive keys, every bit of negative ones (Herf, "Radix tricks", 2001);
//              now the negative NaNs are the smallest patterns: one subtraction rotates them to the end,
//              behind the positive ones. So -inf < ... < -0.0 < +0.0 < ... < +inf < NaN of either sign, and
//              every bit is kept.
//   descending complement the result
//
// One struct of four masks does all of it without a branch on the type: kernels are compiled once a key
// width. Usable in device code: nothing here needs more than constexpr.
#pragma once

#include "core/key_type.hpp"

#include <cstdint>
#include <limits>

#ifdef __CUDACC__
#define SWEEPSORT_HOST_DEVICE __host__ __device__
#else
#define SWEEPSORT_HOST_DEVICE
#endif

namespace sweepsort {

/// A bijection between a key's raw bits and its rank among unsigned integers. Default: the identity.
template <class Bits>
struct KeyMap {
  static_assert(std::is_unsigned_v<Bits>);
  Bits flip_positive = 0;  // XORed when the sign bit is clear
  Bits flip_negative = 0;  // XORed when it is set
  Bits rotate = 0;         // how many patterns at the bottom move to the top (negative NaNs)
  Bits invert = 0;         // all ones for descending order

  static constexpr int sign_shift = std::numeric_limits<Bits>::digits - 1;

  SWEEPSORT_HOST_DEVICE constexpr Bits to_ordered(Bits raw) const {
    const Bits flip = (raw >> sign_shift) != 0 ? flip_negative : flip_positive;
    return static_cast<Bits>(static_cast<Bits>((raw ^ flip) - rotate) ^ invert);
  }

  SWEEPSORT_HOST_DEVICE constexpr Bits from_ordered(Bits ordered) const {
    const Bits flipped = static_cast<Bits>(static_cast<Bits>(ordered ^ invert) + rotate);
    return static_cast<Bits>(flipped ^ ((flipped >> sign_shift) != 0 ? flip_positive : flip_negative));
  }

  SWEEPSORT_HOST_DEVICE constexpr bool is_identity() const {
    return (flip_positive | flip_negative | rotate | invert) == 0;
  }

  /// Whether the keys are floating-point numbers.
  SWEEPSORT_HOST_DEVICE constexpr bool is_of_floats() const { return rotate != 0; }

  /// Whether both directions are one exclusive or with xor_mask(): integers, signed or not, in either order.
  SWEEPSORT_HOST_DEVICE constexpr bool is_xor() const {
    return flip_positive == flip_negative && rotate == 0;
  }
  SWEEPSORT_HOST_DEVICE constexpr Bits xor_mask() const { return static_cast<Bits>(flip_positive ^ invert); }

  friend constexpr bool operator==(const KeyMap&, const KeyMap&) = default;
};

/// The map for keys of `type` in `order`. `sizeof(Bits)` must be `key_bytes(type)`.
template <class Bits>
constexpr KeyMap<Bits> key_map(KeyType type, Order order) {
  constexpr Bits all = std::numeric_limits<Bits>::max();
  constexpr Bits sign = static_cast<Bits>(Bits{1} << KeyMap<Bits>::sign_shift);
  KeyMap<Bits> map;
  if (is_signed(type)) map.flip_positive = map.flip_negative = sign;
  if (is_floating(type)) {
    constexpr int mantissa_bits = sizeof(Bits) == 8 ? 52 : 23;
    map.flip_positive = sign;
    map.flip_negative = all;
    // Patterns with the sign set, a full exponent and a mantissa other than zero.
    map.rotate = static_cast<Bits>((uint64_t{1} << mantissa_bits) - 1);
  }
  if (order == Order::descending) map.invert = all;
  return map;
}

}  // namespace sweepsort
