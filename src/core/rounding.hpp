// rounding.hpp - whole pieces of a size, and a root in whole numbers.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace sweepsort {

/// How many pieces of `step` cover `size`. Their sum must fit the wider of the types.
template <std::unsigned_integral Size, std::unsigned_integral Step>
constexpr std::common_type_t<Size, Step> ceil_divide(Size size, Step step) {
  return (size + step - 1) / step;
}

/// The first multiple of `step` that is no less than `size`.
template <std::unsigned_integral Size, std::unsigned_integral Step>
constexpr std::common_type_t<Size, Step> round_up(Size size, Step step) {
  return ceil_divide(size, step) * step;
}

/// The least number whose square is no less than `square`.
constexpr uint32_t root_rounded_up(uint32_t square) {
  uint32_t root = 0;
  while (uint64_t{root} * root < square) ++root;
  return root;
}

}  // namespace sweepsort
