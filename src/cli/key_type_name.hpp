// key_type_name.hpp - all ways to write a key type: ours, C's, numpy's.
#pragma once

#include "core/key_type.hpp"

#include <optional>
#include <string_view>

namespace sweepsort::cli {

struct NamedType {
  KeyType type;
  std::optional<Endian> endian;  // set by a byte-order prefix
};

/// Accepts "u32", "uint32", "uint32_t", "double", "<u4", ">f8", "|u1". sweepsort's names count bits, numpy's
/// count bytes. Only a byte-order prefix selects numpy's meaning, so "i8" has 8 bits, and a bare "u4" throws
/// UsageError with both readings. `option` is for messages.
NamedType parse_key_type(std::string_view text, std::string_view option = "--type");

}  // namespace sweepsort::cli
