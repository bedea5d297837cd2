// foreign_format.hpp - files that hold something else than keys: compressed, tables of other programs, text.
#pragma once

#include "core/key_type.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace sweepsort {

/// Values are moved as they are, and may look like anything.
enum class Holds : uint8_t { keys, values };

/// Throws Error if sorting the file would make garbage of it. Keys may begin with any bytes, so the name must
/// say it, too, unless keys begin like that by a rare chance alone. `prefix`: as of find_layout(). `stated`:
/// the type that options or name say; bytes may be those of anything.
void refuse_foreign_format(std::span<const std::byte> prefix, const std::string& name,
                           std::optional<KeyType> stated, Holds holds);

}  // namespace sweepsort
