// sort_runner.hpp - where cases are measured: on a GPU or on the CPU.
#pragma once

#include "bench/place.hpp"
#include "bench/sort_case.hpp"
#include "bench/sort_options.hpp"
#include "core/error.hpp"

#include <memory>
#include <vector>

namespace sweepsort::bench {

/// No referee can judge the case, so it is left out.
class NoRefereeError : public Error {
 public:
  using Error::Error;
};

class SortRunner {
 public:
  virtual ~SortRunner() = default;
  virtual const Place& place() const = 0;
  /// One row for every peer that supports the case, ours first. Throws NoRefereeError, or Error if the
  /// measurement failed.
  virtual std::vector<SortRow> run(const SortCase& what) = 0;
};

/// Both allocate all memory that the largest case needs.
std::unique_ptr<SortRunner> make_cpu_runner(const SortBenchOptions& options,
                                            const std::vector<SortCase>& cases);
/// Throws Error in a build without CUDA.
std::unique_ptr<SortRunner> make_cuda_runner(const SortBenchOptions& options,
                                             const std::vector<SortCase>& cases);

}  // namespace sweepsort::bench
