// key_source.cpp - reads files, the memory of streams, and concatenated sources.
#include "pipeline/key_source.hpp"

#include "core/fingerprint.hpp"
#include "io/byte_swap.hpp"
#include "pipeline/key_scan.hpp"

#include <algorithm>
#include <cstring>

namespace sweepsort {
namespace {

template <class Position>
void number(uint64_t first, std::span<std::byte> to) {
  for (size_t at = 0; at < to.size(); at += sizeof(Position)) {
    const auto position = static_cast<Position>(first++);
    std::memcpy(to.data() + at, &position, sizeof position);
  }
}

}  // namespace

std::vector<uint64_t> sample_of(KeySource& source, uint64_t count, KeyType type, Order order) {
  constexpr uint64_t pieces = 256;
  constexpr uint64_t neighbours = 8;
  const uint64_t stride = count / pieces;  // one piece is taken from each stride
  const size_t width = key_bytes(type);
  std::vector<std::byte> keys(std::min(count, pieces * neighbours) * width);
  if (stride <= neighbours) {
    source.read(0, keys);
  } else {
    for (uint64_t piece = 0; piece < pieces; ++piece) {
      // At varying places in the strides, so that periodic data cannot fool the sample.
      const uint64_t first = piece * stride + fingerprint_mix(piece + 1) % (stride - neighbours + 1);
      source.read(first * width, std::span(keys).subspan(piece * neighbours * width, neighbours * width));
    }
  }
  std::vector<uint64_t> sample;
  for (size_t at = 0; at < keys.size(); at += width)
    sample.push_back(ordered_key(keys.data() + at, type, order));
  return sample;
}

void FileSource::read(uint64_t first_byte, std::span<std::byte> to) {
  file_.read_at(data_offset_ + first_byte, to);
  if (swapped_bytes_ != 0) swap_key_bytes(to, swapped_bytes_);
}

void MemorySource::read(uint64_t first_byte, std::span<std::byte> to) {
  if (to.empty()) return;
  const auto at = static_cast<size_t>(first_byte);
  std::memcpy(to.data(), buffer_.bytes().data() + at, to.size());
  if (reads_ == Reads::once) buffer_.discard(at, to.size());
}

void ConcatenatedSource::add(std::unique_ptr<KeySource> source, uint64_t bytes) {
  if (begins_.empty()) begins_.push_back(0);
  sources_.push_back(std::move(source));
  begins_.push_back(begins_.back() + bytes);
}

void ConcatenatedSource::read(uint64_t first_byte, std::span<std::byte> to) {
  // Begin with the last source that begins at or before the first byte; earlier ones at the same place are
  // empty.
  auto begin = std::upper_bound(begins_.begin(), begins_.end(), first_byte) - 1;
  while (!to.empty()) {
    const auto source = static_cast<size_t>(begin - begins_.begin());
    const size_t part = static_cast<size_t>(std::min<uint64_t>(to.size(), begins_[source + 1] - first_byte));
    if (part != 0) sources_[source]->read(first_byte - *begin, to.first(part));
    first_byte += part;
    to = to.subspan(part);
    ++begin;
  }
}

void PositionSource::read(uint64_t first_byte, std::span<std::byte> to) {
  if (value_bytes_ == 4) return number<uint32_t>(first_byte / 4, to);
  number<uint64_t>(first_byte / 8, to);
}

}  // namespace sweepsort
