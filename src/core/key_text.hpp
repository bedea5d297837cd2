// key_text.hpp - a key as text.
#pragma once

#include "core/key_type.hpp"

#include <cstdint>
#include <string>

namespace sweepsort {

/// The text of the key whose bytes in memory are the low bytes of `bits`. Floats get the fewest digits that
/// convert back to the same value; NaN of either sign is "nan".
std::string key_text(KeyType type, uint64_t bits);

}  // namespace sweepsort
