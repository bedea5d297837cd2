// fingerprint.cpp - sums mixed keys at the speed of memory.
#include "core/fingerprint.hpp"

#include "core/error.hpp"
#include "core/vector_dispatch.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <type_traits>

namespace sweepsort {
namespace {

/// Keys may lie at any address: they are loaded with memcpy, which the compiler turns into vector loads.
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

template <class Bits, class Value>
struct PairSumLoop {
  const std::byte* keys;
  const std::byte* values;
  size_t count;
  uint64_t secret;

  [[gnu::always_inline]] inline uint64_t operator()() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; ++i) {
      Bits key;
      Value value;
      std::memcpy(&key, keys + i * sizeof(Bits), sizeof(Bits));
      std::memcpy(&value, values + i * sizeof(Value), sizeof(Value));
      // Mix the key first, so that a key and a value that swap places do not cancel out.
      sum += fingerprint_mix(fingerprint_mix(key ^ secret) + value);
    }
    return sum;
  }
};

template <class Bits>
Fingerprint pair_fingerprint_of(std::span<const std::byte> keys, std::span<const std::byte> values,
                                size_t value_bytes, uint64_t secret) {
  const size_t count = keys.size() / sizeof(Bits);
  if (values.size() != count * value_bytes) throw Error("internal: a fingerprint of keys without values");
  if (value_bytes == 4)
    return {count, with_best_vectors(PairSumLoop<Bits, uint32_t>{keys.data(), values.data(), count, secret})};
  return {count, with_best_vectors(PairSumLoop<Bits, uint64_t>{keys.data(), values.data(), count, secret})};
}

/// Key i counts count_of(i) times.
template <class Bits, class CountOf>
struct CountedSumLoop {
  const std::byte* keys;
  size_t distinct;
  uint64_t secret;
  CountOf count_of;

  [[gnu::always_inline]] inline uint64_t operator()() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < distinct; ++i) {
      Bits key;
      std::memcpy(&key, keys + i * sizeof(Bits), sizeof(Bits));
      sum += fingerprint_mix(key ^ secret) * count_of(i);
    }
    return sum;
  }
};

struct CountByEnds {
  const uint32_t* ends;
  [[gnu::always_inline]] inline uint64_t operator()(size_t i) const {
    return ends[i] - (i == 0 ? 0 : ends[i - 1]);
  }
};

struct CountByItself {
  const std::byte* counts;
  [[gnu::always_inline]] inline uint64_t operator()(size_t i) const {
    uint32_t count;
    std::memcpy(&count, counts + i * sizeof(count), sizeof(count));
    return count;
  }
};

template <class Bits>
Fingerprint unique_fingerprint_of(std::span<const std::byte> keys, std::span<const uint32_t> ends,
                                  uint64_t secret) {
  if (keys.size() != ends.size() * sizeof(Bits)) throw Error("internal: a fingerprint of keys without ends");
  return {ends.empty() ? 0 : ends.back(), with_best_vectors(CountedSumLoop<Bits, CountByEnds>{
                                              keys.data(), ends.size(), secret, {ends.data()}})};
}

template <class Bits>
Fingerprint counted_fingerprint_of(std::span<const std::byte> keys, std::span<const std::byte> counts,
                                   uint64_t secret) {
  const size_t distinct = keys.size() / sizeof(Bits);
  if (counts.size() != distinct * sizeof(uint32_t))
    throw Error("internal: a fingerprint of keys without counts");
  const CountByItself count_of{counts.data()};
  uint64_t all = 0;
  for (size_t i = 0; i < distinct; ++i) all += count_of(i);
  return {all,
          with_best_vectors(CountedSumLoop<Bits, CountByItself>{keys.data(), distinct, secret, count_of})};
}

template <class Bits>
Fingerprint fingerprint_of(std::span<const std::byte> bytes, uint64_t secret) {
  const size_t count = bytes.size() / sizeof(Bits);
  return {count, with_best_vectors(SumLoop<Bits>{bytes.data(), count, secret})};
}

/// Calls f with a type of `key_bytes` bytes.
template <class F>
Fingerprint with_bits(size_t key_bytes, const F& f) {
  switch (key_bytes) {
    case 1: return f(std::type_identity<uint8_t>());
    case 2: return f(std::type_identity<uint16_t>());
    case 4: return f(std::type_identity<uint32_t>());
    case 8: return f(std::type_identity<uint64_t>());
    default: throw Error("internal: no keys have " + std::to_string(key_bytes) + " bytes");
  }
}

}  // namespace

Fingerprint fingerprint(std::span<const std::byte> bytes, size_t key_bytes, uint64_t secret) {
  if (key_bytes == 0 || bytes.size() % key_bytes != 0)
    throw Error("internal: a fingerprint of part of a key");
  return with_bits(key_bytes,
                   [&]<class Bits>(std::type_identity<Bits>) { return fingerprint_of<Bits>(bytes, secret); });
}

Fingerprint pair_fingerprint(std::span<const std::byte> keys, size_t key_bytes,
                             std::span<const std::byte> values, size_t value_bytes, uint64_t secret) {
  return with_bits(key_bytes, [&]<class Bits>(std::type_identity<Bits>) {
    return pair_fingerprint_of<Bits>(keys, values, value_bytes, secret);
  });
}

Fingerprint unique_fingerprint(std::span<const std::byte> keys, size_t key_bytes,
                               std::span<const uint32_t> ends, uint64_t secret) {
  return with_bits(key_bytes, [&]<class Bits>(std::type_identity<Bits>) {
    return unique_fingerprint_of<Bits>(keys, ends, secret);
  });
}

Fingerprint counted_fingerprint(std::span<const std::byte> keys, size_t key_bytes,
                                std::span<const std::byte> counts, uint64_t secret) {
  return with_bits(key_bytes, [&]<class Bits>(std::type_identity<Bits>) {
    return counted_fingerprint_of<Bits>(keys, counts, secret);
  });
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
