// extreme_search.hpp - the smallest or largest element of many runs, and its first position.
#pragma once

#include "backend/cpu/scan_kernel.hpp"
#include "backend/scan_session.hpp"

namespace sweepsort {

/// What one thread has found so far. Its runs arrive in rising order.
class ExtremeSearch {
 public:
  explicit ExtremeSearch(const ReduceJob& job);

  void add(const std::byte* in, uint64_t count, uint64_t first_element);
  /// Adds what another thread found.
  void add(const ExtremeSearch& other);

  ReduceResult result() const;

 private:
  uint64_t first_place(const std::byte* in, uint64_t count, ScanKernel::Carry rank) const;

  ReduceJob job_;
  std::shared_ptr<const ScanKernel> kernel_;
  bool found_ = false;
  ScanKernel::Carry rank_ = 0;
  uint64_t index_ = 0;
};

}  // namespace sweepsort
