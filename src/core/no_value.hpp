// no_value.hpp - the value type of a sort of keys alone.
#pragma once

#include <cstdint>
#include <type_traits>

namespace sweepsort {

struct NoValue {};

/// The bytes that a record's value takes besides its key; none if it has no value.
template <class Value>
inline constexpr uint32_t value_bytes = std::is_same_v<Value, NoValue> ? 0 : sizeof(Value);

}  // namespace sweepsort
