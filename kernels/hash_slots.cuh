// hash_slots.cuh - open addressing: the slot of a key in a table, or a slot where it may be put.
// Knuth, "The Art of Computer Programming", vol. 3, 6.4: multiplicative hashing, linear probing.
#pragma once

#include "kernels/tickets.cuh"

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>

namespace sweepsort {

/// If a key finds this many slots taken by others, the table is too full. Hardly any half-full table has such
/// a run.
inline constexpr uint32_t max_tries = 64;

/// A hash of `bits` bits for a key.
template <uint32_t bits, class Bits>
__device__ __forceinline__ uint32_t hash(Bits key) {
  if constexpr (sizeof(Bits) == 8)
    return static_cast<uint32_t>((key * 0x9e3779b97f4a7c15ull) >> (64 - bits));
  else
    return (key * 0x9e3779b1u) >> (32 - bits);
}

/// The same for words of which many may lie at equal distances. With multiplication alone, these would
/// collide more often than by chance, or less often. Mixed as in Appleby, "MurmurHash3", 2011.
template <uint32_t bits>
__device__ __forceinline__ uint32_t scattering_hash(uint32_t word) {
  const uint32_t mixed = (word ^ word >> 16) * 0x85ebca6b;
  return hash<bits>(mixed ^ mixed >> 13);
}

/// Finds the slot of `key`, which is not zero, among `slots` slots (a power of two), or takes one. Zero marks
/// a free slot. Adds 1 to `taken` if the key was new. Returns false if max_tries slots belong to other keys.
/// The search begins at the first slot of a `group` (a power of two), so keys are as near to the front of
/// their own group as possible.
template <uint32_t slots, uint32_t group = 1, class Bits>
__device__ __forceinline__ bool find_slot(AtomicWord<Bits>* keys, Bits key, uint32_t& slot, uint32_t& taken) {
  slot = hash<std::countr_zero(slots)>(key) / group * group;
  for (uint32_t tries = 0; tries < max_tries; ++tries) {
    // A plain read, although other threads swap: a slot changes from zero to one key and never again. So a
    // key that is read is final, and a zero is confirmed by the swap.
    AtomicWord<Bits> there = keys[slot];
    if (there == 0) {
      there = atomicCAS(&keys[slot], AtomicWord<Bits>{0}, static_cast<AtomicWord<Bits>>(key));
      if (there == 0) {
        ++taken;
        return true;
      }
    }
    if (there == key) return true;
    slot = (slot + 1) % slots;
  }
  return false;
}

/// Slots that one load of 16 bytes reads.
template <class Bits>
inline constexpr uint32_t slots_per_load = sizeof(uint4) / sizeof(Bits);

/// Finds the slot of `key`, which is not zero. Returns false if it has none. The table must have free slots,
/// must have been filled in groups of slots_per_load, and must be aligned to 16 bytes. Nobody may add to it
/// meanwhile.
template <uint32_t slots, class Bits>
__device__ __forceinline__ bool has_slot(const AtomicWord<Bits>* keys, Bits key, uint32_t& slot) {
  constexpr uint32_t group = slots_per_load<Bits>;
  uint32_t load = hash<std::countr_zero(slots)>(key) / group;
  while (true) {
    union {
      uint4 whole;
      AtomicWord<Bits> keys[group];
    } there{.whole = reinterpret_cast<const uint4*>(keys)[load]};
    bool has_free = false;
    bool is_there = false;
#pragma unroll
    for (uint32_t k = 0; k < group; ++k) {
      if (there.keys[k] == key) {
        is_there = true;
        slot = load * group + k;
      }
      has_free |= there.keys[k] == 0;
    }
    if (is_there || has_free) return is_there;
    load = (load + 1) % (slots / group);
  }
}

}  // namespace sweepsort
