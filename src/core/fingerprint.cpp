// fingerprint.cpp - the sum of mixed keys at the speed of memory.
#include "core/fingerprint.hpp"

#include "core/error.hpp"
#include "core/vector_dispatch.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

namespace sweepsort {
namespace {

/// memcpy loads let the keys lie at any address; the compiler makes them vector loads.
template <class Bits>
struct SumLoop {
  const std::byte* keys;
  size_t count;
  uint64_t secret;

  [[gnu::always_inline]] inline uint64_t operator()() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; ++i) {
      Bits key;
      std::memcpy(&key, keys + i * sizeof(Bits), sizeof(Bits));
      sum += fingerprint_mix(key ^ secret);
    }
    return sum;
  }
};

template <class Bits>
Fingerprint fingerprint_of(std::span<const std::byte> bytes, uint64_t secret) {
  const size_t count = bytes.size() / sizeof(Bits);
  return {count, with_best_vectors(SumLoop<Bits>{bytes.data(), count, secret})};
}

}  // namespace

Fingerprint fingerprint(std::span<const std::byte> bytes, size_t key_bytes, uint64_t secret) {
  if (key_bytes == 0 || bytes.size() % key_bytes != 0)
    throw Error("internal: a fingerprint of part of a key");
  switch (key_bytes) {
    case 1: return fingerprint_of<uint8_t>(bytes, secret);
    case 2: return fingerprint_of<uint16_t>(bytes, secret);
    case 4: return fingerprint_of<uint32_t>(bytes, secret);
    case 8: return fingerprint_of<uint64_t>(bytes, secret);
    default: throw Error("internal: no keys have " + std::to_string(key_bytes) + " bytes");
  }
}

uint64_t random_secret() {
  uint64_t secret = 0;
  ssize_t got = -1;
  do got = getrandom(&secret, sizeof(secret), 0);
  while (got < 0 && errno == EINTR);
  if (got != sizeof(secret)) throw Error(std::string("cannot draw a random number: ") + std::strerror(errno));
  return secret;
}

}  // namespace sweepsort
