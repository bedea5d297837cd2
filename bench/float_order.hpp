// float_order.hpp - the orders in which sorts leave NaN and the two zeros, so that each is held to its own
// promise.
#pragma once

#include "core/key_bits.hpp"

#include <limits>

namespace sweepsort::bench {

enum class FloatOrder : uint8_t {
  total,     // sweepsort: -0.0 before +0.0, NaN of either sign last
  by_value,  // the standard library with a comparison that puts NaN last: all NaN alike, both zeros alike
  by_bits,   // CUB and Thrust: negative NaN first, positive NaN last, both zeros alike
};

/// A key's place in one of those orders, as an unsigned integer: equal for keys that the order does not tell
/// apart.
template <class Bits>
class KeyRank {
 public:
  KeyRank(KeyType type, Order order, FloatOrder float_order)
      : map_(key_map<Bits>(type, order)),
        merge_zeros_(is_floating(type) && float_order != FloatOrder::total),
        merge_nans_(is_floating(type) && float_order == FloatOrder::by_value) {
    if (float_order == FloatOrder::by_bits) map_.add = 0;
  }

  SWEEPSORT_HOST_DEVICE Bits operator()(Bits raw) const {
    const Bits magnitude = static_cast<Bits>(raw & ~sign);
    if (merge_zeros_ && magnitude == 0) raw = 0;
    if (merge_nans_ && magnitude > infinity) raw = static_cast<Bits>(~sign);
    return map_.to_ordered(raw);
  }

 private:
  static constexpr Bits sign = static_cast<Bits>(Bits{1} << KeyMap<Bits>::sign_shift);
  static constexpr Bits infinity = static_cast<Bits>(sizeof(Bits) == 8 ? 0x7ff0'0000'0000'0000 : 0x7f80'0000);

  KeyMap<Bits> map_;
  bool merge_zeros_;
  bool merge_nans_;
};

}  // namespace sweepsort::bench
