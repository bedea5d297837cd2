// key_bits.hpp - order-preserving maps from every key type to unsigned integers. The code below this level
// sorts unsigned integers of 1, 2, 4 or 8 bytes in ascending order and knows nothing of signs, floats or
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
// One struct of three words does all of this without a branch on the type, so kernels are compiled only once
// per key width. The complement of a difference is a sum, ~(x - r) = ~x + r, so descending floats need no
// extra step. Usable in device code: everything here is constexpr.
#pragma once

#include "core/key_type.hpp"

#include <cstdint>
#include <limits>
#include <type_traits>

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
  Bits flip = 0;         // XORed
  Bits flip_change = 0;  // also XORed if the sign bit is set; never contains the sign bit itself
  Bits add = 0;          // then added: moves patterns (negative NaNs) from one end to the other
  bool descends = false;

  static constexpr int sign_shift = std::numeric_limits<Bits>::digits - 1;

  SWEEPSORT_HOST_DEVICE constexpr Bits to_ordered(Bits raw) const {
    return static_cast<Bits>((raw ^ (sign_mask(raw) & flip_change) ^ flip) + add);
  }

  SWEEPSORT_HOST_DEVICE constexpr Bits from_ordered(Bits ordered) const {
    const Bits flipped = static_cast<Bits>(static_cast<Bits>(ordered - add) ^ flip);
    return static_cast<Bits>(flipped ^ (sign_mask(flipped) & flip_change));
  }

  /// All ones if the sign bit is set. A branch would be unpredictable for random signs.
  SWEEPSORT_HOST_DEVICE static constexpr Bits sign_mask(Bits bits) {
    return static_cast<Bits>(static_cast<std::make_signed_t<Bits>>(bits) >> sign_shift);
  }

  SWEEPSORT_HOST_DEVICE constexpr bool is_identity() const { return (flip | flip_change | add) == 0; }

  /// Whether the keys are floating-point numbers.
  SWEEPSORT_HOST_DEVICE constexpr bool is_of_floats() const { return flip_change != 0; }

  /// Whether to_ordered and from_ordered are both one XOR with `flip`: true for integers, signed or not, in
  /// either order.
  SWEEPSORT_HOST_DEVICE constexpr bool is_xor() const { return (flip_change | add) == 0; }

  friend constexpr bool operator==(const KeyMap&, const KeyMap&) = default;
};

/// The map for keys of `type` in `order`. `sizeof(Bits)` must be `key_bytes(type)`.
template <class Bits>
constexpr KeyMap<Bits> key_map(KeyType type, Order order) {
  constexpr Bits all = std::numeric_limits<Bits>::max();
  constexpr Bits sign = static_cast<Bits>(Bits{1} << KeyMap<Bits>::sign_shift);
  KeyMap<Bits> map;
  if (is_signed(type)) map.flip = sign;
  if (is_floating(type)) {
    constexpr int mantissa_bits = sizeof(Bits) == 8 ? 52 : 23;
    map.flip = sign;
    map.flip_change = static_cast<Bits>(all ^ sign);
    // Minus the number of negative NaNs: sign set, exponent all ones, mantissa not zero.
    map.add = static_cast<Bits>(Bits{1} - static_cast<Bits>(uint64_t{1} << mantissa_bits));
  }
  if (order == Order::descending) {
    map.flip ^= all;
    map.add = static_cast<Bits>(Bits{0} - map.add);
    map.descends = true;
  }
  return map;
}

}  // namespace sweepsort
