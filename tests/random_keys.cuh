// random_keys.cuh - keys for random runs, made on the device. Each pattern is hard for some step of a
// sort. The patterns describe ordered keys, so they are as hard for floats and descending keys.
#pragma once

#include "core/fingerprint.hpp"
#include "core/key_bits.hpp"
#include "kernels/launch.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace sweepsort {

/// Determines the key at an index. `a`, `b` and `c` are the pattern's parameters.
enum class KeyPattern : uint32_t {
  uniform,         // the low `a` bits are random, from the key `b` on
  crowd,           // `a` neighbours from `b` on, and one key at either end of the range: one bucket
  spread,          // evenly spaced: one key per bucket
  full_bucket,     // in `a` keys the upper `b` bits are `c`, in all others they are not
  alternating,     // every digit changes after `a` keys
  heavy_values,    // `b` values; value k has probability 2^-k
  values_of_few,   // `a` random values
  mostly_one,      // one value, except for one key in `a`
  ascending,       // runs of `a` equal keys
  descending,      // runs of `a` equal keys
  nearly_ordered,  // ascending, except for the keys at `a` and `b`
  constant_digits  // only bits of the mask `a` vary
};
inline constexpr const char* pattern_names[] = {
    "uniform",    "crowd",      "spread",    "full bucket", "alternating",    "heavy values",
    "few values", "mostly one", "ascending", "descending",  "nearly ordered", "constant digits"};
inline constexpr uint32_t patterns = std::size(pattern_names);

struct KeyRecipe {
  KeyPattern pattern = KeyPattern::uniform;
  uint64_t a = 1;
  uint64_t b = 0;
  uint64_t c = 0;
  uint64_t seed = 0;
  uint64_t count = 0;
  uint64_t multiplier = 1;  // has no divisor in common with `count`

  /// A permutation of the indices.
  __device__ uint64_t shuffled(uint64_t i) const { return i * multiplier % count; }

  template <class Bits>
  __device__ Bits ordered(uint64_t i) const {
    constexpr uint32_t width = sizeof(Bits) * 8;
    constexpr Bits largest = static_cast<Bits>(~Bits{0});
    const uint64_t any = fingerprint_mix(seed + i * 0x9e3779b97f4a7c15ull);
    const uint64_t j = shuffled(i);
    switch (pattern) {
      case KeyPattern::uniform: return static_cast<Bits>(b + (any >> (64 - a)));
      case KeyPattern::crowd: return j == 0 ? Bits{0} : j == 1 ? largest : static_cast<Bits>(b + any % a);
      case KeyPattern::spread: return static_cast<Bits>(j * (largest / count > 0 ? largest / count : 1));
      case KeyPattern::full_bucket: {
        const uint32_t below = width - static_cast<uint32_t>(b);
        const Bits low = static_cast<Bits>(any) & static_cast<Bits>(largest >> b);
        const uint64_t other = (any >> 20) % ((uint64_t{1} << b) - 1);
        const uint64_t bucket = j < a ? c : other < c ? other : other + 1;
        return static_cast<Bits>(static_cast<Bits>(bucket << below) | low);
      }
      case KeyPattern::alternating: {
        const Bits digits = static_cast<Bits>(i / a % 2 == 0 ? 0x1212121212121212ull : 0xedededededededull);
        return static_cast<Bits>(digits ^ (any % 16 == 0 ? any >> 8 : 0));
      }
      case KeyPattern::heavy_values: {
        const uint32_t zeros = any == 0 ? 64 : static_cast<uint32_t>(__clzll(static_cast<long long>(any)));
        return static_cast<Bits>(fingerprint_mix(seed ^ (zeros % b)));
      }
      case KeyPattern::values_of_few: return static_cast<Bits>(fingerprint_mix(seed ^ (any % a)));
      case KeyPattern::mostly_one: return static_cast<Bits>(any % a == 0 ? fingerprint_mix(any) : seed);
      case KeyPattern::ascending: return static_cast<Bits>(b + i / a);
      case KeyPattern::descending: return static_cast<Bits>(b + (count - 1 - i) / a);
      case KeyPattern::nearly_ordered: return static_cast<Bits>(i == a ? b : i == b ? a : i);
      case KeyPattern::constant_digits: return static_cast<Bits>(any & a);
    }
    return 0;
  }
};

