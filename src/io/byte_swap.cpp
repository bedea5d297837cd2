// byte_swap.cpp - byte order reversal, with vectors if the compiler can.
#include "io/byte_swap.hpp"

#include <cstdint>
#include <cstring>

namespace sweepsort {
namespace {

inline uint16_t reversed(uint16_t key) { return __builtin_bswap16(key); }
inline uint32_t reversed(uint32_t key) { return __builtin_bswap32(key); }
inline uint64_t reversed(uint64_t key) { return __builtin_bswap64(key); }

template <class Bits>
void swap_all(std::span<std::byte> keys) {
  for (size_t at = 0; at < keys.size(); at += sizeof(Bits)) {
    Bits key;
    std::memcpy(&key, keys.data() + at, sizeof key);
    key = reversed(key);
    std::memcpy(keys.data() + at, &key, sizeof key);
  }
}

}  // namespace

void swap_key_bytes(std::span<std::byte> keys, size_t key_bytes) {
  switch (key_bytes) {
    case 2: return swap_all<uint16_t>(keys);
    case 4: return swap_all<uint32_t>(keys);
    case 8: return swap_all<uint64_t>(keys);
    default: return;
  }
}

}  // namespace sweepsort
