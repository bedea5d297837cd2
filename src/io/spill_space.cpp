// spill_space.cpp - stripes dealt out to the directories in turn.
#include "io/spill_space.hpp"

#include "core/error.hpp"

#include <algorithm>

namespace sweepsort {

SpillSpace::SpillSpace(std::vector<std::string> directories, uint64_t stripe_bytes, bool allow_anonymous)
    : directories_(std::move(directories)),
      stripe_bytes_(stripe_bytes),
      allow_anonymous_(allow_anonymous),
      files_(directories_.size()) {}

uint64_t SpillSpace::share(size_t directory, uint64_t bytes) const {
  const uint64_t whole = bytes / stripe_bytes_;
  const uint64_t in_turn = whole % files_.size();  // who has the stripe that is not whole
  const uint64_t rest = directory == in_turn ? bytes % stripe_bytes_ : 0;
  return (whole / files_.size() + (directory < in_turn ? 1 : 0)) * stripe_bytes_ + rest;
}

void SpillSpace::reserve(uint64_t bytes) {
  if (bytes <= bytes_) return;
  if (files_.empty()) throw Error("internal: there is no directory for temporary files");
  for (size_t i = 0; i < files_.size(); ++i) {
    const uint64_t mine = share(i, bytes);
    if (mine == 0) continue;
    if (!files_[i]) files_[i] = std::make_unique<SpillFile>(directories_[i], allow_anonymous_);
    files_[i]->reserve(mine);
  }
  bytes_ = bytes;
}

template <class Span, class F>
void SpillSpace::for_each_part(uint64_t offset, Span bytes, F f) const {
  while (!bytes.empty()) {
    const uint64_t stripe = offset / stripe_bytes_;
    const uint64_t into = offset % stripe_bytes_;
    // With one directory all stripes lie together.
    const uint64_t together = files_.size() == 1 ? bytes.size() : stripe_bytes_ - into;
    const auto part = static_cast<size_t>(std::min<uint64_t>(bytes.size(), together));
    f(*files_[stripe % files_.size()], stripe / files_.size() * stripe_bytes_ + into, bytes.first(part));
    offset += part;
    bytes = bytes.subspan(part);
  }
}

void SpillSpace::read_at(uint64_t offset, std::span<std::byte> to) const {
  for_each_part(offset, to, [](const SpillFile& file, uint64_t at, std::span<std::byte> part) {
    file.read_at(at, part);
  });
}

void SpillSpace::write_at(uint64_t offset, std::span<const std::byte> from) const {
  for_each_part(offset, from, [](const SpillFile& file, uint64_t at, std::span<const std::byte> part) {
    file.write_at(at, part);
  });
}

}  // namespace sweepsort
