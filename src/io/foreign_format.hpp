// foreign_format.hpp - detects files that do not hold keys: compressed files, tables of other programs, text.
#pragma once

#include "core/key_type.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace sweepsort {

/// Values are moved unchanged and may look like anything.
enum class Holds : uint8_t { keys, values };

/// Throws Error if sorting the file would turn it into garbage. Keys may begin with any bytes, so a magic
/// number alone is not enough: the name must have the format's ending, too, unless keys begin like that only
/// by a rare chance. `prefix`: as in find_layout(). `stated`: the key type according to options or name;
/// one-byte keys may hold anything.
void refuse_foreign_format(std::span<const std::byte> prefix, const std::string& name,
                           std::optional<KeyType> stated, Holds holds);

}  // namespace sweepsort
