// digit.cuh - keys as numbers in base 256.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace sweepsort {

inline constexpr uint32_t digit_bits = 8;
inline constexpr uint32_t digit_values = 1u << digit_bits;

/// Digits of a key, least significant first.
template <class Bits>
inline constexpr uint32_t digit_places = sizeof(Bits) * 8 / digit_bits;

/// Whether keys have so few digits that sorting by digits is always fastest, unless they are counted.
template <class Bits>
inline constexpr bool is_short_key = digit_places<Bits> <= 2;

/// The digit of keys at one place, which is the same for many keys. It takes a byte permutation: one
/// instruction, where shift and mask take two.
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
  uint32_t selector_;  // byte `place`, then three zero bytes
  bool upper_;
};

}  // namespace sweepsort
