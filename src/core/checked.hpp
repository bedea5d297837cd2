// checked.hpp - arithmetic whose result does not fit is an error, never a wrap.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace sweepsort {

template <class To, class From>
constexpr To narrow(From value) {
  if (!std::in_range<To>(value))
    throw Error("internal: " + std::to_string(value) + " does not fit a smaller integer type");
  return static_cast<To>(value);
}

/// No file is longer than a signed offset says, and two of these can be added.
inline constexpr uint64_t max_file_bytes = uint64_t{1} << 62;

/// `count` elements of `bytes` each, in bytes.
constexpr uint64_t bytes_of(uint64_t count, uint64_t bytes) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(count, bytes, &product) || product > max_file_bytes)
    throw Error(std::to_string(count) + " elements of " + std::to_string(bytes) +
                " bytes are more than any file holds");
  return product;
}

}  // namespace sweepsort
