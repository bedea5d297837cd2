// sum_bounds.hpp - whether a running sum of integers overflows its type, and where.
#pragma once

#include "core/key_type.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sweepsort {

__extension__ using Wide = __int128;  // holds the sum of any array of 64-bit integers

/// The sums of the positive and of the negative elements of a run. Every running sum within the run lies
/// between them.
struct SumBounds {
  Wide up = 0;
  Wide down = 0;  // at most 0

  Wide sum() const { return up + down; }
};

/// Bounds of fewer than 2^31 elements; `type` is an integer type.
SumBounds sum_bounds(KeyType type, const std::byte* in, uint64_t count);

/// Whether a running sum that is `before` at the start may overflow in a run with these bounds. Exact for
/// unsigned types.
bool may_overflow(KeyType type, Wide before, const SumBounds& bounds);

/// The first element whose addition to a running sum, which starts at `before`, overflows the type.
std::optional<uint64_t> find_overflow(KeyType type, const std::byte* in, uint64_t count, Wide before);

/// The value with these low bits.
Wide integer_value(KeyType type, uint64_t bits);

}  // namespace sweepsort