/// A record's value is its index times an odd number, so each can be computed from the other.
template <class Value>
struct IndexAsValue {
  static constexpr Value factor = static_cast<Value>(0x9e3779b97f4a7c15ull);
  static constexpr Value inverse = [] {
    Value x = factor;  // its low three bits are right; each step doubles that number
    for (int step = 0; step < 5; ++step) x = static_cast<Value>(x * (2 - factor * x));
    return x;
  }();
  static_assert(static_cast<Value>(factor * inverse) == 1);
  static __device__ Value value(uint64_t index) { return static_cast<Value>(index) * factor; }
  static __device__ uint64_t index(Value value) { return static_cast<Value>(value * inverse); }
};

namespace random_detail {

inline constexpr uint32_t max_blocks = 1024;
inline constexpr uint32_t threads = 256;

__device__ inline uint64_t first_index() { return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline uint64_t grid_threads() { return uint64_t{gridDim.x} * blockDim.x; }
inline LaunchShape shape_for(uint64_t count) {
  return {static_cast<uint32_t>(std::clamp<uint64_t>(count / threads, 1, max_blocks)), threads};
}

template <class Bits>
__global__ void make_keys_kernel(Bits* keys, KeyRecipe recipe, KeyMap<Bits> map) {
  for (uint64_t i = first_index(); i < recipe.count; i += grid_threads())
    keys[i] = map.from_ordered(recipe.ordered<Bits>(i));
}

template <class Value>
__global__ void make_values_kernel(Value* values, uint64_t count) {
  for (uint64_t i = first_index(); i < count; i += grid_threads()) values[i] = IndexAsValue<Value>::value(i);
}

}  // namespace random_detail

/// What is wrong with a sort's output, by the number of records.
struct Faults {
  unsigned long long out_of_order;  // keys behind a larger one; for pairs, also equal keys in the wrong order
  unsigned long long foreign;       // pairs whose key is not the one at the index that the value encodes
  unsigned long long altered;       // changed keys of an input that is not the output
  unsigned long long missing;       // sum of the mixed keys that went in, minus those that came out
  bool any() const { return (out_of_order | foreign | altered | missing) != 0; }
};

namespace random_detail {

/// Makes the keys again instead of reading them from `in`, which may be gone.
template <class Bits>
__global__ void judge_keys_kernel(const Bits* in, const Bits* out, KeyRecipe recipe, KeyMap<Bits> map,
                                  Faults* faults) {
  unsigned long long missing = 0;
  for (uint64_t i = first_index(); i < recipe.count; i += grid_threads()) {
    const Bits made = map.from_ordered(recipe.ordered<Bits>(i));
    missing += fingerprint_mix(recipe.seed ^ made) - fingerprint_mix(recipe.seed ^ out[i]);
    if (in != nullptr && in[i] != made) atomicAdd(&faults->altered, 1ull);
    if (i > 0 && map.to_ordered(out[i - 1]) > map.to_ordered(out[i])) atomicAdd(&faults->out_of_order, 1ull);
  }
  if (missing != 0) atomicAdd(&faults->missing, missing);
}

/// Checks that keys are in order, that equal keys are ordered by index, and that each record has the key of
/// its index. Only one array fulfils this.
template <class Bits, class Value>
__global__ void judge_values_kernel(const Bits* out, const Value* values, KeyRecipe recipe, KeyMap<Bits> map,
                                    Faults* faults) {
  using Index = IndexAsValue<Value>;
  for (uint64_t i = first_index(); i < recipe.count; i += grid_threads()) {
    const uint64_t from = Index::index(values[i]);
    if (from >= recipe.count || map.from_ordered(recipe.ordered<Bits>(from)) != out[i])
      atomicAdd(&faults->foreign, 1ull);
    if (i > 0 && out[i - 1] == out[i] && Index::index(values[i - 1]) >= from)
      atomicAdd(&faults->out_of_order, 1ull);
  }
}

}  // namespace random_detail

}  // namespace sweepsort
