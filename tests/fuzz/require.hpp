// require.hpp - a claim about every input: where it does not hold, the fuzzer has found something.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace sweepsort {

inline void require(bool holds, const char* claim) {
  if (holds) return;
  std::fprintf(stderr, "this does not hold: %s\n", claim);
  std::abort();
}

}  // namespace sweepsort
