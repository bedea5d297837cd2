// seed.hpp - the seed of every random test input: fixed, unless SWEEPSORT_SEED says otherwise.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace sweepsort {

/// Decimal or 0x..., from the environment. A text that is no number counts as no seed, so that a typo replays
/// nothing.
inline uint64_t test_seed() {
  constexpr uint64_t usual = 20240229;
  const char* const text = std::getenv("SWEEPSORT_SEED");
  if (text == nullptr || *text == '\0') return usual;
  char* end = nullptr;
  const uint64_t seed = std::strtoull(text, &end, 0);
  return *end == '\0' ? seed : usual;
}

/// For INFO: how to run the failed case again.
inline std::string replay_text() { return "replay with SWEEPSORT_SEED=" + std::to_string(test_seed()); }

}  // namespace sweepsort
