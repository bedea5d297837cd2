// spill_space.cpp - distributes stripes over the directories in turn.
#include "io/spill_space.hpp"

#include "core/error.hpp"

#include <algorithm>

namespace sweepsort {

SpillSpace::SpillSpace(std::vector<std::string> directories, uint64_t stripe_bytes, Caching caching,
                       bool allow_anonymous, uint64_t max_bytes_per_file)
    : directories_(std::move(directories)),
      stripe_bytes_(stripe_bytes),
      caching_(caching),
      allow_anonymous_(allow_anonymous),
      max_bytes_per_file_(max_bytes_per_file),
      files_(directories_.size()) {}

uint64_t SpillSpace::share(size_t directory, uint64_t bytes) const {
  const uint64_t whole = bytes / stripe_bytes_;
  const uint64_t in_turn = whole % files_.size();  // the directory with the incomplete last stripe
  const uint64_t rest = directory == in_turn ? bytes % stripe_bytes_ : 0;
  return (whole / files_.size() + (directory < in_turn ? 1 : 0)) * stripe_bytes_ + rest;
}

void SpillSpace::reserve(uint64_t bytes) {
  if (bytes <= bytes_) return;
  if (files_.empty()) throw Error("internal: there is no directory for temporary files");
  for (size_t i = 0; i < files_.size(); ++i) {
    const uint64_t mine = share(i, bytes);
    size_t number = 0;
    for (uint64_t first = 0; first < mine; first += max_bytes_per_file_) {
      if (number == files_[i].size())
        files_[i].push_back(std::make_unique<SpillFile>(directories_[i], caching_, allow_anonymous_));
      files_[i][number++]->reserve(std::min(max_bytes_per_file_, mine - first));
    }
  }
  bytes_ = bytes;
}

template <class F>
void SpillSpace::for_each_part(uint64_t offset, size_t bytes, F f) const {
  for (size_t done = 0; done < bytes;) {
    const uint64_t stripe = offset / stripe_bytes_;
    const uint64_t into = offset % stripe_bytes_;
    // With one directory, all stripes are contiguous.
    const uint64_t together = files_.size() == 1 ? bytes - done : stripe_bytes_ - into;
    // offset in the directory's files together
    const uint64_t at = stripe / files_.size() * stripe_bytes_ + into;
    const uint64_t in_file = at % max_bytes_per_file_;
    const auto part =
        static_cast<size_t>(std::min({uint64_t{bytes - done}, together, max_bytes_per_file_ - in_file}));
    f(*files_[stripe % files_.size()][at / max_bytes_per_file_], in_file, done, part);
    offset += part;
    done += part;
  }
}

void SpillSpace::read_at(uint64_t offset, std::span<std::byte> to) const {
  for_each_part(offset, to.size(), [&](const SpillFile& file, uint64_t at, size_t done, size_t part) {
    file.read_at(at, to.subspan(done, part));
  });
}

void SpillSpace::write_at(uint64_t offset, std::span<const std::byte> from) const {
  for_each_part(offset, from.size(), [&](const SpillFile& file, uint64_t at, size_t done, size_t part) {
    file.write_at(at, from.subspan(done, part));
  });
}

void SpillSpace::will_read(uint64_t offset, size_t bytes) const {
  for_each_part(offset, bytes,
                [](const SpillFile& file, uint64_t at, size_t, size_t part) { file.will_read(at, part); });
}

void SpillSpace::check_written() const {
  for (const auto& of_directory : files_)
    for (const auto& file : of_directory) file->check_written();
}

}  // namespace sweepsort
