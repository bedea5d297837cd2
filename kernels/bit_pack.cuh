// bit_pack.cuh - keys without the bits that are the same in all of them: the other bits move together, in
// order.
//
//     live      1 0 0 1 1 0 1 1      bits that are not the same in all keys
//     key       a 0 1 b c 1 d e
//     packed    0 0 0 a b c d e
//
// Every live bit moves down by the number of dead bits below it. Step k moves the bits for which bit k of
// this number is set, by 2^k. Warren, "Hacker's Delight", 2nd ed., 2013, 7-4 (compress) and 7-5 (expand).
#pragma once

#include "core/key_bits.hpp"

#include <bit>
#include <cstdint>
#include <limits>

namespace sweepsort {

/// A map of keys that are equal except for some bits. It keeps their order, and unpack() undoes it.
template <class Bits>
struct BitPack {
  static constexpr uint32_t width = std::numeric_limits<Bits>::digits;
  static constexpr uint32_t steps = std::countr_zero(width);

  Bits live;          // the bits that differ
  Bits rest;          // the other bits, as all keys have them
  Bits moved[steps];  // the bits that move by 2^step, at the places that they have by then
  uint32_t packs;     // 0: the map changes nothing

  SWEEPSORT_HOST_DEVICE static constexpr BitPack none() {
    return {.live = static_cast<Bits>(~Bits{0}), .rest = 0, .moved = {}, .packs = 0};
  }
  /// For keys that agree with `key` in all but their `live` bits.
  SWEEPSORT_HOST_DEVICE static constexpr BitPack of(Bits live, Bits key) {
    BitPack pack{.live = live, .rest = static_cast<Bits>(key & ~live), .moved = {}, .packs = 1};
    Bits standing = live;
    Bits dead_below =
        static_cast<Bits>(~live << 1);  // by bit: the bit below is dead, and not yet passed over
    for (uint32_t step = 0; step < steps; ++step) {
      Bits is_odd = dead_below;  // parity of the number of such bits at or below a bit
      for (uint32_t shift = 1; shift < width; shift *= 2) is_odd ^= static_cast<Bits>(is_odd << shift);
      pack.moved[step] = is_odd & standing;
      standing = close_gaps(standing, pack.moved[step], step);
      dead_below &= static_cast<Bits>(~is_odd);  // every other one: half of the number is left
    }
    return pack;
  }

  SWEEPSORT_HOST_DEVICE static constexpr Bits close_gaps(Bits key, Bits moved, uint32_t step) {
    return static_cast<Bits>((key & ~moved) | ((key & moved) >> (1u << step)));
  }

  SWEEPSORT_HOST_DEVICE constexpr Bits pack(Bits key) const {
    key &= live;
    for (uint32_t step = 0; step < steps; ++step) key = close_gaps(key, moved[step], step);
    return key;
  }
  SWEEPSORT_HOST_DEVICE constexpr Bits unpack(Bits packed) const {
    for (uint32_t step = steps; step-- > 0;) {
      const Bits up = static_cast<Bits>(packed << (1u << step));
      packed = static_cast<Bits>((packed & ~moved[step]) | (up & moved[step]));
    }
    return static_cast<Bits>((packed & live) | rest);
  }
};

}  // namespace sweepsort
