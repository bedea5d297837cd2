// sort_arrays.cuh - the arrays that a sort reads, writes, and uses as scratch.
#pragma once

#include <cstdint>

namespace sweepsort {

/// Where the records of a sort come from, where they go, and where they are in between. keys_scratch has as
/// many elements as the method needs. values_scratch may lie in keys_scratch, behind `count` keys. keys_out
/// may be keys_in, then values_out is values_in.
template <class Bits, class Value>
struct SortArrays {
  const Bits* keys_in;
  Bits* keys_scratch;
  Bits* keys_out;
  const Value* values_in;
  Value* values_scratch;
  Value* values_out;
  uint64_t count;
};

}  // namespace sweepsort
