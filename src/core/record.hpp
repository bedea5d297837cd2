// record.hpp - what a sort moves as one unit: a key, and perhaps a value.
#pragma once

#include "core/key_type.hpp"

#include <cstdint>

namespace sweepsort {

/// The two arrays: the keys, and the values that move with them.
enum class Column : uint8_t { keys, values };

struct RecordShape {
  KeyType type = KeyType::u8;
  uint32_t value_bytes = 0;  // 0: keys alone

  constexpr uint64_t bytes() const { return key_bytes(type) + value_bytes; }
  constexpr uint64_t column_bytes(Column column) const {
    return column == Column::keys ? key_bytes(type) : value_bytes;
  }
  constexpr uint64_t widest() const {
    return key_bytes(type) > value_bytes ? key_bytes(type) : uint64_t{value_bytes};
  }
};

}  // namespace sweepsort
