// float_order.hpp - where different sorts put NaN and the two zeros, so that each is checked against its own
// promise.
#pragma once

#include "core/key_bits.hpp"

#include <limits>

namespace sweepsort::bench {

enum class FloatOrder : uint8_t {
  total,     // sweepsort: -0.0 before +0.0, NaN of either sign last
  by_value,  // the standard library, comparing NaN as last: all NaNs are equal, both zeros are equal
  by_bits,   // CUB and Thrust: negative NaN first, positive NaN last, both zeros equal
};

/// A key's position in one of those orders, as an unsigned integer; the same for keys that the order treats
/// as equal.
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
