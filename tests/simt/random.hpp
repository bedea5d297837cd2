// random.hpp - SplitMix64: one chain of multiplications per draw, and any seed will do.
#pragma once

#include <cstdint>

namespace simt {

class Random {
 public:
  Random() = default;
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t operator()() {
    uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  /// A number from 0 to n - 1, for n below 2^32.
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(((*this)() >> 32) * n >> 32); }

 private:
  uint64_t state_ = 0;
};

}  // namespace simt
