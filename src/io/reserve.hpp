// reserve.hpp - reserves disk space before anything is written to it.
#pragma once

#include "io/system_error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace sweepsort {

/// Makes the file `offset + bytes` long and takes the space from `offset` on, so that a full disk, a quota or
/// a limit is an Error now. On a file system that cannot reserve space, only the length is set. `name` and
/// `elsewhere` are for messages (system_error.hpp).
void reserve_space(int fd, const std::string& name, uint64_t offset, uint64_t bytes,
                   std::string_view elsewhere = another_file_system);

}  // namespace sweepsort
