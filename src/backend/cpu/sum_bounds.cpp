// sum_bounds.cpp - sums that cannot themselves overflow, in loops that the compiler turns into vector code.
#include "backend/cpu/sum_bounds.hpp"

#include "backend/cpu/vector_lanes.hpp"
#include "core/vector_dispatch.hpp"

#include <algorithm>
#include <limits>

namespace sweepsort {
namespace {

/// For 1 and 2 bytes: sums are exact in 32 bits for a block, in 64 bits for a run.
template <class T>
SWEEPSORT_INLINE SumBounds narrow_bounds(const T* in, uint64_t count) {
  constexpr uint64_t block = 1u << 15;
  int64_t up = 0;
  int64_t down = 0;
  for (uint64_t start = 0; start < count; start += block) {
    const uint64_t end = std::min(count, start + block);
    int32_t block_up = 0;
    int32_t block_down = 0;
    for (uint64_t i = start; i < end; ++i) block_up += std::max<int32_t>(in[i], 0);
    if constexpr (std::is_signed_v<T>)
      for (uint64_t i = start; i < end; ++i) block_down += std::min<int32_t>(in[i], 0);
    up += block_up;
    down += block_down;
  }
  return {up, down};
}

template <class T>
SWEEPSORT_INLINE SumBounds word_bounds(const T* in, uint64_t count) {
  int64_t up = 0;
  int64_t down = 0;
  for (uint64_t i = 0; i < count; ++i) {
    up += std::max<int64_t>(in[i], 0);
    if constexpr (std::is_signed_v<T>) down += std::min<int64_t>(in[i], 0);
  }
  return {up, down};
}

/// For 8 bytes: the halves of the magnitudes are added up separately.
template <class T>
SWEEPSORT_INLINE SumBounds long_bounds(const T* in, uint64_t count) {
  constexpr uint64_t low_half = 0xffff'ffff;
  uint64_t up_low = 0, up_high = 0, down_low = 0, down_high = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const auto raw = static_cast<uint64_t>(in[i]);
    uint64_t up = raw;
    if constexpr (std::is_signed_v<T>) {
      const uint64_t is_negative = uint64_t{0} - (raw >> 63);
      up = raw & ~is_negative;
      const uint64_t magnitude = (uint64_t{0} - raw) & is_negative;
      down_low += magnitude & low_half;
      down_high += magnitude >> 32;
    }
    up_low += up & low_half;
    up_high += up >> 32;
  }
  const auto joined = [](uint64_t high, uint64_t low) { return (Wide{high} << 32) + low; };
  return {joined(up_high, up_low), -joined(down_high, down_low)};
}

template <class T>
SumBounds bounds_of(const T* in, uint64_t count) {
  return with_best_vectors([&]() __attribute__((always_inline)) {
    if constexpr (sizeof(T) <= 2) return narrow_bounds(in, count);
    if constexpr (sizeof(T) == 4) return word_bounds(in, count);
    if constexpr (sizeof(T) == 8) return long_bounds(in, count);
  });
}

}  // namespace

SumBounds sum_bounds(KeyType type, const std::byte* in, uint64_t count) {
  return dispatch(type, [&]<class T>(std::type_identity<T>) -> SumBounds {
    if constexpr (std::is_integral_v<T>) return bounds_of(reinterpret_cast<const T*>(in), count);
    return {};
  });
}

bool may_overflow(KeyType type, Wide before, const SumBounds& bounds) {
  return dispatch(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>)
      return before + bounds.up > std::numeric_limits<T>::max() ||
             before + bounds.down < std::numeric_limits<T>::min();
    return false;
  });
}

std::optional<uint64_t> find_overflow(KeyType type, const std::byte* in, uint64_t count, Wide before) {
  return dispatch(type, [&]<class T>(std::type_identity<T>) -> std::optional<uint64_t> {
    if constexpr (std::is_integral_v<T>) {
      T sum = static_cast<T>(before);
      const auto* const elements = reinterpret_cast<const T*>(in);
      for (uint64_t i = 0; i < count; ++i)
        if (__builtin_add_overflow(sum, elements[i], &sum)) return i;
    }
    return {};
  });
}

Wide integer_value(KeyType type, uint64_t bits) {
  return dispatch(type, [&]<class T>(std::type_identity<T>) -> Wide {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(bits);
    return 0;
  });
}

}  // namespace sweepsort
