// byte_swap.hpp - conversion between big-endian files and little-endian memory.
#pragma once

#include <cstddef>
#include <span>

namespace sweepsort {

/// Reverses the bytes of each key in place. `key_bytes` is 1 (nothing to do), 2, 4 or 8 and divides the size.
void swap_key_bytes(std::span<std::byte> keys, size_t key_bytes);

}  // namespace sweepsort
