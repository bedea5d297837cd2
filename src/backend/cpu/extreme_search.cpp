// extreme_search.cpp - a vectorised minimum of ranks per run, and a search for its position if it is a new
// one.
#include "backend/cpu/extreme_search.hpp"

#include <algorithm>
#include <cstring>

namespace sweepsort {

ExtremeSearch::ExtremeSearch(const ReduceJob& job)
    : job_(job),
      kernel_(make_scan_kernel(job.type, job.extreme == Extreme::min ? ScanOp::min : ScanOp::max)) {}

void ExtremeSearch::add(const std::byte* in, uint64_t count, uint64_t first_element) {
  if (count == 0) return;
  const ScanKernel::Carry rank = kernel_->reduce(in, count);
  if (found_ && rank >= rank_) return;
  found_ = true;
  rank_ = rank;
  if (job_.wants_index) index_ = first_element + first_place(in, count, rank);
}

uint64_t ExtremeSearch::first_place(const std::byte* in, uint64_t count, ScanKernel::Carry rank) const {
  // Finds the block that contains it with vectors, then its position in the block one by one.
  constexpr uint64_t block = 1024;
  const size_t width = key_bytes(job_.type);
  uint64_t at = 0;
  while (kernel_->reduce(in + at * width, std::min(block, count - at)) != rank) at += block;
  const uint64_t wanted = kernel_->element(rank);
  while (std::memcmp(in + at * width, &wanted, width) != 0) ++at;
  return at;
}

void ExtremeSearch::add(const ExtremeSearch& other) {
  if (!other.found_) return;
  const bool wins = !found_ || other.rank_ < rank_ || (other.rank_ == rank_ && other.index_ < index_);
  if (!wins) return;
  found_ = true;
  rank_ = other.rank_;
  index_ = other.index_;
}

ReduceResult ExtremeSearch::result() const {
  return {.found = found_,
          .bits = found_ ? kernel_->element(rank_) : 0,
          .index = index_,
          .algorithm = std::string(name(ScanAlgorithm::threads))};
}

}  // namespace sweepsort
