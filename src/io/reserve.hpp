// reserve.hpp - disk space taken before anything is written to it.
#pragma once

#include <cstdint>
#include <string>

namespace sweepsort {

/// Makes the file `offset + bytes` long and takes the space from `offset` on, so that a full disk, a quota or
/// a limit is an Error now. Where a file system cannot reserve, the length alone is set. `name` is for
/// messages.
void reserve_space(int fd, const std::string& name, uint64_t offset, uint64_t bytes);

}  // namespace sweepsort
