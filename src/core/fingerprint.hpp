// fingerprint.hpp - an order-independent checksum of a multiset of keys.
//
// F = (n, sum over keys of h(bits xor secret) mod 2^64). h is a 64-bit finaliser (the avalanche step of
// SplitMix64, Steele et al., 2014), and the caller draws the secret. It is a sum because an XOR cannot tell
// {x, x} from {y, y}.
#pragma once

#include "core/key_type.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sweepsort {

/// Equal for equal multisets. If the secret is random, different multisets have equal fingerprints with
/// probability about 2^-64.
struct Fingerprint {
  uint64_t count = 0;
  uint64_t sum = 0;

  Fingerprint& operator+=(Fingerprint other) {
    count += other.count;
    sum += other.sum;
    return *this;
  }
  friend bool operator==(Fingerprint, Fingerprint) = default;
};

constexpr uint64_t fingerprint_mix(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
  return bits ^ (bits >> 31);
}

/// Fingerprint of `bytes.size() / key_bytes` keys as they lie in memory (any alignment). `key_bytes` is 1, 2,
/// 4 or 8 and divides the size. Vectorised for the processor it runs on. Thread-safe.
Fingerprint fingerprint(std::span<const std::byte> bytes, size_t key_bytes, uint64_t secret);

/// Fingerprint of pairs: each key together with its value of 4 or 8 bytes.
Fingerprint pair_fingerprint(std::span<const std::byte> keys, size_t key_bytes,
                             std::span<const std::byte> values, size_t value_bytes, uint64_t secret);

/// Fingerprint of distinct keys with their counts: key i stands for ends[i] - ends[i - 1] equal keys, the
/// first for ends[0].
Fingerprint unique_fingerprint(std::span<const std::byte> keys, size_t key_bytes,
                               std::span<const uint32_t> ends, uint64_t secret);

/// The same with the counts themselves, of 4 bytes each. (Two counts that change by multiples of 2^k have the
/// same fingerprint with probability 2^(k - 64); one that changes by itself has not.)
Fingerprint counted_fingerprint(std::span<const std::byte> keys, size_t key_bytes,
                                std::span<const std::byte> counts, uint64_t secret);

/// Draws a secret from the operating system's random source.
uint64_t random_secret();

}  // namespace sweepsort
