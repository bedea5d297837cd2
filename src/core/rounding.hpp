// rounding.hpp - division rounded up, and an integer square root.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

/// How many pieces of `step` cover `size`. `size + step` must fit the wider of the two types.
template <std::unsigned_integral Size, std::unsigned_integral Step>
constexpr std::common_type_t<Size, Step> ceil_divide(Size size, Step step) {
  return (size + step - 1) / step;
}

/// The smallest multiple of `step` that is at least `size`.
template <std::unsigned_integral Size, std::unsigned_integral Step>
constexpr std::common_type_t<Size, Step> round_up(Size size, Step step) {
  return ceil_divide(size, step) * step;
}

/// The smallest number whose square is at least `square`.
constexpr uint32_t root_rounded_up(uint32_t square) {
  uint32_t root = 0;
  while (uint64_t{root} * root < square) ++root;
  return root;
}

}  // namespace sweepsort
