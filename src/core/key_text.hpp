// key_text.hpp - a key as people write it.
#pragma once

#include "core/key_type.hpp"

#include <cstdint>
#include <string>

namespace sweepsort {

/// The key whose bytes in memory are the low ones of `bits`; floats with the fewest digits that give them
/// back, NaN of either sign as "nan".
std::string key_text(KeyType type, uint64_t bits);

}  // namespace sweepsort
