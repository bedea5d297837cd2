// vector_lanes.hpp - a scan within a few vector registers, for any operator and any vector width.
//
//     x          a     b     c     d
//     1 lane     a     ab    bc    cd        each step combines a lane with the one 2^step before it
//     2 lanes    a     ab    abc   abcd      (Hillis & Steele, "Data Parallel Algorithms", 1986)
//
// Uses GCC's vector extensions: one source, compiled for the instructions that the calling function may use.
// Everything is always_inline, because vectors wider than the baseline's cannot be passed to a function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define SWEEPSORT_INLINE inline __attribute__((always_inline))

namespace sweepsort::lanes {

template <class Lane, size_t bytes>
struct VectorOf {
  typedef Lane type __attribute__((vector_size(bytes)));
};
/// `bytes` of memory as lanes of type Lane.
template <class Lane, size_t bytes>
using Vector = typename VectorOf<Lane, bytes>::type;

template <class V>
inline constexpr size_t lane_count = sizeof(V) / sizeof(std::declval<V>()[0]);

template <class V, class Lane>
SWEEPSORT_INLINE V splat(Lane value) {
  return value - V{};  // subtract rather than add, so that -0.0 stays -0.0
}

/// All ones in the lanes whose highest bit is set. Takes a vector of unsigned lanes, or one lane.
template <class V>
SWEEPSORT_INLINE V sign_mask(const V& x) {
  if constexpr (std::is_integral_v<V>) {
    return x >> (8 * sizeof(V) - 1) != 0 ? V(-1) : V(0);
  } else {
    using Lane = std::remove_cvref_t<decltype(x[0])>;
    // AVX2 has no arithmetic shift of 64-bit lanes.
    if constexpr (sizeof(Lane) == 8) return V{} - (x >> 63);
    using Signed = Vector<std::make_signed_t<Lane>, sizeof(V)>;
    return reinterpret_cast<V>(reinterpret_cast<Signed>(x) >> (8 * sizeof(Lane) - 1));
  }
}

/// Writes a vector past the caches, 16 bytes at a time, which the processor gathers into lines. `out` is
/// aligned to 16 bytes. A fence must follow.
template <class V>
SWEEPSORT_INLINE void stream(const V& x, void* out) {
#ifdef __SSE2__
  using Parts = Vector<long long, sizeof(V)>;
  const auto parts = reinterpret_cast<Parts>(x);
  auto* const to = static_cast<__m128i*>(out);
  _mm_stream_si128(to, __builtin_shufflevector(parts, parts, 0, 1));
  if constexpr (sizeof(V) >= 32) _mm_stream_si128(to + 1, __builtin_shufflevector(parts, parts, 2, 3));
  if constexpr (sizeof(V) >= 64) {
    _mm_stream_si128(to + 2, __builtin_shufflevector(parts, parts, 4, 5));
    _mm_stream_si128(to + 3, __builtin_shufflevector(parts, parts, 6, 7));
  }
#else
  std::memcpy(out, &x, sizeof x);
#endif
}

/// The lanes of `before` and `x` in a row, shifted: those that come `distance` lanes before the lanes of `x`.
template <size_t distance, class V, size_t... lane>
SWEEPSORT_INLINE V shifted(const V& x, const V& before, std::index_sequence<lane...>) {
  return __builtin_shufflevector(before, x, (int(sizeof...(lane) + lane - distance))...);
}
template <size_t distance, class V>
SWEEPSORT_INLINE V shifted(const V& x, const V& before) {
  return shifted<distance>(x, before, std::make_index_sequence<lane_count<V>>{});
}

template <class V, size_t... lane>
SWEEPSORT_INLINE V last_everywhere(const V& x, std::index_sequence<lane...>) {
  return __builtin_shufflevector(x, x, (int(lane * 0 + sizeof...(lane) - 1))...);
}
template <class V>
SWEEPSORT_INLINE V last_everywhere(const V& x) {
  return last_everywhere(x, std::make_index_sequence<lane_count<V>>{});
}

/// Scans vectors in a row: lane i gets lanes 0 ... i combined. `fill` has the operator's identity in every
/// lane. The order of operations depends on the total number of lanes, not on the lanes per vector.
template <size_t distance = 1, class Op, class V, size_t vectors>
SWEEPSORT_INLINE void inclusive(V (&x)[vectors], const V& fill, const Op& op) {
  constexpr size_t lanes = lane_count<V>;
  constexpr size_t whole = distance / lanes;
  if constexpr (distance < lanes) {
    for (size_t i = vectors; i-- > 0;) x[i] = op(shifted<distance>(x[i], i > 0 ? x[i - 1] : fill), x[i]);
  } else {
    for (size_t i = vectors; i-- > whole;) x[i] = op(x[i - whole], x[i]);
  }
  if constexpr (2 * distance < vectors * lanes) inclusive<2 * distance>(x, fill, op);
}

}  // namespace sweepsort::lanes
