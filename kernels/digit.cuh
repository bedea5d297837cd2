// digit.cuh - keys as numbers of base 256.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

inline constexpr uint32_t digit_bits = 8;
inline constexpr uint32_t digit_values = 1u << digit_bits;

/// Digits of a key, least significant first.
template <class Bits>
inline constexpr uint32_t digit_places = sizeof(Bits) * 8 / digit_bits;

/// Whether keys have so few digits that to sort by these is always the shortest way, where they are not
/// counted.
template <class Bits>
inline constexpr bool is_short_key = digit_places<Bits> <= 2;

/// The digit at one place, the same for many keys: a byte permutation, one instruction where shift and mask
/// are two.
template <class Bits>
class DigitOf {
 public:
  __device__ __forceinline__ explicit DigitOf(uint32_t place)
      : selector_(0x4440 + place % 4), upper_(place >= 4) {}

  __device__ __forceinline__ uint32_t operator()(Bits key) const {
    uint32_t word = static_cast<uint32_t>(key);
    if constexpr (sizeof(Bits) == 8) word = upper_ ? static_cast<uint32_t>(key >> 32) : word;
    return sizeof(Bits) == 1 ? word : __byte_perm(word, 0, selector_);
  }

 private:
  uint32_t selector_;  // byte `place`, then three bytes of zero
  bool upper_;
};

}  // namespace sweepsort
