// checked.hpp - the one narrowing conversion: a value that does not fit is an error, never a wrap.
#pragma once

#include "core/error.hpp"

#include <string>
#include <utility>

namespace sweepsort {

template <class To, class From>
constexpr To narrow(From value) {
  if (!std::in_range<To>(value))
    throw Error("internal: " + std::to_string(value) + " does not fit a smaller integer type");
  return static_cast<To>(value);
}

}  // namespace sweepsort
