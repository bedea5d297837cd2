// checked.hpp - arithmetic that reports overflow as an error and never wraps.
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

/// Upper limit on the size of a file: it fits a signed offset, and two such sizes can be added.
inline constexpr uint64_t max_file_bytes = uint64_t{1} << 62;

/// The size in bytes of `count` elements of `bytes` each. Throws Error above max_file_bytes.
constexpr uint64_t bytes_of(uint64_t count, uint64_t bytes) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(count, bytes, &product) || product > max_file_bytes)
    throw Error(std::to_string(count) + " elements of " + std::to_string(bytes) +
                " bytes are more than any file holds");
  return product;
}

}  // namespace sweepsort
