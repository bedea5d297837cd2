// digest.hpp - what one look at the keys tells about them, taken chunk by chunk while they arrive.
#pragma once

#include "core/key_bits.hpp"

#include <cstdint>
#include <vector>

namespace sweepsort {

/// Of one chunk or of all keys. All keys are ordered bits.
template <class Bits>
struct KeyDigest {
  uint64_t first_index = 0;  // of the chunk's first key
  uint64_t count = 0;
  Bits first = 0;
  Bits last = 0;
  Bits smallest = 0;
  Bits largest = 0;
  bool ascending = true;   // no key is smaller than the one before
  bool descending = true;  // none is larger; if `strictly` was asked for, none is equal either
};

/// Reads the keys once. `strictly`: equal neighbours spoil `descending`, because reversing them would not be
/// stable.
template <class Bits>
KeyDigest<Bits> digest_keys(const Bits* keys, uint64_t count, const KeyMap<Bits>& map, bool strictly);

/// The digest of all chunks together, given in any order. Chunks without keys are allowed.
template <class Bits>
KeyDigest<Bits> combine(std::vector<KeyDigest<Bits>> chunks, bool strictly);

}  // namespace sweepsort
