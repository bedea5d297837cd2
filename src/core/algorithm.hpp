// algorithm.hpp - the sorting algorithms that a user can ask for by name.
#pragma once

#include <cstdint>
#include <string_view>

namespace sweepsort {

/// `automatic` chooses by the data; `counting` is an error if the range of the keys is too wide for it.
enum class SortAlgorithm : uint8_t { automatic, radix, counting };

constexpr std::string_view name(SortAlgorithm algorithm) {
  switch (algorithm) {
    case SortAlgorithm::radix: return "radix";
    case SortAlgorithm::counting: return "counting";
    default: return "auto";
  }
}

}  // namespace sweepsort
