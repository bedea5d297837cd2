// vector_dispatch.hpp - compiles a loop again for wider vectors, and chooses a version at run time.
//
// `target_clones` would do the same through an ifunc, but templates and sanitizers do not work with it.
#pragma once

#include <utility>

#if defined(__x86_64__) && defined(__GNUC__)
#define SWEEPSORT_VECTOR_DISPATCH 1
#endif

namespace sweepsort {

#ifdef SWEEPSORT_VECTOR_DISPATCH
template <class Loop>
[[gnu::target("avx2"), gnu::flatten]] auto with_avx2(Loop loop) {
  return loop();
}
template <class Loop>
[[gnu::target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512"), gnu::flatten]] auto with_avx512(
    Loop loop) {
  return loop();
}

inline bool has_avx2() {
  static const bool found = __builtin_cpu_supports("avx2");
  return found;
}
inline bool has_avx512() {
  static const bool found = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  return found;
}
#endif

/// Calls `loop()`, compiled for this processor's vectors. `loop` is a function object whose call operator is
/// always_inline.
template <class Loop>
auto with_best_vectors(Loop loop) {
#ifdef SWEEPSORT_VECTOR_DISPATCH
  if (has_avx512()) return with_avx512(loop);
  if (has_avx2()) return with_avx2(loop);
#endif
  return loop();
}

}  // namespace sweepsort
