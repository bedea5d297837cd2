// digest.hpp - what one look at the keys shows, taken chunk by chunk while they arrive.
#pragma once

#include "backend/cpu/columns.hpp"
#include "core/key_bits.hpp"

#include <cstdint>
#include <vector>

namespace sweepsort {

/// What may happen to equal keys in a reversal. Those of pairs must keep their order, or the sort would not
/// be stable.
enum class EqualKeys : uint8_t { may_swap, keep_order };
template <class Value>
inline constexpr EqualKeys equal_keys_of = has_values<Value> ? EqualKeys::keep_order : EqualKeys::may_swap;

/// The digest of one chunk or of all keys. All keys are ordered bits.
template <class Bits>
struct KeyDigest {
  uint64_t first_index = 0;  // of the chunk's first key
  uint64_t count = 0;
  Bits first = 0;
  Bits last = 0;
  Bits smallest = 0;
  Bits largest = 0;
  bool ascending = true;   // no key is smaller than its predecessor
  bool descending = true;  // no key is larger; if equal keys must keep their order, none is equal, either
};

/// Reads the keys once.
template <class Bits>
KeyDigest<Bits> digest_keys(const Bits* keys, uint64_t count, const KeyMap<Bits>& map, EqualKeys equal);

/// The digest of all chunks together, which may be given in any order and may be empty.
template <class Bits>
KeyDigest<Bits> combine(std::vector<KeyDigest<Bits>> chunks, EqualKeys equal);

}  // namespace sweepsort
