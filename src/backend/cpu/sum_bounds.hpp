// sum_bounds.hpp - does a running sum of integers stay inside its type, and where does it leave?
#pragma once

#include "core/key_type.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sweepsort {

__extension__ using Wide = __int128;  // holds the sum of any array of 64-bit integers

/// The positive and the negative elements of a run, each added up: every running sum inside lies between.
struct SumBounds {
  Wide up = 0;
  Wide down = 0;  // at most 0

  Wide sum() const { return up + down; }
};

/// Of fewer than 2^31 elements; `type` is an integer's.
SumBounds sum_bounds(KeyType type, const std::byte* in, uint64_t count);

/// Whether a running sum that stands at `before` may leave the type in a run of these bounds; for unsigned
/// types, whether it does.
bool may_overflow(KeyType type, Wide before, const SumBounds& bounds);

/// The first element whose addition to a running sum, which stands at `before`, leaves the type.
std::optional<uint64_t> find_overflow(KeyType type, const std::byte* in, uint64_t count, Wide before);

/// The value whose low bits these are.
Wide integer_value(KeyType type, uint64_t bits);

}  // namespace sweepsort
