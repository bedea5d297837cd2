// key_source.cpp - copies out of a stream's memory.
#include "pipeline/key_source.hpp"

#include <cstring>

namespace sweepsort {

void MemorySource::read(uint64_t first_byte, std::span<std::byte> to) {
  if (to.empty()) return;
  const auto at = static_cast<size_t>(data_offset_ + first_byte);
  std::memcpy(to.data(), buffer_.bytes().data() + at, to.size());
  if (read_once_) buffer_.discard(at, to.size());
}

}  // namespace sweepsort
